"""Section 5: volatility of a cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from chronozarr_dask.format.append import grow_volatility
from chronozarr_dask.format.layout import Layout
from chronozarr_dask.format.temporal import references
from chronozarr_dask.format.volatility import change_sum, volatility
from tests.format import slow
from tests.format.strategies import dtypes, values


def of_cell(cube: npt.NDArray[Any], refs: npt.NDArray[np.int64]) -> np.float32:
    deltas = [t for t in range(len(cube)) if refs[t] != t]
    return volatility([change_sum(cube[t], cube[refs[t]]) for t in deltas], len(deltas) * cube[0].size)


def series(*steps: float, dtype: str = "uint16") -> npt.NDArray[Any]:
    return np.array(steps, dtype).reshape(-1, 1, 1, 1)


def test_mean_change_over_10000() -> None:
    cube = series(1000, 1500, 2000)
    assert of_cell(cube, references(3, 6)) == np.float32((500 + 1000) / 2 / 10000)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16", "float32"])
def test_divisor_is_the_same_for_every_dtype(dtype: str) -> None:
    assert of_cell(series(10, 110, dtype=dtype), references(2, 6)) == np.float32(0.01)


def test_value_is_between_0_and_1() -> None:
    assert of_cell(series(0, 65535), references(2, 6)) == 1
    assert of_cell(series(7, 7), references(2, 6)) == 0


@pytest.mark.parametrize(("n_time", "interval"), [(1, 6), (4, 1)])
def test_cell_without_deltas_is_0(n_time: int, interval: int) -> None:
    got = of_cell(series(*range(0, 1000 * n_time, 1000)), references(n_time, interval))
    assert got == 0
    assert got.dtype == np.float32


def test_differences_do_not_wrap() -> None:
    assert change_sum(series(0), series(65535)) == 65535
    assert change_sum(series(-32768, dtype="int16"), series(32767, dtype="int16")) == 65535


def test_a_whole_chunk_of_the_largest_change_is_summed_exactly() -> None:
    black, white = np.zeros((4, 512, 512), np.uint16), np.full((4, 512, 512), 65535, np.uint16)
    assert change_sum(white, black) == 4 * 512 * 512 * 65535


def test_invalid_pixels_count() -> None:
    """Case 20: a pixel that is nodata at one of the two times contributes its stored difference."""
    cube = np.array([[[[0, 3000]]], [[[1000, 3000]]]], np.uint16)
    assert of_cell(cube, references(2, 6)) == np.float32(1000 / 2 / 10000)


def test_padding_never_counts() -> None:
    """Case 20: the edge cell of 3 x 3 pixels at cs 2 has one pixel, not four."""
    cube = np.zeros((2, 1, 3, 3), np.uint16)
    cube[1, 0, 2, 2] = 400
    window = Layout(2, 1, 3, 3, 2, 2).cell_window(0, 1, 1)
    cell = cube[:, :, window.slices[0], window.slices[1]]
    assert of_cell(cell, references(2, 6)) == np.float32(400 / 10000)


def test_float32_is_summed_in_float64_one_pixel_after_the_other() -> None:
    source = np.array([1e30, 1.0, 1.0], np.float32).reshape(1, 1, 3)
    assert change_sum(source, np.zeros_like(source)) == float(np.float32(1e30))
    assert change_sum(source[..., ::-1], np.zeros_like(source)) == float(np.float32(1e30)) + 2.0


def test_float32_is_summed_in_c_order_without_partial_sums() -> None:
    """Each 1 is lost against 2^53; sums of several ones, as numpy's pairwise sum has them, would not be."""
    source = np.ones((1, 8, 8), np.float32)
    source[0, 0, 0] = 2.0**53
    assert change_sum(source, np.zeros_like(source)) == 2.0**53


def test_float32_timesteps_are_added_without_rounding_between_them() -> None:
    assert volatility([1e16, 1.0, -1e16, 1.0], 4) == np.float32(2 / 4 / 10000)


@given(st.data())
def test_volatility_equals_a_loop_over_pixels(data: st.DataObject) -> None:
    dtype = data.draw(dtypes)
    shape = tuple(data.draw(st.integers(1, n)) for n in (9, 2, 3, 3))
    cube = data.draw(hnp.arrays(dtype, shape, elements=values(dtype)))
    refs = references(shape[0], data.draw(st.integers(1, 7)))
    expected = slow.volatility(cube, refs.tolist())
    got = of_cell(cube, refs)
    assert 0 <= got <= 1
    assert got == pytest.approx(expected, rel=1e-6, abs=1e-12)


@given(st.data())
def test_volatility_does_not_depend_on_the_order_of_the_timesteps(data: st.DataObject) -> None:
    sums = data.draw(st.lists(st.floats(0, 1e35), min_size=1, max_size=8))
    assert volatility(sums, 1000) == volatility(data.draw(st.permutations(sums)), 1000)


def test_appended_deltas_join_the_mean() -> None:
    """Case 20: (2 x 500 + 1 x 2000) / 3."""
    assert grow_volatility(np.float32(0.05), 2, 2000, 1) == pytest.approx(0.1, rel=1e-6)
    assert grow_volatility(np.float32(0), 0, 0, 0) == 0
    assert grow_volatility(np.float32(0), 0, 700, 1) == np.float32(0.07)
    assert grow_volatility(np.float32(0.9), 1, 10**9, 1) == 1

"""Section 6: block means."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.layout import Layout
from chronozarr_dask.format.pyramid import check_levels, default_levels, next_level, pad_to_even
from tests.format import slow
from tests.format.strategies import dtypes, masks, nodatas, rasters


def mean(block: list[list[float]], dtype: str, nodata: float | None = None, mask: Any = None) -> Any:
    data = np.array([block], dtype)
    out = next_level(data, None if mask is None else np.array(mask, np.uint8), nodata)
    assert out.dtype == data.dtype
    return out[0].tolist()


def test_invalid_pixels_do_not_count() -> None:
    """Case 15."""
    assert mean([[1000, 0], [0, 0]], "uint16", 0) == [[1000]]


def test_four_times_the_largest_value_does_not_overflow() -> None:
    """Case 15."""
    assert mean([[65535, 65535], [65535, 65535]], "uint16", 0) == [[65535]]


def test_integer_mean_is_the_floor() -> None:
    """Case 15."""
    assert mean([[1, 2], [2, 2]], "uint16", 0) == [[1]]


def test_floor_goes_down_for_negative_values() -> None:
    """Case 15: -7 / 4 is -1.75."""
    assert mean([[-1, -2], [-2, -2]], "int16") == [[-2]]


def test_block_without_a_valid_pixel_is_nodata() -> None:
    """Case 15."""
    assert mean([[0, 0], [0, 0]], "uint16", 0) == [[0]]
    assert mean([[7, 7], [7, 7]], "uint16", 7) == [[7]]
    assert mean([[-9999, -9999], [-9999, -9999]], "float32", -9999) == [[-9999]]


def test_masked_block_is_0_when_nodata_is_null() -> None:
    assert mean([[5, 6], [7, 8]], "uint8", None, [[0, 0], [0, 0]]) == [[0]]


def test_zeros_count_when_nodata_is_null() -> None:
    assert mean([[1000, 0], [0, 0]], "uint16") == [[250]]


def test_mask_decides_alone() -> None:
    assert mean([[0, 0], [0, 8]], "uint8", 0, [[1, 1], [1, 1]]) == [[2]]
    assert mean([[4, 9], [9, 9]], "uint8", 0, [[1, 0], [0, 0]]) == [[4]]


def test_7_x_5_pixels_become_4_x_3_by_edge_replication() -> None:
    """Case 15."""
    data = np.arange(35, dtype=np.uint8).reshape(1, 7, 5) + 1
    out = next_level(data, None, 0)[0]
    assert out.shape == (4, 3)
    assert out[3, 0] == (31 + 32 + 31 + 32) // 4  # bottom row repeated
    assert out[0, 2] == (5 + 5 + 10 + 10) // 4  # right column repeated
    assert out[3, 2] == 35


def test_edge_replication_repeats_validity_too() -> None:
    """Case 16: a pixel that does not count does not count again as its own repetition."""
    assert mean([[10, 20, 40]], "uint16", 0) == [[15, 40]]
    assert mean([[1], [4], [0]], "uint16", 0) == [[2], [0]]
    assert mean([[8, 1, 5]], "uint8", None, [[1, 0, 0]]) == [[8, 0]]
    assert mean([[8, 2, 5], [8, 2, 70]], "uint8", None, [[1, 1, 1], [1, 1, 0]]) == [[5, 5]]


def test_an_odd_block_inside_the_raster_would_corrupt_the_level() -> None:
    """Case 16: cutting at an odd position repeats a pixel that is not at the raster's edge."""
    data = np.array([[[1, 2, 30, 40]]], np.uint16)
    whole = next_level(data, None, None)
    odd = np.concatenate([next_level(data[..., :3], None, None), next_level(data[..., 3:], None, None)], axis=-1)
    assert whole.tolist() == [[[1, 35]]]
    assert odd.shape != whole.shape


def test_float32_sums_in_the_order_of_the_specification() -> None:
    """Case 17: ((1e30 + 1) + 1) - 1e30 is 0 in float64; another order gives 0.25 or 0.5."""
    assert mean([[1e30, 1], [1, -1e30]], "float32") == [[0.0]]
    assert mean([[1e30, -1e30], [1, 1]], "float32") == [[0.5]]


def test_float32_is_accumulated_in_float64() -> None:
    biggest = float(np.finfo(np.float32).max)
    assert mean([[biggest, biggest], [biggest, biggest]], "float32") == [[biggest]]
    assert mean([[16777216, 1], [1, 1]], "float32") == [[4194305.0]]  # 4194304.75; in float32 the ones would be lost


def test_levels_end_where_the_grid_is_1_x_1() -> None:
    assert default_levels(700, 600, 512) == 2
    assert default_levels(512, 512, 512) == 1
    assert default_levels(513, 1, 512) == 2
    assert default_levels(97, 65, 32) == 3


def test_number_of_levels_must_make_sense() -> None:
    assert check_levels(1) == 1
    for levels in (0, -1, 33):
        with pytest.raises(InputError, match=f"levels is {levels}"):
            check_levels(levels)


@given(st.integers(1, 5000), st.integers(1, 5000), st.sampled_from([2, 32, 512]))
def test_the_last_level_is_the_first_with_one_cell(height: int, width: int, cs: int) -> None:
    n = default_levels(height, width, cs)
    grids = [Layout(1, 1, height, width, cs, n).grid(k) for k in range(n)]
    assert grids.index((1, 1)) == n - 1


def test_padding_repeats_the_last_row_and_column_only_where_odd() -> None:
    assert pad_to_even(np.array([[1, 2, 3]])).tolist() == [[1, 2, 3, 3], [1, 2, 3, 3]]
    assert pad_to_even(np.array([[1, 2], [3, 4]])).tolist() == [[1, 2], [3, 4]]


def test_97_x_65_pixels_equal_a_loop_over_the_whole_array() -> None:
    """Case 15: odd sizes, all levels, in pieces of one cell each."""
    rng = np.random.default_rng(15)
    data = rng.integers(0, 4, (2, 97, 65), dtype=np.uint16) * rng.integers(0, 2**14, (2, 97, 65), dtype=np.uint16)
    layout = Layout(1, 2, 97, 65, 32, default_levels(97, 65, 32))
    for level in range(layout.n_levels - 1):
        whole = slow.next_level(data, None, 0)
        np.testing.assert_array_equal(next_level(data, None, 0), whole)
        rows, cols = layout.grid(level)
        windows = [[layout.cell_window(level, r, c).slices for c in range(cols)] for r in range(rows)]
        cut = np.block([[next_level(data[:, y, x], None, 0) for y, x in row] for row in windows])
        np.testing.assert_array_equal(cut, whole)
        data = whole


@given(st.data())
def test_the_next_level_equals_a_loop_over_pixels(data: st.DataObject) -> None:
    dtype = data.draw(dtypes)
    raster, nodata = data.draw(rasters(dtype)), data.draw(nodatas(dtype))
    mask = data.draw(st.none() | masks(raster.shape[1:]))
    np.testing.assert_array_equal(next_level(raster, mask, nodata), slow.next_level(raster, mask, nodata))


@given(st.data())
def test_the_next_level_does_not_depend_on_the_cut(data: st.DataObject) -> None:
    """Pieces cut at even positions give the whole, whatever their size; only the raster's own edge may be odd."""
    dtype = data.draw(dtypes)
    raster, nodata = data.draw(rasters(dtype)), data.draw(nodatas(dtype))
    mask = data.draw(st.none() | masks(raster.shape[1:]))
    cuts = [sorted({0, n, *(2 * k for k in data.draw(st.sets(st.integers(0, n // 2))))}) for n in raster.shape[1:]]
    (ys, xs) = ([slice(a, b) for a, b in pairwise(c)] for c in cuts)

    def piece(y: slice, x: slice) -> npt.NDArray[Any]:
        return next_level(raster[:, y, x], None if mask is None else mask[y, x], nodata)

    whole = next_level(raster, mask, nodata)
    np.testing.assert_array_equal(np.block([[piece(y, x) for x in xs] for y in ys]), whole)


@given(st.data())
def test_timesteps_and_bands_do_not_mix(data: st.DataObject) -> None:
    raster = data.draw(rasters("uint16", n_band=3))
    masks_t = data.draw(masks((2, *raster.shape[1:])))
    stack = np.stack([raster, raster[::-1]])
    out = next_level(stack, masks_t, 0)
    for t in range(2):
        for b in range(3):
            np.testing.assert_array_equal(out[t, b : b + 1], next_level(stack[t, b : b + 1], masks_t[t], 0))

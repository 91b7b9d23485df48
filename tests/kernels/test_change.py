"""Section 5 compiled: both twins are the reference, bit for bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.format.volatility import change_sum
from chronozarr_dask.kernels import change
from tests.format.strategies import dtypes
from tests.kernels import views

ChangeSums = Callable[..., views.Array]
twins = pytest.mark.parametrize("change_sums", [change.change_sums, change.change_sums_numpy])


@twins
def test_unsigned_values_do_not_wrap_around(change_sums: ChangeSums) -> None:
    data = np.array([[0, 65535, 7], [65535, 0, 7]], np.uint16).reshape(2, 1, 1, 3)
    sums = change_sums(data, np.array([[0, 1], [1, 0], [1, 1]]))
    assert sums.tolist() == [131070, 131070, 0]
    assert sums.dtype == np.int64


@twins
def test_signed_values_do_not_overflow(change_sums: ChangeSums) -> None:
    data = np.array([-32768, 32767], np.int16).reshape(2, 1, 1, 1)
    assert change_sums(data, np.array([[0, 1]])).tolist() == [65535]


@twins
def test_a_large_sum_of_integers_is_exact(change_sums: ChangeSums) -> None:
    data = np.zeros((2, 1, 300, 300), np.uint16)
    data[1] = 65535
    assert change_sums(data, np.array([[1, 0]])).tolist() == [65535 * 90000]


@twins
def test_float32_is_added_one_after_the_other_in_c_order(change_sums: ChangeSums) -> None:
    """2^53 + 1 is 2^53 in float64: after it every 1 is lost, before it none."""
    first = np.ones((1, 1, 3, 3), np.float32)
    first[0, 0, 0, 0] = 2.0**53
    last = np.ascontiguousarray(first[:, :, ::-1, ::-1])
    data = np.concatenate([np.zeros_like(first), first, last])
    sums = change_sums(data, np.array([[1, 0], [2, 0]]))
    assert sums.tolist() == [2.0**53, 2.0**53 + 8]
    assert sums.dtype == np.float64


@twins
def test_no_pair_has_no_sum(change_sums: ChangeSums) -> None:
    assert change_sums(np.zeros((1, 1, 2, 2), np.uint8), np.empty((0, 2), np.intp)).shape == (0,)


@twins
@given(st.data(), dtypes, views.ways)
def test_equals_the_reference(change_sums: ChangeSums, draw: st.DataObject, dtype: str, way: views.Way) -> None:
    data = draw.draw(views.stacks(dtype))
    index = st.integers(0, len(data) - 1)
    pairs = draw.draw(st.lists(st.tuples(index, index), max_size=4))
    sums = change_sums(way(data), np.array(pairs, np.intp).reshape(-1, 2))
    assert sums.tolist() == [change_sum(data[t], data[a]) for t, a in pairs]


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16", "float32"])
def test_equals_the_reference_where_vector_instructions_run(dtype: str) -> None:
    data = (np.random.default_rng(0).normal(size=(3, 2, 61, 67)) * 100).clip(0).astype(dtype)
    pairs = np.array([[0, 2], [1, 2]])
    expected = [change_sum(data[t], data[a]) for t, a in pairs]
    assert change.change_sums(data, pairs).tolist() == expected
    assert change.change_sums_numpy(data, pairs).tolist() == expected

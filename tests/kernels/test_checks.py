"""What only pixels can show."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from chronozarr_dask.kernels import checks
from tests.kernels import views

NAN, INF = np.float32("nan"), np.float32("inf")

PAIRS = [
    (checks.count_not_finite, checks.first_not_finite, lambda v: not np.isfinite(v)),
    (checks.count_nan, checks.first_nan, np.isnan),
    (checks.count_inf, checks.first_inf, np.isinf),
]
odd_floats = st.sampled_from([0.0, -0.0, 1.5, NAN, -NAN, INF, -INF, np.finfo(np.float32).max])


@st.composite
def odd_stacks(draw: st.DrawFn) -> views.Array:
    shape = draw(st.tuples(views.few, views.few, views.sizes, views.sizes))
    return draw(hnp.arrays(np.float32, shape, elements=odd_floats))


def test_counts_and_places() -> None:
    data = np.zeros((2, 1, 2, 3), np.float32)
    data[0, 0, 1, 2] = -INF
    data[1, 0, 0, 1] = NAN
    assert (checks.count_not_finite(data), checks.first_not_finite(data)) == (2, (0, 0, 1, 2))
    assert (checks.count_nan(data), checks.first_nan(data)) == (1, (1, 0, 0, 1))
    assert (checks.count_inf(data), checks.first_inf(data)) == (1, (0, 0, 1, 2))


def test_the_largest_number_is_finite() -> None:
    data = np.full((1, 1, 2, 2), np.finfo(np.float32).max, np.float32)
    assert checks.count_not_finite(data) == 0
    assert checks.first_not_finite(data) is None


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16"])
def test_integers_are_finite(dtype: str) -> None:
    data = np.ones((1, 1, 2, 2), dtype)
    for count, first, _ in PAIRS:
        assert count(data) == 0
        assert first(data) is None


def test_a_mask_is_0_or_1() -> None:
    mask = np.array([[[0, 1], [1, 0]], [[1, 2], [255, 0]]], np.uint8)
    assert (checks.count_not_binary(mask), checks.first_not_binary(mask)) == (2, (1, 0, 1))
    assert (checks.count_not_binary(mask[:1]), checks.first_not_binary(mask[:1])) == (0, None)


@pytest.mark.parametrize(("count", "first", "is_bad"), PAIRS)
@given(data=odd_stacks(), way=views.ways)
def test_equals_a_look_at_every_pixel(
    count: Callable[..., int], first: Callable[..., Any], is_bad: Callable[..., bool], data: views.Array, way: views.Way
) -> None:
    bad = [index for index in product(*map(range, data.shape)) if is_bad(data[index])]
    assert count(way(data)) == len(bad)
    assert first(way(data)) == (bad[0] if bad else None)


def test_a_pixel_is_invalid_where_any_band_is_nan() -> None:
    data = np.array([[[[1, NAN, 3]], [[NAN, 2, INF]]]], np.float32)
    assert checks.nan_mask(data).tolist() == [[[0, 0, 1]]]
    assert checks.nan_mask(data).dtype == np.uint8


def test_fill_where_the_mask_is_0() -> None:
    data = np.arange(1, 9, dtype=np.uint16).reshape(2, 2, 1, 2)
    mask = np.array([[[1, 0]], [[0, 1]]], np.uint8)
    assert checks.fill_where(data, mask, 0).tolist() == [[[[1, 0]], [[3, 0]]], [[[0, 6]], [[0, 8]]]]
    assert data.ravel().tolist() == list(range(1, 9))  # the input is as it was


def test_fill_nan_leaves_everything_else() -> None:
    data = np.array([[[[1, NAN]], [[-0.0, INF]]]], np.float32)
    out = checks.fill_nan(data, -9999)
    assert out.tolist() == [[[[1, -9999]], [[-0.0, INF]]]]
    assert np.signbit(out[0, 1, 0, 0])
    assert np.isnan(data[0, 0, 0, 1])


@given(odd_stacks(), views.ways)
def test_fills_equal_a_look_at_every_pixel(data: views.Array, way: views.Way) -> None:
    mask = checks.nan_mask(way(data))
    filled, replaced = checks.fill_where(way(data), mask, 7), checks.fill_nan(way(data), 7)
    for t, b, y, x in product(*map(range, data.shape)):
        assert mask[t, y, x] == (not any(np.isnan(v) for v in data[t, :, y, x]))
        for out, at in ((filled, not mask[t, y, x]), (replaced, bool(np.isnan(data[t, b, y, x])))):
            assert out[t, b, y, x] == 7 if at else out[t, b, y, x] == data[t, b, y, x]
    assert filled.flags.c_contiguous
    assert replaced.flags.c_contiguous

"""Mean and first valid, and the count: literal cases, both twins, and the same in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.kernels import observations, select
from tests.format.strategies import dtypes
from tests.kernels import observed, views

Kernel = Callable[..., views.Array]
mean_twins = pytest.mark.parametrize("mean", [select.masked_mean, select.masked_mean_numpy])
first_twins = pytest.mark.parametrize("first", [select.first_valid, select.first_valid_numpy])
count_twins = pytest.mark.parametrize("count", [observations.count_valid, observations.count_valid_numpy])


@mean_twins
@pytest.mark.parametrize(
    ("dtype", "seen", "answer"),
    [
        ("uint16", [1, 2, 2], 1),
        ("uint16", [65535, 65535, None, 65534], 65534),
        ("uint16", [7, None], 7),
        ("uint16", [None], 9),
        ("uint8", [255, 255, 255, 254], 254),
        ("int16", [-1, -2], -2),
        ("int16", [-1, 0, 0], -1),
        ("int16", [-32768] * 3, -32768),
        ("float32", [1e30, 1, -1e30], 0.0),
        ("float32", [16777216, 1, 1], 5592406.0),
        ("float32", [3e38, 3e38, 3e38], 3e38),
    ],
)
def test_mean_of_one_pixel(mean: Kernel, dtype: str, seen: list[Any], answer: Any) -> None:
    stack, valid = observed.column(dtype, seen)
    assert mean(stack, valid, 9).tolist() == [[[np.array(answer, dtype).item()]]]


@mean_twins
@given(st.data(), dtypes, views.ways, views.ways)
def test_mean_equals_plain_python(
    mean: Kernel, draw: st.DataObject, dtype: str, way: views.Way, mask_way: views.Way
) -> None:
    stack, valid = draw.draw(observed.observations(dtype))
    out = mean(way(stack), mask_way(valid), 3).astype(dtype)
    assert observed.same_numbers(out, observed.pixel_by_pixel(stack, valid, 3, observed.mean))


@pytest.mark.parametrize("dtype", observed.DTYPES)
@pytest.mark.parametrize("n", [1, 12, 300])
def test_mean_twins_agree_on_many_observations(dtype: str, n: int) -> None:
    stack, valid = observed.many(dtype, n)
    assert observed.same_bits(select.masked_mean(stack, valid, 5), select.masked_mean_numpy(stack, valid, 5))


@first_twins
def test_first_of_one_pixel(first: Kernel) -> None:
    stack, valid = observed.column("uint16", [4, 5, 6], [None, 5, 6], [None, None, 6], [None, None, None])
    assert first(stack, valid, 0).tolist() == [[[4, 5, 6, 0]]]
    assert first(stack, valid, 0, (2, 0, 1)).tolist() == [[[6, 6, 6, 0]]]
    assert first(stack[:, ..., :1], valid[..., :1], 0, (1, 2, 0)).tolist() == [[[5]]]


@first_twins
@given(st.data(), dtypes, views.ways)
def test_first_equals_plain_python(first: Kernel, draw: st.DataObject, dtype: str, way: views.Way) -> None:
    stack, valid = draw.draw(observed.observations(dtype))
    order = draw.draw(st.permutations(range(len(stack))))
    out = first(way(stack), valid, 3, order).astype(dtype)
    assert observed.same_bits(out, observed.pixel_by_pixel(stack[order], valid[order], 3, observed.first))


@given(st.data(), dtypes, views.ways, st.sampled_from([views.dense, views.window]))
def test_merging_twins_agree(draw: st.DataObject, dtype: str, way: views.Way, into: views.Way) -> None:
    stack, flags = draw.draw(observed.observations(dtype, least=2))
    bands, valid = into(stack[:1])[0], into(flags[:1])[0]
    around, flags_around = (np.array(a.base) if into is views.window else None for a in (bands, valid))
    expected, expected_valid = stack[0].copy(), flags[0].copy()
    native = way is not views.other_byte_order
    other = (way if native else views.dense)(stack[1:2])[0]
    select.merge_first(bands, valid, other, way(flags[1:2])[0])
    select.merge_first_numpy(expected, expected_valid, stack[1], flags[1])
    assert observed.same_bits(bands.copy(), expected)
    assert np.array_equal(valid, expected_valid)
    if around is not None and flags_around is not None:
        around[1, 1 : 1 + expected.shape[0], 1 : 1 + expected.shape[1], 1 : 1 + expected.shape[2]] = expected
        flags_around[1, 1 : 1 + valid.shape[0], 1 : 1 + valid.shape[1]] = expected_valid
        assert np.array_equal(around, bands.base)
        assert np.array_equal(flags_around, valid.base)


def test_an_order_names_each_observation_once() -> None:
    stack, valid = observed.column("uint8", [1, 2])
    with pytest.raises(AssertionError, match="each of 2 observations once"):
        select.first_valid(stack, valid, 0, (1, 1))


@count_twins
def test_the_count_saturates(count: Kernel) -> None:
    valid = np.zeros((300, 1, 5), np.uint8)
    for x, n in enumerate((0, 1, 254, 255, 300)):
        valid[:n, 0, x] = 1
    assert count(valid).tolist() == [[0, 1, 254, 255, 255]]
    assert count(valid[:0]).tolist() == [[0] * 5]


@count_twins
@given(st.data(), views.ways)
def test_the_count_equals_plain_python(count: Kernel, draw: st.DataObject, way: views.Way) -> None:
    _, valid = draw.draw(observed.observations("uint8"))
    _, h, w = valid.shape
    assert count(way(valid)).tolist() == [[sum(int(v) for v in valid[:, y, x]) for x in range(w)] for y in range(h)]


@pytest.mark.parametrize("one", [select._mean, select._first, select._merge, observations._add_valid])
def test_kernels_release_the_gil_and_keep_the_order_of_additions(one: Any) -> None:
    assert one.targetoptions["nogil"] is True
    assert not one.targetoptions.get("fastmath")
    assert not one.targetoptions.get("parallel")

"""One value per pixel and band, and the coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.composite.reduce import Method, reduce_observations
from chronozarr_dask.composite.validity import drop_missing
from chronozarr_dask.errors import InputError
from tests.format.strategies import dtypes
from tests.kernels import observed


def composite(method: Method, *series: list[Any], dtype: str = "uint16", order: Any = None) -> tuple[Any, Any]:
    """Values and coverage of one pixel for each series."""
    values, coverage = reduce_observations(*observed.column(dtype, *series), method, 0, order)
    assert values.dtype == dtype
    assert coverage.dtype == np.uint8
    return values[0, 0].tolist(), coverage[0].tolist()


def test_case_11_median_of_integers() -> None:
    series = [[1500, 1503], [1500, None, 1503], [65533, 65535], [7], [None], [1, 2, 65535]]
    assert composite(Method(), *series) == ([1501, 1501, 65534, 7, 0, 2], [2, 2, 2, 1, 0, 3])


def test_case_11_a_pixel_with_a_band_missing_counts_in_no_band() -> None:
    stack = np.array([[0, 900], [40, 800]], np.uint16).reshape(2, 2, 1, 1)
    valid = np.ones((2, 1, 1), np.uint8)
    for flags, bands in zip(valid, stack, strict=True):
        drop_missing(flags, bands, 0)
    values, coverage = reduce_observations(stack, valid, Method(), 0)
    assert (values.reshape(-1).tolist(), coverage.tolist()) == ([40, 800], [[1]])
    values, coverage = reduce_observations(stack[:1], valid[:1], Method(), 0)
    assert (values.reshape(-1).tolist(), coverage.tolist()) == ([0, 0], [[0]])


def test_each_method() -> None:
    seen = [50, None, 15, 20, 40, 35]
    for method, answer in (
        (Method(), 35), (Method("mean"), 32), (Method("first"), 50),
        (Method("percentile", 0), 15), (Method("percentile", 20), 15), (Method("percentile", 20.1), 20),
        (Method("percentile", 40), 20), (Method("percentile", 41), 35), (Method("percentile", 100), 50),
    ):  # fmt: skip
        assert composite(method, seen, [None]) == ([answer, 0], [5, 0])
    assert composite(Method("best"), seen, [None], order=(1, 4, 0, 2, 3, 5)) == ([40, 0], [5, 0])


def test_a_percentile_counts_as_it_is_written() -> None:
    """29 % of 100 is 29, and 0.29 * 100 in binary is a little less; 0.1 % of 1000 is 1, and a little more."""
    assert Method("percentile", 29).ranks(100)[100] == 28
    assert Method("percentile", 0.1).ranks(1000)[1000] == 0
    assert Method("percentile", 55).ranks(20)[20] == 10
    assert Method("percentile", 7.0).ranks(100)[100] == 6


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("mode",), "'mode' is unknown: take one of median, mean, percentile, first, best"),
        (("percentile",), "percentile is None"),
        (("percentile", 101), "percentile is 101"),
        (("percentile", float("nan")), "percentile is nan"),
        (("median", 50), "percentile is 50 and the method is median"),
    ],
)
def test_a_method_that_makes_no_sense_is_named(arguments: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        Method(*arguments)


def test_the_text_of_a_method() -> None:
    assert [Method().text, Method("percentile", 25).text, Method("percentile", 2.5).text] == [
        "median", "percentile 25", "percentile 2.5",
    ]  # fmt: skip


@pytest.mark.parametrize("n", [254, 255, 256, 300])
def test_coverage_saturates_and_the_value_does_not(n: int) -> None:
    stack = np.arange(1, n + 1, dtype=np.uint16).reshape(n, 1, 1, 1)
    values, coverage = reduce_observations(stack, np.ones((n, 1, 1), np.uint8), Method("percentile", 100), 0)
    assert (values.item(), coverage.item()) == (n, min(n, 255))
    values, _ = reduce_observations(stack, np.ones((n, 1, 1), np.uint8), Method(), 0)
    assert values.item() == (n + 1) // 2


@pytest.mark.parametrize("method", [Method(), Method("mean"), Method("percentile", 30), Method("first")])
def test_a_period_without_a_scene(method: Method) -> None:
    values, coverage = reduce_observations(
        np.zeros((0, 3, 4, 5), np.int16), np.zeros((0, 4, 5), np.uint8), method, -9999
    )
    assert values.shape == (3, 4, 5)
    assert (values == -9999).all()
    assert not coverage.any()


def test_an_order_is_for_the_best_alone() -> None:
    with pytest.raises(AssertionError):
        composite(Method("best"), [1, 2])
    with pytest.raises(AssertionError):
        composite(Method("first"), [1, 2], order=(1, 0))


@given(st.data(), dtypes, st.integers(0, 100))
def test_equals_plain_python(draw: st.DataObject, dtype: str, p: int) -> None:
    stack, valid = draw.draw(observed.observations(dtype))
    order = draw.draw(st.permutations(range(len(stack))))
    for method, value, of in (
        (Method("median"), observed.median, None),
        (Method("mean"), observed.mean, None),
        (Method("percentile", p), observed.percentile(p), None),
        (Method("first"), observed.first, None),
        (Method("best"), observed.first, order),
    ):
        values, coverage = reduce_observations(stack, valid, method, 1, of)
        seen = (stack, valid) if of is None else (stack[of], valid[of])
        assert observed.same_numbers(values, observed.pixel_by_pixel(*seen, 1, value))
        assert np.array_equal(coverage, valid.sum(axis=0))


@given(st.data(), st.sampled_from(["uint8", "uint16"]), st.sampled_from(["median", "mean"]))
def test_where_nodata_is_0_a_value_never_is(draw: st.DataObject, dtype: str, name: Any) -> None:
    stack, valid = draw.draw(observed.observations(dtype))
    for flags, bands in zip(valid, stack, strict=True):
        drop_missing(flags, bands, 0)
    values, coverage = reduce_observations(stack, valid, Method(name), 0)
    assert np.array_equal(values != 0, np.broadcast_to(coverage != 0, values.shape))

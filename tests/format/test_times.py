"""Sections 2.2 and 3.2: milliseconds since the epoch and their ISO-8601 rendering."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.errors import InputError, StoreError
from chronozarr_dask.format.times import TIME_CALENDAR, TIME_UNITS, check_increasing, parse_time, render_time
from tests.format import example
from tests.format.strategies import FIRST_MS, LAST_MS

milliseconds = st.integers(FIRST_MS, LAST_MS)


def test_times_of_the_example() -> None:
    assert [render_time(ms) for ms in example.MILLISECONDS] == example.CHRONOZARR["times"]
    assert tuple(parse_time(text) for text in example.CHRONOZARR["times"]) == example.MILLISECONDS
    assert TIME_UNITS == "milliseconds since 1970-01-01T00:00:00"
    assert TIME_CALENDAR == "proleptic_gregorian"


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (1704067200020, "2024-01-01T00:00:00.020Z"),
        (FIRST_MS, "0001-01-01T00:00:00Z"),
        (LAST_MS, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_milliseconds_are_written_where_there_are_any(ms: int, text: str) -> None:
    assert render_time(ms) == text


@pytest.mark.parametrize(
    "text",
    [
        "2024-01-31T23:30:00Z",
        "2024-01-31T23:30:00.000000000Z",
        "2024-01-31T23:30:00+00:00",
        "2024-02-01T01:00:00+01:30",
        "2024-02-01T01:00:00+0130",
        "2024-01-31T23:30:00",
        "2024-01-31T23:30",
    ],
)
def test_other_renderings_of_one_moment_are_read(text: str) -> None:
    assert parse_time(text) == 1706743800000


def test_a_date_is_its_first_moment() -> None:
    assert parse_time("2024-01-01") == 1704067200000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2024-1-1",
        "2024-02-30T00:00:00Z",
        "2024-01-01T25:00:00Z",
        "2024-01-01T00:00:00+99:00",
        "2024-01-01T00:00:00.0001Z",
        "1704067200000",
        1704067200000,
        None,
    ],
)
def test_what_is_no_timestamp_is_named(text: str) -> None:
    with pytest.raises(StoreError, match=r"chronozarr\.times has .*3\.2"):
        parse_time(text)


@pytest.mark.parametrize("ms", [FIRST_MS - 1, LAST_MS + 1, 10**30])
def test_year_without_a_rendering_is_refused(ms: int) -> None:
    with pytest.raises(InputError, match="years 1 to 9999"):
        render_time(ms)


def test_times_must_increase() -> None:
    check_increasing([0])
    check_increasing([0, 1, 86400000])
    with pytest.raises(InputError, match=r"timestep 2 \(1970-01-01T00:00:00\.005Z\) is not after timestep 1"):
        check_increasing([0, 5, 5])
    with pytest.raises(InputError, match="no timestep"):
        check_increasing([])


@given(milliseconds)
def test_a_rendering_parses_to_the_same_millisecond(ms: int) -> None:
    assert parse_time(render_time(ms)) == ms


@given(milliseconds)
def test_numpy_renders_the_same_moment(ms: int) -> None:
    assert np.datetime64(render_time(ms).removesuffix("Z"), "ms") == np.datetime64(ms, "ms")


@given(milliseconds, milliseconds)
def test_renderings_sort_as_the_times_do(a: int, b: int) -> None:
    assert (render_time(a)[:19] < render_time(b)[:19]) == (a // 1000 < b // 1000)

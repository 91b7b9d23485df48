"""Periods of the calendar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.composite import periods
from chronozarr_dask.composite.periods import PERIODS, Period, label, members, start_of, timesteps
from chronozarr_dask.errors import InputError

moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)).map(lambda d: ms(d.isoformat()))
kinds = st.sampled_from(PERIODS)


def ms(text: str) -> int:
    moment = datetime.fromisoformat(text)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def dates(steps: tuple[int, ...]) -> list[str]:
    assert all(step % 86_400_000 == 0 for step in steps)
    return [str(datetime.fromtimestamp(step // 1000, UTC).date()) for step in steps]


@pytest.mark.parametrize(
    ("kind", "moment", "start", "name"),
    [
        ("month", "2024-02-29T23:59:59.999", "2024-02-01", "2024-02"),
        ("month", "1969-12-31T23:59:59.999", "1969-12-01", "1969-12"),
        ("quarter", "2024-01-01", "2024-01-01", "2024-Q1"),
        ("quarter", "2024-06-30T23:59:59.999", "2024-04-01", "2024-Q2"),
        ("quarter", "1960-12-31", "1960-10-01", "1960-Q4"),
        ("year", "2023-12-31T23:59:59.999", "2023-01-01", "2023"),
        ("year", "1969-06-01", "1969-01-01", "1969"),
        ("dekad", "2024-02-10T23:59:59.999", "2024-02-01", "2024-02-01"),
        ("dekad", "2024-02-11", "2024-02-11", "2024-02-11"),
        ("dekad", "2024-02-20T23:59:59.999", "2024-02-11", "2024-02-11"),
        ("dekad", "2024-02-29T12:00", "2024-02-21", "2024-02-21"),
        ("dekad", "2024-01-31T23:59:59.999", "2024-01-21", "2024-01-21"),
        ("day", "2024-02-29T23:59:59.999", "2024-02-29", "2024-02-29"),
        ("day", "1969-12-31T23:59:59.999", "1969-12-31", "1969-12-31"),
        ("day", "2024-02-01T01:30:00+02:00", "2024-01-31", "2024-01-31"),
    ],
)
def test_where_a_moment_falls(kind: Period, moment: str, start: str, name: str) -> None:
    assert start_of(kind, ms(moment)) == ms(start)
    assert label(kind, ms(moment)) == name


def test_case_13_month_edges_and_time_zones() -> None:
    """The third scene is of the last hour of January, in UTC."""
    scenes = (
        "2024-01-31T23:59:59.024+00:00",
        "2024-02-01T00:00:01+00:00",
        "2024-02-01T01:30:00+02:00",
        "2023-02-10T10:00",
    )
    times = [ms(scene) for scene in scenes]
    steps = timesteps("month", ms("2023-02-01"), ms("2024-03-01"))
    found = {label("month", step): scenes for step, scenes in zip(steps, members("month", steps, times), strict=True)}
    assert {name: scenes for name, scenes in found.items() if scenes} == {
        "2023-02": (3,),
        "2024-01": (0, 2),
        "2024-02": (1,),
    }
    assert len(steps) == 13


def test_every_period_of_the_range_is_there() -> None:
    assert dates(timesteps("month", ms("2023-11-15"), ms("2024-02-01"))) == ["2023-11-01", "2023-12-01", "2024-01-01"]
    assert dates(timesteps("month", ms("2024-02-01"), ms("2024-02-01T00:00:00.001"))) == ["2024-02-01"]
    assert dates(timesteps("quarter", ms("2023-12-31"), ms("2024-07-01"))) == ["2023-10-01", "2024-01-01", "2024-04-01"]
    assert dates(timesteps("year", ms("2022-05-05"), ms("2024-01-02"))) == ["2022-01-01", "2023-01-01", "2024-01-01"]
    assert dates(timesteps("dekad", ms("2024-02-15"), ms("2024-03-02"))) == ["2024-02-11", "2024-02-21", "2024-03-01"]


def test_days_are_those_with_a_scene() -> None:
    scenes = ["2024-02-03T10:20", "2024-02-01T00:00", "2024-02-03T10:19:59", "2024-02-05", "2024-01-31T23:59:59"]
    steps = timesteps("day", ms("2024-02-01"), ms("2024-02-05"), [ms(s) for s in scenes])
    assert dates(steps) == ["2024-02-01", "2024-02-03"]
    assert timesteps("day", ms("2024-02-01"), ms("2024-02-05")) == ()


def test_scenes_outside_of_the_range_make_no_timestep() -> None:
    steps = timesteps("month", ms("2024-02-01"), ms("2024-03-01"))
    assert members("month", steps, [ms("2024-01-31"), ms("2024-02-03"), ms("2024-03-01"), ms("2024-02-01")]) == (
        (1, 3),
    )


def test_an_empty_range_is_named() -> None:
    with pytest.raises(InputError, match="from 2024-03-01T00:00:00Z to 2024-02-01T00:00:00Z is empty"):
        timesteps("month", ms("2024-03-01"), ms("2024-02-01"))
    with pytest.raises(InputError, match="is empty"):
        timesteps("day", 0, 0)


def test_each_kind_has_its_adjective() -> None:
    assert set(periods.ADJECTIVES) == set(PERIODS)


@given(kinds, moments)
def test_a_start_is_its_own_period_and_the_moment_before_is_another(kind: Period, moment: int) -> None:
    start = start_of(kind, moment)
    assert start <= moment
    assert start_of(kind, start) == start
    assert start_of(kind, start - 1) < start
    assert label(kind, start) == label(kind, moment) != label(kind, start - 1)


@given(kinds, moments)
def test_equals_the_calendar_of_datetime(kind: Period, moment: int) -> None:
    date = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=moment)).date()
    start = {
        "day": date,
        "dekad": date.replace(day=1 if date.day <= 10 else 11 if date.day <= 20 else 21),
        "month": date.replace(day=1),
        "quarter": date.replace(day=1, month=(date.month - 1) // 3 * 3 + 1),
        "year": date.replace(day=1, month=1),
    }[kind]
    assert start_of(kind, moment) == ms(start.isoformat())


@given(st.sampled_from(["month", "quarter", "year", "dekad"]), moments, st.integers(1, 800))
def test_timesteps_are_the_starts_of_all_moments_of_the_range(kind: Period, start: int, days: int) -> None:
    end = start + days * 86_400_000
    steps = timesteps(kind, start, end)
    assert set(steps) == {start_of(kind, moment) for moment in [*range(start, end, 86_400_000), end - 1]}
    assert list(steps) == sorted(steps)

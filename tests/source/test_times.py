"""Section 2.2: timestamps are kept to the millisecond, or refused."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import cftime
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.times import decode_times

JAN, FEB = 1_704_067_200_000, 1_706_745_600_000  # 2024-01-01 and 2024-02-01


def along(values, **attrs):
    return xr.DataArray(values, dims="time", name="time", attrs=attrs)


def decode(values, **attrs):
    return decode_times(along(values, **attrs), len(values))


@pytest.mark.parametrize("unit", ["M", "D", "h", "m", "s", "ms", "us", "ns"])
def test_datetime64_of_any_unit(unit):
    values = np.array(["2024-01", "2024-02"], f"datetime64[{unit}]")
    # Without xarray between: it would turn most units into one of its own.
    coordinate = xr.DataArray(values, dims="time")
    assert decode_times(coordinate, 2) == (JAN, FEB)


def test_milliseconds_are_kept_and_years_before_1970():
    values = np.array(["1969-12-31T23:59:59.999", "2024-01-31T23:59:59.024"], "datetime64[ns]")
    assert decode(values) == (-1, 1_706_745_599_024)


@pytest.mark.parametrize(
    ("values", "attrs", "ms"),
    [
        ([0, 31], {"units": "days since 2024-01-01"}, (JAN, FEB)),
        ([0.0, 31.0], {"units": "days since 2024-01-01 00:00:00", "calendar": "standard"}, (JAN, FEB)),
        ([0, 744], {"units": "hours since 2024-1-1", "calendar": "gregorian"}, (JAN, FEB)),
        ([0, 44640], {"units": "minutes since 2024-01-01T00:00:00Z"}, (JAN, FEB)),
        ([0, 44640], {"units": "minutes since 2024-01-01 02:00:00 +02:00"}, (JAN, FEB)),
        ([0, 44640], {"units": "minutes since 2023-12-31 22:30 -0130"}, (JAN, FEB)),
        ([1704067200, 1706745600], {"units": "seconds since 1970-01-01 00:00:00.0 UTC"}, (JAN, FEB)),
        (
            [JAN, FEB],
            {"units": "milliseconds since 1970-01-01T00:00:00", "calendar": "proleptic_gregorian"},
            (JAN, FEB),
        ),
        ([JAN * 1000], {"units": "microseconds since 1970-01-01"}, (JAN,)),
        ([JAN * 10**6], {"units": "nanoseconds since 1970-01-01"}, (JAN,)),
        ([0.5], {"units": "seconds since 2024-01-01 00:00:00.25"}, (JAN + 750,)),
        ([1 / 3], {"units": "days since 2024-01-01"}, (JAN + 28_800_000,)),
        ([16450 + 1 / 3], {"units": "days since 1978-12-18"}, (JAN + 28_800_000,)),
        (np.array([0, 31], ">i2"), {"units": "days since 2024-01-01"}, (JAN, FEB)),
        ([0, 3.1], {"units": "days since 2024-01-01", "scale_factor": 10.0}, (JAN, FEB)),
    ],
)
def test_numbers_with_cf_units(values, attrs, ms):
    assert decode(values, **attrs) == ms


@pytest.mark.parametrize("calendar", ["standard", "proleptic_gregorian"])
@pytest.mark.parametrize(
    "origin",
    ["1-1-1", "0400-02-28 06:00:00", "1300-01-01", "1500-02-28", "1500-03-01", "1582-10-04", "1582-10-15", "1900-3-1"],
)
def test_origins_of_long_ago_as_cftime_has_them(calendar, origin):
    units = f"days since {origin}"
    expected = cftime.num2date(738_000, units, calendar)
    got = decode([738_000], units=units, calendar=calendar)[0]
    moment = datetime(1970, 1, 1) + timedelta(milliseconds=got)
    assert (moment.year, moment.month, moment.day, moment.hour) == (
        expected.year,
        expected.month,
        expected.day,
        expected.hour,
    )


@given(st.lists(st.integers(-(10**11), 4 * 10**12), min_size=1, max_size=5, unique=True))
def test_float_days_give_back_the_millisecond(ms):
    ms = sorted(ms)
    if all(b - a > 1 for a, b in pairwise(ms)):
        days = np.array(ms) / 86_400_000  # a double of today's days has 0.3 microseconds to a bit
        assert decode(days, units="days since 1970-01-01") == tuple(ms)


@pytest.mark.parametrize(
    "values",
    [
        ["2024-01-01", "2024-02-01"],
        ["2024-01", "2024-02"],
        ["2024-01-01T00:00:00Z", "2024-02-01T00:00:00.000000000Z"],
        ["2024-01-01T01:00:00+01:00", "2024-01-31T23:00:00-01:00"],
        np.array([b"2024-01-01", b"2024-02-01"]),
        np.array([datetime(2024, 1, 1), datetime(2024, 2, 1)], object),
        np.array(
            [datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 2, 1, 2, tzinfo=timezone(timedelta(hours=2)))], object
        ),
        np.array([pd.Timestamp("2024-01-01", tz="UTC"), pd.Timestamp("2024-02-01 01:00", tz="Europe/Paris")], object),
        np.array([cftime.DatetimeGregorian(2024, 1, 1), cftime.DatetimeGregorian(2024, 2, 1)], object),
        np.array(
            [cftime.DatetimeProlepticGregorian(2024, 1, 1), cftime.DatetimeProlepticGregorian(2024, 2, 1)], object
        ),
    ],
)
def test_texts_and_objects(values):
    assert decode(values) == (JAN, FEB)


def test_a_pandas_index_with_a_time_zone():
    index = pd.DatetimeIndex(["2024-01-01T01:00", "2024-02-01T01:00"]).tz_localize("Europe/Paris")
    assert decode_times(xr.DataArray([0, 0], dims="time", coords={"time": index})["time"], 2) == (JAN, FEB)


@pytest.mark.parametrize(
    ("values", "attrs", "parts"),
    [
        (np.array(["2024-01-01T00:00:00.000001"], "datetime64[us]"), {}, ["timestep 0", "00.000001", "floor('ms')"]),
        (np.array(["2024-01-01", "2024-02-01T00:00:00.000000001"], "datetime64[ns]"), {}, ["timestep 1", "finer"]),
        (["2024-01-01T00:00:00.0001Z"], {}, ["timestep 0", "2024-01-01T00:00:00.0001Z", "millisecond"]),
        ([1.5], {"units": "milliseconds since 2024-01-01"}, ["timestep 0", "1.5 milliseconds since", "finer"]),
        ([1], {"units": "microseconds since 2024-01-01"}, ["timestep 0", "finer"]),
        (np.array([pd.Timestamp("2024-01-01T00:00:00.000000001")], object), {}, ["finer"]),
        (np.array([pd.Timestamp("2024-01-01T00:00:00.000000001", tz="UTC")], object), {}, ["finer"]),
        (np.array(["2024-01-01", "NaT"], "datetime64[ns]"), {}, ["timestep 1", "no time", "isel"]),
        ([0.0, np.nan], {"units": "days since 2024-01-01"}, ["timestep 1", "no time"]),
        ([0, -999], {"units": "days since 2024-01-01", "_FillValue": -999}, ["timestep 1", "fill value"]),
        (np.array([None], object), {}, ["timestep 0", "no time"]),
        (np.array(["2024-02-01", "2024-01-01"], "datetime64[s]"), {}, ["timestep 1", "not after timestep 0", "sort"]),
        (np.array(["2024-02-01", "2024-02-01"], "datetime64[s]"), {}, ["timestep 1", "not after"]),
        ([0, 1, 2], {}, ["plain numbers", "'time'", "units"]),
        ([0], {"units": "m"}, ["plain numbers"]),
        ([0], {"units": "days since 2024-01-01", "calendar": "360_day"}, ["360_day", "convert_calendar"]),
        ([0], {"units": "days since 2024-01-01", "calendar": "NoLeap"}, ["noleap"]),
        (np.array([cftime.Datetime360Day(2024, 2, 30)], object), {}, ["360_day"]),
        (np.array([cftime.DatetimeNoLeap(2024, 2, 28)], object), {}, ["noleap"]),
        (np.array([cftime.DatetimeGregorian(1500, 1, 1)], object), {}, ["Julian", "proleptic_gregorian"]),
        ([0], {"units": "months since 2024-01-01"}, ["'months since 2024-01-01'", "no fixed length"]),
        ([0], {"units": "days since yesterday"}, ["not understood"]),
        ([0], {"units": "days since 2024-02-30"}, ["no valid date"]),
        ([0], {"units": "days since 0000-01-01"}, ["no valid date"]),
        (["soon"], {}, ["timestep 0", "'soon'", "ISO-8601"]),
        (np.array([timedelta(1)], "timedelta64[ns]"), {}, ["timestep 0"]),
        ([10**7], {"units": "days since 1970-01-01"}, ["years 1 to 9999"]),
    ],
)
def test_refused(values, attrs, parts):
    with pytest.raises(InputError) as error:
        decode(values, **attrs)
    assert all(p in str(error.value) for p in parts), str(error.value)


def test_no_coordinate():
    with pytest.raises(InputError, match=r"of length 3, has no coordinate.*assign_coords\(time="):
        decode_times(None, 3)

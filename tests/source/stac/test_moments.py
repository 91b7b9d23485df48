import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.times import render_time
from chronozarr_dask.source.stac.moments import parse_moment


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2024-01-31T23:59:59.024000Z", "2024-01-31T23:59:59.024Z"),
        ("2024-02-01T00:00:01Z", "2024-02-01T00:00:01Z"),
        ("2024-02-01T01:30:00+02:00", "2024-01-31T23:30:00Z"),
        ("2023-02-10T10:00:00Z", "2023-02-10T10:00:00Z"),
        ("2024-01-31T23:59:59.999999999Z", "2024-01-31T23:59:59.999Z"),
        ("2024-01-31T22:00:00-0530", "2024-02-01T03:30:00Z"),
        ("2024-01-31T22:00:00.5-05", "2024-02-01T03:00:00.500Z"),
        ("2024-04-19 04:59:16.653405+00:00", "2024-04-19T04:59:16.653Z"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.999Z"),
        ("2015-07-10", "2015-07-10T00:00:00Z"),
        ("2015-07-10t01:02:03z", "2015-07-10T01:02:03Z"),
        ("2015-07-10T01:02:03", "2015-07-10T01:02:03Z"),
        ("1969-12-31T23:59:59.9Z", "1969-12-31T23:59:59.900Z"),
    ],
)
def test_times_as_items_write_them(text, utc):
    assert render_time(parse_moment(text, "datetime")) == utc


@pytest.mark.parametrize("text", [None, "", 5, "yesterday", "2024-13-01T00:00:00Z", "2024-01-01T25:00:00Z", "2024-01"])
def test_what_is_no_time_is_named(text):
    with pytest.raises(InputError, match="datetime of item 'X' is"):
        parse_moment(text, "datetime of item 'X'")


@given(st.integers(-(10**13), 10**14))
def test_every_millisecond_comes_back(ms):
    assert parse_moment(render_time(ms), "time") == ms

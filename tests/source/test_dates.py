"""The moment in a file's name."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.dates import date_in, has_date


@pytest.mark.parametrize(
    ("name", "moment"),
    [
        ("ndvi_20240131.tif", (2024, 1, 31)),
        ("20240131.tif", (2024, 1, 31)),
        ("ndvi-2024-01-31.tif", (2024, 1, 31)),
        ("ndvi_2024_01_31_v2.tif", (2024, 1, 31)),
        ("ndvi.2024.01.31.tif", (2024, 1, 31)),
        ("ndvi_2024_01.tif", (2024, 1, 1)),
        ("ndvi_2024-01.tif", (2024, 1, 1)),
        ("ndvi_202401.tif", (2024, 1, 1)),
        ("S2_T31UFS_20240131T104321_B04.tif", (2024, 1, 31, 10, 43, 21)),
        ("S2_20240131104321.tif", (2024, 1, 31, 10, 43, 21)),
        ("S2_2024-01-31T10:43:21Z.tif", (2024, 1, 31, 10, 43, 21)),
        ("S2_2024-01-31T10-43.tif", (2024, 1, 31, 10, 43)),
        ("MOD13Q1.A2024033.h18v04.tif", (2024, 2, 2)),
        ("LC80130322024033LGN00_20240202.tif", (2024, 2, 2)),  # digits that run on are no date
        ("LC08_L1TP_013032_20180131_B1.TIF", (2018, 1, 31)),  # a path and row is none
        ("20180131_013032.tif", (2018, 1, 31)),  # nor is it a clock
        ("a_20240131_20240131T104321.tif", (2024, 1, 31, 10, 43, 21)),  # the day of the moment
        ("a_202401_20240131.tif", (2024, 1, 31)),
        ("a_20240131_20240131.tif", (2024, 1, 31)),
        ("20180402/B02.tif", (2018, 4, 2)),  # the folder, where the name has none
        ("20180402/B02_20190101.tif", (2019, 1, 1)),
        ("https://a.org/x_20240131.tif?signed=20250101", (2024, 1, 31)),
    ],
)
def test_common_ways(name, moment):
    assert date_in(name).moment == datetime(*moment)
    assert has_date(name)


@pytest.mark.parametrize(
    "name", ["ndvi.tif", "20241331.tif", "2023366.tif", "tile_1024_2048.tif", "18000101.tif", "20250230.tif"]
)
def test_no_date(name):
    assert not has_date(name)
    with pytest.raises(InputError, match=r"has no date in its name.*--date-format") as error:
        date_in(f"/folder/{name}")
    assert f"/folder/{name}" in str(error.value)


@pytest.mark.parametrize("name", ["LC08_20180131_20180207.tif", "S2A_20180402T093031_R136_20180402T120000.tif"])
def test_two_dates(name):
    with pytest.raises(InputError, match=r"has 2 different dates in its name \(.*--date-format") as error:
        date_in(name)
    assert name in str(error.value)


@pytest.mark.parametrize(
    ("name", "date_format", "moment"),
    [
        ("LC08_20180131_20180207.tif", "LC08_%Y%m%d", (2018, 1, 31)),
        ("LC08_20180131_20180207.tif", "_%Y%m%d.", (2018, 2, 7)),
        ("LC08_013032_20180131_20180207.tif", "LC08_??????_%Y%m%d", (2018, 1, 31)),
        ("S2A_x_y_20180402T093031_R136_20180402T120000.tif", "S2A_*_%Y%m%dT%H%M%S", (2018, 4, 2, 9, 30, 31)),
        ("ndvi_31012024.tif", "%d%m%Y", (2024, 1, 31)),
        ("landcover_2018.tif", "%Y", (2018, 1, 1)),
        ("x_033.24.tif", "%j.%y", (2024, 2, 2)),
        ("x_31Jan2024.tif", "%d%b%Y", (2024, 1, 31)),
        ("100%_2018.tif", "100%%_%Y", (2018, 1, 1)),
        ("2018/04/B02.tif", "%Y/%m/", (2018, 4, 1)),
        ("2018/x/B02.tif", "%Y/?/*", (2018, 1, 1)),
    ],
)
def test_a_format(name, date_format, moment):
    assert date_in(f"/data/{name}", date_format).moment == datetime(*moment)


@pytest.mark.parametrize(
    ("name", "date_format", "why"),
    [
        ("x_20240131.tif", "_%d-%m-%Y", "x_20240131.tif has no date that --date-format '_%d-%m-%Y' finds"),
        ("x_20241331.tif", "%Y%m%d", "has no date"),
        ("x_20240131_20240201.tif", "%Y%m%d", "has 2 different dates"),
        ("x.tif", "%m%d", "has no year"),
        ("x.tif", "%Y%q", "has %q"),
        ("x.tif", "%Y%", "has %:"),
        ("x.tif", "%Y_%Y", "twice"),
    ],
)
def test_a_format_that_does_not_fit(name, date_format, why):
    with pytest.raises(InputError) as error:
        date_in(name, date_format)
    assert why in str(error.value)


@given(st.datetimes(datetime(1900, 1, 1), datetime(2100, 12, 31)), st.sampled_from(["%Y%m%dT%H%M%S", "%Y%m%d", "%Y%j"]))
def test_what_strftime_writes_is_read(moment, how):
    text = moment.strftime(how)
    assert date_in(f"a_{text}_b.tif").moment == datetime.strptime(text, how) == date_in(f"a_{text}.tif", how).moment

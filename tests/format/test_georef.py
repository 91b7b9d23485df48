"""Section 3.3: CRS, transform, resolution, and what other tools read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.georef import Georeference, check_crs, check_transform
from tests.format import example
from tests.format.strategies import georeferences


def test_level_groups_of_the_example() -> None:
    assert example.GEOREF.group_attributes(0) == example.LEVEL_0["attributes"]
    assert example.GEOREF.group_attributes(1) == {
        "crs": "EPSG:32631",
        "transform": [20.0, 0.0, 746090.0, 0.0, -20.0, 2540440.0],
        "resolution": 20.0,
    }


def test_attributes_of_the_data_array_that_other_tools_read() -> None:
    assert example.GEOREF.array_attributes(1, 350, 300) == {
        "crs": "EPSG:32631",
        "transform": [20.0, 0.0, 746090.0, 0.0, -20.0, 2540440.0],
        "proj:code": "EPSG:32631",
        "spatial:dimensions": ["y", "x"],
        "spatial:shape": [350, 300],
        "spatial:transform": [20.0, 0.0, 746090.0, 0.0, -20.0, 2540440.0],
        "spatial:bbox": [746090.0, 2540440.0 - 7000.0, 746090.0 + 6000.0, 2540440.0],
        "_CRS": {"url": "http://www.opengis.net/def/crs/EPSG/0/32631"},
    }


def test_coordinates_are_pixel_centres_y_downwards() -> None:
    assert example.GEOREF.x(0, 2) == [746095.0, 746105.0]
    assert example.GEOREF.y(0, 2) == [2540435.0, 2540425.0]
    assert example.GEOREF.x(1, 1) == [746100.0]


def test_pixels_need_not_be_square() -> None:
    georef = Georeference("EPSG:4326", (0.5, 0.0, -180.0, 0.0, -0.25, 90.0))
    assert georef.resolution(2) == 2.0
    assert georef.level_transform(2) == (2.0, 0.0, -180.0, 0.0, -1.0, 90.0)


@pytest.mark.parametrize(
    "crs", ["", "32631", "epsg:32631", "EPSG:", "EPSG:0632", "EPSG:32631 ", "OGC:CRS84", 32631, None]
)
def test_crs_is_named_by_its_epsg_code(crs: Any) -> None:
    assert check_crs("EPSG:32631") == "EPSG:32631"
    with pytest.raises(InputError, match=r"crs is .*EPSG:32631"):
        check_crs(crs)


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        ((10, 0, 0, 0, -10), "six finite numbers"),
        ((10, 0, float("nan"), 0, -10, 0), "six finite numbers"),
        ((10, 1, 0, 0, -10, 0), "rotated or sheared"),
        ((10, 0, 0, 1, -10, 0), "rotated or sheared"),
        ((10, 0, 0, 0, 10, 0), "south-up"),
        ((-10, 0, 0, 0, -10, 0), "x must increase"),
        ((10, 0, 0, 0, 0, 0), "y decrease"),
    ],
)
def test_grid_that_is_not_north_up_is_refused(transform: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_transform(transform)
    with pytest.raises(InputError, match=message):
        Georeference("EPSG:32631", transform)


@given(georeferences(), st.integers(0, 12))
def test_every_level_keeps_the_corner_and_doubles_the_pixel(georef: Georeference, level: int) -> None:
    a, b, c, d, e, f = georef.level_transform(level)
    assert (b, c, d, f) == georef.transform[1:4] + georef.transform[5:]
    assert (a, e) == (georef.transform[0] * 2**level, georef.transform[4] * 2**level)
    assert georef.resolution(level) == a
    attributes = georef.group_attributes(level)
    assert json.loads(json.dumps(attributes)) == attributes
    again = Georeference(attributes["crs"], tuple(attributes["transform"]))
    assert again.group_attributes(0) == attributes

"""Grids that can, hardly and cannot be where their CRS has them."""

import pyproj
import pytest

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.cube import as_cube
from chronozarr_dask.source.extent import check_extent
from tests.source.cubes import make


def extent(epsg, left, top, pixel, height=10, width=10):
    return check_extent(pyproj.CRS.from_epsg(epsg), (pixel, 0.0, left, 0.0, -pixel, top), (height, width))


@pytest.mark.parametrize(
    ("epsg", "left", "top", "pixel", "shape"),
    [
        (32631, 500_000, 5_000_000, 10, (10, 10)),
        (32631, 500_000, -3_000_000, 10, (10, 10)),  # Landsat, south of the equator in a northern zone
        (3035, 4_972_920, 1_978_670, 10, (10, 10)),
        (3857, 0, 10, 10, (10, 10)),
        (3857, 20_037_000, 10, 100, (10, 100)),  # over the antimeridian
        (4326, -180, 90, 0.25, (720, 1440)),
        (4326, 0, 90, 0.25, (720, 1440)),
        (4326, -1, 91, 2, (91, 180)),  # centres on the poles
        (4326, 170, 10, 1, (10, 30)),  # over the antimeridian
        (4807, 0, 100, 1, (200, 400)),  # in grads
    ],
)
def test_a_grid_that_lies_somewhere(epsg, left, top, pixel, shape):
    assert extent(epsg, left, top, pixel, *shape) == ()


@pytest.mark.parametrize(
    ("epsg", "left", "top", "words"),
    [
        (4326, 5e5, 5e6, "y 4999990 to 5000000, and its CRS is EPSG:4326 (WGS 84), whose latitudes are -90 to 90"),
        (4326, 5e5, 50, "x 500000 to 500010"),
        (4326, 0, 95, "y 85 to 95"),
        (32631, 5e5, 5e12, "where EPSG:32631 (WGS 84 / UTM zone 31N) has no place on the ground"),
    ],
)
def test_a_grid_that_lies_nowhere(epsg, left, top, words):
    with pytest.raises(InputError) as error:
        extent(epsg, left, top, 1)
    assert words in str(error.value)
    assert "crs=" in str(error.value)


def test_degrees_under_a_projected_crs_are_warned_of():
    (text,) = extent(32631, 3.0, 45.0, 0.001)
    assert "looks like degrees, and its CRS is EPSG:32631 (WGS 84 / UTM zone 31N), in metre" in text


def test_a_cube_is_looked_at():
    with pytest.raises(InputError, match="whose latitudes are -90 to 90"):
        as_cube(make(crs="EPSG:4326"))
    assert "looks like degrees" in as_cube(make(y=[3.4, 3.3, 3.2, 3.1], x=[1.1, 1.2, 1.3, 1.4, 1.5])).warnings[0]

"""Section 3.6: what a band is called, and what is known of its values."""

import numpy as np
import pytest
import xarray as xr

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.bands import Band
from chronozarr_dask.source.bands import bands_of, resolve_bands
from tests.source.cubes import make, one_band

AXES = {"time": "time", "band": "band", "y": "y", "x": "x"}
FLAT = {"time": "time", "y": "y", "x": "x"}


def names(array, axes=AXES):
    return [b.name for b in bands_of(array, axes)]


@pytest.mark.parametrize(
    ("array", "axes", "expected"),
    [
        (make(), AXES, ["B04", "B08"]),
        (make(band=np.array([b"B04", b"B08"])), AXES, ["B04", "B08"]),
        (make(band=np.array(["B04", "B08"], object)), AXES, ["B04", "B08"]),
        (make(band=[665, 842]), AXES, ["665", "842"]),
        (make(band=[0.665, 0.842]), AXES, ["0.665", "0.842"]),
        (make(band=None), AXES, ["band_1", "band_2"]),
        (make(band=[1, 2]).assign_attrs(long_name=("red", "nir")), AXES, ["red", "nir"]),  # rioxarray
        (make(band=None).assign_attrs(long_name=["red", "nir"]), AXES, ["red", "nir"]),
        (make().assign_attrs(long_name=("red", "nir")), AXES, ["B04", "B08"]),
        (make(band=[1, 2]).assign_attrs(long_name=("red", "")), AXES, ["1", "2"]),
        (make(band=[1, 2]).assign_attrs(long_name="reflectance"), AXES, ["1", "2"]),
        (one_band("ndvi"), FLAT, ["ndvi"]),
        (one_band(), FLAT, ["band_1"]),
    ],
)
def test_names(array, axes, expected):
    assert names(array, axes) == expected


def test_common_names_scales_and_units():
    array = make().assign_coords(common_name=("band", np.array(["red", "purple"], object)))
    array = array.assign_attrs(scale_factor=0.0001, add_offset=-0.1, units="1")
    assert bands_of(array, AXES) == [Band("B04", "red", 0.0001, -0.1, "1"), Band("B08", None, 0.0001, -0.1, "1")]


DECLARED = [Band("a", scale=0.5, units="K"), Band("b", scale=0.25)]


@pytest.mark.parametrize(
    ("given", "bands"),
    [
        (None, DECLARED),
        (["red", "nir"], [Band("red", scale=0.5, units="K"), Band("nir", scale=0.25)]),
        (iter(["red", "nir"]), [Band("red", scale=0.5, units="K"), Band("nir", scale=0.25)]),
        ([Band("red"), "nir"], [Band("red"), Band("nir", scale=0.25)]),
        (
            [{"common_name": "red"}, {"name": "c", "offset": 1}],
            [Band("a", "red", 0.5, 0.0, "K"), Band("c", None, 0.25, 1.0)],
        ),
    ],
)
def test_the_caller_comes_first(given, bands):
    assert resolve_bands(DECLARED, given) == tuple(bands)


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        (["red"], ["1 entries", "2 bands (a, b)"]),
        (["r", "g", "b"], ["3 entries"]),
        (["red", "red"], ["two bands are named 'red'"]),
        ("ab", ["'ab'", "list"]),
        ([{"nom": "a"}, "b"], ["'nom'", "common_name"]),
        ([3, "b"], ["3", "name"]),
        ([{"scale": "big"}, "b"], ["scale of band 'a'", "'big'"]),
    ],
)
def test_refused(given, parts):
    with pytest.raises(InputError) as error:
        resolve_bands(DECLARED, given)
    assert all(p in str(error.value) for p in parts), str(error.value)


def test_declared_names_that_repeat():
    with pytest.raises(InputError, match="two bands are named 'B04'"):
        resolve_bands(bands_of(make(band=["B04", "B04"]), AXES), None)
    assert [b.name for b in resolve_bands(bands_of(make(band=["B04", "B04"]), AXES), ["a", "b"])] == ["a", "b"]


def test_a_band_coordinate_that_is_not_along_the_axis():
    assert names(xr.DataArray(np.zeros((1, 2, 1, 1)), dims=("time", "band", "y", "x"))) == ["band_1", "band_2"]

"""The variables of a dataset that are rasters of one kind are its bands, in order."""

import numpy as np
import pytest
import xarray as xr

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.variables import pick_arrays
from tests.source.cubes import make, one_band, pixels

FLAT = one_band()


def picked(cube, variable=None, left_out=()):
    return [a.name for a in pick_arrays(cube, variable, left_out)]


def test_an_array_is_itself():
    assert picked(make(name="data")) == ["data"]
    assert picked(make(name="data"), "data") == ["data"]


def test_all_rasters_in_order():
    assert picked(xr.Dataset({"B08": FLAT, "B04": FLAT})) == ["B08", "B04"]
    assert picked(xr.Dataset({"B04": FLAT, "B08": FLAT.transpose("x", "y", "time")})) == ["B04", "B08"]


def test_what_is_no_raster_is_left_out():
    dataset = xr.Dataset(
        {
            "spatial_ref": ((), 0),
            "crs": ((), b""),
            "B04": FLAT.assign_attrs(grid_mapping="utm"),
            "utm": (("n", "m"), np.zeros((1, 1))),
            "quality": ("time", [0, 0, 0]),
            "name": (("time", "y"), np.full((3, 4), "a")),
            "lat_bnds": (("y", "bnds"), np.zeros((4, 2))),
        }
    )
    dataset["y"].attrs["bounds"] = "lat_bnds"
    assert picked(dataset) == ["B04"]


def test_one_variable_with_a_band_axis():
    assert picked(xr.Dataset({"stack": make()})) == ["stack"]


def test_named_variable_and_planes():
    dataset = xr.Dataset({"B04": FLAT, "dem": FLAT.astype("float32").isel(time=0), "valid": FLAT.astype(bool)})
    assert picked(dataset, "dem") == ["dem"]
    assert picked(dataset[["B04", "valid"]], None, {"valid"}) == ["B04"]


@pytest.mark.parametrize(
    ("cube", "variable", "parts"),
    [
        (
            xr.Dataset({"a": FLAT, "b": FLAT.astype("float32")}),
            None,
            ["'a' and 'b'", "dtype (uint16 and float32)", "variable="],
        ),
        (
            xr.Dataset({"a": FLAT, "dem": FLAT.isel(time=0, drop=True)}),
            None,
            ["'a' and 'dem'", "dimensions (time, x, y and x, y)", "cube[[...]]"],
        ),
        (
            xr.Dataset({"a": FLAT, "b": FLAT.rename(x="x20").drop_vars("x20")}),
            None,
            ["dimensions (time, x, y and time, x20, y)"],
        ),
        (
            xr.Dataset({"a": FLAT.assign_attrs(grid_mapping="g"), "b": FLAT.assign_attrs(grid_mapping="h")}),
            None,
            ["grid mapping (g and h)"],
        ),
        (xr.Dataset({"a": make(), "b": make()}), None, ["several variables have a band axis ('a', 'b')", "variable="]),
        (xr.Dataset({"a": FLAT}), "b", ["no variable 'b'", "a (time, y, x)"]),
        (xr.Dataset({"q": ("time", [1, 2])}), None, ["no raster variable", "q (time)"]),
        (xr.Dataset(), None, ["no raster variable", "none"]),
        (make(name="a"), "b", ["variable is 'b'", "'a'", "Dataset"]),
        (pixels(), None, ["ndarray", "xarray DataArray or Dataset"]),
    ],
)
def test_refused(cube, variable, parts):
    with pytest.raises(InputError) as error:
        picked(cube, variable)
    assert all(p in str(error.value) for p in parts), str(error.value)


def test_signs_are_told_by_the_attribute():
    signed = FLAT.astype("int16")
    with pytest.raises(InputError, match="dtype"):
        picked(xr.Dataset({"a": signed, "b": signed.assign_attrs(_Unsigned="true")}))
    assert picked(xr.Dataset({"a": FLAT, "b": signed.assign_attrs(_Unsigned="true")})) == ["a", "b"]

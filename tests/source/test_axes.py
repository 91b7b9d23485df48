import numpy as np
import pytest
import xarray as xr

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.axes import coordinate_along, find_axes, is_geographic, require_axes


def named(*dims, **attrs_of):
    coords = {d: xr.Variable((d,), np.arange(2), a) for d, a in attrs_of.items()}
    return xr.DataArray(np.zeros((2,) * len(dims)), dims=dims, coords=coords)


@pytest.mark.parametrize(
    ("dims", "axes"),
    [
        (("time", "band", "y", "x"), ("time", "band", "y", "x")),
        (("t", "y", "x"), ("time", "y", "x")),
        (("date", "lat", "lon"), ("time", "y", "x")),
        (("longitude", "latitude", "Time"), ("x", "y", "time")),
        (("X", "Y", "T"), ("x", "y", "time")),
        (("northing", "easting", "bands", "datetime"), ("y", "x", "band", "time")),
        (("variable", "time", "y", "x"), ("band", "time", "y", "x")),  # Dataset.to_array()
    ],
)
def test_by_name_in_any_order(dims, axes):
    found = find_axes(named(*dims), "the input")
    assert found == dict(zip(axes, dims, strict=True))


@pytest.mark.parametrize(
    ("attrs", "axis"),
    [
        ({"axis": "T"}, "time"),
        ({"axis": "Y"}, "y"),
        ({"axis": "X"}, "x"),
        ({"standard_name": "time"}, "time"),
        ({"standard_name": "latitude"}, "y"),
        ({"standard_name": "projection_x_coordinate"}, "x"),
        ({"units": "degrees_north"}, "y"),
        ({"units": "degree_N"}, "y"),
        ({"units": "degreesE"}, "x"),
        ({"units": "days since 1990-01-01"}, "time"),
        ({"_CoordinateAxisType": "Lat"}, "y"),
        ({"_CoordinateAxisType": "GeoX"}, "x"),
        ({"_CoordinateAxisType": "Time"}, "time"),
    ],
)
def test_by_attributes(attrs, axis):
    assert find_axes(named("foo", foo=attrs), "the input") == {axis: "foo"}


def test_by_datetime_values():
    array = xr.DataArray([0, 0], dims="obs", coords={"obs": np.array(["2024-01-01", "2024-01-02"], "datetime64[s]")})
    assert find_axes(array, "the input") == {"time": "obs"}


def test_of_a_mask_by_the_cubes_names():
    assert find_axes(named("t", "rows", "cols"), "mask", {"y": "rows", "x": "cols"}) == {
        "time": "t",
        "y": "rows",
        "x": "cols",
    }


@pytest.mark.parametrize(
    ("array", "parts"),
    [
        (
            named("time", "foo", "y", "x"),
            ["variable 'B04'", "('time', 'foo', 'y', 'x')", "'foo'", "rename({'foo': 'band'})"],
        ),
        (named("a", "b", "c"), ["'a', 'b', 'c'", "rename({'a': 'time'})"]),
        (named("time", "depth", "y", "x").isel(depth=[0]), ["'depth'", "squeeze('depth')"]),
        (named("time", "t", "y", "x"), ["'time' and 't'", "both look like time"]),
        (named("lat", "y", "x"), ["'lat' and 'y'", "both look like y"]),
    ],
)
def test_not_recognised(array, parts):
    with pytest.raises(InputError) as error:
        find_axes(array, "variable 'B04'")
    assert all(p in str(error.value) for p in parts), str(error.value)


@pytest.mark.parametrize(
    ("array", "parts"),
    [
        (named("y", "x"), ["no time axis", "expand_dims(time=[np.datetime64("]),
        (
            named("y", "x").assign_coords(time=np.datetime64("2024-01-01", "ns")),
            ["no time axis", "expand_dims('time')"],
        ),
        (named("time", "x"), ["no y axis", "('time', 'x')"]),
        (named("time", "y"), ["no x axis", "rename"]),
    ],
)
def test_required(array, parts):
    with pytest.raises(InputError) as error:
        require_axes(find_axes(array, "the input"), array, "the input")
    assert all(p in str(error.value) for p in parts), str(error.value)


def test_the_hint_for_a_missing_time_works():
    array = named("y", "x")
    require_axes(find_axes(array.expand_dims(time=[np.datetime64("2024-01-01")]), "a"), array, "a")
    scalar = array.assign_coords(time=np.datetime64("2024-01-01", "ns")).expand_dims("time")
    require_axes(find_axes(scalar, "a"), scalar, "a")


@pytest.mark.parametrize(
    ("array", "told"),
    [
        (named("lat", "lon"), True),
        (named("Latitude", "long"), True),
        (named("y", "x"), False),
        (named("y", "x", y={"units": "degrees_north"}, x={"units": "degrees_east"}), True),
        (named("y", "x", y={"units": "degrees_north"}), False),
    ],
)
def test_geographic_axes(array, told):
    assert is_geographic(array, dict(zip("yx", array.dims, strict=True))) == told


def test_a_coordinate_of_another_name_along_the_dimension():
    array = named("t").assign_coords(time=("t", np.array(["2024-01-01", "2024-01-02"], "datetime64[s]")))
    assert coordinate_along(array, "time", "t").name == "time"
    assert coordinate_along(named("t"), "time", "t") is None
    assert coordinate_along(array.assign_coords(t=[0, 1]), "time", "t").name == "t"
    plane = named("t", "y").assign_coords(time=(("t", "y"), np.zeros((2, 2), "datetime64[s]")))
    assert coordinate_along(plane, "time", "t") is None

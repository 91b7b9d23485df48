"""Sections 2.4 and 2.5: the mask and the coverage of an input lie on its grid."""

import numpy as np
import pytest
import xarray as xr

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.cube import as_cube
from tests.source.cubes import TIMES, X, Y, bomb, lazily, make, one_band

VALID = (one_band().drop_attrs() % 3 > 0).drop_vars("band", errors="ignore")
CUBE = make()


@pytest.mark.parametrize("plane", ["mask", "coverage"])
@pytest.mark.parametrize(
    "given",
    [
        VALID,
        VALID.transpose("x", "time", "y"),
        VALID.drop_vars(["time", "y", "x"]),
        VALID.rename(time="t", y="lat", x="lon"),
        VALID.drop_vars(["time", "y", "x"]).rename(time="date", y="latitude", x="longitude"),
        VALID.astype("uint8"),
        VALID.astype(">i4"),
        VALID.astype("int64"),
        VALID.chunk({"time": 1}),
        lazily(VALID)[0],
    ],
)
def test_any_order_name_and_integer(plane, given):
    out = getattr(as_cube(CUBE, **{plane: given}), plane)
    assert out.dims == ("time", "y", "x")
    assert out.dtype == ("uint8" if given.dtype.kind == "b" else given.dtype.newbyteorder("="))
    np.testing.assert_array_equal(out.values, VALID.values)


def test_by_the_cubes_own_dimension_names():
    cube = CUBE.rename(y="row", x="col")
    cube["row"].attrs["axis"], cube["col"].attrs["axis"] = "Y", "X"
    mask = VALID.drop_vars(["y", "x"]).rename(y="row", x="col")
    np.testing.assert_array_equal(as_cube(cube, mask=mask).mask.values, VALID.values)


def test_by_name_in_a_dataset_and_as_a_coordinate():
    dataset = xr.Dataset({"B04": one_band(), "valid": VALID, "n": VALID.astype("uint8")}, attrs={"crs": "EPSG:32631"})
    cube = as_cube(dataset, mask="valid", coverage="n")
    assert [b.name for b in cube.bands] == ["B04"]
    np.testing.assert_array_equal(cube.mask.values, VALID.values)
    np.testing.assert_array_equal(cube.coverage.values, VALID.values)
    along = CUBE.assign_coords(valid=VALID)
    np.testing.assert_array_equal(as_cube(along, mask="valid").mask.values, VALID.values)


def test_not_computed():
    mask = xr.DataArray(bomb((3, 4, 5), (1, 4, 5), "bool"), dims=("time", "y", "x"))
    out = as_cube(CUBE, mask=mask).mask
    assert out.dtype == "uint8"
    assert out.chunks == ((1, 1, 1), (4,), (5,))
    lazy, counting = lazily(VALID)
    out = as_cube(CUBE, coverage=lazy).coverage
    assert counting.n_read == 0
    assert out.isel(time=1, y=slice(1, 3)).values.dtype == np.uint8
    assert counting.windows == [(1, 2, 5)]


SHIFTED = {
    "x": VALID.assign_coords(x=X + 5),
    "y": VALID.assign_coords(y=Y[::-1]),
    "time": VALID.assign_coords(time=TIMES + np.timedelta64(1, "D")),
}


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        (VALID.isel(time=0, drop=True), ["mask has dimensions ('y', 'x') and shape (4, 5)", "(3, 4, 5)", "broadcast"]),
        (make() > 0, ["('time', 'band', 'y', 'x')", "(3, 2, 4, 5)", "select one band"]),
        (VALID.isel(x=slice(3)), ["mask has shape (3, 4, 3)", "the cube has (3, 4, 5)"]),
        (VALID.isel(time=[0]), ["(1, 4, 5)", "(3, 4, 5)"]),
        (VALID.astype("float32"), ["mask has dtype float32", "astype('uint8')"]),
        (VALID.rename(x="foo").drop_vars("foo"), ["mask has dimensions", "'foo'"]),
        (SHIFTED["x"], ["x coordinate 0 of mask is 500010.0", "500005.0", "reindex_like"]),
        (SHIFTED["y"], ["y coordinate 0 of mask is 4999965.0", "4999995.0"]),
        (SHIFTED["time"], ["timestep 0 of mask is 2024-01-02T00:00:00Z", "2024-01-01T00:00:00Z"]),
        ("valid", ["mask is 'valid'", "time, band, y, x"]),
        (VALID.values, ["mask is a ndarray", "DataArray (time, y, x)"]),
    ],
)
def test_refused(given, parts):
    with pytest.raises(InputError) as error:
        as_cube(CUBE, mask=given)
    assert all(p in str(error.value) for p in parts), str(error.value)


def test_a_mask_and_nan_to_mask_are_one_too_many():
    with pytest.raises(InputError, match="mask and nan_to_mask are both given"):
        as_cube(CUBE.astype("float32"), mask=VALID, nan_to_mask=True)


def test_float32_coordinates_agree_as_far_as_they_can():
    assert as_cube(CUBE, mask=VALID.assign_coords(x=X.astype("float32"), y=Y.astype("float32"))).mask is not None
    between = Y + 0.2  # a float32 of five million holds halves
    assert as_cube(make(y=between), mask=VALID.assign_coords(y=between.astype("float32"))).mask is not None
    lon = np.arange(5) * 0.1 + 0.05
    cube = make(x=lon, y=Y)
    assert as_cube(cube, mask=VALID.assign_coords(x=lon.astype("float32"))).mask is not None

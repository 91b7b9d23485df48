"""From any cube of rasters to the normalised one: order, names, laziness, and one clear error for what cannot be."""

import pickle
import subprocess
import sys
from itertools import permutations

import dask.array as da
import numpy as np
import pytest
import rasterio
import rioxarray  # noqa: F401
import xarray as xr

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.bands import Band
from chronozarr_dask.format.georef import Georeference
from chronozarr_dask.source.cube import as_cube
from tests.source.cubes import TIMES, TRANSFORM, X, Y, bomb, lazily, make, one_band, pixels

MS = (1_704_067_200_000, 1_706_745_600_000, 1_709_251_200_000)
GEOREF = Georeference("EPSG:32631", TRANSFORM)


def refusal(cube, **how):
    with pytest.raises(InputError) as error:
        as_cube(cube, **how)
    return str(error.value)


def values(cube):
    return np.concatenate([p.values for p in cube.parts], axis=1)


def test_what_a_plain_cube_becomes():
    cube = as_cube(make())
    assert (cube.n_time, cube.n_band, cube.height, cube.width) == (3, 2, 4, 5)
    assert cube.times == MS
    assert cube.bands == (Band("B04"), Band("B08"))
    assert cube.georef == GEOREF
    assert (cube.dtype, cube.nodata, cube.mask, cube.coverage, cube.warnings) == ("uint16", 0, None, None, ())
    (part,) = cube.parts
    assert part.dims == ("time", "band", "y", "x")
    assert not part.coords
    np.testing.assert_array_equal(part.values, pixels())


@pytest.mark.parametrize("order", list(permutations(("time", "band", "y", "x"))))
@pytest.mark.parametrize("kind", ["numpy", "dask", "file"])
def test_any_order(order, kind):
    array = make().transpose(*order)
    cube = as_cube({"numpy": array, "dask": array.chunk(time=1, x=2), "file": lazily(array)[0]}[kind])
    np.testing.assert_array_equal(values(cube), pixels())
    assert (cube.times, cube.georef) == (MS, GEOREF)


@pytest.mark.parametrize(
    "names",
    [
        {"time": "t", "y": "lat", "x": "lon"},
        {"time": "date", "y": "latitude", "x": "longitude"},
        {"y": "Y", "x": "X", "band": "bands"},
        {"y": "northing", "x": "easting"},
    ],
)
def test_any_name(names):
    cube = as_cube(make().rename(names))
    np.testing.assert_array_equal(values(cube), pixels())
    assert (cube.times, cube.georef, cube.bands) == (MS, GEOREF, (Band("B04"), Band("B08")))


def test_three_dimensions_are_one_band():
    for name, expected in (("ndvi", "ndvi"), (None, "band_1")):
        cube = as_cube(one_band(name))
        assert cube.bands == (Band(expected),)
        np.testing.assert_array_equal(values(cube), pixels()[:, :1])


@pytest.mark.parametrize("kind", ["numpy", "dask", "file"])
def test_variables_of_a_dataset_are_bands(kind):
    def source(b):
        array = make().isel(band=b, drop=True).drop_attrs()
        array.attrs = {"scale_factor": 0.1 * (b + 1), "units": "K", "_FillValue": 9, "long_name": f"band {b}"}
        return {"numpy": array, "dask": array.chunk(y=2), "file": lazily(array)[0]}[kind]

    dataset = xr.Dataset({"B04": source(0), "B08": source(1), "spatial_ref": ((), 0, {"epsg_code": 32631})})
    cube = as_cube(dataset)
    assert cube.bands == (Band("B04", scale=0.1, units="K"), Band("B08", scale=0.2, units="K"))
    assert [p.shape for p in cube.parts] == [(3, 1, 4, 5)] * 2
    assert (cube.nodata, cube.georef) == (9, GEOREF)
    np.testing.assert_array_equal(values(cube), pixels())
    only = as_cube(dataset, variable="B08")
    assert [b.name for b in only.bands] == ["B08"]
    np.testing.assert_array_equal(values(only), pixels()[:, 1:])


def test_a_dataset_of_one_stack():
    cube = as_cube(xr.Dataset({"stack": make()}))
    assert cube.n_band == 2
    np.testing.assert_array_equal(values(cube), pixels())


def test_a_cube_of_rioxarray():
    array = make(band=[1, 2], crs=None).assign_attrs(
        long_name=("red", "nir"), scales=(0.1, 0.2), offsets=(0.0, -1.0), _FillValue=7
    )
    cube = as_cube(array.rio.write_crs(32631).rio.write_transform(rasterio.Affine(*TRANSFORM)))
    assert cube.bands == (Band("red", scale=0.1), Band("nir", scale=0.2, offset=-1.0))
    assert (cube.nodata, cube.georef) == (7, GEOREF)
    np.testing.assert_array_equal(values(cube), pixels())


# ---- laziness ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16", "float32", ">u2", ">f4"])
def test_dask_arrays_are_not_computed_nor_rechunked(dtype):
    array = make(bomb((5, 4, 2, 3), ((3, 2), (4,), (1, 1), (1, 2)), dtype), time=None, band=None, x=None, y=None)
    array = array.rename(time="x", band="y", y="band", x="time").assign_coords(time=TIMES, y=Y, x=X)
    cube = as_cube(array)
    assert cube.parts[0].chunks == ((1, 2), (1, 1), (4,), (3, 2))
    assert cube.dtype == np.dtype(dtype).name
    with pytest.raises(AssertionError, match="a block was computed"):
        cube.parts[0].compute(scheduler="synchronous")


@pytest.mark.parametrize("dtype", ["uint16", ">u2", "int16"])
def test_files_are_not_read(dtype):
    lazy, counting = lazily(make(pixels().astype(dtype)).transpose("x", "y", "band", "time"))
    cube = as_cube(lazy)
    assert counting.n_read == 0
    np.testing.assert_array_equal(cube.parts[0].isel(y=slice(1, 2)).values, pixels()[:, :, 1:2])
    assert counting.windows == [(5, 1, 2, 3)]


def test_a_selection_of_a_file_is_read_by_window_too():
    lazy, counting = lazily(make(y=Y[::-1]))
    cube = as_cube(lazy.sortby("y", ascending=False).isel(x=slice(1, 4)))
    assert counting.n_read == 0
    assert cube.georef.transform == (10.0, 0.0, 500_010.0, 0.0, -10.0, 5_000_000.0)
    np.testing.assert_array_equal(cube.parts[0].isel(time=0).values, pixels()[0, :, ::-1, 1:4])


def test_a_cube_can_be_pickled():
    cube = pickle.loads(pickle.dumps(as_cube(lazily(make())[0])))
    np.testing.assert_array_equal(values(cube), pixels())


def test_importing_it_is_quiet():
    code = (
        "import sys, chronozarr_dask.source.files, chronozarr_dask.source.cube as c; print('dask.array' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert (ran.stdout.strip(), ran.stderr) == ("False", "")


def test_the_input_is_not_changed():
    array = make().transpose("x", "y", "band", "time")
    before = array.copy(deep=True)
    as_cube(array, bands=["a", "b"], nodata=3)
    assert array.identical(before)


# ---- dtype and nodata ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "attrs", "nodata", "resolved"),
    [
        ("uint8", {}, "default", 0),
        ("uint16", {}, "default", 0),
        ("int16", {}, "default", None),
        ("float32", {}, "default", None),
        ("uint16", {"_FillValue": 5}, "default", 5),
        ("int16", {"nodata": -999}, "default", -999),
        ("float32", {"_FillValue": np.float32("nan")}, "default", None),
        ("uint16", {"_FillValue": 5}, 7, 7),
        ("uint16", {"_FillValue": 5}, None, None),
        ("uint16", {"_FillValue": -9999}, 7, 7),
        ("float32", {}, -1, -1.0),
    ],
)
def test_nodata(dtype, attrs, nodata, resolved):
    array = make(pixels().astype(dtype)).assign_attrs(attrs)
    cube = as_cube(array, nodata=nodata)
    assert cube.nodata == resolved
    assert type(cube.nodata) is type(resolved)
    assert as_cube(array, nodata=nodata, mask=one_band() > 0).nodata == resolved


def test_unsigned_numbers_of_netcdf():
    array = make(pixels().view(np.int16) - np.int16(1)).assign_attrs(_Unsigned="true", _FillValue=np.int16(-1))
    cube = as_cube(array)
    assert (cube.dtype, cube.nodata) == ("uint16", 65535)
    np.testing.assert_array_equal(values(cube), pixels() - np.uint16(1))


@pytest.mark.parametrize("dtype", ["float64", "int32", "int64", "uint32", "int8", "bool", "complex64"])
def test_dtypes_that_the_format_lacks(dtype):
    text = refusal(make(pixels().astype(dtype), name="B"))
    assert all(p in text for p in (f"variable 'B': dtype {dtype}", "uint8, uint16, int16, float32", ".astype("))


def test_a_file_opened_with_scaling(tmp_path):
    dataset = one_band("B04").to_dataset().assign_attrs(crs="EPSG:32631")
    dataset["B04"].encoding = {"scale_factor": 0.0001, "add_offset": -0.1, "dtype": "uint16", "_FillValue": 65535}
    (dataset.astype("float64") * 0.0001).to_netcdf(
        tmp_path / "a.nc", engine="netcdf4", encoding={"B04": dataset["B04"].encoding}
    )
    with xr.open_dataset(tmp_path / "a.nc", engine="netcdf4") as opened:
        text = refusal(opened)
        assert all(p in text for p in ("variable 'B04' is float", "scale_factor 0.0001", "mask_and_scale=False"))
    with xr.open_dataset(tmp_path / "a.nc", engine="netcdf4", mask_and_scale=False) as opened:
        cube = as_cube(opened)
        assert (cube.dtype, cube.nodata) == ("uint16", 65535)
        assert cube.bands == (Band("B04", scale=0.0001, offset=-0.1),)


# ---- what a person is told -----------------------------------------------------------------------------------------


def test_warnings():
    lon, lat = np.arange(5) * 0.5 + 10.25, 45.25 - np.arange(4) * 0.5
    cube = as_cube(make(x=lon, y=lat, crs="EPSG:4326").rename(x="lon", y="lat"))
    assert len(cube.warnings) == 1
    assert "EPSG:4326" in cube.warnings[0]
    assert cube.georef.transform == (0.5, 0.0, 10.0, 0.0, -0.5, 45.5)
    assert "Web Mercator" in as_cube(make(crs="EPSG:3857")).warnings[0]


def of_files_with_a_mask():
    out = xr.Dataset({"data": make(), "mask": one_band().astype("uint8") % 2})
    out.encoding["mask"] = "mask"
    return out


def test_the_mask_that_files_have_is_the_default():
    files = of_files_with_a_mask()
    assert (as_cube(files).mask.values == files.mask.values).all()
    assert as_cube(files, variable="data").mask is None
    other = files.assign(other=1 - files.mask)
    other.encoding["mask"] = "mask"
    assert (as_cube(other.drop_vars("mask"), mask="other").mask.values == 1 - files.mask.values).all()
    assert "nan_to_mask makes another" in refusal(files, nan_to_mask=True)
    assert as_cube(files, variable="data", nan_to_mask=True).mask is None
    assert as_cube(files[["data"]]).mask is None


FLAT = one_band(crs=None)
UNKNOWN = da.from_array(pixels()[0, 0])[da.from_array(np.ones(4, bool))][None]  # as a boolean selection leaves it


@pytest.mark.parametrize(
    ("cube", "how", "parts"),
    [
        (xr.DataArray(UNKNOWN, dims=("time", "y", "x")), {}, ["unknown shape (1, nan, 5)", "compute_chunk_sizes()"]),
        (make(crs=None), {}, ["no CRS", "crs='EPSG:32631'"]),
        (make(crs=None).rename(y="lat", x="lon"), {}, ["latitude and longitude", "crs='EPSG:4326'"]),
        (make(), {"crs": "EPSG:3035"}, ["EPSG:3035", "EPSG:32631"]),
        (make(time=None), {}, ["of length 3", "no coordinate"]),
        (make().isel(time=0), {}, ["no time axis", "expand_dims('time')"]),
        (make().isel(time=slice(0, 0)), {}, ["no element along time", "(0, 2, 4, 5)"]),
        (make(y=Y[::-1]), {}, ["south-up"]),
        (make(name="B").rename(band="foo"), {}, ["variable 'B'", "'foo'"]),
        (make(), {"nodata": -1}, ["nodata is -1", "0 to 65535"]),
        (make(), {"nodata": "none"}, ["nodata is 'none'", "'default'"]),
        (make(), {"nodata": float("nan")}, ["nan", "nan_to_mask"]),
        (make(), {"bands": ["a"]}, ["1 entries", "2 bands"]),
        (make(band=["a", "a"]), {}, ["two bands are named 'a'"]),
        (
            xr.Dataset({"a": FLAT.assign_attrs(_FillValue=0), "b": FLAT.assign_attrs(_FillValue=9)}),
            {"crs": 32631},
            ["variable 'a' declares nodata 0", "variable 'b' declares 9", "nodata="],
        ),
        (xr.Dataset({"a": FLAT, "b": FLAT.astype("uint8")}), {"crs": 32631}, ["'a' and 'b'", "dtype"]),
    ],
)
def test_refused(cube, how, parts):
    text = refusal(cube, **how)
    assert all(p in text for p in parts), text
    assert "\n" not in text

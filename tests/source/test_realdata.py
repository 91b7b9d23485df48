"""Cubes that others wrote: each opens, exactly, or gets one error that says how it would."""

import netCDF4
import numpy as np
import pytest
import rasterio
import rasterio.windows
import rioxarray

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.cube import as_cube
from chronozarr_dask.source.files import open_source
from chronozarr_dask.source.view import is_in_memory

DAY = 86_400_000  # milliseconds
DAYS_TO_1990 = 7_305
OPENEO = "sentinel2/gfmap_cdse_nc"
UTM31 = "EPSG:32631"


@pytest.mark.parametrize(
    ("path", "shape", "dtype", "crs", "transform", "first_day"),
    [
        ("sentinel2/worldcereal/worldcereal_preprocessed_inputs.nc", (12, 15, 100, 100), "uint16", UTM31,
         (10.0, 0.0, 664_000.0, 0.0, -10.0, 5_612_120.0), "2020-11-01"),
        (f"{OPENEO}/bap_composited_cdse.nc", (12, 3, 66, 64), "float32", UTM31,
         (10.0, 0.0, 643_260.0, 0.0, -10.0, 5_676_480.0), "2022-11-01"),
        (f"{OPENEO}/bap_quintad_cdse.nc", (20, 5, 66, 64), "float32", UTM31,
         (10.0, 0.0, 643_260.0, 0.0, -10.0, 5_676_480.0), "2022-11-01"),
        (f"{OPENEO}/cdse_sentinel2_l2a.nc", (12, 6, 66, 64), "uint16", UTM31,
         (10.0, 0.0, 643_260.0, 0.0, -10.0, 5_676_480.0), "2023-04-02"),
        (f"{OPENEO}/openEO_5.nc", (19, 3, 75, 140), "uint16", "EPSG:3035",
         (10.0, 0.0, 4_972_922.780323621, 0.0, -10.0, 1_978_678.8355171906), "2023-06-23"),
        (f"{OPENEO}/test_optical_cube.nc", (19, 5, 52, 46), "uint16", UTM31,
         (10.0, 0.0, 587_880.0, 0.0, -10.0, 5_685_430.0), "2023-10-02"),
    ],
)  # fmt: skip
def test_cubes_of_openeo(realdata, path, shape, dtype, crs, transform, first_day):
    cube = as_cube(open_source(realdata / path))
    assert (cube.n_time, cube.n_band, cube.height, cube.width) == shape
    assert (cube.dtype, cube.georef.crs, cube.georef.transform) == (dtype, crs, transform)
    assert cube.times[0] == int(np.datetime64(first_day, "ms").astype(np.int64))
    assert not any(map(is_in_memory, cube.parts))
    with netCDF4.Dataset(realdata / path) as raw:
        raw.set_auto_maskandscale(False)
        assert raw["t"].units == "days since 1990-01-01"
        assert cube.times == tuple((int(day) + DAYS_TO_1990) * DAY for day in raw["t"][:])
        for band, part in zip(cube.bands, cube.parts, strict=True):
            stored = np.ascontiguousarray(raw[band.name][:])
            assert part.values.tobytes() == stored.tobytes()  # bit for bit: _Unsigned changes no bit


@pytest.mark.parametrize(
    ("path", "how", "parts"),
    [
        ("gridded/bcsd_obs_1999.nc", {}, ["latitude and longitude", "crs='EPSG:4326'"]),
        ("gridded/bcsd_obs_1999.nc", {"crs": 4326}, ["south-up", "33.0625"]),
        ("gridded/tos_O1_2001-2002.nc", {"crs": 4326}, ["360_day"]),
        ("zarr/sic_daily_sample.zarr.zip", {}, ["crs='EPSG:4326'"]),
        ("zarr/sic_daily_sample.zarr.zip", {"crs": 4326}, ["south-up"]),
        ("odd/georust/byte_no_cf.zarr.zip", {}, ["no time axis"]),
    ],
)
def test_cubes_that_need_a_hand(realdata, path, how, parts):
    with pytest.raises(InputError) as error:
        as_cube(open_source(realdata / path), **how)
    assert all(p in str(error.value) for p in parts), str(error.value)


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("odd/georust/cf_nasa_4326.zarr.zip", ["group without arrays"]),
        ("zarr/zarrita_v3.zarr", ["dimension_names"]),
        ("zarr/zarrita_v3.zarr/3d.chunked.i2", ["single Zarr array"]),
        ("odd/rasterio/byte.tif", ["is a TIFF"]),
        ("README.md", ["neither a NetCDF file nor a Zarr store"]),
    ],
)
def test_what_is_no_cube(realdata, path, parts):
    with pytest.raises(InputError) as error:
        open_source(realdata / path)
    assert all(p in str(error.value) for p in parts), str(error.value)


def test_a_cube_that_was_given_a_hand(realdata):
    source = open_source(realdata / "gridded/bcsd_obs_1999.nc").sortby("latitude", ascending=False)
    cube = as_cube(source, crs="EPSG:4326")
    assert [b.name for b in cube.bands] == ["pr", "tas"]
    assert [b.units for b in cube.bands] == ["mm/m", "C"]
    assert (cube.dtype, cube.nodata) == ("float32", float(np.float32(1e20)))
    assert cube.georef.transform == (0.125, 0.0, -85.0, 0.0, -0.125, 37.125)
    assert cube.times[0] == int(np.datetime64("1999-01-31", "ms").astype(np.int64))
    assert len(cube.warnings) == 1
    with netCDF4.Dataset(realdata / "gridded/bcsd_obs_1999.nc") as raw:
        raw.set_auto_maskandscale(False)
        for band, part in zip(cube.bands, cube.parts, strict=True):
            assert part.values.tobytes() == raw[band.name][:][:, ::-1].tobytes()


RASTERS = {
    "cogeotiff/DEM_BS28_2016_1000_1141.tif": None,
    "cogeotiff/rgba8_cog_big.tiff": None,
    "cogeotiff/sparse.tiff": None,
    "gdalraster/sr_b4_20200829.tif": None,
    "georust/labels.tif": None,
    "georust/offset_scaled_tinymarble.tif": None,
    "odc_geo/au-3577.tif": None,
    "rasterio/RGBA.uint16.tif": None,
    "rasterio/all-nodata.tif": None,
    "rasterio/byte.tif": None,
    "rasterstats/all_nodata.tif": None,
    "rasterstats/dataset_mask.tif": None,
    "rio_cogeo/image_rgb_mask.tif": None,
    "titiler/cog_with_nan.tif": None,
    "titiler/dem.tif": None,
    "cogeotiff/big.endian.tiff": "no CRS",
    "cogeotiff/model_transformation.tif": "dtype int8",
    "gdalraster/complex.tif": "dtype complex64",
    "gdalraster/geomatrix.tif": "rotated or sheared",
    "gdalraster/int64.tif": "dtype int64",
    "gdalraster/south-up.tif": "south-up",
    "georust/dem-hills.tiff": "'unknown', for which there is no EPSG code",
    "georust/gcp.tif": "ground control points",
    "georust/tinymarble.tif": "no CRS",
    "odc_geo/au-3577-rotated.tif": "rotated or sheared",
    "odc_geo/au-gcp.tif": "ground control points",
    "rasterio/goes.tif": "no EPSG code",
    "rasterio/rotated.tif": "no CRS",
    "rio_cogeo/image_nan.tif": "dtype float64",
    "rio_cogeo/image_nodata.tif": "'Albers', for which there is no EPSG code",
    "titiler/cog_scale.tif": "no EPSG code",
}


@pytest.mark.filterwarnings("ignore")  # rioxarray's own, of files without a place
@pytest.mark.parametrize("name", RASTERS)
def test_rasters_that_break_pipelines(realdata, name):
    path = realdata / "odd" / name
    array = rioxarray.open_rasterio(path).chunk().expand_dims(time=[np.datetime64("2024-01-01", "ns")])
    if RASTERS[name] is not None:
        with pytest.raises(InputError) as error:
            as_cube(array)
        assert RASTERS[name] in str(error.value)
        return
    cube = as_cube(array)
    with rasterio.open(path) as raw:
        assert cube.georef.transform == tuple(raw.transform)[:6]
        assert cube.georef.crs == f"EPSG:{raw.crs.to_epsg()}"
        assert (cube.n_band, cube.height, cube.width) == (raw.count, raw.height, raw.width)
        if raw.nodata is not None and raw.nodata == raw.nodata:
            assert cube.nodata == raw.nodata
        assert [b.scale for b in cube.bands] == list(raw.scales)
        assert [b.offset for b in cube.bands] == list(raw.offsets)
        window = rasterio.windows.Window(3, 2, 20, 10)
        got = cube.parts[0].isel(time=0, y=slice(2, 12), x=slice(3, 23))
        if raw.width * raw.height < 1_000_000:
            assert got.values.tobytes() == raw.read(window=window).tobytes()

"""Every real file that is a cube, or part of one: it encodes and reads back exactly, or gives the error it deserves.

The expected values are read with GDAL or netCDF4 directly, never with what is tested. What is in no row is in
`ELSEWHERE` with its reason, and a test holds the two against the folder.
"""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import eccodes
import netCDF4
import numpy as np
import pytest
import rasterio
import rasterio.windows

from chronozarr_dask import encode, open_store
from chronozarr_dask.errors import InputError
from chronozarr_dask.source.files import open_source

ROMANIA = "sentinel2_romania_eupl/2018*"
CDSE = "sentinel2/B_gfmap_cdse_2023OctDec/2023*"
EOLEARN = "sentinel2/D_eolearn_TestEOPatch_2015_2017/20*"
OPENEO = "sentinel2/gfmap_cdse_nc"
LANDSAT8 = "landsat/C_landsat8_L8NY18_2018"
COLLECTION2 = "landsat/stactools_c2l2_005009/*_02_T2"
EDGE = 600  # pixels of a larger raster that are encoded

pytestmark = [
    # Real files have classes, degrees and Web Mercator: tests of their own hold these warnings.
    pytest.mark.filterwarnings("ignore::chronozarr_dask.run.encode.ChronozarrWarning"),
    pytest.mark.filterwarnings("ignore:angle from rectified to skew grid"),  # pyproj's, of a CRS that has it
]

ELSEWHERE = {
    "README.md": "about the data",
    "*/PROVENANCE.md": "about the data",
    "licences/*": "licences",
    "*LICENCE*": "licences",
    "stac/*": "STAC items without pixels: the tests of search",
    "*.json": "STAC items and other metadata beside pixels: the tests of search",
    "*_MTL.xml": "Landsat's own metadata beside pixels",
    "sentinel2_romania_eupl/reference_monthly_median_*.npz": "the numpy reference of the monthly medians",
    "zarr/zarrita_v3.zarr/*": "arrays of other writers: test_zarr_arrays",
}


@dataclass(frozen=True)
class Row:
    """One cube, and what becomes of it.

    Attributes
    ----------
    files : str
        A glob in the folder of real data: a NetCDF, GRIB or Zarr file, or the GeoTIFFs of a stack.
    error : str
        Part of its error; empty where it encodes.
    day : str
        Of all files, where their names have no date or several.
    how : dict
        Options of `encode`.
    flip : str
        A dimension to turn round first, as the error for the untouched file says.
    """

    files: str
    error: str = ""
    day: str = ""
    how: dict[str, Any] = field(default_factory=dict)
    flip: str = ""

    def __str__(self) -> str:
        return f"{self.files}{' (given a hand)' if self.how or self.flip else ''}"


def odd(name: str, error: str = "") -> Row:
    return Row(f"odd/{name}", error, "2024-01-01")


WGS84 = {"crs": "EPSG:4326"}
CUBES = [
    Row("gridded/bcsd_obs_1999.nc", "has no CRS"),
    Row("gridded/bcsd_obs_1999.nc", "south-up", how={"crs": "EPSG:4326"}),
    Row("gridded/bcsd_obs_1999.nc", "NaN and 0 infinite values", how={"crs": "EPSG:4326"}, flip="latitude"),
    Row("gridded/bcsd_obs_1999.nc", how={"crs": "EPSG:4326", "nan_to_mask": True}, flip="latitude"),
    Row("gridded/tos_O1_2001-2002.nc", "calendar '360_day'"),
    Row("gridded/era5-2mt-2019-03-uk.grib", "has no CRS"),
    Row("gridded/era5-2mt-2019-03-uk.grib", how=WGS84),
    Row("gridded/fields_with_missing_values.grib", "21699 NaN and 0 infinite values", how=WGS84),
    Row("gridded/fields_with_missing_values.grib", how=WGS84 | {"nan_to_mask": True}),
    Row("gridded/regular_ll_sfc.grib", "no time axis", how=WGS84),
    Row("gridded/scanning_mode_64.grib", "no time axis", how=WGS84),
    Row("odd/georust/alldatatypes.nc", "differ in dtype"),
    Row("odd/georust/byte_no_cf.zarr.zip", "no time axis"),
    Row("odd/georust/cf_nasa_4326.zarr.zip", "a Zarr group without arrays"),
    Row("zarr/sic_daily_sample.zarr.zip", "has no CRS"),
    Row("zarr/sic_daily_sample.zarr.zip", "south-up", how={"crs": "EPSG:4326"}),
    Row(f"{OPENEO}/bap_composited_cdse.nc"),
    Row(f"{OPENEO}/bap_quintad_cdse.nc", "NaN and 0 infinite values"),
    Row(f"{OPENEO}/bap_quintad_cdse.nc", how={"nan_to_mask": True}),
    Row(f"{OPENEO}/cdse_sentinel2_l2a.nc"),
    Row(f"{OPENEO}/openEO_5.nc"),
    Row(f"{OPENEO}/test_optical_cube.nc"),
    Row("sentinel2/worldcereal/worldcereal_preprocessed_inputs.nc"),
]
STACKS = [
    Row(f"{ROMANIA}/B0[2348].tif"),
    Row(f"{ROMANIA}/B[18][1A].tif"),
    Row(f"{ROMANIA}/SCL.tif"),
    Row(f"{ROMANIA}/SCL_20m.tif"),
    Row(f"{ROMANIA}/B*.tif", "differ in size"),
    Row(f"{CDSE}/B0[2348].tif"),
    Row(f"{CDSE}/SCL.tif"),
    Row(f"{EOLEARN}/NDVI.tif"),
    Row(f"{EOLEARN}/CLM.tif"),
    Row("sentinel2/openeo_local_stac_3dates/*.tif"),
    Row("sentinel2/openeo_geotrellis_512x1024/*.tif", day="2020-01-01"),
    Row("sentinel2/titiler_34SGA_20200318/B0?.tif", day="2020-03-18"),
    Row("sentinel2/titiler_34SGA_20200318/TCI.tif", day="2020-03-18"),
    Row("sentinel2/T31TDH_*_B01.jp2", "cannot be opened as a GeoTIFF", day="2018-01-01"),
    Row(f"{COLLECTION2}_SR_B?.TIF", "2 different dates in its name"),
    Row(f"{COLLECTION2}_SR_B?.TIF", day="2015-07-10"),
    Row(f"{COLLECTION2}_ST_B10.TIF", day="2015-07-10"),
    Row(f"{COLLECTION2}_QA_PIXEL.TIF", day="2015-07-10"),
    Row(f"{COLLECTION2}_SR_QA_AEROSOL.TIF", day="2015-07-10"),
    # Landsat 8: a path and row has two extents, so each scene is a cube; B8 is of 15 m
    *(
        Row(f"{LANDSAT8}/LC08_L1TP_{scene}_*/*_{bands}.TIF", day="2018-01-01")
        for scene in (
            "013032_20180131 013032_20180405 013032_20180421 013032_20180710 013032_20180827 013032_20181030 "
            "013032_20181201 013032_20181217 014031_20180106 014031_20180428 014031_20180530 014031_20180903 "
            "014031_20181005 014032_20180311 014032_20180428 014032_20180615 014032_20180903 014032_20181122 "
            "014032_20181208"
        ).split()
        for bands in ("B[!8]*", "B8")
    ),
]
ODD = [
    odd("cogeotiff/DEM_BS28_2016_1000_1141.tif"),
    odd("cogeotiff/big.endian.tiff", "big.endian.tiff has no place"),
    odd("cogeotiff/model_transformation.tif", "dtype int8"),
    odd("cogeotiff/rgba8_cog_big.tiff"),
    odd("cogeotiff/sparse.tiff"),
    odd("gdalraster/complex.tif", "dtype complex64"),
    odd("gdalraster/geomatrix.tif", "rotated or sheared"),
    odd("gdalraster/int64.tif", "dtype int64"),
    odd("gdalraster/south-up.tif", "south-up"),
    odd("gdalraster/sr_b4_20200829.tif"),
    odd("gdalraster/sr_b5_20200829.tif"),
    odd("georust/dem-hills.tiff", "'unknown', for which there is no EPSG code"),
    odd("georust/gcp.tif", "placed by 210 ground control points"),
    odd("georust/labels.tif"),
    odd("georust/offset_scaled_tinymarble.tif"),
    odd("georust/test_color_table.tif", "'Lambert Conformal Conic', for which there is no EPSG code"),
    odd("georust/tinymarble.tif", "tinymarble.tif has no place"),
    odd("odc_geo/au-3577-rotated.tif", "rotated or sheared"),
    odd("odc_geo/au-3577.tif"),
    odd("odc_geo/au-gcp.tif", "placed by 24 ground control points"),
    odd("rasterio/RGBA.uint16.tif"),
    odd("rasterio/all-nodata.tif"),
    odd("rasterio/byte.tif"),
    odd("rasterio/corrupt.tif", "cannot be read in bands band_1, band_2, band_3, rows 0 to 599, columns 0 to 599"),
    odd("rasterio/float_nan.tif", "south-up"),
    odd("rasterio/float_raster_with_extra_nodata.tif", "it resembles EPSG:3035"),
    odd("rasterio/goes.tif", "no EPSG code"),
    odd("rasterio/rotated.tif", "rotated or sheared"),
    odd("rasterio/test_esri_wkt.tif"),
    odd("rasterstats/all_nodata.tif"),
    odd("rasterstats/dataset_mask.tif"),
    odd("rio_cogeo/cog_no_offest.tif", "cog_no_offest.tif has no place"),
    odd("rio_cogeo/image_missing_nodata.tif", "'Albers', for which there is no EPSG code"),
    odd("rio_cogeo/image_nan.tif", "dtype float64"),
    odd("rio_cogeo/image_nodata.tif", "'Albers', for which there is no EPSG code"),
    odd("rio_cogeo/image_rgb_mask.tif"),
    odd("rio_cogeo/image_with_offsets.tif", "no EPSG code"),
    odd("titiler/cog_scale.tif", "no EPSG code"),
    odd("titiler/cog_with_nan.tif", "NaN and 0 infinite values"),
    odd("titiler/dem.tif"),
]


def test_no_file_is_missing(realdata: Path):
    every = {str(p.relative_to(realdata)) for p in realdata.rglob("*") if p.is_file()}
    rows = {p for row in (*CUBES, *STACKS, *ODD) for p in every if fnmatch.fnmatchcase(p, row.files)}
    left = {p for p in every - rows if not any(fnmatch.fnmatchcase(p, pattern) for pattern in ELSEWHERE)}
    assert not left, f"in no row and without a reason: {sorted(left)}"
    for row in (*CUBES, *STACKS, *ODD):
        assert list(realdata.glob(row.files)), f"no such file: {row.files}"


# ---- one file, several variables ------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", CUBES, ids=str)
def test_cubes(realdata: Path, tmp_path: Path, row: Row):
    path = realdata / row.files

    def turned(dataset: Any) -> Any:
        return dataset.isel({row.flip: slice(None, None, -1)}) if row.flip else dataset

    if row.error:
        with pytest.raises(InputError) as error:
            encode(turned(open_source(path)), tmp_path / "s.zarr", chunk_size=64, **row.how)
        assert row.error in str(error.value)
        assert "\n" not in str(error.value)
        return
    encode(turned(open_source(path)), tmp_path / "s.zarr", chunk_size=64, **row.how)
    store = open_store(tmp_path / "s.zarr")
    level = store.to_xarray()
    stored = level.data.values
    if path.suffix == ".grib":
        expected = messages(path)
    else:
        with netCDF4.Dataset(path) as raw:
            raw.set_auto_maskandscale(False)
            bands = [raw[band.name] for band in store.bands]
            expected = np.stack([np.flip(b[:], b.dimensions.index(row.flip)) if row.flip else b[:] for b in bands], 1)
    if "nan_to_mask" in row.how:
        valid = np.broadcast_to(level.mask.values[:, None] > 0, stored.shape)
        assert (valid == ~np.isnan(expected).any(axis=1, keepdims=True)).all()
        assert not np.isnan(stored).any()
        stored, expected = stored[valid], expected[valid]
    assert stored.tobytes() == expected.tobytes()


def messages(path: Path) -> Any:
    """(time, 1, y, x): the messages of a GRIB file as eccodes itself decodes them, NaN where a value is missing."""
    out = []
    with path.open("rb") as file:
        while (message := eccodes.codes_grib_new_from_file(file)) is not None:
            eccodes.codes_set(message, "missingValue", -1e30)
            rows, columns = (eccodes.codes_get(message, key) for key in ("Nj", "Ni"))
            values = eccodes.codes_get_values(message).reshape(rows, columns).astype(np.float32)
            out.append(np.where(values == np.float32(-1e30), np.float32("nan"), values)[None])
            eccodes.codes_release(message)
    return np.stack(out)


# ---- GeoTIFFs -------------------------------------------------------------------------------------------------------


def listed(tmp_path: Path, rows: list[tuple[Any, ...]]) -> Path:
    """A manifest."""
    path = tmp_path / "files.csv"
    path.write_text("\n".join(["uri,datetime,bands", *(",".join(map(str, row)) for row in rows)]))
    return path


@pytest.mark.parametrize("row", STACKS, ids=str)
def test_stacks(realdata: Path, tmp_path: Path, row: Row):
    files = sorted(realdata.glob(row.files))
    bands = sorted({p.stem.split("_")[-1] for p in files}) if row.day else []
    source = (
        listed(tmp_path, [(p, row.day, p.stem.split("_")[-1] if len(files) > 1 else "") for p in files])
        if row.day
        else str(realdata / row.files)
    )
    if row.error:
        with pytest.raises(InputError) as error:
            open_source(source)
        assert row.error in str(error.value)
        assert "\n" not in str(error.value)
        return
    cube = open_source(source)
    encode(cube, tmp_path / "s.zarr", mask=cube.encoding.get("mask"), chunk_size=128, **row.how)
    stored = open_store(tmp_path / "s.zarr").to_xarray().data
    names = [str(b) for b in stored.band.values]
    if len(bands) > 1:
        assert sorted(names) == bands
    assert stored.sizes["time"] * len(names) in (len(files), sum(rasterio.open(p).count for p in files))
    for path in files:
        day = row.day or next(t for t in days(path) if t)
        values = stored.sel(time=day).values.reshape(-1, *stored.shape[1:])
        with rasterio.open(path) as raw:
            want = raw.read()
        same = [
            (values[:, i : i + len(want)] == want).all(axis=(1, 2, 3)).any() for i in range(len(names) - len(want) + 1)
        ]
        name = path.stem.split("_")[-1]
        at = names.index(name) if name in names else 0
        assert same[at], f"{path}: not what is stored at {day} from band {names[at]}"


def days(path: Path) -> list[str]:
    """The date in the name of a file or else of its folder, as YYYY-MM-DD."""
    found = []
    for text in (path.stem, path.parent.name):
        match = re.search(r"(20\d\d)-?(\d\d)-?(\d\d)(?:T(\d\d)(\d\d)(\d\d))?", text)
        time = "" if match is None or not match[4] else f"T{match[4]}:{match[5]}:{match[6]}"
        found.append("" if match is None else f"{match[1]}-{match[2]}-{match[3]}{time}")
    return found


@pytest.mark.parametrize("row", ODD, ids=str)
def test_odd_files(realdata: Path, tmp_path: Path, row: Row):
    path = realdata / row.files
    manifest = listed(tmp_path, [(path, row.day, "")])
    if row.error:
        with pytest.raises(InputError) as error:
            encode(opened(manifest), tmp_path / "s.zarr", chunk_size=256)
        assert row.error in str(error.value)
        assert "\n" not in str(error.value)
        return
    source = opened(manifest)
    encode(source, tmp_path / "s.zarr", mask=source.encoding.get("mask"), chunk_size=256)
    store = open_store(tmp_path / "s.zarr")
    level = store.to_xarray()
    with rasterio.open(path) as raw:
        window = rasterio.windows.Window(0, 0, min(EDGE, raw.width), min(EDGE, raw.height))
        colours = [i for i, c in zip(raw.indexes, raw.colorinterp, strict=True) if c.name != "alpha"]
        expected, valid = raw.read(colours, window=window), raw.dataset_mask(window=window) > 0
        assert store.levels[0].transform == tuple(raw.transform)[:6]
        assert raw.crs.to_epsg() in (None, int(store.crs.removeprefix("EPSG:")))
        assert [b.scale for b in store.bands] == [raw.scales[i - 1] for i in colours]
        assert store.nodata in ({"float32": None}.get(store.dtype.name, 0), raw.nodata)
    assert level.data.values[0].tobytes() == expected.tobytes()
    if "mask" in level:
        assert (level.mask.values[0] == valid).all()


def opened(manifest: Path) -> Any:
    """The stack of a manifest, cut to its first EDGE rows and columns."""
    source = open_source(manifest)
    return source.isel(y=slice(0, EDGE), x=slice(0, EDGE))

"""Every GeoTIFF of the odd collection, and real scenes of one file for each band."""

import numpy as np
import pytest
import rasterio

from chronozarr_dask import encode, open_store
from chronozarr_dask.errors import InputError
from chronozarr_dask.source.cube import as_cube
from chronozarr_dask.source.files import open_source

# What each file gives: nothing, when it works, else a part of its one error.
ODD = {
    "cogeotiff/DEM_BS28_2016_1000_1141.tif": None,
    "cogeotiff/big.endian.tiff": "big.endian.tiff has no place",
    "cogeotiff/model_transformation.tif": "dtype int8",
    "cogeotiff/rgba8_cog_big.tiff": None,
    "cogeotiff/sparse.tiff": None,
    "gdalraster/complex.tif": "dtype complex64",
    "gdalraster/geomatrix.tif": "rotated or sheared",
    "gdalraster/int64.tif": "dtype int64",
    "gdalraster/south-up.tif": "south-up",
    "gdalraster/sr_b4_20200829.tif": None,
    "gdalraster/sr_b5_20200829.tif": None,
    "georust/dem-hills.tiff": "'unknown', for which there is no EPSG code",
    "georust/gcp.tif": "placed by 210 ground control points",
    "georust/labels.tif": None,
    "georust/offset_scaled_tinymarble.tif": None,
    "georust/test_color_table.tif": "'Lambert Conformal Conic', for which there is no EPSG code",
    "georust/tinymarble.tif": "tinymarble.tif has no place",
    "odc_geo/au-3577-rotated.tif": "rotated or sheared",
    "odc_geo/au-3577.tif": None,
    "odc_geo/au-gcp.tif": "placed by 24 ground control points",
    "rasterio/RGBA.uint16.tif": None,
    "rasterio/all-nodata.tif": None,
    "rasterio/byte.tif": None,
    "rasterio/corrupt.tif": "cannot be read in bands band_1, band_2, band_3, rows 0 to 599, columns 0 to 599",
    "rasterio/float_nan.tif": "south-up",
    "rasterio/float_raster_with_extra_nodata.tif": "it resembles EPSG:3035",
    "rasterio/goes.tif": "no EPSG code",
    "rasterio/rotated.tif": "rotated or sheared",
    "rasterio/test_esri_wkt.tif": None,
    "rasterstats/all_nodata.tif": None,
    "rasterstats/dataset_mask.tif": None,
    "rio_cogeo/cog_no_offest.tif": "cog_no_offest.tif has no place",
    "rio_cogeo/image_missing_nodata.tif": "'Albers', for which there is no EPSG code",
    "rio_cogeo/image_nan.tif": "dtype float64",
    "rio_cogeo/image_nodata.tif": "'Albers', for which there is no EPSG code",
    "rio_cogeo/image_rgb_mask.tif": None,
    "rio_cogeo/image_with_offsets.tif": "no EPSG code",
    "titiler/cog_scale.tif": "no EPSG code",
    "titiler/cog_with_nan.tif": None,
    "titiler/dem.tif": None,
}
WINDOW = (slice(0, 600), slice(0, 600))


def listed(tmp_path, rows):
    path = tmp_path / "files.csv"
    path.write_text("\n".join(["uri,datetime,bands", *(",".join(map(str, row)) for row in rows)]))
    return path


def opened(manifest):
    source = open_source(manifest)
    return as_cube(source, mask=source.encoding.get("mask"))


def test_the_table_has_every_file(realdata):
    assert sorted(ODD) == sorted(str(p.relative_to(realdata / "odd")) for p in (realdata / "odd").glob("*/*.tif*"))


@pytest.mark.parametrize("name", ODD)
def test_odd_files(realdata, tmp_path, name):
    path = realdata / "odd" / name
    manifest = listed(tmp_path, [(path, "2024-01-01", "")])
    y, x = WINDOW
    if ODD[name] is not None:
        with pytest.raises(InputError) as error:
            opened(manifest).parts[0].isel(y=y, x=x).load()
        assert ODD[name] in str(error.value)
        assert "\n" not in str(error.value)
        return
    cube = opened(manifest)
    with rasterio.open(path) as raw:
        window = rasterio.windows.Window(0, 0, min(600, raw.width), min(600, raw.height))
        colours = [i for i, c in zip(raw.indexes, raw.colorinterp, strict=True) if c.name != "alpha"]
        expected = raw.read(colours, window=window)
        valid = raw.dataset_mask(window=window) > 0
        assert cube.georef.transform == tuple(raw.transform)[:6]
        assert [b.scale for b in cube.bands] == [raw.scales[i - 1] for i in colours]
        assert cube.nodata in ({"float32": None}.get(cube.dtype, 0), raw.nodata)
        assert (cube.n_band, cube.height, cube.width) == (len(colours), raw.height, raw.width)
    assert cube.parts[0].isel(y=y, x=x).values.tobytes() == expected.tobytes()
    if cube.mask is not None:
        assert (cube.mask.isel(y=y, x=x).values[0] == valid).all()


@pytest.mark.parametrize(
    "name", ["rasterio/RGBA.uint16.tif", "gdalraster/sr_b4_20200829.tif", "rasterstats/all_nodata.tif"]
)
def test_odd_files_encode(realdata, tmp_path, name):
    source = open_source(listed(tmp_path, [(realdata / "odd" / name, "2024-01-01", "")]))
    encode(source, tmp_path / "s.zarr", mask=source.encoding.get("mask"), chunk_size=256)
    stored = open_store(tmp_path / "s.zarr").to_xarray(level=0)
    assert stored.data.values.tobytes() == source.data.values.tobytes()


def test_sentinel2_of_one_file_for_each_band(realdata, tmp_path):
    folder = realdata / "sentinel2_romania_eupl"
    days, bands = sorted(p.name for p in folder.iterdir() if p.is_dir()), ["B02", "B03", "B04", "B08"]
    rows = [(folder / d / f"{b}.tif", f"{d[:4]}-{d[4:6]}-{d[6:]}", b) for d in days for b in bands]
    source = open_source(listed(tmp_path, rows))
    encode(source, tmp_path / "s.zarr", chunk_size=64)
    stored = open_store(tmp_path / "s.zarr").to_xarray(level=0)
    assert stored.data.shape == (27, 4, 100, 100)
    assert list(stored.band.values) == bands
    for t, day in enumerate(days):
        assert str(stored.time.values[t])[:10].replace("-", "") == day
        for b, band in enumerate(bands):
            with rasterio.open(folder / day / f"{band}.tif") as raw:
                assert (stored.data.values[t, b] == raw.read(1)).all()
    # the same files by their names, with the date in the folder's
    by_name = open_source(f"{folder}/2018*/B0*.tif")
    assert np.array_equal(by_name.data.isel(time=[0, 26]).values, source.data.isel(time=[0, 26]).values)


def test_two_resolutions_do_not_agree(realdata, tmp_path):
    folder = realdata / "sentinel2_romania_eupl" / "20180402"
    with pytest.raises(InputError, match=r"B04.tif and .*B11.tif differ in size: 100 rows x 100 columns and 50 rows"):
        open_source(listed(tmp_path, [(folder / f"{b}.tif", "2018-04-02", b) for b in ("B04", "B11")]))


def test_two_dates_in_a_landsat_name(realdata):
    folder = realdata / "landsat" / "stactools_c2l2_005009"
    with pytest.raises(InputError, match=r"2 different dates in its name \(20150710, 20200908\)"):
        open_source(f"{folder}/*_SR_B?.TIF")
    source = open_source(f"{folder}/*_SR_B?.TIF", date_format="L2SP_??????_%Y%m%d")
    assert list(source.band.values) == ["B2", "B3", "B4", "B5"]
    assert str(source.time.values[0])[:10] == "2015-07-10"

"""Stacks of GeoTIFFs: read by window, each pixel once; what they say of themselves; what they must agree in."""

import os
import pickle
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
import rasterio
from rasterio.transform import Affine

from chronozarr_dask import encode, open_store
from chronozarr_dask.errors import ChronozarrError, InputError
from chronozarr_dask.format.bands import Band
from chronozarr_dask.source.cube import as_cube
from chronozarr_dask.source.files import open_source
from chronozarr_dask.source.geotiff import windows

HEIGHT, WIDTH = 70, 50
TRANSFORM = Affine(10, 0, 500_000, 0, -10, 5_000_000)


def pixels(seed, n_band=1, dtype="uint16"):
    return np.random.default_rng(seed).integers(1, 200, (n_band, HEIGHT, WIDTH)).astype(dtype)


def write(path, data, *, names=None, scales=None, offsets=None, units=None, alpha=None, mask=None, **more):
    """A GeoTIFF of `data` (band, y, x), in tiles of 32 x 16."""
    how = {"crs": "EPSG:32631", "transform": TRANSFORM, "dtype": data.dtype, "count": len(data), "driver": "GTiff"}
    how |= {"height": data.shape[1], "width": data.shape[2], "tiled": True, "blockxsize": 16, "blockysize": 32}
    path.parent.mkdir(exist_ok=True)
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "w", **(how | more)) as file:
        file.write(data)
        file.descriptions = names or [None] * len(data)
        for key, value in (("scales", scales), ("offsets", offsets), ("units", units)):
            if value:
                setattr(file, key, value)
        if alpha:
            file.colorinterp = [rasterio.enums.ColorInterp(v) for v in [1] * (len(data) - 1) + [6]]
        if mask is not None:
            file.write_mask(mask)
    return path


def told(*args, **more):
    """The one-paragraph message of the error that opening raises."""
    with pytest.raises(InputError) as error:
        as_cube(open_source(*args, **more))
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.fixture
def read_windows(monkeypatch):
    """How often each pixel of each file and band was read, as it happens."""
    counts, largest = Counter(), [0]
    plain = windows._Windows._read_file

    def counted(self, piece, indexes, what, spans):
        data = plain(self, piece, indexes, what, spans)
        y, x = spans
        largest[0] = max(largest[0], data.nbytes)
        for i in indexes:
            counts.update((piece.uri, i, r, c) for r in range(y.start, y.stop) for c in range(x.start, x.stop))
        return data

    monkeypatch.setattr(windows._Windows, "_read_file", counted)
    counts.largest = largest
    return counts


# ---- values --------------------------------------------------------------------------------------------------------


def test_one_file_for_a_timestep(tmp_path):
    data = [pixels(i, 2) for i in range(3)]
    for day, d in zip((20, 3, 11), data, strict=True):
        write(
            tmp_path / f"a_202401{day:02d}.tif", d, names=["B04", "B08"], nodata=7, scales=[0.5, 0.25], units=["m", ""]
        )
    source = open_source(f"{tmp_path}/*.tif")
    cube = as_cube(source)
    assert [str(t)[:10] for t in source.time.values] == ["2024-01-03", "2024-01-11", "2024-01-20"]
    assert (cube.parts[0].values == np.stack([data[1], data[2], data[0]])).all()
    assert cube.bands == (Band("B04", scale=0.5, units="m"), Band("B08", scale=0.25))
    assert (cube.nodata, cube.dtype, cube.mask) == (7, "uint16", None)
    assert (cube.georef.crs, cube.georef.transform) == ("EPSG:32631", tuple(TRANSFORM)[:6])
    assert source.data.encoding["preferred_chunks"] == {"time": 1, "y": 32, "x": 16}
    assert cube.source_chunks().y == (0, 32, 64, 70)
    assert float(source.x[0]) == 500_005
    assert float(source.y[-1]) == 5_000_000 - 695
    assert sorted(os.listdir(tmp_path)) == ["a_20240103.tif", "a_20240111.tif", "a_20240120.tif"]  # nothing beside


def test_one_file_for_a_timestep_and_band(tmp_path):
    data = {(t, b): pixels(10 * t + i) for t in (1, 2) for i, b in enumerate(["B04", "B8A", "B11"])}
    for (t, b), d in data.items():
        write(tmp_path / f"T31_2024010{t}T101112_{b}_20m.tif", d)
    cube = as_cube(open_source(f"{tmp_path}/T31*.tif"))
    assert [b.name for b in cube.bands] == ["B04", "B11", "B8A"]
    expected = np.stack([np.concatenate([data[t, b.name] for b in cube.bands]) for t in (1, 2)])
    assert (cube.parts[0].values == expected).all()


def test_folders_of_dates_and_names_from_the_files(tmp_path):
    data = {(t, b): pixels(10 * t + b) for t in (1, 2) for b in (1, 2)}
    for (t, b), d in data.items():
        # the file's name says less than its description; on the second day the order of names is the other one
        write(tmp_path / f"2024010{t}" / f"{(b + t) % 2}.tif", d, names=[f"band {b}"])
    cube = as_cube(open_source(sorted(tmp_path.glob("*/*.tif"))))
    assert [b.name for b in cube.bands] == ["band 1", "band 2"]
    assert (cube.parts[0].values[1] == np.concatenate([data[2, 1], data[2, 2]])).all()


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_a_manifest(tmp_path, suffix):
    a, b, c, d = (pixels(i, n) for i, n in enumerate((2, 1, 1, 2)))
    for name, data in (("a", a), ("b", b), ("c", c), ("d", d)):
        write(tmp_path / f"{name}.tif", data)
    rows = [
        ("a.tif", "2024-02-01T00:00:00Z", "x y"),
        ("b.tif", "2024-02-01T01:00:00+01:00", "z"),
        ("c.tif", "2024-01-01", "x"),
        ("d.tif", "2024-01-01", "y z"),
    ]
    if suffix == "csv":
        text = "\n".join(["uri,datetime,bands", *(",".join(row) for row in rows)])
    else:
        text = str([dict(zip(("uri", "datetime", "bands"), row, strict=True)) for row in rows]).replace("'", '"')
    (tmp_path / f"m.{suffix}").write_text(text)
    cube = as_cube(open_source(tmp_path / f"m.{suffix}"))
    assert [b.name for b in cube.bands] == ["x", "y", "z"]
    assert cube.times == (1704067200000, 1706745600000)
    assert (cube.parts[0].values == np.stack([np.concatenate([c, d]), np.concatenate([a, b])])).all()


@pytest.mark.parametrize(
    "key",
    [
        (slice(None),) * 4,
        (1, 0, 3, 4),
        (slice(1, None), slice(None, None, -1), slice(60, 5, -7), slice(3, 4)),
        ([2, 0], [1], [3, 69, 3], slice(10, 30, 3)),
        (slice(0, 0), 1, slice(5), slice(None)),
        (0, slice(None), slice(7, 7), 2),
        (-1, -1, slice(-5, None), [-1, -50]),
    ],
)
def test_any_index(tmp_path, key):
    data = [pixels(i, 2) for i in range(3)]
    for i, d in enumerate(data):
        write(tmp_path / f"{i + 20240101}.tif", d)
    array = open_source(f"{tmp_path}/*.tif").data
    got = array.isel(dict(zip(array.dims, key, strict=True)))
    whole = np.stack(data)
    for axis, k in reversed(list(enumerate(key))):
        whole = whole[(slice(None),) * axis + (k,)]
    assert got.shape == whole.shape
    assert (got.values == whole).all()


def test_masks(tmp_path):
    data, inside = pixels(0, 3, "uint8"), np.random.default_rng(1).random((HEIGHT, WIDTH)) > 0.3
    data[2] = np.where(inside, 3, 0)
    write(tmp_path / "20240101.tif", data, names=["r", "g", None], alpha=True)
    write(tmp_path / "20240102.tif", data[:2], names=["r", "g"], mask=~inside)
    write(tmp_path / "20240103.tif", data[:2], names=["r", "g"])
    source = open_source(f"{tmp_path}/*.tif")
    cube = as_cube(source, mask=source.encoding["mask"])
    assert [b.name for b in cube.bands] == ["r", "g"]
    assert cube.mask.dtype == np.uint8
    assert (cube.mask.values == np.stack([inside, ~inside, np.ones_like(inside)])).all()
    assert (cube.parts[0].values == data[:2]).all()
    assert cube.mask.encoding["preferred_chunks"] == {"time": 1, "y": 32, "x": 16}


def test_masks_of_the_files_of_a_moment_are_one(tmp_path):
    a, b = np.random.default_rng(1).random((2, HEIGHT, WIDTH)) > 0.3
    write(tmp_path / "20240101_a.tif", pixels(0), mask=a)
    write(tmp_path / "20240101_b.tif", pixels(1), mask=b)
    assert (open_source(f"{tmp_path}/*.tif").mask.values[0] == (a & b)).all()


# ---- reading -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("per_band", [True, False])
def test_encode_reads_each_pixel_once_and_stores_it(tmp_path, read_windows, per_band):
    data, inside = [pixels(i, 2) for i in range(5)], np.random.default_rng(1).random((HEIGHT, WIDTH)) > 0.3
    for i, d in enumerate(data):
        if per_band:
            write(tmp_path / "in" / f"{i + 20240101}_B04.tif", d[:1])
            write(tmp_path / "in" / f"{i + 20240101}_B08.tif", d[1:])
        else:
            write(tmp_path / "in" / f"{i + 20240101}.tif", d, names=["B04", "B08"], mask=inside)
    source = open_source(f"{tmp_path}/in/*.tif")
    encode(source, tmp_path / "s.zarr", mask=source.encoding.get("mask"), chunk_size=16, anchor_interval=2)
    stored = open_store(tmp_path / "s.zarr").to_xarray(level=0)
    assert (stored.data.values == np.stack(data)).all()
    assert list(stored.band.values) == ["B04", "B08"]
    if not per_band:
        assert (stored.mask.values == inside).all()
    assert set(read_windows.values()) == {1}
    assert len(read_windows) == 5 * (2 if per_band else 3) * HEIGHT * WIDTH


def test_opening_reads_no_pixel_and_a_window_no_other(tmp_path, read_windows):
    for i in range(4):
        write(tmp_path / f"{i + 20240101}.tif", pixels(i, 2))
    cube = as_cube(open_source(f"{tmp_path}/*.tif"))
    assert not read_windows
    part = cube.parts[0].isel(time=[1, 3], band=1, y=slice(8, 20), x=slice(40, 45))
    assert not read_windows
    assert (part.values == np.stack([pixels(i, 2)[1, 8:20, 40:45] for i in (1, 3)])).all()
    assert len(read_windows) == 2 * 12 * 5
    assert read_windows.largest == [12 * 5 * 2]  # one timestep at a time


def test_pickle_holds_names_only(tmp_path):
    write(tmp_path / "20240101.tif", pixels(0))
    array = open_source(f"{tmp_path}/*.tif").data
    sent = pickle.dumps(array.variable)
    assert len(sent) < 3000
    assert (pickle.loads(sent).values[0] == pixels(0)).all()


def test_threads_read_at_once(tmp_path):
    data = [pixels(i) for i in range(6)]
    for i, d in enumerate(data):
        write(tmp_path / f"{i + 20240101}.tif", d, compress="deflate")
    array = open_source(f"{tmp_path}/*.tif").data
    chunked = array.chunk(time=1, y=8, x=25)
    assert (chunked.compute(scheduler="threads", num_workers=8).values == np.stack(data)).all()


def test_a_damaged_tile_stops_the_run_with_its_place(tmp_path):
    write(tmp_path / "in" / "20240101.tif", pixels(0), names=["B04"], compress="deflate")
    path = write(tmp_path / "in" / "20240102.tif", pixels(1), names=["B04"], compress="deflate")
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(bytes(1000))
    source = open_source(f"{tmp_path}/in/*.tif")
    with pytest.raises(InputError) as error:
        source.data.load()
    for part in (str(path), "band B04", "rows 0 to 69, columns 0 to 49", "cut short or damaged", "TIFF"):
        assert part in str(error.value)
    with pytest.raises(ChronozarrError) as error:
        encode(source, tmp_path / "s.zarr", chunk_size=16)
    assert f"{path} cannot be read in band B04, rows" in str(error.value)
    assert not (tmp_path / "s.zarr" / "zarr.json").exists()


def test_a_file_that_was_replaced(tmp_path):
    write(tmp_path / "20240101.tif", pixels(0))
    source = open_source(f"{tmp_path}/*.tif")
    write(tmp_path / "20240101.tif", pixels(0)[:, :40])
    with pytest.raises(InputError, match="was replaced meanwhile"):
        source.data.load()


def test_files_beside_are_not_looked_at(tmp_path):
    path = write(tmp_path / "20240101.tif", pixels(0))
    (tmp_path / "20240101.tif.aux.xml").write_text(
        "<PAMDataset><PAMRasterBand band='1'><Description>other</Description></PAMRasterBand></PAMDataset>"
    )
    assert [b.name for b in as_cube(open_source(path)).bands] == ["band_1"]


def test_import_is_free_of_rasterio(tmp_path):
    code = "import sys, chronozarr_dask, chronozarr_dask.source.files; print('rasterio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
    write(tmp_path / "20240101.tif", pixels(0))


def test_without_rasterio(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rasterio", None)
    assert "chronozarr-dask[geotiff]" in told([tmp_path / "20240101.tif"])


# ---- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "parts"),
    [
        ({"crs": "EPSG:32632"}, ["CRS", "EPSG:32631 and EPSG:32632"]),
        ({"crs": None}, ["CRS", "EPSG:32631 and none"]),
        ({"transform": Affine(10, 0, 500_005, 0, -10, 5_000_000)}, ["transform", "500000.0", "500005.0"]),
        ({"transform": Affine(10, 0, 500_000, 0, -10.01, 5_000_000)}, ["transform", "-10.01"]),
        ({"dtype": "int16"}, ["dtype", "uint16 and int16"]),
        ({"nodata": 3}, ["nodata", "None and 3.0"]),
        ({"height": 69}, ["size", "70 rows x 50 columns and 69 rows x 50 columns"]),
        ({"scales": [0.1]}, ["scale of band B04", "1.0 and 0.1"]),
        ({"offsets": [5]}, ["offset of band B04", "0.0 and 5.0"]),
        ({"units": ["K"]}, ["units of band B04", "None and K"]),
        ({"names": ["red"]}, ["bands", "B04 and red", "bands="]),
        ({"count": 2, "names": ["B04", "B08"]}, ["bands", "B04 and B04, B08"]),
    ],
)
def test_two_files_that_differ(tmp_path, how, parts):
    data = pixels(1, how.get("count", 1)).astype(how.get("dtype", "uint16"))[:, : how.get("height", HEIGHT)]
    a = write(tmp_path / "20240101.tif", pixels(0), names=["B04"])
    b = write(tmp_path / "20240102.tif", data, **{"names": ["B04"], **how})
    text = told(f"{tmp_path}/*.tif")
    assert [p for p in [f"{a} and {b} differ in", *parts] if p not in text] == []


def test_the_last_bits_of_a_transform_are_no_difference(tmp_path):
    write(tmp_path / "20240101.tif", pixels(0))
    write(tmp_path / "20240102.tif", pixels(1), transform=Affine(10.000000001, 0, 500_000.000001, 0, -10, 5_000_000))
    assert as_cube(open_source(f"{tmp_path}/*.tif")).georef.transform == tuple(TRANSFORM)[:6]


@pytest.mark.parametrize(
    ("how", "given"),
    [({"crs": None}, {"crs": "EPSG:32631"}), ({"nodata": 3}, {"nodata": None}), ({"names": ["red"]}, {"bands": ["x"]})],
)
def test_what_the_caller_says_need_not_agree(tmp_path, how, given):
    write(tmp_path / "20240101.tif", pixels(0), names=["B04"])
    write(tmp_path / "20240102.tif", pixels(1), **{"names": ["B04"], **how})
    cube = as_cube(open_source(f"{tmp_path}/*.tif", given=given), **given)
    assert cube.georef.crs == "EPSG:32631"


@pytest.mark.parametrize(
    ("how", "parts"),
    [
        ({"transform": TRANSFORM @ Affine.rotation(3)}, ["20240101.tif: the grid is rotated"]),
        ({"transform": Affine(10, 0, 5e5, 0, 10, 5e6)}, ["20240101.tif: the grid is south-up"]),
        ({"transform": Affine(-10, 0, 5e5, 0, -10, 5e6)}, ["20240101.tif: pixel size is -10.0 x -10.0"]),
        ({"dtype": "complex64"}, ["20240101.tif: dtype complex64 cannot be stored"]),
        ({"dtype": "float64"}, ["20240101.tif: dtype float64 cannot be stored"]),
        ({"dtype": "int32"}, ["20240101.tif: dtype int32 cannot be stored"]),
        ({"crs": None}, ["no CRS", "crs="]),
        ({"dtype": "uint8", "nodata": 3, "mask": np.ones((HEIGHT, WIDTH), bool)}, ["mask", "nodata tag (3.0)"]),
    ],
)
def test_a_file_that_no_store_can_hold(tmp_path, how, parts):
    write(tmp_path / "20240101.tif", pixels(0).astype(how.get("dtype", "uint16")), **how)
    text = told(f"{tmp_path}/*.tif")
    assert [p for p in parts if p not in text] == []


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_files_without_a_grid(tmp_path):
    gcps = [rasterio.control.GroundControlPoint(r, c, c, -r) for r, c in ((0, 0), (0, 9), (9, 0))]
    write(tmp_path / "a" / "20240101.tif", pixels(0), transform=None, crs=None)
    write(tmp_path / "b" / "20240101.tif", pixels(0), transform=None, gcps=gcps)
    assert "20240101.tif has no place" in told(f"{tmp_path}/a/*.tif")
    assert "20240101.tif is placed by 3 ground control points" in told(f"{tmp_path}/b/*.tif")


def test_sources_that_are_none(tmp_path):
    (tmp_path / "20240101.tif").write_bytes(b"II*\x00" + bytes(50))
    (tmp_path / "x.tif").write_bytes(b"II*\x00" + bytes(50))
    (tmp_path / "a.nc").write_bytes(b"CDF\x01")
    (tmp_path / "a.grib").write_bytes(b"GRIB")
    assert "no file is named like" in told(f"{tmp_path}/*.tiff")
    assert f"{tmp_path}/20240101.tif cannot be opened as a GeoTIFF" in told(f"{tmp_path}/2*.tif")
    assert "is a TIFF that is no step of time" in told(tmp_path / "x.tif")
    assert "has no date in its name" in told(f"{tmp_path}/?.tif")
    assert f"{tmp_path}/y_20240101.tif cannot be opened as a GeoTIFF" in told(f"{tmp_path}/y_20240101.tif")
    assert "--date-format (date_format=) is for GeoTIFFs" in told(tmp_path / "a.nc", date_format="%Y")
    assert "cfgrib" in told(tmp_path / "a.grib")
    assert "at least one" in told([])


def test_bands_that_cannot_be_told_or_are_missing(tmp_path):
    for name in ("20240101_B04", "20240101_B08", "20240102_B04"):
        write(tmp_path / "a" / f"{name}.tif", pixels(0))
    for name in ("20240101", "20240101_B08"):
        write(tmp_path / "b" / f"{name}.tif", pixels(0))
    write(tmp_path / "a" / "20240102_B11.tif", pixels(0))
    assert "have B04, B08 and B04, B11" in told(f"{tmp_path}/a/*.tif")
    assert "nothing that tells which band each is" in told(f"{tmp_path}/b/*.tif")
    (tmp_path / "a" / "20240102_B11.tif").unlink()
    assert "nothing tells which bands they have" in told(f"{tmp_path}/a/*.tif")
    (tmp_path / "m.csv").write_text("uri,datetime,bands\na/20240101_B04.tif,2024-01-01,x y\n")
    assert "names 2 bands of" in told(tmp_path / "m.csv")
    (tmp_path / "m.csv").write_text("uri,datetime\na/20240101_B04.tif,2024-01-01\na/20240101_B04.tif,2024-01-02\n")
    assert "listed twice" in told(tmp_path / "m.csv")

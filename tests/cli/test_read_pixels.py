"""`read`: what it gives of a store in each form, held to the reader and to other libraries; how it refuses."""

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
import rasterio
import xarray as xr

import chronozarr_dask as czd
from chronozarr_dask.cli.reading.selection import timestep_named
from chronozarr_dask.errors import InputError
from tests.cli.sources import RUN, dataset, invoke, objects

BANDS = [czd.Band("B04", "red", 0.0001, -0.1), czd.Band("B08", units="K")]
CUBE = dataset()
DATA = np.stack([CUBE.B04.values, CUBE.B08.values], 1)
FRAME = ("--time", "2023-02")


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> str:
    """With a mask; 5 times x 2 bands x 70 x 50 px in cells of 16, star-delta."""
    path = tmp_path_factory.mktemp("store") / "masked.cz"
    czd.encode(CUBE, path, chunk_size=16, mask="valid", bands=BANDS, encoding="star-delta")
    return str(path)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    """With nodata 1010, which 23 pixels have, and no plane; sharded."""
    path = tmp_path_factory.mktemp("store") / "plain.cz"
    czd.encode(CUBE.drop_vars("valid"), path, chunk_size=16, shard_time=3, nodata=1010, bands=BANDS)
    return str(path)


def read(*args: str) -> Any:
    result = invoke("read", *args)
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    return result.stdout


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def told(code: int, *args: str) -> str:
    result = invoke("read", *args)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    return " ".join(click.unstyle(result.stderr).replace("│", " ").split())


# ---- a pixel through time ------------------------------------------------------------------------------------------


def test_a_pixel_through_time_as_csv(masked: str) -> None:
    assert read(masked, "--x", "500123", "--y", "4999800").splitlines() == [
        "time,B04,B08,mask",
        "2023-01-01T00:00:00Z,1185,1192,1",
        "2023-02-01T00:00:00Z,1285,1292,1",
        "2023-03-01T00:00:00Z,1385,1392,1",
        "2023-04-01T00:00:00Z,1485,1492,0",
        "2023-05-01T00:00:00Z,1585,1592,1",
    ]


def test_physical_values_are_short_and_empty_where_invalid(masked: str) -> None:
    rows = table(read(masked, "--x", "500123", "--y", "4999800", "--physical", "--bands", "B04"))
    assert [row["B04"] for row in rows] == ["0.0185", "0.0285", "0.0385", "", "0.0585"]
    found = json.loads(read(masked, "--x", "500123", "--y", "4999800", "--physical", "--format", "json"))
    assert found["data"][3] == [None, None]
    assert found["data"][0] == [0.0185, 1192.0]
    assert (found["dtype"], found["nodata"], found["dims"]) == ("float32", None, ["time", "band"])


def test_lonlat_is_the_same_pixel(masked: str) -> None:
    """x 500123, y 4999800 of UTM 31N."""
    by_degrees = json.loads(read(masked, "--lonlat", "3.0015647,45.1516408", "--format", "json"))
    by_metres = json.loads(read(masked, "--x", "500123", "--y", "4999800", "--format", "json"))
    assert by_degrees == by_metres
    assert (by_metres["row"], by_metres["col"], by_metres["x"], by_metres["y"]) == (20, 12, 500125, 4999795)
    assert by_metres["data"] == DATA[:, :, 20, 12].tolist()
    assert by_metres["mask"] == CUBE.valid.values[:, 20, 12].tolist()


def test_one_timestep_of_a_pixel_and_another_level(plain: str) -> None:
    found = json.loads(read(plain, "--x", "500123", "--y", "4999800", "--time", "-1", "--level", "1", "-o", "-",
                            "--format", "json"))  # fmt: skip
    store = czd.open_store(plain)
    assert found["times"] == ["2023-05-01T00:00:00Z"]
    assert found["data"] == [store.read(4, level=1)[:, 10, 6].tolist()]


# ---- a timestep ----------------------------------------------------------------------------------------------------


def test_a_window_as_csv_is_long(plain: str) -> None:
    rows = table(read(plain, *FRAME, "--window", "0,2,3,5", "--bands", "B08,B04"))
    assert [row["band"] for row in rows] == ["B08", "B04"] * 4
    assert rows[-1] == {"time": "2023-02-01T00:00:00Z", "band": "B04", "y": "4999985.0", "x": "500045.0",
                        "value": str(DATA[1, 0, 1, 4])}  # fmt: skip
    assert [int(row["value"]) for row in rows] == DATA[1, ::-1, 0:2, 3:5].transpose(1, 2, 0).ravel().tolist()


@pytest.mark.parametrize(
    ("place", "y", "x"),
    [
        ((), slice(0, 70), slice(0, 50)),
        (("--cell", "4,3"), slice(64, 70), slice(48, 50)),
        (("--window", "15,33,0,50"), slice(15, 33), slice(0, 50)),
        (("--bbox", "500100,4999700,500200,4999800"), slice(20, 30), slice(10, 20)),
        (("--bbox", "500101,4999699,500199,4999799"), slice(20, 31), slice(10, 20)),
        (("--bbox", "0,0,500000.5,9000000"), slice(0, 70), slice(0, 1)),
    ],
)
@pytest.mark.parametrize("form", ["csv", "json", "netcdf", "geotiff"])
def test_every_form_has_the_same_pixels(
    masked: str, tmp_path: Path, form: str, place: tuple[str, ...], y: slice, x: slice
) -> None:
    path = tmp_path / "out.any"
    height, width = y.stop - y.start, x.stop - x.start
    read(masked, *FRAME, *place, "--format", form, "-o", str(path))
    wanted, valid = DATA[1, :, y, x], CUBE.valid.values[1, y, x]
    data, mask, transform = FOUND[form](path, wanted.shape)
    assert (data == wanted).all()
    assert (mask == valid).all()
    if transform is not None:
        assert list(transform) == [10, 0, 500_000 + 10 * x.start, 0, -10, 5_000_000 - 10 * y.start]
    assert wanted.shape == (2, height, width)
    assert [p.name for p in tmp_path.iterdir()] == ["out.any"]


def of_csv(path: Path, shape: tuple[int, ...]) -> Any:
    rows = table(path.read_text())
    mask = np.array([int(row["mask"]) for row in rows]).reshape(*shape[1:], -1)
    band, height, width = shape
    values = np.array([int(row["value"]) for row in rows]).reshape(height, width, band)
    return values.transpose(2, 0, 1), mask[..., 0], None


def of_json(path: Path, shape: tuple[int, ...]) -> Any:
    found = json.loads(path.read_text())
    return np.array(found["data"])[0], np.array(found["mask"])[0], found["transform"]


def of_netcdf(path: Path, shape: tuple[int, ...]) -> Any:
    with xr.open_dataset(path, decode_coords="all") as found:
        assert found.data.dtype == np.uint16
        c, a, b, f, d, e = map(float, found.spatial_ref.attrs["GeoTransform"].split())
        return found.data.values[0], found.mask.values[0], (a, b, c, d, e, f)


def of_geotiff(path: Path, shape: tuple[int, ...]) -> Any:
    with rasterio.open(path) as found:
        assert (found.descriptions, found.scales, found.offsets) == (("B04", "B08"), (0.0001, 1), (-0.1, 0))
        assert (found.units, found.nodata, found.crs.to_epsg()) == ((None, "K"), None, 32631)
        assert found.tags()["time"] == "2023-02-01T00:00:00Z"
        return found.read(), found.read_masks(1) > 0, found.transform[:6]


FOUND = {"csv": of_csv, "json": of_json, "netcdf": of_netcdf, "geotiff": of_geotiff}


def test_what_is_written_encodes_to_the_same_store(masked: str, plain: str, tmp_path: Path) -> None:
    """One timestep of it: names, scales, units, nodata, mask, CRS, grid and time all come along."""
    for name, store in (("masked", masked), ("plain", plain)):
        one = CUBE.isel(time=[1]) if name == "masked" else CUBE.isel(time=[1]).drop_vars("valid")
        more: dict[str, Any] = {"mask": "valid"} if name == "masked" else {"nodata": 1010}
        bands = [czd.Band("B04", None, 0.0001, -0.1), BANDS[1]]  # neither format has a common name
        czd.encode(one, tmp_path / f"{name}.cz", chunk_size=16, bands=bands, **more)
        wanted = objects(tmp_path / f"{name}.cz")
        for file in (f"{name}.nc", f"{name}_20230201.tif"):
            read(store, *FRAME, "-o", str(tmp_path / file))
            target, variable = tmp_path / f"{file}.cz", () if file.endswith("tif") else ("--variable", "data")
            by_mask = ("--mask", "mask") if name == "masked" and variable else ()
            args = (str(tmp_path / file), str(target), "--chunk-size", "16", "--quiet", *variable, *by_mask)
            result = invoke("encode", *args)
            assert (result.exit_code, result.stderr) == (0, "")
            assert objects(target) == wanted


def test_physical_rasters_have_nan_where_invalid(plain: str, tmp_path: Path) -> None:
    read(plain, "--time", "0", "--physical", "-o", str(tmp_path / "p.tif"))
    read(plain, "--time", "0", "--physical", "-o", str(tmp_path / "p.nc"))
    wanted = czd.open_store(plain).to_xarray(physical=True).isel(time=0).data.values
    assert np.isnan(wanted).sum() > 0
    with rasterio.open(tmp_path / "p.tif") as tiff, xr.open_dataset(tmp_path / "p.nc") as netcdf:
        assert np.isnan(tiff.nodata)
        assert (tiff.scales, tiff.offsets) == ((1, 1), (0, 0))
        np.testing.assert_array_equal(tiff.read(), wanted)
        np.testing.assert_array_equal(netcdf.data.values[0], wanted)
        assert netcdf.data.dtype == np.float32


def test_a_series_as_netcdf(masked: str, tmp_path: Path) -> None:
    read(masked, "--x", "500123", "--y", "4999800", "-o", str(tmp_path / "s.nc"))
    with xr.open_dataset(tmp_path / "s.nc") as found:
        assert (found.data.values == DATA[:, :, 20, 12]).all()
        assert (found.time.values == CUBE.time.values).all()
        assert (found.x.item(), found.y.item()) == (500125, 4999795)


# ---- the cost ------------------------------------------------------------------------------------------------------


def test_cost(masked: str) -> None:
    """A cell of a timestep of star-delta: its chunk and that of its anchor, and one of the mask."""
    cell = (*FRAME, "--cell", "1,1")
    store = czd.open_store(masked)
    with store.measure() as cost:
        store.to_xarray().isel(time=[1], y=slice(16, 32), x=slice(16, 32)).load()
    found = json.loads(read(masked, *cell, "--format", "json", "--cost"))["cost"]
    assert found == cost.as_dict()
    assert (found["chunks"], found["cells_wanted"]) == (3, 2 * 256 + 256)
    result = invoke("read", masked, *cell, "--cost")
    assert result.stdout == read(masked, *cell)
    assert result.stderr == (
        f"cost: 3 chunks in {cost.requests} requests, {cost.bytes_fetched} B fetched, "
        f"{cost.bytes_decoded / 1000:.2f} kB decoded; 1,280 values decoded for 768 wanted, 1.67 to one\n"
    )


# ---- times ---------------------------------------------------------------------------------------------------------

TIMES = np.array(["2023-12-31T23:59:59.024", "2024-01-05T10:56:19", "2024-01-05T10:56:20"], "datetime64[ms]")


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("0", 0),
        ("-1", 2),
        ("2023-12", 0),
        ("2023-12-31", 0),
        ("2024-01-05T10:56:20Z", 2),
        ("2024-01-05T12:56:20+02:00", 2),
    ],
)
def test_a_timestep_is_named(text: str, at: int) -> None:
    assert timestep_named(text, TIMES) == at


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("3", "timestep 3 does not exist"),
        ("2024-01-05", "--time 2024-01-05 stands for 2 timesteps: 2024-01-05T10:56:19.000, 2024-01-05T10:56:20.000"),
        ("2024-02", "the nearest is 2024-01-05T10:56:20.000"),
        ("2024-13", "there is no such date"),
        ("soon", "not an ISO-8601 time"),
    ],
)
def test_no_timestep(text: str, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        timestep_named(text, TIMES)


# ---- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "nothing says what to read"),
        (("--x", "1"), "--x and --y go together"),
        (("--x", "1", "--y", "1", "--cell", "0,0"), "--x and --y and --cell name two places"),
        (("--cell", "0"), "--cell is '0': it takes ROW,COL"),
        (("--window", "0,1,0,1.5"), "--window is '0,1,0,1.5': it takes Y0,Y1,X0,X1"),
        (("--bbox", "0,0,nan,1"), "it takes LEFT,BOTTOM,RIGHT,TOP"),
        (("--bbox", "1,0,0,1"), "LEFT must be less than RIGHT"),
        (("--lonlat", "45,120"), "the longitude comes first"),
        ((*FRAME, "--format", "geotiff"), "--format geotiff is no text"),
        ((*FRAME, "-o", "x.png"), "whose suffix is none of .csv"),
        (("--x", "1", "--y", "1", "-o", "x.tif"), "--format geotiff is for a timestep"),
        (("--x", "much", "--y", "1"), "--x"),
        (("--format", "png"), "--format"),
        ((*FRAME, "--storage-option", "x"), "a --storage-option: give KEY=VALUE"),
    ],
)
def test_bad_usage_is_exit_code_2(plain: str, args: tuple[str, ...], words: str) -> None:
    assert words in told(2, plain, *args)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--cell", "0,0"), "--time is missing: which of the 5 timesteps, 2023-01-01"),
        ((*FRAME, "--cell", "5,0"), "--cell 5,0 does not exist: level 0 has rows 0 to 4, columns 0 to 3"),
        ((*FRAME, "--window", "0,71,0,1"), "not within level 0, which has y 0 to 70, x 0 to 50"),
        ((*FRAME, "--bbox", "0,0,1,1"), "outside of the raster: in EPSG:32631 x is 500000 to 500500"),
        ((*FRAME, "--level", "9"), "has levels 0 to 3"),
        ((*FRAME, "--bands", "B04,B05"), "--bands names 'B05': the store has B04, B08"),
        (("--x", "0", "--y", "0"), "outside of the raster"),
        (("--lonlat", "100,-40"), "outside of the raster"),
        ((*FRAME, "-o", "/nowhere/x.csv"), "there is no folder /nowhere"),
    ],
)
def test_a_problem_is_exit_code_1(plain: str, args: tuple[str, ...], words: str) -> None:
    text = told(1, plain, *args)
    assert text.startswith("error: ")
    assert words in text


def test_a_file_is_replaced_with_force_alone(plain: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("mine")
    assert "is there already: name another file, or replace it with --force" in told(1, plain, *FRAME, "-o", str(path))
    assert path.read_text() == "mine"
    assert "is a folder" in told(1, plain, *FRAME, "-o", str(tmp_path), "--format", "csv")
    out = read(plain, *FRAME, "-o", str(path), "--force")
    assert out == f"{path}: 2 bands x 70 x 50 px, uint16, as stored\n"
    assert len(table(path.read_text())) == 7000


def test_a_failure_leaves_no_file(plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("chronozarr_dask.cli.reading.tables.write_csv", fails)
    text = told(1, plain, *FRAME, "-o", str(tmp_path / "a.csv"))
    assert text == f"error: {tmp_path / 'a.csv'} cannot be written: No space left on device"
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_store(tmp_path: Path) -> None:
    assert told(1, str(tmp_path / "nowhere"), "--time", "0").startswith("error: ")


def test_a_reader_that_has_gone_is_no_traceback(plain: str) -> None:
    """As of `chronozarr-dask read ... | head -1`."""
    args = [sys.executable, "-c", RUN, "read", plain, *FRAME]
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "time,y,x,band,value\n"
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(60) == 1

"""`encode` of GeoTIFFs: a quoted glob, a manifest, what the options stand in for."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from rasterio.transform import Affine

import chronozarr_dask as czd
from tests.cli.sources import invoke, objects

DATA = np.random.default_rng(0).integers(1, 200, (3, 2, 40, 30)).astype("uint8")
MASK = np.random.default_rng(1).random((40, 30)) > 0.4


def write(path: Path, data: Any, **more: Any) -> None:
    how = {"driver": "GTiff", "width": 30, "height": 40, "count": len(data), "dtype": data.dtype, "crs": "EPSG:32631"}
    how |= {"transform": Affine(10, 0, 5e5, 0, -10, 5e6)}
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "w", **(how | more)) as file:
        file.write(data)
        if "MASKED" in path.name:
            file.write_mask(MASK)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    out = tmp_path / "in"
    out.mkdir()
    return out


def test_a_glob_and_a_manifest_give_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    rows = ["uri,datetime,bands"]
    for t, day in enumerate(("2024-01-05", "2024-01-15", "2024-01-25")):
        for b, band in enumerate(("B04", "B08")):
            write(folder / f"S2_{day}_{band}.tif", DATA[t, b][None])
            rows.append(f"in/S2_{day}_{band}.tif,{day},{band}")
    (tmp_path / "m.csv").write_text("\n".join(rows))
    for source, target in ((f"{folder}/*.tif", "a.cz"), (str(tmp_path / "m.csv"), "b.cz")):
        result = invoke("encode", source, str(tmp_path / target), "--chunk-size", "16", "--quiet")
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert objects(tmp_path / "a.cz") == objects(tmp_path / "b.cz")
    stored = czd.open_store(tmp_path / "a.cz").to_xarray(level=0)
    assert (stored.data.values == DATA).all()
    assert list(stored.band.values) == ["B04", "B08"]


def test_a_mask_comes_along_and_variable_leaves_it(folder: Path, tmp_path: Path) -> None:
    write(folder / "MASKED_20240105.tif", DATA[0])
    write(folder / "20240115.tif", DATA[1])
    for target, more in (("a.cz", ()), ("b.cz", ("--variable", "data"))):
        result = invoke("encode", f"{folder}/*.tif", str(tmp_path / target), "--chunk-size", "16", *more)
        assert result.exit_code == 0, result.stderr
    stored = czd.open_store(tmp_path / "a.cz").to_xarray(level=0)
    assert (stored.mask.values == np.stack([MASK, np.ones_like(MASK)])).all()
    assert "mask" not in czd.open_store(tmp_path / "b.cz").to_xarray(level=0)


def test_date_format(folder: Path, tmp_path: Path) -> None:
    write(folder / "LC08_20240105_20240301.tif", DATA[0])
    args = ("encode", f"{folder}/*.tif", str(tmp_path / "a.cz"))
    result = invoke(*args)
    assert result.exit_code == 1
    assert "LC08_20240105_20240301.tif has 2 different dates" in result.stderr
    assert "--date-format" in result.stderr
    assert invoke(*args, "--date-format", "LC08_%Y%m%d").exit_code == 0
    assert str(czd.open_store(tmp_path / "a.cz").to_xarray(level=0).time.values[0])[:10] == "2024-01-05"


@pytest.mark.parametrize(
    ("how", "option", "what"),
    [({"nodata": 3}, ("--nodata", "null"), "nodata"), ({"crs": "EPSG:32632"}, ("--crs", "EPSG:32631"), "CRS")],
)
def test_an_option_stands_in_for_what_files_disagree_in(
    folder: Path, tmp_path: Path, how: dict[str, Any], option: tuple[str, str], what: str
) -> None:
    write(folder / "20240105.tif", DATA[0])
    write(folder / "20240115.tif", DATA[1], **how)
    args = ("encode", f"{folder}/*.tif", str(tmp_path / "a.cz"), "--chunk-size", "16")
    result = invoke(*args)
    assert result.exit_code == 1
    assert f"20240105.tif and {folder}/20240115.tif differ in {what}" in result.stderr
    assert option[0] in result.stderr
    result = invoke(*args, *option)
    assert result.exit_code == 0, result.stderr

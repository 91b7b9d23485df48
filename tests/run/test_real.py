"""Real scenes, from their items to a store, against references that are made in another way."""

import csv
import json
import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import yaml

from chronozarr_dask.errors import InputError
from chronozarr_dask.run.composites import make_grid
from chronozarr_dask.run.encode import ChronozarrWarning
from chronozarr_dask.run.found import find
from chronozarr_dask.run.produce import run_document
from chronozarr_dask.run.recipes import Document
from chronozarr_dask.run.report import RunReport
from chronozarr_dask.store.reader import Store, open_store
from tests.run.made import counts, level0
from tests.source.stac.test_realitems import NO_PROJ, TABLE

BANDS = ["B02", "B03", "B04", "B08"]
KEPT = [4, 5, 6, 7, 11]
ROMANIA = "sentinel2_romania_eupl/items.json"
BELGIUM = "sentinel2/B_gfmap_cdse_2023OctDec/items.json"
NEW_YORK = "landsat/C_landsat8_L8NY18_2018/items.json"
GREENLAND = "landsat/stactools_c2l2_005009"

Make = Callable[..., RunReport]


def values(target: Path, source: Mapping[str, Any], **parts: Any) -> dict[str, Any]:
    return {"version": 1, "source": dict(source), "target": str(target), "encode": {"chunk_size": 32}, **parts}


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Run a recipe; what it warns of is in its report."""

    def run(source: Mapping[str, Any], name: str = "store", **parts: Any) -> RunReport:
        document = Document.parse(yaml.safe_dump(values(tmp_path / name, source, **parts)), "recipe.yaml")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ChronozarrWarning)
            return run_document(document, document.recipe())

    return run


def read(path: Path | str) -> Any:
    with rasterio.open(path) as file:
        return file.read(1)


# ---- Sentinel-2, Romania, April to October 2018 ---------------------------------------------------------------------


def romania(realdata: Path, **more: Any) -> dict[str, Any]:
    classes = {"asset": "SCL", "keep": KEPT}
    return {"items": str(realdata / ROMANIA), "bands": BANDS, "classes": classes, "offset": "none", **more}


def assert_is_romania(store: Store, realdata: Path) -> None:
    """Level 0 is the floored median of the reference wherever there is an observation, and coverage its count."""
    reference = np.load(realdata / "sentinel2_romania_eupl/reference_monthly_median_keep4_5_6_7_11.npz")
    months = [f"2018{month:02d}" for month in range(4, 11)]
    assert [str(t)[:7].replace("-", "") for t in store.times] == months
    found, n = level0(store), counts(store)
    assert found.shape == (7, 4, 100, 100)
    for t, month in enumerate(months):
        np.testing.assert_array_equal(n[t], reference[f"count_{month}"])
        seen = n[t] > 0
        assert seen.any()
        for b, band in enumerate(BANDS):
            median = reference[f"{band}_{month}_median"]
            np.testing.assert_array_equal(found[t, b][seen], np.floor(median[seen]).astype("uint16"))
            assert not found[t, b][~seen].any()


def test_romania_is_its_reference(make: Make, realdata: Path) -> None:
    report = make(romania(realdata))
    store = open_store(report.target)
    assert_is_romania(store, realdata)
    assert report.scenes is not None
    assert len(report.scenes["used"]) == 27
    assert [b.common_name for b in store.bands] == ["blue", "green", "red", "nir"]
    assert {b.scale for b in store.bands} == {0.0001}


@pytest.mark.parametrize("encoding", ["none", "star-delta"])
def test_romania_in_small_regions(make: Make, realdata: Path, encoding: str) -> None:
    encode = {"chunk_size": 16, "region_cells": 2, "time_slab": 6, "encoding": encoding}
    assert_is_romania(open_store(make(romania(realdata), encode=encode).target), realdata)


def test_romania_under_auto_is_refused(make: Make, realdata: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"NRT_RO_20180402.*no processing_baseline.*set the offset policy to none"):
        make(romania(realdata, offset="auto"))
    assert list(tmp_path.iterdir()) == []


def test_a_policy_for_each_item(make: Make, realdata: Path) -> None:
    ids = [f["id"] for f in json.loads((realdata / ROMANIA).read_text())["features"]]
    report = make(romania(realdata, offset="auto", offsets=dict.fromkeys(ids, "none")))
    assert_is_romania(open_store(report.target), realdata)


# ---- Sentinel-2, Belgium, October to December 2023, int16 -----------------------------------------------------------


def belgium(realdata: Path) -> dict[str, Any]:
    return {"items": str(realdata / BELGIUM), "bands": BANDS, "classes": {"keep": KEPT}}


def test_a_month_without_a_clear_pixel(make: Make, realdata: Path) -> None:
    report = make(belgium(realdata))
    store = open_store(report.target)
    assert (store.dtype, store.nodata) == ("int16", -32768)
    found, n = level0(store), counts(store)
    assert report.scenes is not None
    assert list(report.scenes["empty"]) == ["2023-11"]
    assert any("2023-11" in text for text in report.warnings)
    assert not n[1].any()
    assert (found[1] == -32768).all()
    assert_is_belgium(found, n, realdata)


def assert_is_belgium(found: Any, n: Any, realdata: Path) -> None:
    """October and December by masked arrays of numpy."""
    folders = sorted(p for p in (realdata / BELGIUM).parent.iterdir() if p.is_dir())
    for t, month in ((0, "202310"), (2, "202312")):
        of_month = [p for p in folders if p.name.startswith(month)]
        clear = np.stack([np.isin(read(p / "SCL.tif"), KEPT) for p in of_month])
        stack = np.stack([[read(p / f"{b}.tif") for b in BANDS] for p in of_month])
        clear &= (stack != -32768).all(axis=1)
        masked = np.ma.masked_array(stack.astype(float), np.broadcast_to(~clear[:, None], stack.shape))
        expected = np.floor(np.ma.median(masked, axis=0)).filled(-32768)
        np.testing.assert_array_equal(n[t], clear.sum(axis=0))
        assert n[t].any()
        np.testing.assert_array_equal(found[t], expected)


def test_carry_forward_repeats_october(make: Make, realdata: Path) -> None:
    report = make(belgium(realdata), composite={"gap_fill": "carry-forward"})
    store = open_store(report.target)
    found, n = level0(store), counts(store)
    np.testing.assert_array_equal(found[1], found[0])
    assert (found[0] != -32768).any()
    assert not n[1].any()
    december = np.where(n[2] > 0, found[2], found[1])
    np.testing.assert_array_equal(found[2], december)
    assert report.scenes is not None
    assert list(report.scenes["empty"]) == ["2023-11"]


# ---- Landsat ---------------------------------------------------------------------------------------------------------


def new_york(realdata: Path, **more: Any) -> dict[str, Any]:
    # BQA of Collection 1 has fill in bit 0 and cloud in bit 4.
    return {
        "items": str(realdata / NEW_YORK),
        "bands": ["B4", "B5"],
        "bits": {"asset": "BQA", "reject": [0, 4]},
        **more,
    }


def test_new_york_is_on_as_many_grids_as_scenes(make: Make, realdata: Path) -> None:
    with pytest.raises(InputError, match=r"the items are on 19 grids.*grid\.align_to.*grid\.crs"):
        make(new_york(realdata))


@pytest.mark.parametrize("mosaic", [True, False])
def test_new_york_on_the_grid_of_one_scene(make: Make, realdata: Path, mosaic: bool) -> None:
    """Nineteen scenes of three paths and rows, by nearest: against one pixel after another."""
    of_grid = "LC08_L1TP_014031_20180106_20180119_01_T1"
    composite = {"resampling": "nearest", "mosaic": mosaic}
    report = make(
        new_york(realdata), grid={"align_to": of_grid}, composite=composite, period={"step": "year"},
        encode={"chunk_size": 32, "nodata": 0},
    )  # fmt: skip
    store = open_store(report.target)
    assert report.scenes is not None
    assert len(report.scenes["used"]) == 19
    (found,), (n,) = level0(store), counts(store)
    expected, n_expected = nearest_median(realdata, store, mosaic=mosaic)
    np.testing.assert_array_equal(n, n_expected)
    np.testing.assert_array_equal(found, expected)
    assert n.max() > 6
    assert (n == 0).any()


def nearest_median(realdata: Path, store: Store, *, mosaic: bool) -> tuple[Any, Any]:
    a, _, c, _, e, f = (float(v) for v in store.levels[0].transform)
    height, width = store.read_coverage(0).shape
    items = json.loads((realdata / NEW_YORK).read_text())["features"]
    items.sort(key=lambda i: (i["properties"]["datetime"], i["id"]))
    observations: list[tuple[Any, Any]] = []
    before = None
    for item in items:
        pixels, valid = np.zeros((2, height, width)), np.zeros((height, width), bool)
        files = {
            k: (realdata / NEW_YORK).parent / v["href"] for k, v in item["assets"].items() if k in ("B4", "B5", "BQA")
        }
        with rasterio.open(files["B4"]) as file:
            back = ~file.transform
        planes = {k: read(p) for k, p in files.items()}
        for row in range(height):
            for col in range(width):
                x, y = back @ (c + a * (col + 0.5), f + e * (row + 0.5))
                i, j = int(np.floor(y)), int(np.floor(x))
                if (
                    0 <= i < planes["B4"].shape[0]
                    and 0 <= j < planes["B4"].shape[1]
                    and not planes["BQA"][i, j] & 0b10001
                ):
                    pixels[:, row, col] = planes["B4"][i, j], planes["B5"][i, j]
                    valid[row, col] = pixels[:, row, col].all()
        if mosaic and before == item["properties"]["datetime"]:
            first, there = observations[-1]
            observations[-1] = (np.where(there, first, pixels), there | valid)
        else:
            observations.append((pixels, valid))
        before = item["properties"]["datetime"]
    n = sum(valid.astype(int) for _, valid in observations)
    stack = np.ma.masked_array([p for p, _ in observations], [np.broadcast_to(~v, p.shape) for p, v in observations])
    return np.floor(np.ma.median(stack, axis=0)).filled(0), n


def test_items_of_the_usgs_do_not_tell_their_grid(make: Make, realdata: Path) -> None:
    items = next((realdata / GREENLAND).rglob("*_SR_stac.json"))
    source = {"items": str(items), "bands": ["red"], "bits": {"asset": "QA_PIXEL"}}
    with pytest.raises(InputError, match=rf"{NO_PROJ}.*name the grid: grid\.crs, grid\.resolution and grid\.bounds"):
        make(source)


def greenland(realdata: Path, folder: Path) -> Path:
    """The item of the USGS, its hrefs turned to the files that are here."""
    item = json.loads(next((realdata / GREENLAND).rglob("*_SR_stac.json")).read_text())
    here = {p.name: p for p in (realdata / GREENLAND).glob("*.TIF")}
    for key, asset in list(item["assets"].items()):
        name = asset["href"].rsplit("/", 1)[-1]
        if name in here:
            item["assets"][key] = asset | {"href": str(here[name]), "alternate": {}}
        else:
            del item["assets"][key]
    (folder / "item.json").write_text(json.dumps(item))
    return folder / "item.json"


def assert_is_greenland(store: Store, realdata: Path, names: list[str]) -> None:
    folder = realdata / GREENLAND
    clear = read(next(folder.glob("*QA_PIXEL.TIF"))) & 0b11111 == 0
    bands = np.stack([read(next(folder.glob(f"*_{name}.TIF"))) for name in names])
    clear &= (bands != 0).all(axis=0)
    assert clear.any()
    np.testing.assert_array_equal(store.read_coverage(0), clear)
    np.testing.assert_array_equal(store.read(0), np.where(clear, bands, 0))


def test_greenland_with_the_grid_named(make: Make, realdata: Path, tmp_path: Path) -> None:
    """PixelIsPoint, and pixels that are not square: what is copied is copied."""
    with rasterio.open(next((realdata / GREENLAND).glob("*SR_B4.TIF"))) as file:
        crs, resolution, bounds = file.crs.to_string(), [file.transform.a, -file.transform.e], list(file.bounds)
    bands = [{"name": name, "scale": 2.75e-05, "offset": -0.2} for name in ("red", "nir08")]  # the item tells neither
    source = {"items": str(greenland(realdata, tmp_path)), "bands": bands, "bits": {"asset": "QA_PIXEL"}}
    report = make(source, grid={"crs": crs, "resolution": resolution, "bounds": bounds})
    store = open_store(report.target)
    assert_is_greenland(store, realdata, ["SR_B4", "SR_B5"])
    assert [(b.scale, b.offset) for b in store.bands] == [(2.75e-05, -0.2)] * 2


def test_greenland_from_its_files(make: Make, realdata: Path, tmp_path: Path) -> None:
    """No catalogue: a list of files, whose headers tell the grid."""
    bands = ["SR_B2", "SR_B3", "SR_B4", "SR_B5", "QA_PIXEL"]
    with (tmp_path / "files.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["uri", "datetime", "bands"])
        rows.writerows([next((realdata / GREENLAND).glob(f"*_{b}.TIF")), "2015-07-10T15:00:00Z", b] for b in bands)
    source = {"files": str(tmp_path / "files.csv"), "bands": bands[:4], "bits": {"asset": "QA_PIXEL"}}
    assert_is_greenland(open_store(make(source).target), realdata, bands[:4])


# ---- every real item file -------------------------------------------------------------------------------------------

PLANES = {"SCL": "classes", "QA_PIXEL": "bits", "oa_fmask": "classes", "CLM": "classes", "BQA": "bits"}


def recipe_over(path: Path, bands: list[str], offset: str, grid: Mapping[str, Any]) -> Any:
    kind = PLANES.get(bands[-1])
    source: dict[str, Any] = {"items": str(path), "bands": bands[: len(bands) - (kind is not None)], "offset": offset}
    if kind:
        source[kind] = {"asset": bands[-1]}
    return Document(path.name, "", values(Path("nowhere"), source, grid=dict(grid)), {}).recipe()


def planned(path: Path, bands: list[str], offset: str = "auto", grid: Mapping[str, Any] | None = None) -> Any:
    """(scenes, grid) of a run, as far as items tell."""
    recipe = recipe_over(path, bands, offset, grid or {})
    found = find(recipe)
    return found, make_grid(recipe, found.scenes, [b.asset or b.name for b in recipe.source.bands])


NAMED = {"crs": "EPSG:32631", "resolution": 10, "bounds": [500000, 4999360, 500640, 5000000]}
"""What settles that an item does not tell its grid."""


@pytest.mark.parametrize(("name", "n", "bands", "grid", "offset"), TABLE, ids=[row[0] for row in TABLE])
def test_every_real_item_file_is_planned_or_refused(
    realdata: Path, name: str, n: int, bands: list[str], grid: Any, offset: Any
) -> None:
    """Each refusal names the option that settles it, and with that option it is planned."""
    path, how = realdata / name, {"offset": "auto", "grid": {}}
    if isinstance(offset, str):
        with pytest.raises(InputError, match=re.compile(offset)) as caught:
            planned(path, bands)
        assert "set the offset policy to none" in str(caught.value)
        how["offset"] = "none"
    if isinstance(grid, str):
        with pytest.raises(InputError, match=re.compile(grid)) as caught:
            planned(path, bands, **how)
        message = str(caught.value)
        if "do not tell their grid" in message:
            how["grid"] = NAMED
        elif "CRSs" in message:
            how["grid"] = {"crs": re.findall(r"EPSG:\d+", message)[0]}
        else:
            how["grid"] = {"align_to": find(recipe_over(path, bands, "auto", {})).scenes[0].id}
    found, made = planned(path, bands, **how)
    assert len(found.scenes) == n
    assert found.dropped == ()
    if isinstance(grid, tuple):
        a, _, c, _, _, f = made.transform
        assert [made.crs, a, c, f, made.width, made.height] == [
            grid[0], *(pytest.approx(v, rel=1e-12) for v in grid[1:])
        ]  # fmt: skip
        assert {d.offset for d in found.decisions} == {0 if isinstance(offset, str) else offset}
    else:
        assert made.width > 0
        assert made.crs == how["grid"].get("crs", made.crs)

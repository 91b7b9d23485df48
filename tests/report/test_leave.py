"""Every run leaves a report, however it ends, and any store has one: its figures are those of store and journal."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from pathlib import Path
from typing import Any

import chronozarr
import numpy as np
import pytest

import chronozarr_dask as czd
from chronozarr_dask.errors import ChronozarrWarning, InputError, NotCompleteError, RunError, StoreError
from chronozarr_dask.run.reporting import leave
from chronozarr_dask.run.reporting.leave import make_report
from chronozarr_dask.store.reader import open_store
from tests.cli.sources import invoke
from tests.encode import cubes
from tests.report.made import HOSTILE, SHAPE, encoded, interrupted, means, page_of, receipts_of, report_of
from tests.run.made import World
from tests.services.seaweedfs import S3Server
from tests.services.web import Server
from tests.store.stores import array_document, compressed, px, root_document, star


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return encoded(tmp_path_factory.mktemp("store") / "s.cz", planes=("coverage",))


# ---- figures ---------------------------------------------------------------------------------------------------------


def test_objects_and_bytes_are_those_of_the_store(store: Path) -> None:
    doc, stored = report_of(store), cubes.chunk_objects(store)
    by_level = {k: [len(v) for key, v in stored.items() if key.startswith(f"{k}/")] for k in "012"}
    assert doc["status"] == "complete"
    assert doc["objects"] == len(stored)
    assert doc["stored_bytes"] == sum(map(len, stored.values()))
    assert doc["objects_by_level"] == {k: len(v) for k, v in by_level.items()}
    assert doc["bytes_by_level"] == {k: sum(v) for k, v in by_level.items()}


def test_regions_and_stages_are_those_of_the_journal(store: Path) -> None:
    doc = report_of(store)
    receipts = [json.loads(p.read_text()) for p in Path(f"{store}.run/receipts").rglob("*") if p.is_file()]
    assert doc["regions"] == doc["regions_done"] == len(receipts)
    (run,) = (s for s in doc["stages"] if s["stage"] == "run")
    estimate = json.loads(Path(f"{store}.run/estimate.json").read_text())
    assert run["planned"] == estimate["stages"]["run"]
    lengths = [n for r in receipts for array in r["lengths"] for n in array if n]
    own = {
        "bytes_in": doc["attempt"]["bytes_in"],
        "bytes_out": sum(lengths),
        "objects": len(lengths),
        "units": len(receipts),
    }
    assert run["actual"] == {"seconds": doc["seconds_by_stage"]["run"], **own}
    assert doc["options"]["encoding"] == "star-delta"
    assert doc["versions"]["numpy"] == np.__version__


def test_observations_are_the_means_of_coverage(store: Path) -> None:
    seen, opened = report_of(store)["seen"], open_store(store)
    assert seen["level"] == 0
    assert seen["observations"]["of"] == "coverage"
    counts = [opened.read_coverage(t) for t in range(SHAPE[0])]
    assert seen["observations"]["means"] == [means(c) for c in counts]
    assert seen["coverage"]["mean"] == pytest.approx(np.mean(counts))
    change = opened.volatility().values
    assert seen["volatility"]["most"] == float(change.max())
    assert seen["volatility"]["least"] == float(change.min())


def test_without_coverage_the_valid_share_is_told(tmp_path: Path) -> None:
    opened = open_store(path := encoded(tmp_path / "m", "int16", "none", planes=("mask",)))
    seen = report_of(path)["seen"]
    assert seen["observations"]["of"] == "valid"
    assert seen["observations"]["means"] == [means(opened.read_mask(t)) for t in range(SHAPE[0])]


def test_the_stretch_is_one_for_all_timesteps(store: Path) -> None:
    opened = open_store(store)
    frames = [opened.read(t)[0] for t in range(SHAPE[0])]
    found = [np.percentile(frame[frame != 0], (2, 98)) for frame in frames]
    assert report_of(store)["seen"]["stretch"] == pytest.approx([np.median([f[i] for f in found]) for i in (0, 1)])


def test_scenes_and_their_pixels(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.add(HOSTILE.replace("/", ""), "2024-03-02T10:00:00Z", {"B04": 1000}, [[4] * 16 + [9] * 16] * 32)
    world.add("gone", "2024-03-05T10:00:00Z", {"B04": 3000})
    (tmp_path / "gone" / "B04.tif").unlink()
    report = world.run(source__offset="none", run__keep_going=True)
    doc = report_of(tmp_path / "store")
    assert doc["scenes"] == json.loads(json.dumps(report.scenes))
    assert {s["id"]: s["valid_pixels"] for s in doc["scenes"]["used"]} == {HOSTILE.replace("/", ""): 2048, "gone": 0}
    assert [s["id"] for s in doc["scenes"]["lost"]] == ["gone"]
    assert doc["recipe"] == (tmp_path / "store.run/recipe.yaml").read_text()
    page = page_of(tmp_path / "store").read_text()
    assert "<img src=x" not in page
    assert "&lt;img src=x" in page


def test_the_plan_stands_beside_what_it_took(tmp_path: Path) -> None:
    estimate = {"journal_version": 1, "stages": {"run": {"seconds": 12.5, "objects": 7, "requests": 9}, "extra": {}}}
    planned = {"seconds": 12.5, "objects": 7, "requests": 9}
    with pytest.raises(InputError):
        encoded(tmp_path / "s", "float32", "none", mask="nothing there")
    broken = cubes.cube("float32", SHAPE)
    broken.values[3, 0, 5, 5] = np.nan
    with pytest.raises(InputError, match="NaN"):
        czd.encode(broken, tmp_path / "s", chunk_size=16, encoding="none")
    Path(tmp_path / "s.run/estimate.json").write_text(json.dumps(estimate))
    with pytest.raises(InputError, match="NaN"):
        czd.encode(broken, tmp_path / "s", chunk_size=16, encoding="none", resume=True)
    doc = report_of(tmp_path / "s")
    assert next(s for s in doc["stages"] if s["stage"] == "run")["planned"] == planned
    assert doc["stages"][-1] == {"stage": "extra", "planned": {}, "actual": None}
    assert "planned 12.5 s" in page_of(tmp_path / "s").read_text()
    assert [a["status"] for a in doc["attempts"]] == ["failed", "failed"]


# ---- runs that do not come to their end ------------------------------------------------------------------------------


def failing(end: BaseException, after: int) -> Any:
    """A cube whose blocks raise at one timestep."""
    seen = []

    def before(_: Any) -> None:
        seen.append(1)
        if len(seen) > after:
            raise end

    return cubes.as_cube(cubes.computed_by(cubes.pixels(shape=SHAPE), (SHAPE[0], 2, 16, 16), before))


def test_a_failed_run_leaves_a_report(tmp_path: Path) -> None:
    error = InputError("the block is torn at https://host/x.tif?sig=SECRET")
    with pytest.raises(InputError, match="torn"):
        czd.encode(failing(error, 4), tmp_path / "s", chunk_size=16, region_cells=2, encoding="none", memory="1MB")
    doc = report_of(tmp_path / "s")
    assert doc["status"] == "failed"
    assert doc["error"] == "the block is torn at https://host/x.tif?..."
    assert (doc["store"], doc["seen"]) == (None, None)
    receipts = [p for p in Path(tmp_path / "s.run/receipts").rglob("*") if p.is_file()]
    assert doc["regions_done"] == doc["attempt"]["regions"] == len(receipts)
    page = page_of(tmp_path / "s").read_text()
    assert "the block is torn at" in page
    assert "SECRET" not in page
    assert make_report(tmp_path / "s").document["error"] == doc["error"], "the command shows it too"


def test_an_interrupted_run_leaves_a_report_and_a_resume_adds_to_it(tmp_path: Path) -> None:
    how: dict[str, Any] = {"chunk_size": 16, "region_cells": 2, "encoding": "none"}
    whole = cubes.as_cube(np.maximum(cubes.pixels(shape=SHAPE), 1))
    with pytest.raises(RunError, match="interrupted"):
        interrupted(tmp_path / "s", 2)
    doc, receipts = report_of(tmp_path / "s"), receipts_of(tmp_path / "s")
    assert (doc["status"], doc["error"]) == ("interrupted", "KeyboardInterrupt")
    assert 2 <= doc["regions_done"] == len(receipts) < doc["regions"]
    report = czd.encode(whole, tmp_path / "s", resume=True, **how)
    doc = report_of(tmp_path / "s")
    assert [a["status"] for a in doc["attempts"]] == ["interrupted", "complete"]
    assert report.regions_resumed == len(receipts)
    assert doc["attempt"]["regions"] == report.regions - len(receipts)


def test_an_attempt_that_did_not_end_tells_of_all_that_is_there(tmp_path: Path) -> None:
    """Objects, bytes and regions are those of the whole run, of however many attempts: those of the receipts."""
    for stop_at in (1, 4):
        with pytest.raises(RunError, match="interrupted"):
            interrupted(tmp_path / "s", stop_at, resume=stop_at > 1)
        doc, receipts = report_of(tmp_path / "s"), receipts_of(tmp_path / "s")
        lengths = [n for r in receipts for array in r["lengths"] for n in array if n]
        assert doc["regions_done"] == len(receipts)
        assert (doc["objects"], doc["stored_bytes"]) == (len(lengths), sum(lengths))
    assert 0 < doc["attempt"]["objects"] < doc["objects"]
    assert 0 < doc["attempt"]["bytes"] < doc["stored_bytes"]


def test_a_report_that_is_torn_is_made_anew(store: Path, tmp_path: Path) -> None:
    shutil.copytree(store, tmp_path / "s.cz")
    shutil.copytree(f"{store}.run", tmp_path / "s.cz.run")
    (tmp_path / "s.cz.run/report.json").write_text('{"journal_ver')
    with pytest.warns(ChronozarrWarning, match=r"its journal cannot be used: .*report\.json is damaged"):
        report = make_report(tmp_path / "s.cz")
    assert report.document["seen"] == report_of(store)["seen"]
    assert "objects" not in report.document


def test_an_empty_store_has_a_page(tmp_path: Path) -> None:
    czd.encode(cubes.as_cube(np.zeros(SHAPE, np.uint16)), tmp_path / "s", chunk_size=16)
    doc = report_of(tmp_path / "s")
    assert (doc["objects"], doc["stored_bytes"], doc["seen"]["stretch"]) == (0, 0, None)
    assert "no valid pixel" in page_of(tmp_path / "s").read_text()


def test_a_report_that_cannot_be_made_changes_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise StoreError("no picture today")

    monkeypatch.setattr(leave, "look_at", refuse)
    with pytest.warns(ChronozarrWarning, match="no picture today"):
        encoded(tmp_path / "s")
    assert open_store(tmp_path / "s").read(0).shape == SHAPE[1:]
    assert report_of(tmp_path / "s")["status"] == "complete", "what the run knows of itself is kept"
    monkeypatch.setattr(leave, "run_document", refuse)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ChronozarrWarning)
        with pytest.raises(InputError, match="torn"):
            czd.encode(failing(InputError("torn"), 0), tmp_path / "t", chunk_size=16, encoding="none")
        warnings.simplefilter("error", ChronozarrWarning)
        with pytest.raises(InputError, match="torn") as caught:
            czd.encode(failing(InputError("torn"), 0), tmp_path / "u", chunk_size=16, encoding="none")
        assert "no picture today" in caught.value.__notes__[0]


# ---- any store -------------------------------------------------------------------------------------------------------


def test_of_a_store_by_another_writer(tmp_path: Path) -> None:
    path = tmp_path / "theirs.cz"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chronozarr.encode(cubes.cube(shape=SHAPE), path, crs=cubes.CRS, chunk_size=16, encoding="star-delta")
    report = make_report(path)
    assert report.document["store"]["shape"] == {"time": 8, "band": 2, "y": 40, "x": 52}
    assert "objects" not in report.document
    assert report.document["seen"]["observations"]["of"] == "valid"
    assert not (tmp_path / "theirs.cz.run").exists()


def test_of_a_v0_1_store(tmp_path: Path) -> None:
    """Bands are strings, and there is no mirror of the levels."""
    arrays = {"0/data": array_document((2, 1, 2, 2), "uint16", 2)}
    document = root_document(arrays, star(2, 6, {1: 0}), spec_version="0.1.0", bands=["B04"], levels=None)
    objects = {
        "zarr.json": json.dumps(document).encode(),
        "0/data/c/0/0/0/0": compressed(px(1, 2, 3, 4)),
        "0/data/c/1/0/0/0": compressed(px(-1, 1, 0, 0, dtype="<i2")),
    }
    for key, data in objects.items():
        (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / key).write_bytes(data)
    report = make_report(tmp_path)
    assert report.document["store"]["shape"] == {"time": 2, "band": 1, "y": 2, "x": 2}
    assert report.document["store"]["bands"] == [{"name": "B04", "scale": 1.0, "offset": 0.0}]
    assert report.document["seen"]["observations"]["means"][1] == [[0.0, 1.0], [1.0, 1.0]]
    assert "B04" in report.page


@pytest.mark.s3
def test_of_a_store_in_a_bucket(store: Path, s3_server: S3Server, s3_bucket: str) -> None:
    """Store and journal are there: the page is that of the same store in a folder, but for where it is."""
    s3_server.upload(store.parent, s3_bucket)
    here = make_report(store).document
    there = make_report(f"s3://{s3_bucket}/s.cz", s3_server.storage_options).document
    assert there["store"] == here["store"] | {"store": f"s3://{s3_bucket}/s.cz"}
    assert there["seen"] == here["seen"]
    assert there["attempts"] == here["attempts"]
    assert s3_server.secret not in json.dumps(there)


def test_over_http_requests_are_few(store: Path) -> None:
    with Server(store) as server:
        report = make_report(server.url)
        asked = len(server.requests)
    assert report.document["seen"]["observations"] == report_of(store)["seen"]["observations"]
    stored = cubes.chunk_objects(store)
    assert asked < 3 * len(stored) + 40


def test_what_is_no_store_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        make_report(tmp_path / "nothing")
    (tmp_path / "s.run").mkdir()
    (tmp_path / "s.run/claim.json").write_text('{"journal_version": 1}')
    with pytest.raises(NotCompleteError):
        make_report(tmp_path / "s")


def test_the_command_writes_a_page_and_prints_the_figures(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke("report", str(store))
    assert (result.exit_code, result.stdout.strip()) == (0, "s.cz.html")
    assert (tmp_path / "s.cz.html").read_text().startswith("<!DOCTYPE html>")
    result = invoke("report", str(store), "--json")
    assert json.loads(result.stdout)["objects"] == report_of(store)["objects"]
    result = invoke("report", str(store), "-o", str(tmp_path / "no/where.html"))
    assert result.exit_code == 1
    assert "cannot be written" in result.stderr


# ---- secrets and texts -----------------------------------------------------------------------------------------------


def test_values_of_storage_options_are_not_shown(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.add("A", "2024-03-02T10:00:00Z", {"B04": 1000})
    options = {"endpoint_url": "http://CANARY", "client_kwargs": {"headers": ["CANARY"]}}
    world.run(source__offset="none", source__storage_options=options)
    recipe = report_of(tmp_path / "store")["recipe"]
    assert "endpoint_url" in recipe
    assert "chunk_size: 32" in recipe
    for name in ("report.json", "report.html"):
        assert "CANARY" not in (tmp_path / "store.run" / name).read_text()


def test_no_text_ends_the_data_of_the_script(tmp_path: Path) -> None:
    of = cubes.cube(shape=SHAPE)
    bands = [czd.Band(HOSTILE, "red"), czd.Band("b", "nir")]
    notes = {"sources": [HOSTILE], "composite": HOSTILE, "gap_fill": "none", "notes": HOSTILE}
    czd.encode(of, tmp_path / "s", chunk_size=16, bands=bands, provenance=notes)
    page = page_of(tmp_path / "s").read_text()
    assert page.count("<script") == page.count("</script>") == 2
    data = re.search(r'<script type="application/json" id="player-data">(.*?)</script>', page, re.S)
    assert data is not None
    assert not set("<>&") & set(data[1])
    assert json.loads(data[1])["bands"] == [HOSTILE, "b"]

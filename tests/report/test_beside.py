"""A report of a store tells of the run that made it, and of no other: by the journal beside it, where that fits."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import chronozarr
import numpy as np
import pytest

import chronozarr_dask as czd
from chronozarr_dask.errors import ChronozarrWarning, InputError
from chronozarr_dask.run.reporting import tables
from chronozarr_dask.run.reporting.leave import make_report
from tests.cli.sources import invoke
from tests.encode import cubes
from tests.report.made import SHAPE, encoded, interrupted, report_of
from tests.services.web import Fault, Server

OF_A_RUN = {"objects", "stored_bytes", "bytes_by_level", "regions", "stages", "scenes", "attempts", "recipe"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return encoded(tmp_path_factory.mktemp("store") / "m1")


def test_a_copy_with_its_journal_is_reported_by_its_own_name(store: Path, tmp_path: Path) -> None:
    shutil.copytree(store, tmp_path / "m2")
    shutil.copytree(f"{store}.run", tmp_path / "m2.run")
    report = make_report(tmp_path / "m2")
    assert report.document["target"] == str(tmp_path / "m2")
    assert report.document["journal"] == str(tmp_path / "m2.run")
    assert report.document["objects"] == report_of(store)["objects"], "it is what made it"
    assert tables.title(report.document) == "m2"
    assert "<title>m2 " in report.page


@pytest.mark.parametrize("how", [{"shape": (6, 2, 40, 52)}, {"shape": SHAPE, "planes": True}])
def test_the_journal_of_another_store_tells_nothing(store: Path, tmp_path: Path, how: dict) -> None:
    of = cubes.cube(shape=how["shape"])
    czd.encode(of, tmp_path / "m1", chunk_size=16, coverage=cubes.coverage(of) if "planes" in how else None)
    shutil.rmtree(tmp_path / "m1.run")
    shutil.copytree(f"{store}.run", tmp_path / "m1.run")
    with pytest.warns(ChronozarrWarning, match=r"m1\.run is of the run of another store"):
        report = make_report(tmp_path / "m1")
    assert not OF_A_RUN & set(report.document)
    assert report.document["store"]["shape"]["time"] == how["shape"][0]
    assert "is of the run of another store" in report.page


@pytest.mark.parametrize("deep", [True, False])
def test_a_plan_of_another_shape_is_told(store: Path, tmp_path: Path, deep: bool) -> None:
    """As another version of this package may have written it."""
    shutil.copytree(store, tmp_path / "m")
    shutil.copytree(f"{store}.run", tmp_path / "m.run")
    path = tmp_path / "m.run" / "plan.json"
    document = json.loads(path.read_text())
    del document["plan"]["passes"]
    path.write_text(json.dumps({**document, "version": "9.0"}))
    if deep:
        (problem,) = czd.validate_deep(tmp_path / "m")
        assert problem.severity == "warning"
        assert "was made by version 9.0" in problem.message
        return
    with pytest.warns(ChronozarrWarning, match=r"plan\.json was made by version 9\.0"):
        report = make_report(tmp_path / "m")
    assert not OF_A_RUN & set(report.document)


def test_what_was_appended_since_is_told(tmp_path: Path) -> None:
    path = encoded(tmp_path / "m", "uint16", "none")
    more = cubes.pixels(shape=(1, *SHAPE[1:]))[0]
    chronozarr.append(path, iter([more]), times=np.array(["2030-01-01"], "datetime64[ns]"))
    with pytest.warns(ChronozarrWarning, match="timesteps from 8 on were appended since"):
        report = make_report(path)
    assert report.document["objects"] == report_of(path)["objects"]


def test_a_journal_that_may_not_be_read_is_told_and_the_store_is_reported(store: Path) -> None:
    """Of a public bucket whose objects may be read and not listed, 403 stands for 404."""
    with Server(store.parent, fault=lambda _, key, n: Fault(403) if ".run/" in key else None) as server:
        with pytest.warns(ChronozarrWarning, match=r"m1\.run cannot be read.*403.*nothing of how it was made"):
            report = make_report(f"{server.url}/m1")
        result = invoke("report", f"{server.url}/m1", "--json")
    assert result.exit_code == 0
    assert "warning: the journal" in result.stderr
    assert json.loads(result.stdout)["seen"] == report.document["seen"] == report_of(store)["seen"]
    assert not OF_A_RUN & set(report.document)
    assert "m1.run cannot be read" in report.page


def test_the_claim_beside_a_store_leads_to_its_journal(tmp_path: Path) -> None:
    encoded(tmp_path / "m", journal=str(tmp_path / "far"))
    left = json.loads((tmp_path / "far/report.json").read_text())
    report = make_report(tmp_path / "m")
    assert (report.document["objects"], report.document["journal"]) == (left["objects"], str(tmp_path / "far"))


def test_a_named_journal_is_one(store: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.run has no plan\.json: name the journal of the run"):
        make_report(store, journal=str(tmp_path / "none.run"))


def test_a_run_that_is_not_complete_has_its_report(tmp_path: Path) -> None:
    with pytest.raises(czd.RunError, match="interrupted"):
        interrupted(tmp_path / "m", 1)
    assert make_report(tmp_path / "m").document["status"] == "interrupted"


# ---- where the page goes ---------------------------------------------------------------------------------------------


def test_a_page_has_the_name_of_the_store_that_is_meant(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(store, tmp_path / "m1")
    (tmp_path / "m1/deep").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert invoke("report", "../m1/deep/..").stdout == "m1.html\n"
    assert (tmp_path / "here/m1.html").is_file()
    assert invoke("report", f"file://{tmp_path}/m1/").stdout == "m1.html\n"


@pytest.mark.parametrize("name", [".", "./", "../m1"])
def test_no_page_is_written_into_the_store(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    shutil.copytree(store, tmp_path / "m1")
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path / "m1")
    for more in ([], ["-o", "page.html"], ["-o", str(tmp_path / "m1/0/page.html")]):
        result = invoke("report", name, *more)
        assert result.exit_code == 1
        assert "a store holds nothing but its own objects: name a place outside of it with --output" in result.stderr
    assert sorted(tmp_path.rglob("*")) == before
    assert invoke("report", name, "-o", "../page.html").exit_code == 0
    assert (tmp_path / "page.html").is_file()

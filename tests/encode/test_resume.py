"""An interrupted run goes on; what cannot go on says why."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
import xarray as xr

import chronozarr_dask as czd
from chronozarr_dask.errors import ResumeError, TargetError
from chronozarr_dask.run import encode as encoding
from chronozarr_dask.run.progress import Step
from chronozarr_dask.store.folder import Folder
from tests.encode.test_deterministic import Stop, hashes

OPTIONS = {"crs": "EPSG:32631", "chunk_size": 16, "region_cells": 2}


def make_cube(seed: int = 0, n_time: int = 7) -> xr.DataArray:
    rng = np.random.default_rng(seed)
    data = (rng.integers(10, 900, (1, 2, 70, 50)) + rng.integers(0, 5, (n_time, 2, 70, 50))).astype("uint16")
    coords = {
        "time": np.datetime64("2022-01-01", "ns") + np.arange(n_time) * np.timedelta64(5, "D"),
        "y": 900 - 10 * (np.arange(70) + 0.5),
        "x": 10 * (np.arange(50) + 0.5),
    }
    return xr.DataArray(data, coords, ("time", "band", "y", "x"), name="data")


def interrupt_after(n: int) -> Any:
    def progress(step: Step) -> None:
        if step.stage == "run" and step.done >= n:
            raise Stop

    return progress


@pytest.mark.parametrize("chunks", [None, {"time": 1}, {"y": 33, "x": 21}], ids=["numpy", "maps", "odd blocks"])
def test_a_resumed_run_gives_the_same_bytes_and_redoes_little(tmp_path: Path, chunks: Any) -> None:
    cube = make_cube() if chunks is None else make_cube().chunk(chunks)
    czd.encode(cube, tmp_path / "straight", **OPTIONS)
    with pytest.raises(Stop):
        czd.encode(cube, tmp_path / "s", progress=interrupt_after(5), **OPTIONS)
    assert not (tmp_path / "s" / "zarr.json").exists()
    report = czd.encode(cube, tmp_path / "s", resume=True, **OPTIONS)
    assert 5 <= report.regions_resumed < report.regions
    assert hashes(tmp_path / "s") == hashes(tmp_path / "straight")
    assert not (tmp_path / "s.run" / "staging").exists()


def test_an_unfinished_target_is_not_begun_again(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        czd.encode(make_cube(), tmp_path / "s", progress=interrupt_after(2), **OPTIONS)
    with pytest.raises(TargetError, match=r"is not complete.*`encode\(cube, '.*/s', resume=True\)`"):
        czd.encode(make_cube(), tmp_path / "s", **OPTIONS)
    with pytest.raises(czd_errors().NotCompleteError, match="not complete"):
        czd.open_store(tmp_path / "s")


@pytest.mark.parametrize("n", [3, None], ids=["interrupted", "complete"])
def test_a_store_that_is_gone_is_not_completed(tmp_path: Path, n: int | None) -> None:
    """Receipts tell of objects that were stored: without them a root document would stand over nothing."""
    if n is None:
        czd.encode(make_cube(), tmp_path / "s", **OPTIONS)
    else:
        with pytest.raises(Stop):
            czd.encode(make_cube(), tmp_path / "s", progress=interrupt_after(n), **OPTIONS)
    shutil.rmtree(tmp_path / "s")
    with pytest.raises(ResumeError, match=r"nothing is left in .*/s of what .* regions have stored.*clean .*/s`"):
        czd.encode(make_cube(), tmp_path / "s", resume=True, **OPTIONS)
    assert not (tmp_path / "s").exists()


def test_where_nothing_was_to_be_stored_yet_nothing_is_missed(tmp_path: Path) -> None:
    cube = make_cube()
    cube[:, :, :, :32] = 0  # all fill in the first regions
    first = {"region_cells": 2, "crs": "EPSG:32631", "chunk_size": 16}

    def progress(step: Step) -> None:
        if step.stage == "run" and step.done >= 1:
            raise Stop

    with dask.config.set(num_workers=1), pytest.raises(Stop):
        czd.encode(cube, tmp_path / "s", progress=progress, **first)
    assert hashes(tmp_path / "s") == {}
    assert czd.encode(cube, tmp_path / "s", resume=True, **first).regions_resumed >= 1


def czd_errors() -> Any:
    from chronozarr_dask import errors

    return errors


def test_a_torn_receipt_means_that_its_region_is_not_done(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        czd.encode(make_cube(), tmp_path / "s", progress=interrupt_after(4), **OPTIONS)
    receipt = sorted((tmp_path / "s.run" / "receipts" / "0").iterdir())[0]
    receipt.write_bytes(receipt.read_bytes()[:20])
    n_left = len(list((tmp_path / "s.run" / "receipts").rglob("*-*")))
    report = czd.encode(make_cube(), tmp_path / "s", resume=True, **OPTIONS)
    assert report.regions_resumed == n_left - 1
    czd.encode(make_cube(), tmp_path / "straight", **OPTIONS)
    assert hashes(tmp_path / "s") == hashes(tmp_path / "straight")


def test_a_run_that_ended_before_its_plan_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_plan(self: Any, name: str, doc: Any) -> None:
        raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(encoding.Journal, "write", no_plan)
        with pytest.raises(Stop):
            czd.encode(make_cube(), tmp_path / "s", **OPTIONS)
    assert (tmp_path / "s.run" / "claim.json").exists()
    czd.encode(make_cube(), tmp_path / "s", resume=True, **OPTIONS)
    assert np.array_equal(czd.open_store(tmp_path / "s").read(3), make_cube().values[3])


def test_resuming_a_finished_run_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = czd.encode(make_cube(), tmp_path / "s", **OPTIONS)
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "s").rglob("*")}
    again = czd.encode(make_cube(), tmp_path / "s", resume=True, **OPTIONS)
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "s").rglob("*")} == before
    assert (again.objects, again.bytes_by_level, again.selection) == (
        first.objects,
        first.bytes_by_level,
        first.selection,
    )
    assert again.regions_resumed == again.regions


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"codec_level": 3}, "codec"),
        ({"encoding": "none"}, "encoding"),
        ({"nodata": 5}, "nodata"),
        ({"shard_time": 4}, "shard_time"),
        ({"crs": "EPSG:32632"}, "crs"),
    ],
)
def test_other_options_cannot_go_on(tmp_path: Path, change: dict[str, Any], named: str) -> None:
    with pytest.raises(Stop):
        czd.encode(make_cube(), tmp_path / "s", progress=interrupt_after(2), **OPTIONS)
    before = hashes(tmp_path)
    with pytest.raises(ResumeError, match=rf"{named}: the run began with"):
        czd.encode(make_cube(), tmp_path / "s", resume=True, **{**OPTIONS, **change})
    assert hashes(tmp_path) == before


def test_there_must_be_a_run_to_resume(tmp_path: Path) -> None:
    with pytest.raises(ResumeError, match="no run to resume"):
        czd.encode(make_cube(), tmp_path / "s", resume=True, **OPTIONS)
    assert not list(tmp_path.iterdir())


def test_two_runs_into_one_target_are_told_apart_by_the_claim(tmp_path: Path) -> None:
    journal = Folder(str(tmp_path / "s.run"))
    assert journal.create("claim.json", b'{"journal_version": 1}\n')
    with pytest.raises(TargetError, match="still running"):
        czd.encode(make_cube(), tmp_path / "s", **OPTIONS)
    assert not (tmp_path / "s").exists()


def test_two_runs_with_journals_of_their_own_meet_at_the_target(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        czd.encode(make_cube(), tmp_path / "s", journal=tmp_path / "one", progress=interrupt_after(2), **OPTIONS)
    before = hashes(tmp_path)
    with pytest.raises(TargetError, match=r"one is the journal of a run"):
        czd.encode(make_cube(1), tmp_path / "s", journal=tmp_path / "two", **OPTIONS)
    (tmp_path / "alias").symlink_to(tmp_path / "s")
    with pytest.raises(TargetError, match=r"one is the journal of a run"):
        czd.encode(make_cube(1), tmp_path / "alias", **OPTIONS)
    (tmp_path / "alias").unlink()
    assert hashes(tmp_path) == before
    czd.encode(make_cube(), tmp_path / "s", journal=tmp_path / "one", resume=True, **OPTIONS)
    assert np.array_equal(czd.open_store(tmp_path / "s").read(3), make_cube().values[3])


def test_a_journal_belongs_to_one_target(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        czd.encode(make_cube(), tmp_path / "s", journal=tmp_path / "j", progress=interrupt_after(2), **OPTIONS)
    with pytest.raises(ResumeError, match=r"writes to .*/s, and not to .*/other"):
        czd.encode(make_cube(), tmp_path / "other", journal=tmp_path / "j", resume=True, **OPTIONS)
    with pytest.raises(ResumeError, match="has its journal elsewhere"):
        czd.encode(make_cube(), tmp_path / "s", resume=True, **OPTIONS)

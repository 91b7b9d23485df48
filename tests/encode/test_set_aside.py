"""A region that the target refuses three times is set aside: the rest goes on, or nothing more begins."""

import json
from pathlib import Path
from typing import Any

import dask
import pytest

import chronozarr_dask as czd
from chronozarr_dask.errors import ChronozarrWarning, RunError, TargetError
from chronozarr_dask.run.engine import Failure, Outcome
from chronozarr_dask.run.progress import Step
from chronozarr_dask.run.status import status
from chronozarr_dask.store.folder import Folder
from tests.encode.test_resume import make_cube

BROKEN = "0/data/c/0/0/0/0"
HOW = {"crs": "EPSG:32631", "chunk_size": 16, "encoding": "none", "region_cells": 2}


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Keys that were put; one of them is refused each time."""
    put, seen = Folder.put, []

    def refusing(self: Folder, key: str, data: bytes) -> None:
        seen.append(key)
        if key == BROKEN:
            raise TargetError(f"{key}: no answer")
        put(self, key, data)

    monkeypatch.setattr(Folder, "put", refusing)
    return seen


@pytest.mark.parametrize("fail_fast", [False, True])
def test_a_region_that_fails_three_times(
    tmp_path: Path, refused: list[str], monkeypatch: pytest.MonkeyPatch, fail_fast: bool
) -> None:
    target = tmp_path / "s"
    with dask.config.set(num_workers=1), pytest.raises(RunError, match=r"1 of \d+ regions failed 3 times") as error:
        czd.encode(make_cube(), target, fail_fast=fail_fast, **HOW)
    assert BROKEN in str(error.value)
    assert refused.count(BROKEN) == 3
    receipts = list((tmp_path / "s.run" / "receipts").rglob("*-*"))
    assert (len(receipts) == 0) == fail_fast
    assert not (target / "zarr.json").exists()
    lines = (tmp_path / "s.run" / "failures.jsonl").read_text().splitlines()
    assert [json.loads(line)["tries"] for line in lines] == [3]
    monkeypatch.undo()
    czd.encode(make_cube(), target, resume=True, **HOW)
    assert czd.validate_deep(target) == []


def test_what_is_set_aside_is_known_at_once_and_after_an_interrupt(tmp_path: Path, refused: list[str]) -> None:
    """`failures.jsonl` is there while the run goes on."""
    seen: list[int] = []

    def watch(step: Step) -> None:
        if step.stage == "run" and step.failed and step.done > 4:
            seen.append(status(tmp_path / "s").n_failed)
            raise KeyboardInterrupt

    with dask.config.set(num_workers=1), pytest.raises(RunError, match="interrupted"):
        czd.encode(make_cube(), tmp_path / "s", progress=watch, **HOW)
    assert seen == [1]
    assert status(tmp_path / "s").failures[0].tries == 3


def test_what_failed_before_is_not_forgotten_by_an_interrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two that failed a retry tries one again, in vain, and is interrupted."""
    put = Folder.put

    def refusing(self: Folder, key: str, data: bytes) -> None:
        if key in (BROKEN, "0/data/c/0/0/2/2"):
            raise TargetError(f"{key}: no answer")
        put(self, key, data)

    def stop(step: Step) -> None:
        if step.stage == "run" and step.failed:
            raise KeyboardInterrupt

    monkeypatch.setattr(Folder, "put", refusing)
    with dask.config.set(num_workers=1):
        with pytest.raises(RunError, match="2 of"):
            czd.encode(make_cube(), tmp_path / "s", **HOW)
        assert status(tmp_path / "s").n_failed == 2
        with pytest.raises(RunError, match="interrupted"):
            czd.encode(make_cube(), tmp_path / "s", resume=True, progress=stop, **HOW)
    assert status(tmp_path / "s").n_failed == 2
    assert len((tmp_path / "s.run" / "failures.jsonl").read_text().splitlines()) == 2


def test_later_failures_are_kept_when_the_run_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is written anew each time: not for each of many."""
    kept: list[int] = []
    outcome = Outcome(keep=lambda failures: kept.append(len(failures)))
    for i in range(100):
        outcome.failures.append(Failure(f"0/{i}-0-0", "no answer", 3))
        outcome.keep_now_and_then()
    assert kept == [1]
    outcome.keep_all()
    outcome.keep_all()
    assert kept == [1, 100]


def test_what_cannot_be_removed_at_the_end_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is complete, and a run that says otherwise would be done again."""

    def refuse(self: Folder, *_: Any) -> None:
        raise TargetError("the policy does not allow it")

    monkeypatch.setattr(Folder, "delete", refuse)
    monkeypatch.setattr(Folder, "delete_prefix", refuse)
    with pytest.warns(ChronozarrWarning, match=r"complete, but .*does not allow it.*clean"):
        report = czd.encode(make_cube(), tmp_path / "s", **HOW | {"encoding": "auto"})
    assert "does not allow it" in report.warnings[-1]
    monkeypatch.undo()
    assert czd.validate_deep(tmp_path / "s") == []

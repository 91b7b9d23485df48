"""`status`: what is done, failed and left, whether anyone works on it, and how fast it went."""

from __future__ import annotations

import io
import json
import os
import shutil
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import chronozarr_dask as czd
from chronozarr_dask.cli.output import screen
from chronozarr_dask.cli.status import print_status
from chronozarr_dask.errors import ResumeError, RunError, TargetError
from chronozarr_dask.run import claims, owners
from chronozarr_dask.run import status as module
from chronozarr_dask.run.beginning import Source, encode_source
from chronozarr_dask.run.journals import find_run
from chronozarr_dask.run.owners import Beat, heartbeat_key, read_heartbeat
from chronozarr_dask.run.status import RunStatus, status
from chronozarr_dask.store.folder import Folder
from chronozarr_dask.store.journal import Journal, dump
from chronozarr_dask.store.target import open_target
from tests.cli.sources import invoke, zarr
from tests.journal.runs import OPTIONS, Stop, files, interrupt, make_cube, stop_in


def receipts(folder: Path) -> list[Path]:
    return sorted(p for p in (folder / "receipts").rglob("*-*") if p.is_file())


def test_an_interrupted_run(tmp_path: Path) -> None:
    interrupt(tmp_path / "s", done=4)
    before = files(tmp_path)
    found = status(tmp_path / "s")
    assert files(tmp_path) == before
    n = len(receipts(tmp_path / "s.run"))
    stored = sum(len(b) for b in files(tmp_path / "s").values())
    assert (found.state, found.done, found.n_failed, found.is_exact) == ("stopped", n, 0, True)
    assert found.regions == sum(p.done + p.left for p in found.passes)
    assert 0 < found.nbytes <= stored
    assert found.passes[0].levels[0] == 0
    assert found.encoding in ("none", "star-delta")
    assert str(os.getpid()) in found.owner
    assert status(tmp_path / "s.run") == found


@pytest.mark.parametrize("stage", ["stage", "select"])
def test_a_run_that_has_stored_nothing(tmp_path: Path, stage: str) -> None:
    interrupt(tmp_path / "s", stage, 0, make_cube().chunk({"time": 1}))
    found = status(tmp_path / "s")
    assert (found.state, found.done, found.nbytes, found.per_second) == ("stopped", 0, 0, None)
    assert found.encoding == "undecided"
    (tmp_path / "s.run" / "plan.json").unlink()
    assert status(tmp_path / "s").passes == ()


@pytest.mark.parametrize(("n_time", "interval"), [(1, 6), (4, 1)])
def test_auto_with_nothing_to_measure_is_decided_from_the_beginning(tmp_path: Path, n_time: int, interval: int) -> None:
    interrupt(tmp_path / "s", "run", 0, make_cube(n_time), anchor_interval=interval)
    assert status(tmp_path / "s").encoding == "none"


def test_a_complete_run(tmp_path: Path) -> None:
    report = czd.encode(make_cube(), tmp_path / "s", **OPTIONS)
    found = status(tmp_path / "s")
    assert (found.state, found.done, found.regions) == ("complete", report.regions, report.regions)
    assert found.nbytes == sum(report.bytes_by_level.values())
    assert (found.encoding, found.seconds_left) == (report.encoding, None)
    result = invoke("status", str(tmp_path / "s"))
    assert result.exit_code == 0
    assert "resume" not in result.stdout


def refuse_one_object(patch: pytest.MonkeyPatch) -> None:
    put = Folder.put

    def refusing(self: Folder, key: str, data: Any) -> None:
        if key == "0/data/c/1/0/0/0":
            raise TargetError(f"{key}: no answer")
        put(self, key, data)

    patch.setattr(Folder, "put", refusing)


def test_what_failed_is_told_until_it_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = zarr(tmp_path / "cube.zarr")
    words = ("encode", source, str(tmp_path / "s"), "--chunk-size", "16", "--region-cells", "2", "--mask", "valid")
    with monkeypatch.context() as patch:
        refuse_one_object(patch)
        assert f"go on with `chronozarr-dask resume {tmp_path / 's'}` (in Python" in invoke(*words).stderr
    found = status(tmp_path / "s")
    assert (found.n_failed, found.passes[0].failed, found.failures[0].region) == (1, 1, "0/0-0-0")
    assert "no answer" in found.failures[0].error
    out = invoke("status", str(tmp_path / "s")).stdout
    assert "region 0/0-0-0 failed after 3 tries: TargetError: 0/data/c/1/0/0/0: no answer" in out
    assert f"  chronozarr-dask retry-failed {tmp_path / 's'}\n" in out
    assert f"  chronozarr-dask resume {tmp_path / 's'}\n" in out
    assert invoke(*words, "--resume").exit_code == 0
    assert status(tmp_path / "s").n_failed == 0


def test_speed_is_that_of_the_last_receipts(tmp_path: Path) -> None:
    """4 receipts, the first an hour before: 3 are of the last ten minutes, 30 s apart; that makes 2 in a minute."""
    interrupt(tmp_path / "s", done=4)
    paths = receipts(tmp_path / "s.run")
    for path in paths[4:]:
        path.unlink()
    for path, moment in zip(paths, (1000, 4600, 4630, 4660), strict=False):
        os.utime(path, (moment, moment))
    found = status(tmp_path / "s")
    assert found.per_second == pytest.approx(2 / 60)
    assert found.seconds_left == pytest.approx((found.regions - 4) * 30)
    assert "2.00 regions a minute" in invoke("status", str(tmp_path / "s")).stdout


def test_of_many_receipts_some_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(tmp_path / "s", "commit", 0)
    exact = status(tmp_path / "s")
    monkeypatch.setattr(module, "MOST_READ", 4)
    read: list[str] = []
    receipt = Journal.receipt
    monkeypatch.setattr(Journal, "receipt", lambda self, r: (read.append(r.name), receipt(self, r))[1])
    found = status(tmp_path / "s")
    assert len(read) <= 4 < exact.regions
    assert not found.is_exact
    assert (found.done, found.regions) == (exact.done, exact.regions)
    assert exact.nbytes / 2 < found.nbytes < exact.nbytes * 2
    assert "about " in invoke("status", str(tmp_path / "s")).stdout


# ---- running or not --------------------------------------------------------------------------------------------------


def beat_of(folder: Path, **changes: Any) -> Beat:
    """The last heartbeat of a run, changed and written back."""
    journal = Journal(open_target(folder))
    beat = read_heartbeat(journal)
    assert beat is not None
    changed = replace(beat, **changes)
    journal.objects.put(heartbeat_key(changed.generation), changed.pack())
    return changed


def test_an_owner_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(tmp_path / "s")
    beat_of(tmp_path / "s.run", state="running")
    token = json.loads((tmp_path / "s.run" / "claim.json").read_text())["token"]
    assert status(tmp_path / "s").state == "stopped", "this process does not work on it any more"
    monkeypatch.setattr(owners, "AT_WORK", {token})
    assert status(tmp_path / "s").state == "running"
    assert "  chronozarr-dask resume" not in invoke("status", str(tmp_path / "s")).stdout
    claim = tmp_path / "s.run" / "claim.json"
    claim.write_text(json.dumps({**json.loads(claim.read_text()), "process": 4_000_000}))
    assert status(tmp_path / "s").state == "stopped", "there is no such process"


@pytest.mark.parametrize("lives", [True, False])
def test_an_owner_elsewhere_is_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lives: bool) -> None:
    interrupt(tmp_path / "s")
    monkeypatch.setattr(claims, "POLL_SECONDS", 0.01)
    claim = tmp_path / "s.run" / "claim.json"
    claim.write_text(json.dumps({**json.loads(claim.read_text()), "machine": "another"}))
    counter = beat_of(tmp_path / "s.run", state="running", period=0.5).counter
    told = []

    def tell(owner: str, passed: float, long: float) -> None:
        told.append(owner)
        if lives:
            beat_of(tmp_path / "s.run", counter=counter + 1)

    assert status(tmp_path / "s", tell=tell).state == ("running" if lives else "stopped")
    assert told


def test_a_heartbeat_may_be_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is renewed a period and some requests after the last time, and a bucket may have it wait before it answers."""
    interrupt(tmp_path / "s")
    claim = tmp_path / "s.run" / "claim.json"
    claim.write_text(json.dumps({**json.loads(claim.read_text()), "machine": "another"}))
    counter = beat_of(tmp_path / "s.run", state="running", period=15.0).counter
    clock, renewed = [0.0], [1000.0]

    def sleep(seconds: float) -> None:
        clock[0] += seconds
        if clock[0] >= renewed[0]:
            beat_of(tmp_path / "s.run", counter=counter + 1)

    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
    for moment, state, seen in ((1000.0, "stopped", 31), (29.0, "running", 29), (3.0, "running", 3)):
        clock[0], renewed[0] = 0.0, moment
        beat_of(tmp_path / "s.run", counter=counter)
        assert (status(tmp_path / "s").state, clock[0]) == (state, seen)


# ---- what is shown ---------------------------------------------------------------------------------------------------


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """The store of a run that the command line began, ended by something else than a failure."""
    target = tmp_path / "s"
    source = Source(zarr(tmp_path / "cube.zarr"), {}, None, {**OPTIONS, "mask": "valid"})
    with pytest.raises(Stop):
        encode_source(source, str(target), {}, resume=False, fail_fast=False, progress=stop_in("run", 4))
    return target


def test_a_run_from_python_goes_on_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No command has its cube, neither that which goes on nor that which tries again what failed."""
    with monkeypatch.context() as patch:
        refuse_one_object(patch)
        with pytest.raises(
            RunError, match=r"go on with the same call in Python .*`encode\(cube, '.*/s', resume=True\)`"
        ):
            czd.encode(make_cube(), tmp_path / "s", **OPTIONS)
    out = invoke("status", str(tmp_path / "s")).stdout
    assert "chronozarr-dask" not in out
    assert out.endswith(
        f"Go on in Python, with the same cube and options:\n  encode(cube, '{tmp_path / 's'}', resume=True)\n"
    )
    assert json.loads(invoke("status", str(tmp_path / "s"), "--json").stdout)["way_on"] == "python"


def test_a_run_that_ended_between_its_two_claims_is_named_by_its_journal(tmp_path: Path) -> None:
    """Its store has no claim beside it, by which it would be found."""
    words = ("encode", zarr(tmp_path / "cube.zarr"), str(tmp_path / "s"), "--mask", "valid", "--chunk-size", "16")
    assert invoke(*words, "--journal", str(tmp_path / "j")).exit_code == 0
    (tmp_path / "s" / "zarr.json").unlink()
    (tmp_path / "j" / "report.json").unlink()
    assert invoke("status", str(tmp_path / "j")).stdout.endswith(f"  chronozarr-dask resume {tmp_path / 's'}\n")
    (tmp_path / "s.run" / "claim.json").unlink()
    assert invoke("status", str(tmp_path / "j")).stdout.endswith(f"  chronozarr-dask resume {tmp_path / 'j'}\n")
    other = dump({"target": str(tmp_path / "s"), "journal": str(tmp_path / "j2")})
    (tmp_path / "s.run" / "claim.json").write_bytes(other)
    assert status(tmp_path / "j").url == str(tmp_path / "j"), "by the store another run is found"
    (tmp_path / "s.run" / "claim.json").unlink()
    shutil.rmtree(tmp_path / "s")
    assert f"clean {tmp_path / 's'}`" in invoke("resume", str(tmp_path / "j")).stderr


def test_a_run_that_has_nothing_to_go_on_with_is_removed(begun: Path) -> None:
    (begun.parent / "s.run" / "plan.json").unlink()
    assert status(begun).way_on == "resume", "what it was begun with is there"
    (begun.parent / "s.run" / "arguments.json").unlink()
    out = invoke("status", str(begun)).stdout
    assert out.endswith(f"There is nothing to go on with. Remove what it left with:\n  chronozarr-dask clean {begun}\n")


def test_a_store_that_is_gone_is_not_gone_on_with(tmp_path: Path) -> None:
    czd.encode(make_cube(), tmp_path / "s", **OPTIONS)
    shutil.rmtree(tmp_path / "s")
    assert status(tmp_path / "s").way_on == "clean"
    assert "resume" not in invoke("status", str(tmp_path / "s")).stdout
    report = (tmp_path / "s.run" / "report.json").read_bytes()
    with pytest.raises(ResumeError, match="nothing is left"):
        czd.encode(make_cube(), tmp_path / "s", resume=True, **OPTIONS)
    assert (tmp_path / "s.run" / "report.json").read_bytes() == report, "that of the run that was complete"
    (tmp_path / "s.run" / "report.json").unlink()
    assert status(tmp_path / "s").way_on == "clean"


def test_it_is_shown_in_lines_and_as_json(begun: Path, tmp_path: Path) -> None:
    out = invoke("status", str(tmp_path / "s")).stdout
    lines = [line.split() for line in out.splitlines()]
    assert ["state", "stopped"] in lines
    assert ["pass", "levels", "regions", "done", "failed", "left", "stored"] in lines
    assert out.endswith(f"Go on with:\n  chronozarr-dask resume {tmp_path / 's'}\n")
    doc = json.loads(invoke("status", str(tmp_path / "s"), "--json").stdout)
    assert (doc["state"], doc["done"]) == ("stopped", status(tmp_path / "s").done)
    assert len(doc["passes"]) == len(find_run(tmp_path / "s").plan.passes)  # type: ignore[union-attr]


def test_the_command_that_goes_on_has_the_options_of_this_one_but_secrets() -> None:
    found = RunStatus("s3://bucket/s", "s3://bucket/s.run", "s3://bucket/s", "stopped", "nobody", None, "none")
    out = io.StringIO()
    with redirect_stdout(out):
        print_status(screen(), found, ["anon=false", "secret=abc"])
    assert out.getvalue().splitlines()[-1].strip() == (
        "chronozarr-dask resume s3://bucket/s --storage-option anon=false --storage-option secret=..."
    )


def test_no_run_is_one_error(tmp_path: Path) -> None:
    result = invoke("status", str(tmp_path / "nowhere"))
    assert result.exit_code == 1
    assert "there is no run: it is neither a journal nor a store with a journal beside it" in result.stderr
    with pytest.raises(ResumeError):
        status(tmp_path / "nowhere")

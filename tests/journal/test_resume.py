"""`resume RUN` goes on by the journal alone; `retry-failed` does what failed and no more; `--verify` trusts nothing."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import chronozarr_dask as czd
from chronozarr_dask.errors import ChronozarrWarning, ResumeError, RunError, TargetError
from chronozarr_dask.run.beginning import Source, encode_source
from chronozarr_dask.run.journals import find_run
from chronozarr_dask.run.resume import failures, resume, retry_failed
from chronozarr_dask.store.folder import Folder
from tests.cli.sources import dataset, invoke, zarr
from tests.journal.runs import Stop, files, interrupt, make_cube, stop_in

OPTIONS: dict[str, Any] = {"chunk_size": 16, "region_cells": 2, "mask": "valid"}
FLAGS = ("--chunk-size", "16", "--region-cells", "2", "--mask", "valid")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    return zarr(tmp_path_factory.mktemp("source") / "cube.zarr")


@pytest.fixture(scope="module")
def whole(source: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The objects of a run that nothing interrupted."""
    target = tmp_path_factory.mktemp("whole") / "s"
    assert invoke("encode", source, str(target), *FLAGS, "--quiet").exit_code == 0
    return files(target)


def begin(source: str, target: Path, stage: str = "run", done: int = 4, **options: Any) -> None:
    """An encode as the command line does it, ended from within."""
    with pytest.raises(Stop):
        encode(source, target, progress=stop_in(stage, done), **options)


def encode(source: str, target: Path, progress: Any = None, **options: Any) -> Any:
    given = Source(source, {}, None, {**OPTIONS, **options})
    return encode_source(given, str(target), {}, resume=False, fail_fast=False, progress=progress)


# ---- resume ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["select", "run", "commit"])
@pytest.mark.parametrize("given", ["s", "s.run"])
def test_a_run_goes_on_by_its_journal(
    source: str, whole: dict[str, bytes], tmp_path: Path, stage: str, given: str
) -> None:
    begin(source, tmp_path / "s", stage, 4 if stage == "run" else 0)
    result = invoke("resume", str(tmp_path / given))
    assert (result.exit_code, result.stderr) == (0, "")
    assert files(tmp_path / "s") == whole
    if stage == "run":
        assert "of them from the run before" in result.stdout


def test_a_run_that_is_complete_has_nothing_left_to_do(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = encode(source, tmp_path / "s")
    before = files(tmp_path)
    monkeypatch.setattr(Folder, "put", lambda *_: pytest.fail("nothing is written"))
    assert resume(tmp_path / "s") == report
    result = invoke("retry-failed", str(tmp_path / "s"))
    assert result.exit_code == 1
    assert "is complete: nothing failed" in result.stderr
    assert files(tmp_path) == before


def test_a_cube_that_was_in_memory_is_told(tmp_path: Path) -> None:
    interrupt(tmp_path / "s")
    with pytest.raises(ResumeError, match=r"begun from Python, .*go on there with encode\(cube, '.*/s', resume=True\)"):
        resume(tmp_path / "s")


def test_a_run_that_ended_between_its_claim_and_its_plan(source: str, tmp_path: Path) -> None:
    interrupt(tmp_path / "s")
    (tmp_path / "s.run" / "plan.json").unlink()
    with pytest.raises(ResumeError, match=r"ended before it kept what it was begun with.*chronozarr-dask clean"):
        resume(tmp_path / "s")


def test_scenes_are_left_out_of_a_recipe_alone(source: str, tmp_path: Path) -> None:
    begin(source, tmp_path / "s")
    result = invoke("resume", str(tmp_path / "s"), "--keep-going")
    assert result.exit_code == 1
    assert "--keep-going (keep_going=) leaves out scenes of a recipe" in result.stderr
    assert not (tmp_path / "s" / "zarr.json").exists()


@pytest.mark.parametrize("path", ["~/cube.zarr", "file://~/cube.zarr"])
def test_a_path_may_begin_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """A shell leaves the ~ of a quoted glob as it is."""
    monkeypatch.setenv("HOME", str(tmp_path))
    zarr(tmp_path / "cube.zarr")
    begin(path, tmp_path / "s")
    monkeypatch.chdir("/")
    assert json.loads((tmp_path / "s.run" / "arguments.json").read_text())["url"] == str(tmp_path / "cube.zarr")
    assert resume(tmp_path / "s").status == "complete"


def test_an_unfinished_store_says_how_to_go_on(source: str, tmp_path: Path) -> None:
    begin(source, tmp_path / "s")
    result = invoke("info", str(tmp_path / "s"))
    assert result.exit_code == 1
    assert f"chronozarr-dask resume {tmp_path / 's'}" in result.stderr


# ---- secrets ---------------------------------------------------------------------------------------------------------


def test_secrets_are_named_and_not_kept() -> None:
    options = {"key": "K-canary", "client_kwargs": {"endpoint_url": "http://h", "aws_secret_access_key": "S-canary"}}
    kept = Source("s3://b/cube.zarr", options, None, {}).document()
    assert b"canary" not in kept
    doc = json.loads(kept)
    assert doc["storage_options"] == {"client_kwargs": {"endpoint_url": "http://h"}}
    assert doc["left_out"] == ["key", "client_kwargs.aws_secret_access_key"]
    for url in (
        "https://h/a.nc?sig=S-canary&se=1", "https://user:S-canary@h/a.nc", "simplecache::https://user:S-canary@h/a.nc",
        "simplecache::https://S-canary@h/a.nc", "s3://b/a.nc#token=S-canary",
    ):  # fmt: skip
        kept = Source(url, {}, None, {}).document()
        assert b"canary" not in kept
        assert json.loads(kept)["signed"]


def test_what_is_to_be_given_again_is_named(source: str, tmp_path: Path) -> None:
    begin(source, tmp_path / "s")
    path = tmp_path / "s.run" / "arguments.json"
    doc = json.loads(path.read_text())
    path.write_text(json.dumps({**doc, "left_out": ["key", "client_kwargs.token"]}))
    result = invoke("resume", str(tmp_path / "s"))
    assert result.exit_code == 1
    assert "give them again: --source-option key=... --source-option client_kwargs=..." in result.stderr
    path.write_text(json.dumps({**doc, "signed": True}))
    assert "a URL with a signature or a password" in invoke("resume", str(tmp_path / "s")).stderr


# ---- retry-failed ----------------------------------------------------------------------------------------------------


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """While it is not empty: objects that cannot be written. Counts what is written."""
    put, refused = Folder.put, Counter[str]()

    def writing(self: Folder, key: str, data: Any) -> None:
        if refused[key] and not self.url.endswith(".run"):
            raise TargetError(f"{key}: no answer")
        put(self, key, data)

    monkeypatch.setattr(Folder, "put", writing)
    return refused


def test_what_failed_is_done_again_and_the_commit_follows(
    source: str, whole: dict[str, bytes], tmp_path: Path, broken: Counter[str]
) -> None:
    broken["0/data/c/1/0/0/0"] = 1
    result = invoke("encode", source, str(tmp_path / "s"), *FLAGS, "--quiet")
    assert result.exit_code == 1
    assert [f.region for f in failures(find_run(tmp_path / "s"))] == ["0/0-0-0"]
    broken.clear()
    result = invoke("retry-failed", str(tmp_path / "s"), "--quiet")
    assert (result.exit_code, result.stderr) == (0, "")
    assert files(tmp_path / "s") == whole


def test_after_an_interruption_too_what_is_left_is_told(
    source: str, whole: dict[str, bytes], tmp_path: Path, broken: Counter[str]
) -> None:
    broken["0/data/c/1/0/0/0"] = 1
    assert invoke("encode", source, str(tmp_path / "s"), *FLAGS, "--quiet").exit_code == 1
    broken.clear()
    other = next(p for p in sorted((tmp_path / "s.run" / "receipts" / "0").iterdir()))
    other.unlink()
    stored = files(tmp_path / "s")
    with pytest.raises(RunError, match=r"what had failed is stored, and \d+ of \d+ regions are left.*resume"):
        retry_failed(tmp_path / "s")
    assert not other.exists(), "what had not failed is not done"
    assert (tmp_path / "s.run" / "receipts" / "0" / "0-0-0").exists()
    assert set(stored) < set(files(tmp_path / "s"))
    with pytest.raises(ResumeError, match=r"no region of the run into .* has failed"):
        retry_failed(tmp_path / "s")
    resume(tmp_path / "s")
    assert files(tmp_path / "s") == whole


# ---- verify ----------------------------------------------------------------------------------------------------------


def damage(path: Path, how: str) -> None:
    blob = path.read_bytes()
    if how == "lost":
        path.unlink()
    elif how == "torn":
        path.write_bytes(blob[: len(blob) // 2])
    else:
        path.write_bytes(blob[:-1] + bytes([blob[-1] ^ 1]))


@pytest.mark.parametrize(
    ("how", "flag"), [("lost", "--verify=head"), ("torn", "--verify=head"), ("changed", "--verify")]
)
def test_what_does_not_agree_is_told_and_done_again(
    source: str, whole: dict[str, bytes], tmp_path: Path, how: str, flag: str
) -> None:
    begin(source, tmp_path / "s", "commit", 0)
    damage(tmp_path / "s" / "0/data/c/1/0/0/0", how)
    result = invoke("resume", flag, str(tmp_path / "s"))
    assert result.exit_code == 0, result.stderr
    assert "1 of " in result.stderr
    assert "regions do not agree with their receipts" in result.stderr
    assert "0/data/c/1/0/0/0: " in result.stderr
    assert files(tmp_path / "s") == whole


def test_lengths_do_not_show_a_changed_byte(source: str, whole: dict[str, bytes], tmp_path: Path) -> None:
    begin(source, tmp_path / "s", "commit", 0)
    damage(tmp_path / "s" / "0/data/c/1/0/0/0", "changed")
    result = invoke("resume", str(tmp_path / "s"), "--verify=head", "--quiet")
    assert result.exit_code == 0
    assert "agree" not in result.stderr
    assert files(tmp_path / "s") != whole


def test_a_slab_takes_those_along_that_hand_something_to_it(source: str, tmp_path: Path) -> None:
    """Timestep 4, in the last slab, refers to anchor 3, which the slab before hands on."""
    sharded = {"shard_time": 2, "time_slab": 2, "anchor_interval": 3, "encoding": "star-delta"}
    encode(source, tmp_path / "w", **sharded)
    begin(source, tmp_path / "s", "commit", 0, **sharded)
    plan = find_run(tmp_path / "s").plan
    assert plan is not None
    assert [plan.slabs.handed(s) for s in range(plan.slabs.n)] == [(), (), (3,)]
    damage(tmp_path / "s" / "0/data/c/2/0/0/0", "torn")
    with pytest.warns(ChronozarrWarning, match=r"1 of \d+ regions do not agree"):
        resume(tmp_path / "s", verify="full")
    assert files(tmp_path / "s") == files(tmp_path / "w")


def test_an_object_that_should_not_be_there_goes(tmp_path: Path) -> None:
    cube = dataset()
    for name in ("B04", "B08"):
        cube[name][:, :16, :16] = 0  # all fill in one cell
    source = zarr(tmp_path / "cube.zarr", cube)
    begin(source, tmp_path / "s", "commit", 0)
    before = files(tmp_path / "s")
    assert "0/data/c/1/0/0/0" not in before
    Folder(str(tmp_path / "s")).put("0/data/c/1/0/0/0", b"x")
    with pytest.warns(ChronozarrWarning, match="left it out, as all fill"):
        resume(tmp_path / "s", verify="head")
    after = files(tmp_path / "s")
    assert {key: after.get(key) for key in before} == before
    assert "0/data/c/1/0/0/0" not in after


def test_a_run_that_agrees_says_nothing(source: str, whole: dict[str, bytes], tmp_path: Path) -> None:
    begin(source, tmp_path / "s")
    result = invoke("resume", "--verify", str(tmp_path / "s"))
    assert (result.exit_code, result.stderr) == (0, "")
    assert files(tmp_path / "s") == whole


def test_a_cube_from_python_is_not_lost(tmp_path: Path) -> None:
    interrupt(tmp_path / "s")
    czd.encode(make_cube(), tmp_path / "s", resume=True, crs="EPSG:32631", chunk_size=16, region_cells=2)

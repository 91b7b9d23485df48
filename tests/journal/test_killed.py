"""Real processes, killed with -9 in each phase of a run, and what the commands make of what is left."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chronozarr_dask.run.status import status
from tests.cli.sources import dataset, invoke, run, start, zarr
from tests.journal.runs import files

FLAGS = ("--chunk-size", "32", "--mask", "valid", "--region-cells", "2", "--time-slab", "6")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Some hundred regions."""
    return zarr(tmp_path_factory.mktemp("source") / "big.zarr", dataset(18, 256, 256))


@pytest.fixture(scope="module")
def whole(source: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The objects of a run that nothing interrupted."""
    target = tmp_path_factory.mktemp("whole") / "s"
    assert invoke("encode", source, str(target), *FLAGS, "--quiet").exit_code == 0
    return files(target)


def n_receipts(journal: Path) -> int:
    return sum(1 for p in (journal / "receipts").rglob("*-*") if p.is_file())


PHASES: dict[str, Callable[[Path, Path], Any]] = {
    "before the first object": lambda store, journal: (journal / "plan.json").is_file(),
    "mid-region": lambda store, journal: n_receipts(journal) >= 3,
    "between passes": lambda store, journal: (journal / "receipts" / "1").is_dir(),
    "commit": lambda store, journal: (store / "0" / "time" / "c" / "0").is_file(),
}


def killed(source: str, target: Path, phase: str) -> None:
    """Begin a run and kill it when the phase is seen; it was alive then, and the store was not complete."""
    for _ in range(20):
        killed_once(source, target, phase)
        if not (target / "zarr.json").exists():  # a commit is short: this process may have been too late
            return
        shutil.rmtree(target)
        shutil.rmtree(target.with_name(f"{target.name}.run"))
    raise AssertionError(f"{phase}: too late twenty times")


def killed_once(source: str, target: Path, phase: str) -> None:
    journal = target.with_name(f"{target.name}.run")
    process = start("encode", source, str(target), *FLAGS, "--quiet")
    try:
        end = time.monotonic() + 300
        while not PHASES[phase](target, journal) and process.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.001)
    finally:
        process.kill()
        said = process.communicate()
    was_late = process.returncode == 0 and (target / "zarr.json").exists()  # the run was over
    assert process.returncode == -signal.SIGKILL or was_late, said


@pytest.mark.slow
@pytest.mark.parametrize("phase", list(PHASES))
def test_what_was_killed_goes_on_or_leaves_nothing(
    source: str, whole: dict[str, bytes], tmp_path: Path, phase: str
) -> None:
    target, kept = tmp_path / "run" / "s", tmp_path / "kept"
    target.parent.mkdir()
    killed(source, target, phase)
    found = status(target)
    assert found.state == "stopped", "a process of this machine that is no more"
    assert found.done == n_receipts(target.with_name("s.run"))
    shutil.copytree(target.parent, kept)
    assert invoke("resume", str(target), "--quiet").exit_code == 0
    assert files(target) == whole
    assert status(target).state == "complete"
    shutil.rmtree(target.parent)
    shutil.copytree(kept, target.parent)
    result = invoke("clean", "--yes", str(target))
    assert (result.exit_code, result.stderr) == (0, "")
    assert not list(target.parent.iterdir())


def test_a_run_at_work_is_shown_and_left_alone(source: str, whole: dict[str, bytes], tmp_path: Path) -> None:
    process = start("encode", source, str(tmp_path / "s"), *FLAGS, "--quiet")
    try:
        while n_receipts(tmp_path / "s.run") < 2:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(signal.SIGSTOP)  # it is alive, and does nothing meanwhile
        found = status(tmp_path / "s")
        assert found.state == "running"
        assert f"process {process.pid} on " in found.owner
        process.send_signal(signal.SIGCONT)
        code, _, err = run("clean", "--yes", str(tmp_path / "s"))
        if code:  # a run that is complete may be cleaned while its process still ends
            assert code == 1
            assert "is still running" in err or "was completed at this moment" in err
        else:
            assert (tmp_path / "s" / "zarr.json").exists()
        assert process.wait() == 0
    finally:
        process.kill()
        process.communicate()
    stored = files(tmp_path / "s")
    assert stored == whole

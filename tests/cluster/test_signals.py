"""SIGTERM, Ctrl-C and the loss of workers: what is finished is kept, what is in flight has its time."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from distributed import Client, LocalCluster
from distributed.core import Status
from distributed.utils import LoopRunner, sync

import chronozarr_dask as czd
from chronozarr_dask.cli.interrupt import HANDLED, interrupts
from chronozarr_dask.errors import ChronozarrWarning, ResumeError, RunError
from chronozarr_dask.run import claims
from chronozarr_dask.run import cluster as clusters
from chronozarr_dask.run.owners import read_claim
from chronozarr_dask.run.progress import Step
from chronozarr_dask.run.sweep import clean
from chronozarr_dask.run.workers import Threads
from chronozarr_dask.store.folder import Folder
from chronozarr_dask.store.journal import Journal
from tests.cli.sources import run, start
from tests.encode import cubes
from tests.run.made import World

pytestmark = pytest.mark.cluster

CUBE = cubes.cube("uint16", (6, 1, 256, 256))
HOW: dict[str, Any] = {"chunk_size": 32, "region_cells": 2, "encoding": "none"}


def wait_until(true: Callable[[], Any], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)


def receipts(target: Path) -> list[str]:
    folder = target.with_name(f"{target.name}.run") / "receipts"
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def slow_puts(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    put = Folder.put

    def wait(self: Folder, key: str, data: Any) -> None:
        if "/c/" in key:
            time.sleep(seconds)
        put(self, key, data)

    monkeypatch.setattr(Folder, "put", wait)


# ---- the client: threads ---------------------------------------------------------------------------------------------


class Interrupt:
    """Raises once what a signal handler does, when so much is done."""

    def __init__(self, after: int = 3) -> None:
        self.after, self.begun = after, 0.0

    def __call__(self, step: Step) -> None:
        if step.stage == "run" and step.done >= self.after and step.in_flight and not self.begun:
            self.begun = time.monotonic()
            raise KeyboardInterrupt


def test_what_is_in_flight_finishes_within_the_grace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_flight: list[int] = []
    drain = Threads.drain

    def counted(self: Threads, seconds: float) -> None:
        in_flight.append(sum(future.running() for future in self._pending))
        before = len(receipts(tmp_path / "s"))
        drain(self, seconds)
        in_flight.extend((len(receipts(tmp_path / "s")) - before, before))

    monkeypatch.setattr(Threads, "drain", counted)
    slow_puts(monkeypatch, 0.1)
    with pytest.raises(
        RunError,
        match=r"what is finished is kept in .*: go on with the same call in Python and resume=True, as in `encode\(",
    ):
        czd.encode(CUBE, tmp_path / "s", progress=Interrupt(), **HOW)
    assert in_flight[0] >= in_flight[1] >= 1, "they had begun, and each has its receipt"
    beat = czd_beat(tmp_path / "s")
    assert (beat.state, beat.process) == ("ended", os.getpid())
    monkeypatch.undo()
    report = czd.encode(CUBE, tmp_path / "s", resume=True, **HOW)
    assert report.regions_resumed == in_flight[1] + in_flight[2]
    assert in_flight[2] >= 3
    czd.encode(CUBE, tmp_path / "quiet", **HOW)
    assert cubes.objects(tmp_path / "s") == cubes.objects(tmp_path / "quiet")


def czd_beat(target: Path) -> Any:
    from chronozarr_dask.run.owners import read_heartbeat

    beat = read_heartbeat(Journal(Folder(f"{target}.run")))
    assert beat is not None
    return beat


def test_the_grace_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stuck, hung, free = threading.Event(), threading.Event(), threading.Event()
    put = Folder.put

    def hang(self: Folder, key: str, data: Any) -> None:
        if "/c/" in key:
            time.sleep(0.05)  # so that a region in flight has something left to store
            if stuck.is_set():
                hung.set()
                free.wait(60)
        put(self, key, data)

    monkeypatch.setattr(Folder, "put", hang)
    interrupt = Interrupt()

    def progress(step: Step) -> None:
        if step.stage == "run" and step.done >= 2:
            stuck.set()
            hung.wait(10)
        interrupt(step)

    interrupt.after = 2
    with pytest.raises(RunError, match="interrupted"):
        czd.encode(CUBE, tmp_path / "s", progress=progress, grace=0.3, **HOW)
    assert 0.2 < time.monotonic() - interrupt.begun < 10
    assert hung.is_set()
    assert czd_beat(tmp_path / "s").state == "running", "a region is still being stored"
    claim = read_claim(Journal(Folder(str(tmp_path / "s.run"))))
    assert claim is not None
    owner = claim.owner
    assert not owner.is_gone()
    free.set()
    wait_until(owner.is_gone)
    monkeypatch.undo()
    czd.encode(CUBE, tmp_path / "s", resume=True, **HOW)


def test_a_second_interrupt_does_not_make_a_region_look_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends the grace; what is being stored in threads goes on, and so does the heartbeat."""
    free, hung, put = threading.Event(), threading.Event(), Folder.put

    def hang(self: Folder, key: str, data: Any) -> None:
        if "/c/" in key:
            hung.set()
            free.wait(60)
        put(self, key, data)

    def again(self: Threads, seconds: float) -> None:
        raise KeyboardInterrupt

    def stop(step: Step) -> None:
        if step.stage == "run" and step.in_flight:
            hung.wait(60)
            raise KeyboardInterrupt

    monkeypatch.setattr(Folder, "put", hang)
    monkeypatch.setattr(Threads, "drain", again)
    monkeypatch.setattr(claims, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(claims, "WATCH_SECONDS", 10.0)
    monkeypatch.setattr(claims, "POLL_SECONDS", 0.05)
    with pytest.raises(KeyboardInterrupt):
        czd.encode(CUBE, tmp_path / "s", progress=stop, **HOW)
    with pytest.raises(ResumeError, match="still running"):
        clean(tmp_path / "s")
    free.set()
    wait_until(lambda: czd_beat(tmp_path / "s").state == "ended")
    assert receipts(tmp_path / "s"), "it was stored to its end"
    clean(tmp_path / "s")
    assert not list(tmp_path.iterdir())


# ---- the client: the program -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe of a hundred regions on a local cluster of two processes."""
    size, noise = 512, np.random.default_rng(3)
    made = World(tmp_path_factory.mktemp("large"))
    for i, month in enumerate(("2024-01", "2024-02")):
        pixels = {band: noise.integers(1, 5000, (size, size)) for band in ("B04", "B08")}
        made.add(f"S{i}", f"{month}-03T10:00:00Z", pixels, np.full((size // 2, size // 2), 4), size=size)
    path = made.folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(made.recipe(source__offset="none"), sort_keys=False))
    return path


SETTINGS = ("--set", "encode.region_cells=2", "--set", "encode.time_slab=1")
TWO = ("--cluster", "local", "--set", "cluster.workers=2", "--set", "cluster.threads=1")


@pytest.mark.parametrize(
    ("signals", "to_all"),
    [((signal.SIGINT,), True), ((signal.SIGINT, signal.SIGINT), True), ((signal.SIGTERM,), False)],
    ids=["Ctrl-C on a terminal", "Ctrl-C twice", "SIGTERM"],
)
def test_the_program_stops_in_order_and_goes_on(
    recipe: Path, tmp_path: Path, signals: tuple[int, ...], to_all: bool
) -> None:
    """A terminal sends Ctrl-C to the workers too."""
    target = tmp_path / "store"
    words = ("run", str(recipe), "--set", f"target={target}", *SETTINGS)
    process = start(*words, *TWO, start_new_session=True)
    wait_until(lambda: len(receipts(target)) >= 3 or process.poll() is not None)
    for signum in signals:
        assert process.poll() is None
        os.killpg(process.pid, signum) if to_all else process.send_signal(signum)
        time.sleep(0.3)
    out, err = process.communicate(timeout=200)
    assert process.returncode == 1
    assert "Traceback" not in err
    lines = err.splitlines()
    assert "stopping after what is in flight; again to stop at once" in lines
    at = lines.index(f"interrupted: what is finished is kept in {target}.run. Go on with:")
    assert lines[at + 1].endswith(" --resume")
    assert out == ""
    assert not (target / "zarr.json").exists()
    assert czd_beat(target).state == "ended"
    n = len(receipts(target))
    code, out, err = run(*words, "--resume")
    assert code == 0, err
    assert f", {n} of them from the run before" in out or len(signals) > 1


def test_a_call_to_the_scheduler_that_never_began_leaves_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    """Dask's own clean-up of it fails, and its loop would log that."""
    before = {s: signal.getsignal(s) for s in HANDLED}
    runner = LoopRunner()
    free = threading.Event()
    interrupt = threading.Timer(0.3, signal.pthread_kill, (threading.get_ident(), signal.SIGINT))
    runner.start()

    def ask() -> None:
        interrupt.start()
        sync(runner.loop, lambda: asyncio.sleep(0))

    try:
        runner.loop.add_callback(free.wait, 60)  # the loop is busy: nothing begins
        with interrupts(lambda: None) as signals, pytest.raises(KeyboardInterrupt):
            ask()
        assert signals.count == 1
        free.set()
        sync(runner.loop, lambda: asyncio.sleep(0))
    finally:
        runner.stop()
        for signum, old in before.items():
            signal.signal(signum, old)
    assert [r for r in caplog.records if r.name.startswith("tornado")] == []


# ---- workers ---------------------------------------------------------------------------------------------------------


@contextmanager
def dask_program(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """`dask scheduler` or `dask worker` as a process."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-m", "dask", *words], start_new_session=True, **quiet) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The file that says where a scheduler is, and its process."""
    file = tmp_path / "scheduler.json"
    with dask_program("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)) as process:
        wait_until(lambda: file.exists() and file.stat().st_size > 0)
        yield str(file), process


def worker(file: str) -> Any:
    words = ("--nthreads", "1", "--no-dashboard", "--death-timeout", "60")
    return dask_program("worker", "--scheduler-file", file, *words)


def lazily(log: Path) -> Any:
    return cubes.as_cube(cubes.computed_by(CUBE.values, (6, 1, 64, 64), lambda _: time.sleep(0.1)))


def test_a_worker_that_is_told_to_go_hands_its_work_to_others(
    tmp_path: Path, scheduler: tuple[str, subprocess.Popen[bytes]]
) -> None:
    """SIGTERM, as of an eviction or a spot notice, to one of two; no region counts it as a try."""
    czd.encode(CUBE, tmp_path / "quiet", **HOW)
    told: list[int] = []
    with worker(scheduler[0]) as one, worker(scheduler[0]), Client(scheduler_file=scheduler[0]) as client:
        client.wait_for_workers(2, timeout=100)

        def tell(step: Step) -> None:
            if step.stage == "run" and step.done >= 4 and not told:
                told.append(one.pid)
                one.send_signal(signal.SIGTERM)
            assert step.tried_again == 0

        report = czd.encode(lazily(tmp_path), tmp_path / "s", client=client, progress=tell, **HOW)
        assert one.wait(60) == 0
        wait_until(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == 1)
    assert not report.failures
    assert cubes.objects(tmp_path / "s") == cubes.objects(tmp_path / "quiet")


def test_workers_that_take_nothing_are_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pixels of memory are sent to workers; paused ones do not take them."""
    monkeypatch.setattr(clusters, "SCATTER_SECONDS", 0.3)
    monkeypatch.setattr(clusters, "SCATTER_PAUSES", (0, 0.1, 0.2))
    how: dict[str, Any] = {"processes": False, "protocol": "tcp://", "dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(n_workers=1, threads_per_worker=1, **how) as made, Client(made) as client:
        (only,) = made.workers.values()
        only.status = Status.paused
        with pytest.raises(RunError, match=r"no worker takes pixels .*paused.*; go on with resume=True"):
            czd.encode(CUBE, tmp_path / "s", client=client, **HOW)
        only.status = Status.running
        czd.encode(CUBE, tmp_path / "s", client=client, resume=True, **HOW)
    czd.encode(CUBE, tmp_path / "quiet", **HOW)
    assert cubes.objects(tmp_path / "s") == cubes.objects(tmp_path / "quiet")


def test_a_paused_worker_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler counts its threads, as those of any other."""
    monkeypatch.setattr(clusters, "SCATTER_SECONDS", 0.2)
    monkeypatch.setattr(clusters, "SCATTER_PAUSES", (0, 0.1))
    how: dict[str, Any] = {"processes": False, "protocol": "tcp://", "dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(n_workers=2, threads_per_worker=1, **how) as made, Client(made) as client:
        made.workers[0].status = Status.paused
        czd.encode(CUBE, tmp_path / "s", client=client, **HOW)
    czd.encode(CUBE, tmp_path / "quiet", **HOW)
    assert cubes.objects(tmp_path / "s") == cubes.objects(tmp_path / "quiet")


@pytest.fixture
def within() -> Iterator[LocalCluster]:
    """A cluster of one worker, all of it in this process."""
    how: dict[str, Any] = {"processes": False, "protocol": "tcp://", "dashboard_address": ":0", "silence_logs": 60}
    with LocalCluster(n_workers=1, threads_per_worker=1, **how) as made:
        yield made


def test_without_a_worker_the_run_waits_and_says_so(
    tmp_path: Path, within: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "TOLD_SECONDS", 0.5)
    monkeypatch.setattr(clusters, "REFRESH_SECONDS", 0.2)
    czd.encode(CUBE, tmp_path / "quiet", **HOW)
    left: list[int] = []
    comes = threading.Timer(5, lambda: within.scale(1))

    def leave(step: Step) -> None:
        if step.stage == "run" and step.done >= 4 and not left:
            left.append(step.done)
            within.scale(0)
            while within.scheduler.workers:  # what is left is left for the one that comes
                time.sleep(0.05)
            comes.start()

    with Client(within) as client, pytest.warns(ChronozarrWarning, match="has no worker any more: waiting for one"):
        report = czd.encode(CUBE, tmp_path / "s", client=client, progress=leave, **HOW)
    comes.join()
    assert left
    assert not report.failures
    assert cubes.objects(tmp_path / "s") == cubes.objects(tmp_path / "quiet")


@pytest.mark.parametrize("patience", [2, 60], ids=["before the client gives up", "after it"])
def test_a_scheduler_that_is_gone_is_one_error(
    tmp_path: Path, within: LocalCluster, monkeypatch: pytest.MonkeyPatch, patience: int
) -> None:
    monkeypatch.setattr(clusters, "SILENT_SECONDS", patience)
    monkeypatch.setattr(clusters, "REFRESH_SECONDS", 0.2)
    gone: list[int] = []

    def end(step: Step) -> None:
        if step.stage == "run" and step.done >= 4 and not gone:
            gone.append(step.done)
            within.sync(within.scheduler.close)

    with Client(within.scheduler_address, timeout=10) as client, pytest.raises(RunError, match=r"scheduler .*--resume"):
        czd.encode(CUBE, tmp_path / "s", client=client, progress=end, **HOW)
    assert czd_beat(tmp_path / "s").state == "ended"
    report = czd.encode(CUBE, tmp_path / "s", resume=True, **HOW)
    assert report.regions_resumed >= 4

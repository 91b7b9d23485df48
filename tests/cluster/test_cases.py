"""Cases 7 and 8 of the field: many writers and one shard; a worker that dies late. And workers that come and go."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster, get_worker

import chronozarr_dask as czd
from chronozarr_dask.run.local import environment_restored, worker_environment
from chronozarr_dask.run.progress import Step
from tests.encode import counting, cubes

pytestmark = pytest.mark.cluster

CS = 32


@contextmanager
def local(n: int) -> Iterator[LocalCluster]:
    with environment_restored(), dask.config.set({"distributed.nanny.pre-spawn-environ": worker_environment(1)}):
        made = LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
    try:
        yield made
    finally:
        with suppress(KeyError):  # a LocalCluster that does not know its dead worker any more
            made.close()


def nonzero(shape: tuple[int, int, int, int]) -> Any:
    pixels = np.random.default_rng(3).integers(1, 60_000, shape).astype(np.uint16)
    return cubes.as_cube(pixels)


def encode(cube: Any, target: Path, **how: Any) -> czd.RunReport:
    return czd.encode(cube, target, **({"chunk_size": CS, "region_cells": 2} | how))


# ---- 7 ---------------------------------------------------------------------------------------------------------------


def test_7_four_writers_never_share_a_shard(tmp_path: Path) -> None:
    """12 months in one shard: each is put by one task, once, whoever works on its neighbours."""
    cube = nonzero((12, 2, 96, 96))
    encode(cube, tmp_path / "one", shard_time=12)
    whole = cubes.objects(tmp_path / "one")
    with local(4) as cluster, Client(cluster) as client:
        for i in range(3):
            target = tmp_path / f"four{i}"
            log = tmp_path / f"log{i}"
            client.register_plugin(counting.CountTarget(str(log), str(target)))
            report = encode(cube.chunk({"time": 1}), target, shard_time=12, client=client)
            client.unregister_worker_plugin(counting.CountTarget.name)
            assert report.regions >= 4
            assert cubes.objects(target) == whole
            puts = [note for note in counting.notes(log) if note[1] == "put"]
            assert set(Counter(key for _, _, key in puts).values()) == {1}
            assert len({process for process, _, _ in puts}) > 1, "more than one of them wrote"


# ---- 8 ---------------------------------------------------------------------------------------------------------------


def test_8_a_worker_dies_late(tmp_path: Path) -> None:
    """kill -9 after 60 objects: what was in flight there is done again, and no more."""
    cube = nonzero((6, 1, 320, 320))
    encode(cube, tmp_path / "quiet")
    target, log = tmp_path / "killed", tmp_path / "log"
    killed: list[int] = []
    with local(2) as cluster, Client(cluster) as client:
        client.register_plugin(counting.CountTarget(str(log), str(target)))

        def kill(step: Step) -> None:
            if step.stage == "run" and not killed and len(counting.notes(log)) >= 60:
                killed.append(int(counting.notes(log)[-1][0]))
                os.kill(killed[0], signal.SIGKILL)

        report = encode(cube.chunk({"time": 1}), target, client=client, progress=kill)
    assert killed
    assert report.regions >= 25
    assert not report.failures
    assert cubes.objects(target) == cubes.objects(tmp_path / "quiet")
    puts = Counter(key for _, operation, key in counting.notes(log) if operation == "put")
    twice = sum(n - 1 for n in puts.values())
    per_region = -(-len(puts) // report.regions)
    print(f"{len(puts)} objects in {report.regions} regions, {twice} put twice")
    assert twice <= 2 * 2 * per_region, "at most what was in flight on one worker"


# ---- workers that come and go ----------------------------------------------------------------------------------------


def slow(pixels: cubes.Array, log: Path, seconds: float) -> Any:
    """The pixels as a Dask array whose blocks take their time, and note where they are computed."""

    def before(_: tuple[int, ...]) -> None:
        counting.note(str(log), get_worker().address)
        time.sleep(seconds)

    return cubes.as_cube(cubes.computed_by(pixels, (pixels.shape[0], 1, 64, 64), before))


def n_workers(client: Client) -> int:
    return len(client.scheduler_info(n_workers=-1)["workers"])


def wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not come"
        time.sleep(0.05)


def test_from_one_worker_to_four_and_back_and_no_byte_changes(tmp_path: Path) -> None:
    """Those that join are waited for here, so that they have something to do on any machine."""
    pixels = nonzero((4, 1, 384, 384)).values
    encode(cubes.as_cube(pixels), tmp_path / "quiet", encoding="star-delta")
    log = tmp_path / "log"
    wanted = {5: 4, 25: 1}
    with local(1) as cluster, Client(cluster) as client:
        client.register_plugin(counting.CountTarget(str(log), str(tmp_path / "scaled")))

        def scale(step: Step) -> None:
            if step.stage == "run" and (n := wanted.pop(step.done, None)) is not None:
                if n == 1:  # those that joined have something in hand by now, however slowly they begin
                    wait_for(lambda: len({process for process, *_ in counting.notes(log)}) > 1)
                cluster.scale(n)
                wait_for(lambda: n_workers(client) == n)

        how: dict[str, Any] = {"encoding": "star-delta", "client": client, "progress": scale}
        report = encode(slow(pixels, tmp_path / "blocks", 0.1), tmp_path / "scaled", **how)
        assert n_workers(client) == 1
    assert not wanted
    assert not report.failures
    assert cubes.objects(tmp_path / "scaled") == cubes.objects(tmp_path / "quiet")
    assert len({process for process, *_ in counting.notes(log)}) > 1, "those that joined worked too"


def test_dasks_own_scaling_sees_what_there_is_to_do(tmp_path: Path) -> None:
    """A region more than the workers take is handed over, or one worker would always be enough."""
    pixels = nonzero((4, 1, 384, 384)).values
    encode(cubes.as_cube(pixels), tmp_path / "quiet")
    log = tmp_path / "log"
    seen: list[int] = []
    how: dict[str, Any] = {"processes": False, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(n_workers=1, **how) as cluster, Client(cluster) as client:
        cluster.adapt(minimum=1, maximum=4, interval="100ms", target_duration="100ms", wait_count=3)
        watch: dict[str, Any] = {"client": client, "progress": lambda step: seen.append(n_workers(client))}
        report = encode(slow(pixels, log, 0.2), tmp_path / "scaled", **watch)
        assert max(seen) > 1
        wait_for(lambda: n_workers(client) == 1)
    assert not report.failures
    assert cubes.objects(tmp_path / "scaled") == cubes.objects(tmp_path / "quiet")

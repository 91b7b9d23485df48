"""A LocalCluster of two workers with one thread each, up and warm, against two threads of one process."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.benchmarks import cubes
from tests.benchmarks.encoding import QUICK, SIZE, make
from tests.benchmarks.measure import Spread, processor_time, run, started
from tests.benchmarks.tables import Claim, Table

ROUNDS, QUICK_ROUNDS = 3, 2
LIMIT = 1.2
N_WORKERS = 2
SETTLE_SECONDS = 1.0
"""Between two encodes, for the workers to let go of what they held."""

CASES: dict[str, dict[str, Any]] = {
    "read by window, none": {"chunks": None, "encoding": "none"},
    "Dask array of its own chunks, none": {"chunks": {}, "encoding": "none"},
    "read by window, star-delta, shards of 12": {"chunks": None, "encoding": "star-delta", "shard_time": 12},
}

COLUMNS = ("case", "wall time, cluster / threads", "processor time, cluster / threads", "threads, s", "cluster, s")


def table(folder: Path, *, quick: bool) -> Table:
    """The table; takes the input that the table of encoding has left in `folder`, or makes it."""
    n_time, height, width = QUICK if quick else SIZE
    rounds = QUICK_ROUNDS if quick else ROUNDS
    source = folder / "input.zarr"
    if not source.exists():
        run("encoding:make", path=str(source), n_time=n_time, height=height, width=width)
    found = run("cluster:rounds", source=str(source), folder=str(folder), n=rounds).result
    out = Table("On a cluster", _about(rounds), COLUMNS)
    for name, done in found.items():
        pairs = list(zip(done["threads"], done["cluster"], strict=True))
        wall, cpu = (Spread.of(c[i] / t[i] for t, c in pairs) for i in (0, 1))
        seconds = [Spread.of(w for w, _ in done[where]).text(1) for where in ("threads", "cluster")]
        out.rows.append((name, wall.text(2), cpu.text(2), *seconds))
        out.claims.append(Claim(f"{name}: wall time, cluster / threads", wall.median, LIMIT))
    return out


def _about(rounds: int) -> str:
    return (
        f"The same input and options, encoded on a LocalCluster of {N_WORKERS} worker processes x 1 thread, and by "
        f"{N_WORKERS} threads of one process; both have encoded before. Processor time of the cluster is that of "
        f"client, scheduler, nannies and workers; that of the threads is of their process alone, in which the idle "
        f"scheduler runs, and nothing is claimed of it: half of the difference is the scheduler's. "
        f"Medians (least..most) of {rounds} rounds in which the two alternate."
    )


# ---- job --------------------------------------------------------------------------------------------------------


def rounds(source: str, folder: str, n: int) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """(wall, processor) seconds of every round, for each case on threads and on the cluster."""
    import dask
    from distributed import Client, LocalCluster

    from chronozarr_dask.run.encode import encode

    small = Path(folder) / "warm.zarr"
    make(str(small), 7, 1100, 600)
    out: dict[str, dict[str, list[tuple[float, float]]]] = {}
    with (
        dask.config.set(num_workers=N_WORKERS),
        LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        started()
        for name, case in CASES.items():
            options = dict(case)
            chunks = options.pop("chunks")

            def one(path: str, client: Any, chunks: Any = chunks, options: Any = options) -> tuple[float, float]:
                cube = cubes.open_input(path, chunks)
                target = Path(folder) / "out"
                spent = _timed(
                    lambda: encode(cube, target, client=client, codec="zstd", codec_level=5, **options),
                    tree=client is not None,
                )
                for left in (target, target.with_name("out.run")):
                    shutil.rmtree(left)
                time.sleep(SETTLE_SECONDS)
                return spent

            for where in (None, client):
                one(str(small), where)
            out[name] = {"threads": [], "cluster": []}
            for i in range(n):
                for where in ("threads", "cluster") if i % 2 == 0 else ("cluster", "threads"):
                    out[name][where].append(one(source, client if where == "cluster" else None))
    shutil.rmtree(small)
    return out


def _timed(work: Callable[[], object], *, tree: bool) -> tuple[float, float]:
    def spent() -> float:
        return processor_time(os.getpid()) if tree else time.process_time()

    wall, cpu = time.perf_counter(), spent()
    work()
    return time.perf_counter() - wall, spent() - cpu

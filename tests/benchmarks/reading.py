"""Reading over 20 ms of latency, against ``chronozarr==0.2.1``: a frame of 20 cells, a series of 24 timesteps."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.benchmarks import cubes
from tests.benchmarks.measure import Spread, run, started
from tests.benchmarks.tables import Claim, Table
from tests.services.web import LOG, served

LATENCY = 0.02
SIZE, QUICK = (24, 2300, 1900, 512), (24, 575, 475, 128)
"""Timesteps, rows, columns, edge of a cell: 5 x 4 cells."""
ROUNDS, QUICK_ROUNDS = 5, 3
WALL_LIMIT = 0.5

FRAME, CELL = 8, (1, 1)
"""A timestep that refers to one two before it, in the same shard; a cell."""

LAYOUTS: dict[str, dict[str, Any]] = {
    "none, unsharded": {"encoding": "none"},
    "none, shards of 12": {"encoding": "none", "shard_time": 12},
    "star-delta, unsharded": {"encoding": "star-delta"},
    "star-delta, shards of 12": {"encoding": "star-delta", "shard_time": 12},
}
READS = {"frame": "frame of 20 cells", "series": "series of 24"}

COLUMNS = (
    "layout", "read", "wall time, ours / 0.2.1", "ours, ms", "0.2.1, ms", "requests, ours", "0.2.1", "MB fetched, ours",
    "decoded / wanted, ours",
)  # fmt: skip


def table(folder: Path, *, quick: bool) -> Table:
    """The table; needs 4 GB in `folder`."""
    n_time, height, width, cs = QUICK if quick else SIZE
    source = folder / "to read.zarr"
    run("encoding:make", path=str(source), n_time=n_time, height=height, width=width)
    out = Table("Reading over the web", _about(quick), COLUMNS)
    for name, layout in LAYOUTS.items():
        store = folder / "read" / name.replace(", ", "-").replace(" ", "-")
        run("reading:make", source=str(source), target=str(store), chunk_size=cs, **layout)
        with served(store, LATENCY) as server:
            for what in READS:
                _add(out, name, what, server.host, QUICK_ROUNDS if quick else ROUNDS)
    return out


def _about(quick: bool) -> str:
    n_time, height, width, cs = QUICK if quick else SIZE
    return (
        f"{n_time} months x 4 bands x {height} x {width} uint16 in cells of {cs}, zstd level 5, anchor interval 6, "
        f"`shard_bytes` listed; from an HTTP/1.1 server in a process of its own that counts and takes "
        f"{LATENCY * 1000:.0f} ms for each request, on the loopback interface. The frame is timestep {FRAME}, a "
        f"residual under star-delta. The series is all timesteps of cell {CELL}: one slice of the lazy array by ours, "
        f"`read_cell` for each timestep by 0.2.1. Each read is the first of a process of its own: caches are empty, "
        f"and no connection is there but that of the opening. The opening itself (imports, documents) is left out of "
        f"wall time and requests, for both. Medians (least..most) of {QUICK_ROUNDS if quick else ROUNDS} rounds "
        f"in which the two alternate; a ratio is taken within a round; that both give the same values is "
        f"checked each time."
    )


def _add(out: Table, name: str, what: str, host: str, rounds: int) -> None:
    done: list[dict[str, dict[str, Any]]] = []
    for n in range(rounds):
        peers = ("ours", "theirs") if n % 2 == 0 else ("theirs", "ours")
        done.append({peer: run(f"reading:{peer}", what=what, host=host).result for peer in peers})
        if done[-1]["ours"]["crc"] != done[-1]["theirs"]["crc"]:
            raise ValueError(f"{name}, {READS[what]}: ours and 0.2.1 give other values")
    wall = Spread.of(d["ours"]["seconds"] / d["theirs"]["seconds"] for d in done)
    requests = {peer: max(d[peer]["requests"] for d in done) for peer in ("ours", "theirs")}
    cost = done[0]["ours"]["cost"]
    out.rows.append(
        (
            name, READS[what], wall.text(2),
            *(Spread.of(d[peer]["seconds"] * 1000 for d in done).text(0) for peer in ("ours", "theirs")),
            str(requests["ours"]), str(requests["theirs"]), f"{cost['bytes_fetched'] / 1e6:.1f}",
            f"{cost['amplification']:.2f}",
        )
    )  # fmt: skip
    where = f"{name}, {READS[what]}"
    out.claims.append(Claim(f"{where}: wall time, ours / 0.2.1", wall.median, WALL_LIMIT))
    out.claims.append(Claim(f"{where}: requests of ours", requests["ours"], requests["theirs"]))


# ---- jobs -------------------------------------------------------------------------------------------------------


def make(source: str, target: str, chunk_size: int, encoding: Any, shard_time: int | None = None) -> None:
    """Write a store of one level."""
    from chronozarr_dask.run.encode import encode

    cube = cubes.open_input(source, None)
    encode(cube, target, encoding=encoding, shard_time=shard_time, chunk_size=chunk_size, levels=1)


def ours(what: str, host: str) -> dict[str, Any]:
    """One read by this project."""
    from chronozarr_dask import open_store

    store = open_store(f"{host}/cube")
    cs = store.chunk_size
    lazy = store.to_xarray()["data"]
    row, col = CELL

    def read() -> Any:
        if what == "frame":
            return store.read(FRAME)
        return lazy[:, :, row * cs : (row + 1) * cs, col * cs : (col + 1) * cs].values

    with store.measure() as cost:
        return _timed(read, host) | {"cost": cost.as_dict()}


def theirs(what: str, host: str) -> dict[str, Any]:
    """One read by 0.2.1."""
    import chronozarr
    import numpy as np

    store = chronozarr.open_store(f"{host}/cube")

    def read() -> Any:
        if what == "frame":
            return np.asarray(store.read(FRAME))
        return np.stack([np.asarray(store.read_cell(t, *CELL)) for t in range(SIZE[0])])

    return _timed(read, host)


def _timed(read: Callable[[], Any], host: str) -> dict[str, Any]:
    """Wall time, requests and a checksum of a read."""
    import json
    import urllib.request

    import numpy as np

    def log() -> Any:
        with urllib.request.urlopen(host + LOG) as answer:
            return json.load(answer)

    log()
    started()
    before = time.perf_counter()
    values = read()
    seconds = time.perf_counter() - before
    return {"seconds": seconds, "requests": len(log()), "crc": zlib.crc32(np.ascontiguousarray(values))}

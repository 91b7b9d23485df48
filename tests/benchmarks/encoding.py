"""Encoding, against ``chronozarr==0.2.1`` with the same options, and against the codec alone."""

from __future__ import annotations

import filecmp
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks import cubes
from tests.benchmarks.measure import MIB, Measured, Spread, run, started
from tests.benchmarks.tables import Claim, Table

SIZE = (24, 2300, 1900)
QUICK = (12, 1024, 900)
ROUNDS, QUICK_ROUNDS = 3, 2
CPU_LIMIT, MEMORY_LIMIT = 0.9, 1.0

CASES: dict[str, dict[str, Any]] = {
    "none, unsharded": {"encoding": "none"},
    "none, shards of 12": {"encoding": "none", "shard_time": 12},
    "none, one shard over all": {"encoding": "none", "shard_time": "all"},
    "star-delta, unsharded": {"encoding": "star-delta"},
    "star-delta, shards of 12": {"encoding": "star-delta", "shard_time": 12},
}

COLUMNS = (
    "case", "processor time, ours / 0.2.1", "net of imports", "codec alone / 0.2.1", "0.2.1, s",
    "peak, ours / 0.2.1", "ours, MiB", "0.2.1, MiB",
)  # fmt: skip


def table(folder: Path, *, quick: bool) -> Table:
    """The table; needs 3 GB in `folder`."""
    n_time, height, width = QUICK if quick else SIZE
    rounds = QUICK_ROUNDS if quick else ROUNDS
    source = folder / "input.zarr"
    made = run("encoding:make", path=str(source), n_time=n_time, height=height, width=width).result
    if not cubes.KEPT[0] <= made["kept"] <= cubes.KEPT[1]:
        raise ValueError(f"zstd 5 keeps {made['kept']:.3f} of the input, and {cubes.KEPT} is wanted: tune the texture")
    _warm_up(folder)
    out = Table("Encoding", _about(made, (n_time, height, width), rounds), COLUMNS)
    for name, case in CASES.items():
        _add(out, name, list(_rounds(folder, str(source), case, rounds)))
    return out


def _about(made: dict[str, float], size: tuple[int, int, int], rounds: int) -> str:
    n_time, height, width = size
    return (
        f"{made['raw'] / 1e9:.2f} GB: {n_time} months x 4 bands x {height} x {width} uint16, of which zstd 5 keeps "
        f"{made['kept']:.3f}; read by window from a Zarr v3 of (1, 4, 512, 512) chunks under lz4 that is in the page "
        f"cache. zstd level 5, chunks of 512, all levels. Each encode is a process of its own; processor time is user "
        f"and system of its whole tree, imports included; byte code and compiled kernels are on disk from a run "
        f"before. Peak is resident memory of the tree. Medians (least..most) of {rounds} rounds in which the two "
        f"alternate; a ratio is taken within a round. In the first round the objects of the data array are compared: "
        f"both stores have the same keys and bytes. The codec alone compresses the same chunks of all levels again, in "
        f"one thread, once they are in memory."
    )


def _warm_up(folder: Path) -> None:
    """Everything once and small: byte code and kernels are compiled and kept."""
    small = folder / "small.zarr"
    run("encoding:make", path=str(small), n_time=7, height=600, width=600)
    for case in CASES.values():
        for peer in ("ours", "theirs"):
            run(f"encoding:{peer}", source=str(small), target=str(folder / peer), **case)
            _remove(folder / peer)


def _rounds(folder: Path, source: str, case: dict[str, Any], rounds: int) -> Iterator[dict[str, Measured]]:
    for n in range(rounds):
        done = {}
        for peer in ("ours", "theirs") if n % 2 == 0 else ("theirs", "ours"):
            done[peer] = run(f"encoding:{peer}", source=source, target=str(folder / peer), **case)
        if n == 0:
            _compare(folder / "ours", folder / "theirs")
        if "shard_time" not in case:
            done["codec"] = run("encoding:codec_alone", store=str(folder / "ours"))
        for peer in ("ours", "theirs"):
            _remove(folder / peer)
        yield done


def _add(out: Table, name: str, done: list[dict[str, Measured]]) -> None:
    ours, theirs = [d["ours"] for d in done], [d["theirs"] for d in done]
    pairs = list(zip(ours, theirs, strict=True))
    cpu, net, peak = (Spread.of(getattr(a, x) / getattr(b, x) for a, b in pairs) for x in ("cpu", "net", "peak"))
    floor = [d["codec"].result["seconds"] / d["theirs"].cpu for d in done if "codec" in d]
    out.rows.append(
        (
            name, cpu.text(2), net.text(2), Spread.of(floor).text(2) if floor else "",
            Spread.of(m.cpu for m in theirs).text(1), peak.text(2),
            *(Spread.of(m.peak / MIB for m in peer).text(0) for peer in (ours, theirs)),
        )
    )  # fmt: skip
    out.claims.append(Claim(f"{name}: processor time, ours / 0.2.1", cpu.median, CPU_LIMIT))
    out.claims.append(Claim(f"{name}: peak memory, ours / 0.2.1", peak.median, MEMORY_LIMIT))


def objects(store: Path) -> dict[str, Path]:
    """Path of every object of the data array by its key, all levels."""
    return {str(p.relative_to(store)): p for p in store.glob("*/data/c/**/*") if p.is_file()}


def _compare(ours: Path, theirs: Path) -> None:
    """Raise ValueError when the two have not done the same work."""
    a, b = objects(ours), objects(theirs)
    different = sorted(set(a) ^ set(b)) or [k for k in a if not filecmp.cmp(a[k], b[k], shallow=False)]
    if different or not a:
        raise ValueError(
            f"{len(different)} of {len(a)} objects differ from those of 0.2.1, the first is {different[:1]}"
        )


def _remove(store: Path) -> None:
    for folder in (store, store.with_name(f"{store.name}.run")):
        shutil.rmtree(folder, ignore_errors=True)


# ---- jobs -------------------------------------------------------------------------------------------------------


def make(path: str, n_time: int, height: int, width: int) -> dict[str, float]:
    """Write the input."""
    return cubes.write_input(Path(path), n_time, height, width)


def ours(source: str, target: str, encoding: str, shard_time: int | str | None = None) -> None:
    """One encode by this project."""
    from chronozarr_dask.run.encode import encode

    cube = cubes.open_input(source, None)
    started()
    encode(cube, target, encoding=encoding, codec="zstd", codec_level=5, shard_time=shard_time)


def theirs(source: str, target: str, encoding: Any, shard_time: int | str | None = None) -> None:
    """One encode by 0.2.1, whose shards are as long as the time axis unless it is told otherwise."""
    import chronozarr

    cube = cubes.open_input(source, None)
    started()
    sharded: dict[str, Any] = {} if shard_time is None else {"shard": True}
    if isinstance(shard_time, int):
        sharded["shard_time"] = shard_time
    chronozarr.encode(cube, target, encoding=encoding, codec="zstd", level=5, **sharded)


def codec_alone(store: str) -> dict[str, float]:
    """Processor seconds of compressing the chunks of a store again."""
    import numcodecs

    codec, seconds = numcodecs.Zstd(level=5), 0.0
    for path in objects(Path(store)).values():
        chunk = codec.decode(path.read_bytes())
        before = time.thread_time()
        codec.encode(chunk)
        seconds += time.thread_time() - before
    return {"seconds": seconds}

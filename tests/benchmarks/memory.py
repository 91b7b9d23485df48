"""Peak memory of encoding lazy cubes that grow in time and in height."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from tests.benchmarks import cubes
from tests.benchmarks.measure import MIB, run, started
from tests.benchmarks.tables import Claim, Table

WIDTH, QUICK_WIDTH = 5120, 512
LIMIT = 1.5e9
LEVEL_OF_LARGE = 1
LARGE = 5e9

SIZES = {
    "time": ((24, 2048), (48, 2048), (96, 2048)),
    "height": ((24, 2048), (24, 4096), (24, 8192)),
}
MEMORY = (None, "600MB")

COLUMNS = (
    "memory", "grows in", "cube, GB", "timesteps x rows x columns", "zstd", "kept", "peak, GB", "regions", "staged, GB",
)  # fmt: skip


def table(folder: Path, *, quick: bool) -> Table:
    """The table; needs 16 GB in `folder`."""
    width = QUICK_WIDTH if quick else WIDTH
    out = Table("Bounded memory", _about(), COLUMNS)
    measured: dict[Any, tuple[str, ...]] = {}
    for memory in MEMORY:
        for axis, sizes in SIZES.items():
            for n_time, height in sizes:
                key = (memory, n_time, height)
                if key not in measured:  # the smallest cube begins both series
                    measured[key] = _measure(out, folder, memory, n_time, height, width)
                out.rows.append((memory or "default", axis, *measured[key]))
    return out


def _about() -> str:
    return (
        "Dask cubes whose blocks are one timestep x 4 bands x 2048 rows x the full width, uint16; a block is filled "
        "when it is asked for. Encoding `auto`, chunks of 512, all levels, unsharded, on threads, every other option "
        "at its default; zstd 5, and 1 for the cubes of 8 GB, which changes the time and not the memory. Peak is "
        "resident memory of the whole process, libraries and the source's own blocks included, in one run each."
    )


def _measure(out: Table, folder: Path, memory: str | None, n_time: int, height: int, width: int) -> tuple[str, ...]:
    raw = n_time * height * width * cubes.N_BAND * 2
    level = LEVEL_OF_LARGE if raw > LARGE else 5
    target = folder / "lazy"
    done = run("memory:lazy", target=str(target), n_time=n_time, height=height, width=width, memory=memory, level=level)
    for left in (target, target.with_name("lazy.run")):
        shutil.rmtree(left)
    what = f"memory {memory or 'at its default'}, {n_time} x {height} x {width}"
    out.claims.append(Claim(f"{what}: peak, GB", done.peak / 1e9, LIMIT / 1e9))
    found = done.result
    return (
        f"{raw / 1e9:.2f}", f"{n_time} x {height} x {width}", str(level), f"{found['kept']:.2f}",
        f"{done.peak / 1e9:.2f} ({done.peak / MIB:.0f} MiB)", str(found["regions"]), f"{found['staged'] / 1e9:.2f}",
    )  # fmt: skip


# ---- job --------------------------------------------------------------------------------------------------------


def lazy(target: str, n_time: int, height: int, width: int, memory: str | None, level: int) -> dict[str, float]:
    """One encode of a lazy cube."""
    from chronozarr_dask.run.encode import encode

    cube, kept = cubes.lazy_cube(n_time, height, width)
    started()
    report = encode(cube, target, codec="zstd", codec_level=level, memory=memory)
    return {"kept": kept, "regions": report.regions, "staged": report.staged_bytes}

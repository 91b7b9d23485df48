"""Peak memory follows the region, not the cube."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

WIDTH, ROWS, N_BAND = 2048, 2048, 4
GROWTH = 0.15

RUN = """
import json, sys
import numcodecs, numpy as np, xarray as xr, dask.array as da
import chronozarr_dask as czd

n_time, n_rows, width, rows, n_band = map(int, sys.argv[2:7])
rng = np.random.default_rng(1)
coarse = rng.normal(size=(n_band, rows // 16, width // 16)).repeat(16, 1).repeat(16, 2)
texture = (3000 + 700 * coarse + 4.5 * rng.normal(size=coarse.shape)).clip(1, 9000).astype("uint16")
cell = np.ascontiguousarray(texture[:, :512, :512])
kept = len(numcodecs.Zstd(5).encode(cell)) / cell.nbytes

def block(block_info=None):
    t, _, y, _ = (a for a, _ in block_info[None]["array-location"])
    return (texture + np.uint16(11 * (t % 50) + y // rows))[None]

chunks = ((1,) * n_time, (n_band,), (rows,) * (n_rows // rows), (width,))
data = da.map_blocks(block, chunks=chunks, dtype="uint16", meta=np.empty((0,) * 4, "uint16"))
cube = xr.DataArray(
    data,
    {
        "time": np.datetime64("2020-01-01", "ns") + np.arange(n_time) * np.timedelta64(30, "D"),
        "y": 9e6 - 10 * (np.arange(n_rows) + 0.5),
        "x": 3e5 + 10 * (np.arange(width) + 0.5),
    },
    ("time", "band", "y", "x"),
)
report = czd.encode(cube, sys.argv[1], crs="EPSG:32631", encoding="star-delta", codec_level=1)
# Of this program alone: ru_maxrss begins with what the process that started it had.
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM:")) * 1024
figures = {"peak": peak, "kept": kept, "raw": data.nbytes, "regions": report.regions, "staged": report.staged_bytes}
print(json.dumps(figures))
"""


def peak_of(n_time: int, n_rows: int, tmp_path: Path) -> dict[str, float]:
    """Run one encode in a process of its own; what it measured of itself."""
    arguments = [str(tmp_path / f"s-{n_time}-{n_rows}"), *map(str, (n_time, n_rows, WIDTH, ROWS, N_BAND))]
    code = [sys.executable, "-W", "ignore", "-c", RUN, *arguments]
    out = subprocess.run(code, capture_output=True, text=True, check=True, env={**os.environ, "MALLOC_ARENA_MAX": "2"})
    found: dict[str, float] = json.loads(out.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("axis", ["time", "rows"])
def test_memory_is_flat_as_the_cube_grows(axis: str, tmp_path: Path) -> None:
    sizes = [(16, ROWS), (32, ROWS), (64, ROWS)] if axis == "time" else [(16, ROWS), (16, 2 * ROWS), (16, 4 * ROWS)]
    runs = [peak_of(n_time, n_rows, tmp_path) for n_time, n_rows in sizes]
    figures = [f"{r['raw'] / 1e9:.2f} GB: {r['peak'] / 2**20:.0f} MiB, {r['regions']:.0f} regions" for r in runs]
    print("\n".join(figures))
    assert [round(r["raw"] / 5.4e8) for r in runs] == [1, 2, 4]
    assert all(0.55 < r["kept"] < 0.68 for r in runs), runs[0]["kept"]
    assert all(not r["staged"] for r in runs)
    peaks = [r["peak"] for r in runs]
    assert max(peaks) <= (1 + GROWTH) * min(peaks), figures

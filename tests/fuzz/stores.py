"""Small good stores of this package's own encoder, held in memory, for a fuzzer to damage."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import dask
import numpy as np
import xarray as xr

from chronozarr_dask import encode

CS = 8
SHAPE = (5, 2, 13, 19)  # time, band, y, x: 2 x 3 cells of level 0, partial ones among them

OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("uint8", {"encoding": "none"}),
    "sharded": ("uint16", {"encoding": "star-delta", "anchor_interval": 3, "shard_time": 3, "codec": "blosc"}),
    "planes": ("int16", {"encoding": "none", "codec": "gzip", "mask": "mask", "coverage": "coverage"}),
    "real": ("float32", {"encoding": "none", "shard_time": "all", "nodata": None}),
}
"""Name to dtype and options: together every encoding, codec, dtype and plane, sharded and not."""


@dataclass
class Objects:
    """Objects in a dict, as the reader and the validation ask for them."""

    blobs: dict[str, bytes] = field(default_factory=dict)
    url = "memory"

    def get(self, key: str) -> bytes | None:
        return self.blobs.get(key)

    def get_range(self, key: str, start: int, stop: int) -> bytes | None:
        assert 0 <= start < stop, "a range that no host answers"
        blob = self.blobs.get(key)
        return None if blob is None else blob[start:stop]

    def tail(self, key: str, nbytes: int) -> tuple[bytes, int] | None:
        assert nbytes > 0, "a range that no host answers"
        blob = self.blobs.get(key)
        return None if blob is None else (blob[-nbytes:], len(blob))

    def size(self, key: str) -> int | None:
        blob = self.blobs.get(key)
        return None if blob is None else len(blob)

    @property
    def nbytes(self) -> int:
        """Bytes of all objects."""
        return sum(map(len, self.blobs.values()))


@cache
def good(name: str) -> dict[str, bytes]:
    """Key to bytes of the store `name`. Not to be changed."""
    dtype, options = OPTIONS[name]
    rng = np.random.default_rng(3)
    axes = ("time", "band", "y", "x")
    n_time, n_band, height, width = SHAPE
    coords = {
        "time": np.arange("2024-01", "2024-06", dtype="datetime64[M]").astype("datetime64[ns]"),
        "band": [f"B{i:02d}" for i in range(n_band)],
        "y": 5_000_000.0 - 10 * np.arange(height) - 5,
        "x": 500_000.0 + 10 * np.arange(width) + 5,
    }
    variables = {"data": (axes, rng.integers(1, 90, SHAPE).astype(dtype))}
    for plane in ("mask", "coverage"):
        if plane in options:
            variables[plane] = (("time", "y", "x"), rng.integers(0, 2, (n_time, height, width)).astype("u1"))
    cube = xr.Dataset(variables, coords)
    with tempfile.TemporaryDirectory() as folder, dask.config.set(scheduler="synchronous"):
        target = Path(folder, "s.zarr")
        encode(cube, target, variable="data", crs="EPSG:32631", chunk_size=CS, **options)
        return {p.relative_to(target).as_posix(): p.read_bytes() for p in target.rglob("*") if p.is_file()}


def documents(name: str) -> dict[str, Any]:
    """Node path (empty for the root) to its parsed document."""
    found = {k: v for k, v in good(name).items() if k.endswith("zarr.json")}
    return {k.removesuffix("zarr.json").rstrip("/"): json.loads(v) for k, v in found.items()}

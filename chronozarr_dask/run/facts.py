"""What the documents of a store say, as JSON: what `info` and a report tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyproj

from chronozarr_dask.format.attributes import LevelMirror
from chronozarr_dask.format.layout import ceil_div
from chronozarr_dask.format.times import render_time
from chronozarr_dask.store.reader import Store

MONTHS_A_YEAR = 12
DURATIONS = ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1000, "second"), (1, "millisecond"))


def facts(store: Store) -> dict[str, Any]:
    """All that the documents of a store say. Sizes in pixels, bounds and resolutions in units of the CRS."""
    block = store.attributes["chronozarr"]
    meta = store.cells(0, store.variable).chunks.meta
    n_time, n_band, height, width = store.levels[0].shape
    temporal = store.temporal
    shard_time = meta.sharding.shape[0] if meta.sharding else None
    shard_bytes = block.get("shard_bytes")
    return {
        "store": store.url,
        "spec_version": block["spec_version"],
        "variable": store.variable,
        "shape": {"time": n_time, "band": n_band, "y": height, "x": width},
        "dtype": store.dtype.name,
        "nodata": store.nodata,
        "crs": store.crs,
        "crs_name": crs_name(store.crs),
        "bounds": bounds(store.levels[0]),
        "times": {
            "n": n_time,
            "first": render_time(int(store.times[0].astype("int64"))),
            "last": render_time(int(store.times[-1].astype("int64"))),
            "cadence": cadence(store.times),
        },
        "bands": [band.to_json() for band in store.bands],
        "levels": [level.to_json() for level in store.levels],
        "temporal": {
            "encoding": temporal.encoding,
            "anchor_interval": temporal.anchor_interval,
            "anchors": len(temporal.anchor_indices),
            "selection": None if temporal.selection is None else dict(temporal.selection),
        },
        "chunk_size": store.chunk_size,
        "shard_time": shard_time,
        "codec": meta.codec.to_json(meta.dtype),
        "planes": list(store.planes),
        "provenance": None if store.provenance is None else store.provenance.to_json(),
        "objects_at_most": n_objects(store.levels, n_time, shard_time) * (1 + len(store.planes)),
        "data_bytes": None if shard_bytes is None else sum(n for level in shard_bytes.values() for n in level.values()),
    }


def n_objects(levels: tuple[LevelMirror, ...], n_time: int, shard_time: int | None) -> int:
    """Chunks or shards of the data arrays of all levels; those that are all fill are not stored."""
    along_time = ceil_div(n_time, shard_time or 1)
    return sum(along_time * level.grid[0] * level.grid[1] for level in levels)


def bounds(level: LevelMirror) -> list[float]:
    """[left, bottom, right, top] of a level."""
    a, _, left, _, e, top = level.transform
    height, width = level.shape[2:]
    return [left, top + e * height, left + a * width, top]


def crs_name(crs: str) -> str | None:
    """What the EPSG register calls the CRS, None where it does not know it."""
    try:
        return str(pyproj.CRS.from_user_input(crs).name)
    except pyproj.exceptions.CRSError:
        return None


def cadence(times: npt.NDArray[np.datetime64]) -> str:
    """How often there is a timestep: "every 5 days", "monthly", "irregular, 5 days in the middle".

    >>> cadence(np.array(["2024-01-15", "2024-02-15", "2024-03-15"], "datetime64[ms]"))
    'monthly'
    """
    if len(times) == 1:
        return "one timestep"
    months = times.astype("datetime64[M]")
    steps, within = np.unique(np.diff(months.astype(int))), times - months
    if len(steps) == 1 and steps[0] > 0 and (within == within[0]).all():
        return _months(int(steps[0]))
    gaps = np.diff(times).astype("timedelta64[ms]").astype(int)
    if (gaps == gaps[0]).all():
        return f"every {_duration(int(gaps[0]))}"
    return f"irregular, {_duration(int(np.median(gaps)))} in the middle"


def _months(n: int) -> str:
    if n % MONTHS_A_YEAR == 0:
        return "yearly" if n == MONTHS_A_YEAR else f"every {n // MONTHS_A_YEAR} years"
    return "monthly" if n == 1 else f"every {n} months"


def _duration(ms: int) -> str:
    """In the largest unit that the duration has at least once.

    >>> _duration(432_000_000), _duration(86_400_000), _duration(5_400_000)
    ('5 days', 'day', '1.5 hours')
    """
    size, unit = next((s, u) for s, u in DURATIONS if ms >= s)
    n = round(ms / size, 1)
    return unit if n == 1 else f"{n:g} {unit}s"

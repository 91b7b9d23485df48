"""What the page says in words and numbers: each figure with its name in `report.json`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chronozarr_dask.run.reporting.attempts import seconds_by_stage, staged_bytes, untold_regions
from chronozarr_dask.run.reporting.views import day
from chronozarr_dask.run.text import nbytes, number, plural, seconds


def count(n: int) -> str:
    """A count with its thousands set apart."""
    return f"{n:,}"


ROWS = 400
"""Most rows of a table of scenes; `report.json` has all."""
COLUMNS = (("seconds", seconds), ("bytes_in", nbytes), ("bytes_out", nbytes), ("objects", count), ("requests", count),
           ("units", count))  # fmt: skip
"""What is told of a stage, and how."""

Doc = Mapping[str, Any]


@dataclass(frozen=True)
class Figure:
    """One number of the header: `name` is what tests look it up by, `value` what `report.json` has."""

    name: str
    label: str
    text: str
    value: Any
    note: str = ""


def title(doc: Doc) -> str:
    """Name of the store."""
    return str(doc.get("target", "")).rstrip("/").rsplit("/", 1)[-1] or "store"


def figures(doc: Doc) -> list[Figure]:
    """The essential numbers."""
    store = doc.get("store")
    return [*(_of_store(store) if store else ()), *_of_run(doc)]


def _of_store(store: Doc) -> list[Figure]:
    shape, times, temporal = store["shape"], store["times"], store["temporal"]
    span = f"{day(times['first'])} to {day(times['last'])}" if times["n"] > 1 else day(times["first"])
    size = f"{shape['x']:,} x {shape['y']:,}"
    ratio = (temporal["selection"] or {}).get("ratio")
    measured = "" if ratio is None else f"star-delta takes {number(ratio)} of the bytes"
    return [
        Figure("n_time", "timesteps", f"{times['n']:,}", times["n"], span),
        Figure(
            "size",
            "pixels of level 0",
            size,
            [shape["x"], shape["y"]],
            f"{store['crs']}, {plural(shape['band'], 'band')}",
        ),
        Figure("encoding", "encoding", temporal["encoding"], temporal["encoding"], measured),
    ]


def _of_run(doc: Doc) -> list[Figure]:
    if "stored_bytes" not in doc:
        return []
    total, done, regions = doc["stored_bytes"], doc["regions_done"], doc["regions"]
    out = [
        Figure("stored_bytes", "stored", nbytes(total), total, f"in {plural(doc['objects'], 'object')}"),
        Figure("regions_done", "regions", f"{done:,} of {regions:,}", done, _resumed(doc)),
    ]
    if doc["scenes"] is not None:
        found = doc["scenes"]
        rest = [f"{len(found[name]):,} {name}" for name in ("dropped", "lost") if found[name]]
        out.append(Figure("scenes_used", "scenes used", f"{len(found['used']):,}", len(found["used"]), ", ".join(rest)))
    spent = sum(seconds_by_stage(doc["attempts"]).values())
    out.append(Figure("seconds", "time", seconds(spent), spent, f"{_attempts(doc)}ended {day(doc['ended'])} UTC"))
    return out


def _attempts(doc: Doc) -> str:
    """How many attempts a run took, as the beginning of a sentence; nothing of one that was never cut short."""
    n = len(doc["attempts"])
    several = f"in {plural(n, 'attempt')}" if n > 1 else ""
    untold = untold_regions(doc["attempts"])
    if not untold:
        return f"{several}, " if several else ""
    return f"{several} without that of {plural(untold, 'region')}, which no report tells; ".lstrip()


def _resumed(doc: Doc) -> str:
    n = doc["regions_resumed"]
    return f"{n:,} from before the last attempt" if n else ""


def levels(doc: Doc) -> list[dict[str, Any]]:
    """Rows of the table of levels; bytes and objects None where nobody counted them."""
    store = doc.get("store")
    if not store:
        return []
    nbytes_, objects = _by_level(doc, "bytes_by_level"), _by_level(doc, "objects_by_level")
    out = []
    for level in store["levels"]:
        _, _, height, width = level["shape"]
        out.append({
            "path": level["path"], "height": height, "width": width, "resolution": level["resolution"],
            "grid": level["grid"], "bytes": None if nbytes_ is None else nbytes_[level["path"]],
            "objects": None if objects is None else objects[level["path"]],
        })  # fmt: skip
    return out


def _by_level(doc: Doc, name: str) -> Mapping[str, int] | None:
    """What a run counted: 0 for a level that it stored nothing of. None where no run that ended well is known."""
    if name not in doc or doc["status"] != "complete":
        return None
    return defaultdict(int, doc[name])


def stages(doc: Doc) -> dict[str, Any] | None:
    """The table of stages: for each what was planned and what all attempts took, in the columns that have something."""
    found = doc.get("stages")
    if not found:
        return None
    told = [(name, text) for name, text in COLUMNS if any(_has(stage, name) for stage in found)]
    rows = []
    for stage in found:
        cells = []
        for name, text in told:
            pair = [(stage[side] or {}).get(name) for side in ("actual", "planned")]
            cells.append([None if value is None else text(value) for value in pair])
        rows.append({"name": stage["stage"], "cells": cells, "seconds": (stage["actual"] or {}).get("seconds")})
    planned = any(stage["planned"] for stage in found)
    most = max((row["seconds"] or 0 for row in rows), default=0) or 1
    attempts = doc["attempts"]
    untold = untold_regions(attempts)
    return {
        "columns": [name.replace("_", " ") for name, _ in told], "rows": rows, "planned": planned, "most": most,
        "n_attempts": len(attempts), "untold": plural(untold, "region") if untold else "",
        "staged": staged_bytes(attempts),
    }  # fmt: skip


def _has(stage: Doc, name: str) -> bool:
    return any((stage[side] or {}).get(name) is not None for side in ("actual", "planned"))


def scenes(doc: Doc) -> dict[str, Any] | None:
    """Tables of scenes, each cut to `ROWS`."""
    found = doc.get("scenes")
    if not found:
        return None
    used = sorted(found["used"], key=lambda s: (s["datetime"], s["id"]))
    most = max((s["valid_pixels"] for s in used), default=0) or 1
    return {
        "used": _cut(used), "dropped": _cut(found["dropped"]), "lost": _cut(found["lost"]), "empty": found["empty"],
        "most": most, "totals": {name: len(found[name]) for name in ("used", "dropped", "lost")},
    }  # fmt: skip


def _cut(rows: Sequence[Any]) -> Sequence[Any]:
    return rows[:ROWS]


def options(doc: Doc) -> list[tuple[str, str]]:
    """Options of the encode that are not the defaults."""
    return [(name, _said(value)) for name, value in (doc.get("options") or {}).items()]


def facts_of(doc: Doc) -> list[tuple[str, str]]:
    """What the store's documents say, in a few rows."""
    store = doc.get("store")
    if not store:
        return []
    left, bottom, right, top = map(number, store["bounds"])
    name = f" ({store['crs_name']})" if store["crs_name"] else ""
    cs, shard = store["chunk_size"], store["shard_time"]
    sharded = f"shards of {plural(shard, 'timestep')}" if shard else "unsharded"
    codec = ", ".join(f"{k} {v}" for k, v in store["codec"]["configuration"].items() if k in ("level", "cname"))
    rows = [
        ("format", f"chronozarr {store['spec_version']}, {store['dtype']}"),
        ("times", f"{plural(store['times']['n'], 'timestep')}, {store['times']['cadence']}"),
        ("bands", ", ".join(_band(b) for b in store["bands"])),
        ("CRS", f"{store['crs']}{name}"),
        ("bounds", f"x {left} to {right}, y {bottom} to {top}"),
        ("nodata", "none" if store["nodata"] is None else number(store["nodata"])),
        ("planes", ", ".join(store["planes"]) or "none"),
        ("layout", f"cells of {cs} x {cs} px, {sharded}"),
        ("codec", f"{store['codec']['name']}{f', {codec}' if codec else ''}"),
    ]  # fmt: skip
    return rows + [(k, _said(v)) for k, v in (store["provenance"] or {}).items()]


def _band(band: Doc) -> str:
    return f"{band['name']} ({band['common_name']})" if band.get("common_name") else str(band["name"])


def _said(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_said(v) for v in value)
    if isinstance(value, Mapping):
        return "; ".join(f"{k}: {_said(v)}" for k, v in value.items())
    return number(value) if isinstance(value, float) else str(value)

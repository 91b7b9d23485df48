"""Section 4: the ``temporal`` block, rule by rule; every rule is looked at, also when an earlier one is broken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chronozarr_dask.format.dtypes import PROFILES
from chronozarr_dask.format.temporal import ENCODINGS, SELECTION_MIN_CELLS, SELECTION_THRESHOLD
from chronozarr_dask.store.validate.documents import BLOCK
from chronozarr_dask.store.validate.model import Model
from chronozarr_dask.store.validate.problem import Findings, Problem
from chronozarr_dask.store.validate.root import RootFacts
from chronozarr_dask.store.validate.values import is_number

WHERE = f"{BLOCK}.temporal"
STAR_FIELDS = ("anchor_interval", "anchor_indices", "delta_reference")
_ROUNDING = 0.00005  # the ratio is recorded with four digits


def check_temporal(root: RootFacts, model: Model, out: Findings) -> None:
    """4.1 to 4.3."""
    block = root.block.get("temporal")
    if not isinstance(block, Mapping):
        out.error("4.1", WHERE, "say how the timesteps are encoded", "an object", block)
        return
    encoding = block.get("encoding", "star-delta" if root.old else None)
    if encoding not in ENCODINGS:
        out.error("4.1", f"{WHERE}.encoding", "the format has two encodings", ENCODINGS, encoding)
        return
    _check_selection(block, encoding, model, out)
    present = [name for name in STAR_FIELDS if name in block]
    if encoding == "none":
        if present:
            message = f"a store of true values has none of {', '.join(STAR_FIELDS)}; leave them out"
            out.error("4.1", WHERE, message, [], present)
        return
    profile = PROFILES.get(model.dtype or "")
    if profile is not None and not profile.star_delta:
        out.error(
            "4.1", f"{WHERE}.encoding", f"residuals are for uint8 and uint16, not {profile.name}", "none", encoding
        )
    if len(present) < len(STAR_FIELDS):
        out.error("4.1", WHERE, "a star-delta store records its anchors and references", STAR_FIELDS, present)
        return
    _check_schedule(block, model.n_time, out)


def _check_schedule(block: Mapping[str, Any], n_time: int | None, out: Findings) -> None:
    interval, listed, mapped = (block[name] for name in STAR_FIELDS)
    if type(interval) is not int or interval < 1:
        out.error("4.1", f"{WHERE}.anchor_interval", "a number of timesteps of at least 1", ">= 1", interval)
        interval = None
    if not isinstance(listed, list) or not all(type(a) is int for a in listed):
        out.error("4.1", f"{WHERE}.anchor_indices", "list the anchor timesteps", "a list of integers", listed)
        listed = None
    if not isinstance(mapped, Mapping):
        out.error("4.1", f"{WHERE}.delta_reference", "map each other timestep to its anchor", "an object", mapped)
        mapped = None
    if n_time is None or interval is None:
        return
    anchors = range(0, n_time, interval)
    if listed is not None and listed != list(anchors):
        out.error(
            "4.1", f"{WHERE}.anchor_indices", "they are every anchor_interval-th timestep from 0", anchors, listed
        )
        keys = mapped or {}
        if all(str(t) in keys for t in range(n_time) if t not in listed):
            return  # the map goes with the list, so the interval is what is wrong: said already
    if mapped is not None:
        _check_references(mapped, anchors, n_time, interval, out)


def _check_references(mapped: Mapping[str, Any], anchors: range, n_time: int, interval: int, out: Findings) -> None:
    where = f"{WHERE}.delta_reference"
    keys = {str(t) for t in range(n_time) if t not in anchors}
    if keys != mapped.keys():
        missing = sorted(keys - mapped.keys(), key=int)
        extra = sorted(mapped.keys() - keys)
        message = f"its keys are the timesteps that are no anchor: missing {missing}, too many {extra}"
        out.error("4.1", where, message, len(keys), len(mapped))
    problems = []
    for t in sorted(keys & mapped.keys(), key=int):
        anchor = mapped[t]
        if type(anchor) is not int or anchor not in anchors or not 0 < abs(anchor - int(t)) < interval:
            message = f"a reference names an anchor at a distance of 1 to {interval - 1}"
            problems.append(Problem("error", "4.2", f"{where}[{t}]", message, list(anchors), anchor))
    out.extend_bounded(problems, where)


def _check_selection(block: Mapping[str, Any], encoding: str, model: Model, out: Findings) -> None:
    """4.1, 4.3: what `auto` measured, and whether it did what the measurement says."""
    if "selection" not in block:
        return
    where = f"{WHERE}.selection"
    selection = block["selection"]
    if not isinstance(selection, Mapping) or selection.get("mode") != "auto":
        out.error("4.1", where, "it is what the choice 'auto' measured, or absent", {"mode": "auto"}, selection)
        return
    cells, ratio = selection.get("sampled_cells"), selection.get("ratio")
    if type(cells) is not int or cells < 1:
        out.error("4.1", f"{where}.sampled_cells", "the number of cells that were encoded both ways", ">= 1", cells)
        cells = None
    if not is_number(ratio) or ratio < 0:
        out.error("4.1", f"{where}.ratio", "star-delta bytes over plain bytes", "a number", ratio)
    elif encoding == "star-delta" and ratio > SELECTION_THRESHOLD + _ROUNDING:
        message = "'auto' keeps star-delta only where the ratio is small enough"
        out.error("4.3", f"{where}.ratio", message, f"at most {SELECTION_THRESHOLD}", ratio)
    grid = model.grid(0)
    if cells is not None and grid is not None:
        total = grid[0] * grid[1]
        if not min(SELECTION_MIN_CELLS, total) <= cells <= total:
            message = f"'auto' samples at least {SELECTION_MIN_CELLS} of the {total} cells, or all"
            out.error("4.3", f"{where}.sampled_cells", message, [min(SELECTION_MIN_CELLS, total), total], cells)
    profile = PROFILES.get(model.dtype or "")
    if profile is not None and not profile.star_delta:
        out.error("4.3", where, f"nothing is measured for {profile.name}; leave it out", None, selection)

"""Section 7: every shard's length and index."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.arrays import most_stored_bytes
from chronozarr_dask.format.dtypes import PROFILES
from chronozarr_dask.format.layout import ROOT_DOCUMENT, ceil_div, object_key
from chronozarr_dask.format.sharding import DEFAULT_SHARD_BYTES_LIMIT, index_bytes, parse_index, shard_of
from chronozarr_dask.store.compress import crc32c
from chronozarr_dask.store.target import Objects
from chronozarr_dask.store.validate.documents import BLOCK
from chronozarr_dask.store.validate.facts import DATA, Facts
from chronozarr_dask.store.validate.model import Model, Nodes
from chronozarr_dask.store.validate.problem import Findings, Problem
from chronozarr_dask.store.validate.root import RootFacts

WHERE = f"{BLOCK}.shard_bytes"
MAX_SHARDS = DEFAULT_SHARD_BYTES_LIMIT
"""Shards that are looked at."""
Lengths = Mapping[str, Any]
Lacking = Literal["nothing", "shard", "level"]
_NOTHING: Lacking = "nothing"
_INDEX = "(0|[1-9][0-9]{0,15})"
_NAME = re.compile(f"{_INDEX}/{_INDEX}/{_INDEX}")


@dataclass(frozen=True)
class Shard:
    """One place of the shard grid of an array.

    Attributes
    ----------
    facts : Facts
    level, t, row, col : int
    listed : int or None
        Length by `shard_bytes`; None where it lists none.
    lacking : "nothing", "shard" or "level"
        What `shard_bytes` lacks where it does not list the shard: nothing (there is none, or the array is a plane), the
        shard, or its whole level.
    """

    facts: Facts
    level: int
    t: int
    row: int
    col: int
    listed: int | None
    lacking: Lacking

    @property
    def name(self) -> str:
        """As `shard_bytes` names it."""
        return f"{self.t}/{self.row}/{self.col}"

    @property
    def key(self) -> str:
        """Of the object."""
        has_band = self.facts.role is DATA
        name = self.facts.path.split("/", 1)[1]
        return object_key(self.level, name, self.t, self.row, self.col, has_band=has_band)


def check_shards(objects: Objects, root: RootFacts, nodes: Nodes, model: Model, pool: Executor, out: Findings) -> None:
    """7.1 to 7.3."""
    listed = root.block.get("shard_bytes")
    there = "shard_bytes" in root.block
    if not model.shard_time:
        if there and model.shard_time == 0:
            out.error("7.3", WHERE, "the store is unsharded; leave it out", "absent", listed)
        return
    if there and not isinstance(listed, Mapping):
        out.error("7.3", WHERE, "map level to shard to length, or leave it out", "an object", listed)
        listed = None
    entries = None if listed is None else _read_listed(listed, model, out)
    shards = _shards(nodes, model, entries)
    problems: dict[str, list[Problem]] = {}
    for found in pool.map(lambda s: _check_shard(objects, s, model), islice(shards, MAX_SHARDS)):
        for problem in found:
            problems.setdefault(_family(problem.path), []).append(problem)
    for family, alike in problems.items():
        out.extend_bounded({p.path: p for p in alike}.values(), family)
    if next(shards, None) is not None:
        message = f"only the first {MAX_SHARDS} shards were checked; the rest were not looked at"
        out.warn("7.2", ROOT_DOCUMENT, message)


def _family(path: str) -> str:
    """What problems of one kind have in common: the array of a shard, or `shard_bytes`."""
    return path.split("[", 1)[0].split("/c/", 1)[0]


def _read_listed(listed: Mapping[str, Any], model: Model, out: Findings) -> dict[int, Lengths | None]:
    """Level to its entries, None where they are no object; what names no shard of the grid is reported."""
    levels = {str(k): k for k in range(model.n_levels)}
    for name in sorted(listed.keys() - levels.keys()):
        out.error("7.3", f"{WHERE}[{name}]", "it names no level", sorted(levels), name)
    entries: dict[int, Lengths | None] = {}
    for name, k in levels.items():
        value, grid = listed.get(name, {}), _shard_grid(model, k)
        if not isinstance(value, Mapping):
            out.error("7.3", f"{WHERE}[{name}]", "map shards to lengths", "an object", value)
            entries[k] = None
            continue
        if name in listed:
            entries[k] = value
        if grid is not None:
            message = f"it names no shard of the grid {list(grid)} of time, row and column"
            wrong = [key for key in value if not _in_grid(key, grid)]
            alike = [Problem("error", "7.3", f"{WHERE}[{name}][{key}]", message, None, key) for key in wrong]
            out.extend_bounded(alike, f"{WHERE}[{name}]")
    return entries


def _in_grid(key: str, grid: tuple[int, int, int]) -> bool:
    """Whether `key` reads ``t/row/col`` and is within the grid."""
    match = _NAME.fullmatch(key)
    return match is not None and all(int(part) < n for part, n in zip(match.groups(), grid, strict=True))


def _shard_grid(model: Model, level: int) -> tuple[int, int, int] | None:
    grid = model.grid(level)
    if grid is None or model.n_time is None or not model.shard_time:
        return None
    return ceil_div(model.n_time, model.shard_time), *grid


def _shards(nodes: Nodes, model: Model, entries: dict[int, Lengths | None] | None) -> Iterator[Shard]:
    """Every place of every shard grid that can be looked at, data first."""
    arrays = sorted(nodes.chunked(), key=lambda item: item[1].role is not DATA)
    for level, facts in arrays:
        grid, cut = _shard_grid(model, level), facts.chunking
        if grid is None or cut is None or cut.location is None or cut.outer[0] != model.shard_time:
            continue
        lengths, lacking = None, _NOTHING
        if entries is not None and facts.role is DATA:
            lengths = entries.get(level)
            lacking = "shard" if lengths is not None else "nothing" if level in entries else "level"
        for t in range(grid[0]):
            for row in range(grid[1]):
                for col in range(grid[2]):
                    listed = None if lengths is None else lengths.get(f"{t}/{row}/{col}")
                    yield Shard(facts, level, t, row, col, listed, lacking)


def _check_shard(objects: Objects, shard: Shard, model: Model) -> list[Problem]:
    """What is wrong with one shard: its index, or else its length in `shard_bytes`."""
    size = objects.size(shard.key)
    where = f"{WHERE}[{shard.level}][{shard.name}]"
    if size is None:
        if shard.listed is None:
            return []
        return [
            Problem("error", "7.3", where, "there is no such object; list exactly those that exist", None, shard.listed)
        ]
    problem = _check_index(objects, shard, size, model)
    if problem is not None:
        return [problem]
    if shard.lacking == "level":
        where = f"{WHERE}[{shard.level}]"
        return [Problem("error", "7.3", where, "the shards of this level are not listed", "an object")]
    if shard.lacking == "shard" and (type(shard.listed) is not int or shard.listed != size):
        message = f"the object {shard.key} has another length, or is not listed"
        return [Problem("error", "7.3", where, message, size, shard.listed)]
    return []


def _check_index(objects: Objects, shard: Shard, size: int, model: Model) -> Problem | None:
    """7.2: length and crc32c of the index; entries within the object, apart from each other, empty beyond n_time."""
    cut = shard.facts.chunking
    assert cut is not None
    assert model.n_time is not None
    shard_time = cut.outer[0]
    n = index_bytes(shard_time)

    def problem(message: str, expected: Any = None, found: Any = None) -> Problem:
        return Problem("error", "7.2", shard.key, message, expected, found)

    if size < n:
        return problem("the object is shorter than its index; write the shard again", n, size)
    start = size - n if cut.location == "end" else 0
    try:
        entries = parse_index(
            objects.get_range(shard.key, start, start + n) or b"", shard_time, crc32c, shard.key, size
        )
    except StoreError as error:
        return problem(str(error))
    low, high = (0, start) if cut.location == "end" else (n, size)
    ends = low
    for offset, nbytes in sorted(e for e in entries if e is not None):
        if nbytes == 0 or offset < ends or offset + nbytes > high:
            message = (
                f"the chunk at bytes {offset} to {offset + nbytes} is empty, or reaches into another chunk or the index"
            )
            return problem(message, [low, high], [offset, nbytes])
        if shard.facts.dtype in PROFILES:
            most = most_stored_bytes(math.prod(cut.inner) * np.dtype(shard.facts.dtype).itemsize)
            if nbytes > most:
                return problem(f"the chunk at byte {offset} is longer than any compressor makes it", most, nbytes)
        ends = offset + nbytes
    for i, entry in enumerate(entries):
        t = shard.t * shard_time + i
        assert shard_of(t, shard_time) == (shard.t, i)
        if t >= model.n_time and entry is not None:
            return problem(
                f"entry {i} is of timestep {t}, which the store does not have; it must be empty", None, entry
            )
    return None

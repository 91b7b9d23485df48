"""Regions: the boxes in (time, y, x) that one unit of work turns into stored objects, and the passes they belong to.

A region's cuts in space are multiples of 2^d cells, except at the raster's own right and bottom edge, so that its
levels 1..d can be made from its own pixels alone. Pass p begins at level p*d (d = 2, cells of level 0 and of level 2)::

    pass 0, level 0              pass 0, level 2        pass 1 reads level 2, makes 3 and 4
    ┌───────┬───────┬──┐         ┌─┬─┬┐                 ┌───┬┐
    │ 4 x 4 │ 4 x 4 │  │  ->     │ │ ││   -> stored ->  │   ││
    ├───────┼───────┼──┤         ├─┼─┼┤                 └───┴┘
    └───────┴───────┴──┘         └─┴─┴┘
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from chronozarr_dask.format.layout import Layout, Window, ceil_div


@dataclass(frozen=True, order=True)
class Region:
    """One region: its pass and its position along the pass's cuts."""

    pass_index: int
    row: int
    col: int
    slab: int

    @property
    def name(self) -> str:
        """Name in the journal, for example ``0/3-1-0``: pass, row, column, slab."""
        return f"{self.pass_index}/{self.row}-{self.col}-{self.slab}"

    @classmethod
    def named(cls, name: str) -> Region | None:
        """Inverse of `name`; None for what is none."""
        first, _, rest = name.partition("/")
        numbers = (first, *rest.split("-"))
        if len(numbers) != 4 or not all(n.isdecimal() for n in numbers):
            return None
        return cls(*map(int, numbers))


@dataclass(frozen=True)
class Pass:
    """One pass over the pyramid.

    Attributes
    ----------
    index : int
    base : int
        Level that it starts from: 0, or a level that the pass before has stored.
    depth : int
        Levels that it makes above `base`.
    row_cuts, col_cuts : tuple of int
        Cell positions at `base`, from 0 to the grid's size.
    time_cuts : tuple of int
        Timesteps, from 0 to n_time.
    """

    index: int
    base: int
    depth: int
    row_cuts: tuple[int, ...]
    col_cuts: tuple[int, ...]
    time_cuts: tuple[int, ...]

    @property
    def counts(self) -> tuple[int, int, int]:
        """Number of regions along rows, columns and time."""
        return len(self.row_cuts) - 1, len(self.col_cuts) - 1, len(self.time_cuts) - 1

    @property
    def n_regions(self) -> int:
        """Number of regions."""
        rows, cols, slabs = self.counts
        return rows * cols * slabs

    @property
    def n_slabs(self) -> int:
        """Number of slabs along time."""
        return len(self.time_cuts) - 1

    @property
    def levels(self) -> range:
        """Levels that the pass stores: its base too when that is level 0."""
        return range(self.base if self.index == 0 else self.base + 1, self.base + self.depth + 1)

    def regions(self) -> Iterator[Region]:
        """All regions, slabs of one place together and in time order."""
        rows, cols, slabs = self.counts
        for r in range(rows):
            for c in range(cols):
                for t in range(slabs):
                    yield Region(self.index, r, c, t)

    def position(self, region: Region) -> int:
        """Index of a region in the order of `regions`."""
        _, cols, slabs = self.counts
        return (region.row * cols + region.col) * slabs + region.slab

    def times(self, region: Region) -> range:
        """Timesteps that the region stores."""
        return range(self.time_cuts[region.slab], self.time_cuts[region.slab + 1])

    def cells(self, region: Region, level: int) -> Window:
        """Cells of the region at one of the levels from `base` up."""
        step = 1 << (level - self.base)
        r0, r1 = self.row_cuts[region.row], self.row_cuts[region.row + 1]
        c0, c1 = self.col_cuts[region.col], self.col_cuts[region.col + 1]
        return Window(r0 // step, ceil_div(r1, step), c0 // step, ceil_div(c1, step))

    def pixels(self, region: Region, layout: Layout, level: int | None = None) -> Window:
        """Pixels of the region at a level (`base` when not named), cut to the array's shape."""
        k = self.base if level is None else level
        cells, cs = self.cells(region, k), layout.chunk_size
        h, w = layout.level_size(k)
        return Window(cells.y0 * cs, min(cells.y1 * cs, h), cells.x0 * cs, min(cells.x1 * cs, w))

    def slabs_of(self, times: range) -> range:
        """Slabs that meet a range of timesteps."""
        return _meeting(self.time_cuts, times.start, times.stop)

    def covering(self, cells: Window, times: range, level: int) -> Iterator[Region]:
        """Regions of this pass whose cells at `level` and timesteps meet a box."""
        step = 1 << (level - self.base)
        rows = _meeting(self.row_cuts, cells.y0 * step, cells.y1 * step)
        cols = _meeting(self.col_cuts, cells.x0 * step, cells.x1 * step)
        for r in rows:
            for c in cols:
                for t in self.slabs_of(times):
                    yield Region(self.index, r, c, t)

    def to_json(self) -> dict[str, Any]:
        """The pass as JSON."""
        return {
            "index": self.index,
            "base": self.base,
            "depth": self.depth,
            "row_cuts": list(self.row_cuts),
            "col_cuts": list(self.col_cuts),
            "time_cuts": list(self.time_cuts),
        }

    @classmethod
    def from_json(cls, doc: dict[str, Any]) -> Pass:
        """Inverse of `to_json`."""
        cuts = {k: tuple(doc[k]) for k in ("row_cuts", "col_cuts", "time_cuts")}
        return cls(doc["index"], doc["base"], doc["depth"], **cuts)


def _meeting(cuts: tuple[int, ...], start: int, stop: int) -> range:
    """Indices of the intervals between `cuts` that meet [start, stop); `stop` may lie beyond the end."""
    return range(bisect_right(cuts, start) - 1, bisect_left(cuts, min(stop, cuts[-1])))


@dataclass(frozen=True)
class Slabs:
    """What each slab of a pass holds, given the anchor that every timestep refers to.

    A slab holds its own timesteps and the anchors they refer to. What an earlier slab of the place has held already
    is handed over by file and not read again: `carry(s)` goes from slab s to slab s + 1.

    Attributes
    ----------
    cuts : tuple of int
        Timesteps where slabs begin and end.
    schedules : tuple of tuple of int
        For each timestep the anchor that it refers to (itself for an anchor): once, or by two schedules while `auto`
        has not decided between the store's own and the nominal one of volatility (5).
    carries_gaps : bool
        Whether gaps are filled from the timestep before. Then a slab holds the one before its own, and no gap up to
        its last anchor, so that each timestep is filled once and handed on filled.
    """

    cuts: tuple[int, ...]
    schedules: tuple[tuple[int, ...], ...]
    carries_gaps: bool = False

    @property
    def n(self) -> int:
        """Number of slabs."""
        return len(self.cuts) - 1

    def own(self, slab: int) -> range:
        """Timesteps that the slab stores."""
        return range(self.cuts[slab], self.cuts[slab + 1])

    @cached_property
    def _held(self) -> tuple[frozenset[int], ...]:
        return tuple(self._held_by(s) for s in range(self.n))

    def _held_by(self, slab: int) -> frozenset[int]:
        own = self.own(slab)
        held = frozenset(own) | {schedule[t] for schedule in self.schedules for t in own}
        return held | frozenset(range(max(own.start - 1, 0), max(held) + 1)) if self.carries_gaps else held

    @cached_property
    def _carried(self) -> tuple[tuple[int, ...], ...]:
        last = {t: s for s in range(self.n) for t in self._held[s]}
        seen: set[int] = set()
        out = []
        for s in range(self.n):
            seen = {t for t in seen | self._held[s] if last[t] > s}
            out.append(tuple(sorted(seen)))
        return tuple(out)

    def held(self, slab: int) -> tuple[int, ...]:
        """Timesteps that the slab needs, sorted: its own and their anchors."""
        return tuple(sorted(self._held[slab]))

    def carry(self, slab: int) -> tuple[int, ...]:
        """Timesteps that the slab hands on to the next one, sorted."""
        return self._carried[slab]

    def handed(self, slab: int) -> tuple[int, ...]:
        """Timesteps that the slab gets from the one before, sorted."""
        return self._carried[slab - 1] if slab else ()

    def reads(self, slab: int) -> tuple[int, ...]:
        """Timesteps that the slab reads from the source, sorted: each is read by exactly one slab."""
        return tuple(sorted(self._held[slab] - set(self.handed(slab))))

    def present(self, slab: int) -> tuple[int, ...]:
        """Timesteps at hand in the slab: read or handed over, sorted."""
        return tuple(sorted(self._held[slab] | set(self.handed(slab))))

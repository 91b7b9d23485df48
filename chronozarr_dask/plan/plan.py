"""The plan: every decision that needs no pixel, as data that prints, pickles and goes into the journal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from chronozarr_dask.format.layout import Layout, Window
from chronozarr_dask.format.planes import Plane
from chronozarr_dask.format.temporal import NOMINAL_ANCHOR_INTERVAL, Encoding, references
from chronozarr_dask.plan.cuts import at_level, cell_positions, depth_of, nearest_cuts
from chronozarr_dask.plan.objects import ArrayObjects, region_arrays
from chronozarr_dask.plan.regions import Pass, Region, Slabs
from chronozarr_dask.plan.sampling import sampled_cells
from chronozarr_dask.plan.shape import Blocks, Problem, Shape, choose_shape


@dataclass(frozen=True)
class Plan:
    """How a store is made.

    Attributes
    ----------
    layout : Layout
    planes : tuple of "mask" and "coverage"
    intervals : tuple of int
        Anchor intervals of the schedules that the slabs are made for: the store's own, and the nominal one.
    passes : tuple of Pass
    staged : bool
        Whether the source is written once into the journal, cut along the regions, and read from there.
    region_bytes, total_bytes : int
        Peak bytes of the largest region, and of the whole raster if it were one.
    carries_gaps : bool
        As of `Slabs`.
    """

    layout: Layout
    planes: tuple[Plane, ...]
    intervals: tuple[int, ...]
    passes: tuple[Pass, ...]
    staged: bool
    region_bytes: int
    total_bytes: int
    carries_gaps: bool = False

    @cached_property
    def _schedules(self) -> dict[int, tuple[int, ...]]:
        return {i: schedule(self.layout.n_time, i) for i in self.intervals}

    def references(self, encoding: Encoding) -> tuple[int, ...]:
        """For each timestep its anchor: by the store's schedule, or by the nominal one of a ``none`` store (5)."""
        return self._schedules[self.intervals[0] if encoding == "star-delta" else NOMINAL_ANCHOR_INTERVAL]

    @cached_property
    def slabs(self) -> Slabs:
        """Slabs of pass 0."""
        return Slabs(self.passes[0].time_cuts, tuple(self._schedules.values()), self.carries_gaps)

    @property
    def n_regions(self) -> int:
        """Regions of all passes."""
        return sum(p.n_regions for p in self.passes)

    def regions(self) -> Iterator[Region]:
        """All regions, pass by pass."""
        for p in self.passes:
            yield from p.regions()

    def arrays(self, region: Region) -> list[ArrayObjects]:
        """The arrays that a region stores objects of."""
        return region_arrays(self.layout, self.planes, self.passes[region.pass_index], region)

    def present(self, region: Region, encoding: Encoding) -> tuple[int, ...]:
        """Timesteps that a region has at hand, sorted.

        Pass 0 always holds the anchors, since volatility is measured there; later passes only to make residuals.
        """
        if region.pass_index == 0:
            return self.slabs.present(region.slab)
        own = self.passes[region.pass_index].times(region)
        anchors = {self.references(encoding)[t] for t in own} if encoding == "star-delta" else set()
        return tuple(sorted(set(own) | anchors))

    def inputs(self, region: Region, encoding: Encoding) -> Iterator[Region]:
        """Regions of the pass before that stored what a region of a later pass reads, each once."""
        p = self.passes[region.pass_index]
        before = self.passes[region.pass_index - 1]
        spans = runs(self.present(region, encoding))
        slabs = sorted({s for start, stop in spans for s in before.slabs_of(range(start, stop))})
        for place in before.covering(p.cells(region, p.base), range(1), p.base):
            for slab in slabs:
                yield Region(before.index, place.row, place.col, slab)

    def sampled_regions(self) -> dict[Region, list[tuple[int, int]]]:
        """Regions of pass 0 that hold cells to sample, with those cells."""
        p = self.passes[0]
        out: dict[Region, list[tuple[int, int]]] = {}
        for row, col in sampled_cells(*self.layout.grid(0)):
            for region in p.covering(Window(row, row + 1, col, col + 1), range(self.layout.n_time), 0):
                out.setdefault(region, []).append((row, col))
        return out

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON."""
        layout = {name: getattr(self.layout, name) for name in Layout.__dataclass_fields__}
        return {
            "layout": layout,
            "planes": list(self.planes),
            "intervals": list(self.intervals),
            "passes": [p.to_json() for p in self.passes],
            "staged": self.staged,
            "region_bytes": self.region_bytes,
            "total_bytes": self.total_bytes,
            "carries_gaps": self.carries_gaps,
        }

    @classmethod
    def from_json(cls, doc: dict[str, Any]) -> Plan:
        """Inverse of `to_json`."""
        return cls(
            Layout(**doc["layout"]),
            tuple(doc["planes"]),
            tuple(doc["intervals"]),
            tuple(Pass.from_json(p) for p in doc["passes"]),
            doc["staged"],
            doc["region_bytes"],
            doc["total_bytes"],
            doc["carries_gaps"],
        )


def schedule_intervals(encoding: str, anchor_interval: int) -> tuple[int, ...]:
    """Intervals that a run may need: star-delta its own, ``none`` the nominal one (5), `auto` both."""
    own, nominal = (anchor_interval,), (NOMINAL_ANCHOR_INTERVAL,)
    if encoding == "auto" and anchor_interval != NOMINAL_ANCHOR_INTERVAL:
        return own + nominal
    return nominal if encoding == "none" else own


def schedule(n_time: int, interval: int) -> tuple[int, ...]:
    """For each timestep its anchor under the nearest-anchor schedule."""
    return tuple(references(n_time, interval).tolist())


def make_plan(problem: Problem, planes: tuple[Plane, ...], intervals: tuple[int, ...]) -> Plan:
    """Cut the work: pass 0 along the source, the later passes by the same size over what was stored."""
    layout = problem.layout
    shape = choose_shape(problem)
    grid = layout.grid(0)
    most = layout.n_levels - 1
    depth = min(depth_of(shape.row_cuts, grid[0], most), depth_of(shape.col_cuts, grid[1], most))
    passes = [Pass(0, 0, depth, shape.row_cuts, shape.col_cuts, shape.time_cuts)]
    while passes[-1].base + passes[-1].depth < most:
        passes.append(_next_pass(problem, passes[-1], shape))
    sizes = problem.bytes_of(shape), problem.total_bytes
    return Plan(layout, planes, intervals, tuple(passes), shape.staged, *sizes, problem.carries_gaps)


def _next_pass(problem: Problem, before: Pass, shape: Shape) -> Pass:
    """The pass above: reads any window of what is stored, so only its memory bounds it."""
    layout = problem.layout
    base = before.base + before.depth
    rows, cols = (at_level(n, base) for n in layout.grid(0))
    small = replace(layout, height=layout.level_size(base)[0], width=layout.level_size(base)[1], n_levels=2)
    edges = problem.wish.edges or shape.edges
    square = (_even(min(edges[0], max(rows, 2))), _even(min(edges[1], max(cols, 2))))
    above = choose_shape(
        replace(
            problem,
            layout=small,
            pixel=replace(problem.pixel, making=0),
            blocks=Blocks(),
            wish=replace(problem.wish, edges=square),
            carries_gaps=False,
        )
    )
    row_cuts = nearest_cuts(cell_positions(rows, 2), square[0])
    col_cuts = nearest_cuts(cell_positions(cols, 2), square[1])
    most = layout.n_levels - 1 - base
    depth = min(depth_of(row_cuts, rows, most), depth_of(col_cuts, cols, most))
    return Pass(before.index + 1, base, depth, row_cuts, col_cuts, above.time_cuts)


def _even(n: int) -> int:
    return n + n % 2


def runs(times: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Runs of consecutive timesteps of a sorted tuple, as (start, stop)."""
    start = 0
    for i in range(1, len(times) + 1):
        if i == len(times) or times[i] != times[i - 1] + 1:
            yield times[start], times[i - 1] + 1
            start = i

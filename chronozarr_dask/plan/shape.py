"""The shape of regions: follows the source's blocks within the memory at hand, so that no block is computed twice.

Tried in this order: all timesteps of a square of cells; slabs of time of a square of cells; the same on a source that
is staged first. An opaque block (one of a Dask array) must lie in one region whole; a source that is read by window can
be cut anywhere, and is cut along its own chunks where that fits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from chronozarr_dask.errors import PlanError
from chronozarr_dask.format.layout import Layout
from chronozarr_dask.plan.cuts import cell_positions, longest, nearest_cuts, on_blocks, time_positions
from chronozarr_dask.plan.memory import MIB, PixelBytes, does_not_fit, region_bytes
from chronozarr_dask.plan.regions import Slabs

WANTED_BYTES = 256 * MIB
"""Most bytes a region is given when nothing else bounds it: about 4 x 4 cells x 6 months of four uint16 bands."""
MANY_REGIONS = 100_000
"""Beyond so many, regions are made larger where the memory allows it: a region is some ten tasks of a scheduler, and
with regions of 256 MiB a continental store would keep it busy for longer than its workers need."""
LARGEST_UNSTAGED = 2 * WANTED_BYTES
"""Most bytes of a region that an opaque source's blocks may force; beyond it staging takes less memory and time."""
REGIONS_PER_THREAD = 4
EDGES = (16, 8, 4, 2)
SLAB_EDGES = (4, 2)


@dataclass(frozen=True)
class Blocks:
    """Boundaries of the source's blocks along each axis, in timesteps and pixels.

    Attributes
    ----------
    time, y, x : tuple of int, or None
        Increasing, from 0 to the axis' length, both included: a cut at one of them goes through no block. None: nothing
        speaks against any cut.
    opaque : bool
        Whether a block is computed whole (dask arrays), so that a cut within one computes it twice. Otherwise the
        source is read by window, and the boundaries say what is cheap.
    """

    time: tuple[int, ...] | None = None
    y: tuple[int, ...] | None = None
    x: tuple[int, ...] | None = None
    opaque: bool = False


@dataclass(frozen=True)
class Budget:
    """Memory and parallelism that the regions are cut for.

    Attributes
    ----------
    memory : int
        Bytes for all regions in flight in one process.
    process_threads : int
        Threads of one process: as many regions are in flight there, fewer where memory forbids it.
    threads : int
        Threads of the whole cluster.
    """

    memory: int
    process_threads: int
    threads: int

    def wanted(self, total: int) -> int:
        """Bytes of a region that give every thread several regions of `total` bytes of work, within the memory."""
        share = self.memory // self.process_threads
        ample = max(WANTED_BYTES, total // MANY_REGIONS)
        return max(min(ample, total // (REGIONS_PER_THREAD * self.threads), share), 1)

    def in_flight(self, region_bytes: int, total: int) -> int:
        """Regions of that size in flight in one process: one a thread, fewer where they are larger than was wanted.

        A region that cannot be as small as is wanted (a shard over the whole time axis, blocks that are whole maps)
        leaves threads over; it uses them itself, since it stores row of cells by row of cells.
        """
        ample = self.wanted(total) * self.process_threads
        return max(1, min(self.process_threads, ample // max(region_bytes, 1)))


@dataclass(frozen=True)
class Wish:
    """What the user named: (rows, cols) of cells, timesteps; None: chosen here."""

    edges: tuple[int, int] | None = None
    time_slab: int | None = None

    @property
    def named(self) -> tuple[str, ...]:
        """The options that were named."""
        given = {"region_cells": self.edges, "time_slab": self.time_slab}
        return tuple(name for name, value in given.items() if value is not None)


@dataclass(frozen=True)
class Shape:
    """Cuts of pass 0, in cells and timesteps, and whether the source is staged first."""

    row_cuts: tuple[int, ...]
    col_cuts: tuple[int, ...]
    time_cuts: tuple[int, ...]
    staged: bool = False

    @property
    def n_places(self) -> int:
        """Number of regions in space."""
        return (len(self.row_cuts) - 1) * (len(self.col_cuts) - 1)

    @property
    def edges(self) -> tuple[int, int]:
        """Rows and columns of cells of the largest region."""
        return longest(self.row_cuts), longest(self.col_cuts)


@dataclass(frozen=True)
class Problem:
    """All that the choice depends on.

    Attributes
    ----------
    layout : Layout
    schedules : tuple of tuple of int
        Anchor of every timestep, by the store's schedule, and by the nominal one where that may be needed too.
    pixel : PixelBytes
    blocks : Blocks
    budget : Budget
    wish : Wish
    carries_gaps : bool
        As of `Slabs`.
    """

    layout: Layout
    schedules: tuple[tuple[int, ...], ...]
    pixel: PixelBytes
    blocks: Blocks
    budget: Budget
    wish: Wish = Wish()
    carries_gaps: bool = False

    def slabs(self, cuts: tuple[int, ...]) -> Slabs:
        """Slabs of pass 0 for some time cuts."""
        return Slabs(cuts, self.schedules, self.carries_gaps)

    @property
    def total_bytes(self) -> int:
        """Bytes of the whole raster as one region."""
        return region_bytes(self.layout, self.pixel, self.layout.grid(0), self.layout.n_time, assembled=False)

    def bytes_of(self, shape: Shape) -> int:
        """Peak bytes of the largest region of a shape."""
        slabs = self.slabs(shape.time_cuts)
        present = max(len(slabs.present(s)) for s in range(slabs.n))
        assembled = shape.staged or self.blocks.opaque or any(slabs.handed(s) for s in range(slabs.n))
        return region_bytes(self.layout, self.pixel, shape.edges, present, assembled=assembled)


def choose_shape(problem: Problem) -> Shape:
    """The shape of pass 0.

    Raises
    ------
    PlanError
        If the smallest region does not fit, naming both numbers and the options that settle it.
    """
    shape = _fitting(problem)
    if shape is not None and not _chain_starves(problem, shape) and not _forced_large(problem, shape):
        return shape
    if problem.blocks.opaque:
        staged = _fitting(replace(problem, blocks=Blocks()), staged=True)
        if staged is not None and (shape is None or staged.n_places > shape.n_places):
            return staged
    elif shape is None:
        shape = _fitting(replace(problem, blocks=Blocks()))
    if shape is None:
        smallest = next(_shapes(replace(problem, blocks=Blocks()), smallest_only=True))
        what = f"a region of {smallest.edges[0]} x {smallest.edges[1]} cells x {longest(smallest.time_cuts)} timesteps"
        raise does_not_fit(problem.bytes_of(smallest), problem.budget.memory, what, problem.wish.named)
    return shape


def _fitting(problem: Problem, *, staged: bool = False) -> Shape | None:
    """The first shape that fits the wanted size, else the first that fits the memory, else None."""
    budget, total = problem.budget, problem.total_bytes
    share = budget.memory // budget.process_threads
    wanted = budget.wanted(total)
    limits = {share, budget.memory}
    while wanted < share:  # where the source's blocks forbid as many regions as are wanted, the next best number
        limits.add(wanted)
        wanted *= 2
    for limit in sorted(limits):
        for cuts in _shapes(problem, limit=limit):
            shape = replace(cuts, staged=staged)
            if problem.bytes_of(shape) <= limit and _holds_whole_blocks(problem, shape):
                return shape
    return None


def _shapes(problem: Problem, *, limit: int = 0, smallest_only: bool = False) -> Iterator[Shape]:
    """Candidates from the best to the worst: the whole time axis first, then slabs."""
    layout, wish = problem.layout, problem.wish
    whole = (0, layout.n_time)
    squares = [wish.edges] if wish.edges else [(n, n) for n in EDGES]
    slab_squares = [wish.edges] if wish.edges else [(n, n) for n in SLAB_EDGES]
    if smallest_only:
        squares = slab_squares = squares[-1:]
    elif wish.time_slab is None:
        for edges in squares:
            if (space := _space(problem, edges)) is not None:
                yield Shape(*space, whole)
    for edges in slab_squares if wish.time_slab is None else squares:
        if (space := _space(problem, edges)) is not None:
            yield Shape(*space, _slabs(problem, space, limit))


def _space(problem: Problem, edges: tuple[int, int]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Row and column cuts near `edges`; None where the user named the edges and the source's blocks forbid them."""
    layout, out = problem.layout, []
    for n_cells, size, edge, boundaries in zip(
        layout.grid(0), (layout.height, layout.width), edges, (problem.blocks.y, problem.blocks.x), strict=True
    ):
        step = 2 if layout.n_levels > 1 and n_cells > 1 else 1
        positions = cell_positions(n_cells, step)
        if boundaries is not None:
            positions = on_blocks(positions, boundaries, layout.chunk_size, size)
        cuts = nearest_cuts(positions, edge)
        if problem.wish.edges and longest(cuts) > edge:
            return None
        out.append(cuts)
    return out[0], out[1]


def _slabs(problem: Problem, space: tuple[tuple[int, ...], tuple[int, ...]], limit: int) -> tuple[int, ...]:
    """Time cuts near the slab that was named, or near the longest that fits `limit`."""
    positions = time_positions(problem.schedules[0], problem.layout.shard_time)
    if problem.blocks.time is not None:
        allowed = set(problem.blocks.time)
        positions = tuple(t for t in positions if t in allowed)
    target = problem.wish.time_slab
    if target is None:
        cs = problem.layout.chunk_size
        area = math.prod(map(longest, space)) * cs**2
        making = problem.pixel.making_bytes(longest(space[0]) * cs, longest(space[1]) * cs)
        one = max(int(area * problem.pixel.total * 2.5), 1)
        target = max((limit - making) // one - 2, 1)
    return nearest_cuts(positions, target)


def _holds_whole_blocks(problem: Problem, shape: Shape) -> bool:
    """Whether every block of an opaque source is read by one slab alone, anchors beyond a slab's end included."""
    boundaries = problem.blocks.time
    if boundaries is None or not problem.blocks.opaque:
        return True
    slabs = problem.slabs(shape.time_cuts)
    reader = {t: s for s in range(slabs.n) for t in slabs.reads(s)}
    return all(len({reader[t] for t in range(start, stop)}) == 1 for start, stop in pairwise(boundaries))


def _chain_starves(problem: Problem, shape: Shape) -> bool:
    """Whether slabs that wait for each other leave threads without work: then staging is the better plan."""
    chained = problem.layout.shard_time is not None and len(shape.time_cuts) > 2
    return problem.blocks.opaque and chained and shape.n_places < problem.budget.threads and not problem.wish.time_slab


def _forced_large(problem: Problem, shape: Shape) -> bool:
    """Whether the source's blocks, and not the user, make regions far larger than is good for memory and threads."""
    named = problem.wish.edges or problem.wish.time_slab
    return problem.blocks.opaque and not named and problem.bytes_of(shape) > LARGEST_UNSTAGED


def check_wish(wish: Wish, layout: Layout) -> None:
    """Raise PlanError when a named shape cannot be cut at all."""
    if (
        wish.time_slab is not None
        and layout.shard_time is not None
        and wish.time_slab < min(layout.shard_time, layout.n_time)
    ):
        raise PlanError(
            f"time_slab is {wish.time_slab}, but a shard of {layout.shard_time} timesteps is stored whole: set "
            f"time_slab to at least {layout.shard_time}, or shard_time lower"
        )

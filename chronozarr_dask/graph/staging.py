"""Staging and sampling as Dask collections: each source block computed once and kept until its regions are stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt
from dask.delayed import Delayed

from chronozarr_dask.composite.fill import fill_gaps
from chronozarr_dask.format.codecs import Codec
from chronozarr_dask.format.dtypes import Number
from chronozarr_dask.format.layout import COVERAGE, MASK, Window
from chronozarr_dask.format.provenance import GapFill
from chronozarr_dask.graph.frames import DATA, CubeFrames, FrameSource, StagedFrames, Taken, Unit
from chronozarr_dask.graph.lazy import call, map_object
from chronozarr_dask.kernels.checks import fill_where
from chronozarr_dask.plan.cuts import longest, nearest_cuts, time_positions
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.plan.spec import StoreSpec
from chronozarr_dask.source.blocks import blocks_of
from chronozarr_dask.store.journal import Journal
from chronozarr_dask.store.staging import StagingMap, write_block
from chronozarr_dask.store.target import Objects
from chronozarr_dask.store.writer import sizes_both_ways


@dataclass(frozen=True, order=True)
class StagedBlock:
    """One block to stage: "data" or a plane, and its index along time, y and x."""

    name: str
    index: tuple[int, int, int]

    @property
    def key(self) -> str:
        """Name in the journal."""
        return f"{self.name}-{'-'.join(map(str, self.index))}"


def staged_whole(cube: CubeFrames, plan: Plan, journal: Objects, spec: StoreSpec) -> StagedFrames:
    """A source that is staged as a whole, cut along its own blocks."""
    layout = plan.layout
    maps = {}
    for name in cube.names:
        blocks = blocks_of(cube.arrays(name))
        ends = (layout.n_time, layout.height, layout.width)
        cuts = [b or (0, n) for b, n in zip((blocks.time, blocks.y, blocks.x), ends, strict=True)]
        maps[name] = StagingMap(journal, plan, *cuts)
    return StagedFrames(cube, maps, None, layout.n_band, np.dtype(spec.dtype))


def staged_sample(cube: FrameSource, plan: Plan, journal: Objects, spec: StoreSpec) -> StagedFrames:
    """A source of which the regions with sampled cells are staged, cut along the cells. What is in memory is not."""
    layout, cs = plan.layout, plan.layout.chunk_size
    time = (0, layout.n_time)
    y, x = ((*range(0, n, cs), n) for n in (layout.height, layout.width))
    maps = {name: StagingMap(journal, plan, time, y, x) for name in cube.names if cube.is_lazy(name)}
    return StagedFrames(cube, maps, frozenset(plan.sampled_regions()), layout.n_band, np.dtype(spec.dtype))


def blocks_to_stage(staged: StagedFrames) -> Iterator[StagedBlock]:
    """All blocks of a source that is staged as a whole."""
    for name, m in staged.maps.items():
        for index in product(*(range(len(cuts) - 1) for cuts in (m.time_cuts, m.y_cuts, m.x_cuts))):
            yield StagedBlock(name, index)  # type: ignore[arg-type]


def stage_block(staged: StagedFrames, block: StagedBlock, unit: Unit) -> Delayed:
    """Computes one block of the source and writes its pieces; gives the bytes written, and what they cost (`Taken`)."""
    m = staged.maps[block.name]
    (t0, t1), (y0, y1), (x0, x1) = (
        cuts[i : i + 2] for cuts, i in zip((m.time_cuts, m.y_cuts, m.x_cuts), block.index, strict=True)
    )
    region = Region(0, *block.index[1:], block.index[0])  # not one that is staged: the cube itself is asked
    at = region, tuple(range(t0, t1)), Window(y0, y1, x0, x1), unit
    frames = staged.cube.frames(block.name, *at)
    parts = list(m.pieces_of_block(block.name, block.index))
    write = partial(_write_block, parts, t0, y0, x0)
    written = [map_object(write, frames, name=f"cut-{unit.name}")]
    return call(_sum, written, staged.cube.taken([block.name], *at), name=f"stage-{unit.name}")


def stage_region(staged: StagedFrames, journal: Journal, region: Region, unit: Unit) -> Delayed:
    """Computes what a sampled region reads and keeps it, cell by cell; gives as `stage_block`."""
    plan = next(iter(staged.maps.values())).plan
    window = plan.passes[0].pixels(region, plan.layout)
    reads = plan.slabs.reads(region.slab)
    written = []
    for name, m in staged.maps.items():
        frames = staged.cube.frames(name, region, reads, window, unit)
        parts = list(m.pieces(name, region))
        write = partial(_write_reads, parts, reads, window)
        written.append(map_object(write, frames, name=f"keep-{name}-{unit.name}"))
    notes = keep_notes(journal, region, staged.notes(reads, window, unit), unit)
    taken = staged.cube.taken(staged.maps, region, reads, window, unit)
    return call(_sum, written, taken, notes, name=f"kept-{unit.name}")


def keep_notes(journal: Journal, region: Region, notes: Delayed | None, unit: Unit) -> Delayed | None:
    """Writes what the frames of a region tell into the journal."""
    return None if notes is None else call(journal.put_notes, region, notes, name=f"keep-notes-{unit.name}")


def _sum(boxed: list[Any], taken: Taken, notes: None = None) -> tuple[int, Taken]:
    return sum(b.item() for b in boxed), taken


def _write_block(parts: list[Any], t0: int, y0: int, x0: int, frames: npt.NDArray[Any]) -> int:
    return write_block(parts, frames, list(range(t0, t0 + len(frames))), y0, x0)


def _write_reads(parts: list[Any], reads: tuple[int, ...], window: Window, frames: npt.NDArray[Any]) -> int:
    return write_block(parts, frames, list(reads), window.y0, window.x0)


@dataclass(frozen=True, order=True)
class SamplePart:
    """Part of a sampled cell: whole stars, so that its sizes are its own."""

    cell: tuple[int, int]
    times: tuple[int, int]


def sample_parts(plan: Plan, cells: Iterable[tuple[int, int]]) -> list[SamplePart]:
    """The sampled cells, cut in time about as the regions are: what is in hand does not grow with the time axis.

    Where gaps are carried forward a cell is not cut: each timestep needs the one before.
    """
    if plan.carries_gaps:
        return [SamplePart(cell, (0, plan.layout.n_time)) for cell in cells]
    stars = time_positions(plan.references("star-delta"), None)
    spans = list(pairwise(nearest_cuts(stars, longest(plan.slabs.cuts))))
    return [SamplePart(cell, span) for cell in cells for span in spans]


def measure_part(
    staged: StagedFrames, spec: StoreSpec, plan: Plan, part: SamplePart, *, fill_masked: bool, gap_fill: GapFill,
    unit: Unit,
) -> Delayed:  # fmt: skip
    """Encodes a part of a sampled cell both ways (4.3); gives (star-delta bytes, plain bytes)."""
    row, col = part.cell
    window = plan.layout.cell_window(0, row, col)
    times = tuple(range(*part.times))
    regions = list(plan.passes[0].covering(Window(row, row + 1, col, col + 1), range(*part.times), 0))

    def frames(name: str) -> Any:
        if not staged.is_staged(name, regions[0]):
            return staged.cube.frames(name, regions[0], times, window, unit)
        parts = chain.from_iterable(staged.maps[name].pieces(name, region) for region in regions)
        return staged.from_parts(name, parts, times, window, unit)

    mask = frames(MASK) if fill_masked else None
    coverage = None if gap_fill == "none" else frames(COVERAGE)
    anchors = tuple(a - times[0] for a in plan.references("star-delta")[slice(*part.times)])
    args = (anchors, plan.layout.chunk_size, spec.fill, spec.codec)
    return call(_measure, frames(DATA), mask, coverage, *args, name=f"sample-{unit.name}")


def _measure(
    cell: npt.NDArray[Any],
    mask: npt.NDArray[np.uint8] | None,
    coverage: npt.NDArray[np.uint8] | None,
    references: tuple[int, ...],
    chunk_size: int,
    fill: Number,
    codec: Codec,
) -> tuple[int, int]:
    cell = cell.astype(cell.dtype.newbyteorder("<"), copy=False)
    if coverage is not None:
        cell = cell.copy()
        fill_gaps(cell, coverage[:, 0], how="carry-forward")
    if mask is not None:
        cell = fill_where(cell, mask[:, 0], fill)
    return sizes_both_ways(cell, references, chunk_size, fill, codec)

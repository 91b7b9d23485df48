"""One region as one small Dask collection, level by level::

    frames -> level 0 -> block mean -> level 1 -> ...        map_blocks from level to level
                 |                        |
          star-delta, compress,    star-delta, compress,     map_blocks per level and array; returns lengths and
              store                    store                 checksums, never arrays
                 └────────────┬───────────┘
                           receipt

Each array is one block, so a level depends on the one below alone. Names are derived from the submission: nothing is
hashed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
import numpy.typing as npt
from dask.delayed import Delayed

from chronozarr_dask.composite.fill import fill_gaps
from chronozarr_dask.format.layout import COVERAGE, MASK, ceil_div
from chronozarr_dask.format.provenance import GapFill
from chronozarr_dask.format.temporal import Encoding
from chronozarr_dask.graph.frames import DATA, FrameSource, StagedFrames, Taken, Unit
from chronozarr_dask.graph.lazy import array_of, call, map_block, map_object
from chronozarr_dask.graph.staging import keep_notes
from chronozarr_dask.kernels.block_mean import block_mean, coverage_mean, mask_max
from chronozarr_dask.kernels.distinct import distinct_values
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.plan.spec import StoreSpec
from chronozarr_dask.store.heap import give_back
from chronozarr_dask.store.journal import Journal
from chronozarr_dask.store.pixels import Level0
from chronozarr_dask.store.receipts import Receipt, Stored
from chronozarr_dask.store.stored import StoredLevel
from chronozarr_dask.store.target import Objects
from chronozarr_dask.store.writer import ArrayWriter, cell_changes

Levels = dict[str, da.Array]


@dataclass(frozen=True)
class Job:
    """What the regions of a run have in common.

    Attributes
    ----------
    target : Objects
    journal : Journal
    spec : StoreSpec
    plan : Plan
    encoding : "none" or "star-delta"
    source : FrameSource
    nan_to_mask, fill_masked : bool
    gap_fill : "none" or "carry-forward"
        Of pixels whose coverage is 0.
    """

    target: Objects
    journal: Journal
    spec: StoreSpec
    plan: Plan
    encoding: Encoding
    source: FrameSource
    nan_to_mask: bool = False
    fill_masked: bool = False
    gap_fill: GapFill = "none"


@dataclass(frozen=True)
class RegionDone:
    """What a region that is stored tells the client: its objects, their bytes, and what its frames cost."""

    n_objects: int
    n_bytes: int
    taken: Taken


def region_receipt(job: Job, region: Region, unit: Unit) -> Delayed:
    """The region as a lazy collection; computing it stores its objects and its receipt, and gives a `RegionDone`."""
    p = job.plan.passes[region.pass_index]
    present = job.plan.present(region, job.encoding)
    levels = _base_level(job, region, present, unit)
    statistics = _statistics(job, region, present, levels[DATA], unit) if region.pass_index == 0 else None
    arrays = {(a.level, a.name): a for a in job.plan.arrays(region)}
    stored = []
    for level in range(p.base, p.base + p.depth + 1):
        if level > p.base:
            levels = _next(job, level, levels, unit)
        if level not in p.levels:
            continue
        for name in _names(job):
            objects = arrays[level, job.spec.layout.variable if name == DATA else name]
            writer = _writer(job, region, present, objects)
            stored.append(_store(writer, levels[name], f"store-{name}-{level}-{unit.name}"))
    notes = _notes(job, region, unit) if region.pass_index == 0 else None
    told = (stored, statistics, _taken(job, region, unit), notes)
    return call(_finish, job.journal, region, *told, name=f"receipt-{unit.name}")


def _taken(job: Job, region: Region, unit: Unit) -> Taken | Delayed:
    """What the region takes of the source: one of a later pass reads the store."""
    if region.pass_index:
        return Taken()
    window = job.plan.passes[0].pixels(region, job.spec.layout)
    return job.source.taken(job.source.names, region, job.plan.slabs.reads(region.slab), window, unit)


def _notes(job: Job, region: Region, unit: Unit) -> Delayed | None:
    """Keeps what the frames of a region tell; those of a region that was staged have told it before."""
    source = job.source
    if isinstance(source, StagedFrames) and source.is_staged(DATA, region):
        return None
    window = job.plan.passes[0].pixels(region, job.spec.layout)
    return keep_notes(job.journal, region, source.notes(job.plan.slabs.reads(region.slab), window, unit), unit)


def _names(job: Job) -> tuple[str, ...]:
    return (DATA, *job.spec.planes)


def _base_level(job: Job, region: Region, present: tuple[int, ...], unit: Unit) -> Levels:
    """The arrays that the region starts from: level 0 of the source, or a level that is stored."""
    p = job.plan.passes[region.pass_index]
    window = p.pixels(region, job.spec.layout)
    if region.pass_index:
        stored = StoredLevel(job.target, job.spec, job.encoding, p.base)
        return {name: _read_stored(job, stored, name, region, present, unit) for name in _names(job)}
    slabs, slab = job.plan.slabs, region.slab
    level0 = Level0(
        journal=job.journal,
        region=region,
        next_region=replace(region, slab=slab + 1) if slab + 1 < slabs.n else None,
        reads=slabs.reads(slab),
        handed=slabs.handed(slab),
        carry=slabs.carry(slab),
        times=job.spec.times,
        window=window,
        band_names=tuple(b.name for b in job.spec.bands),
        fill=job.spec.fill,
        nan_to_mask=job.nan_to_mask,
        fill_masked=job.fill_masked,
        fill_gaps=None if job.gap_fill == "none" else partial(fill_gaps, how=job.gap_fill),
    )
    frames = {name: job.source.frames(name, region, level0.reads, window, unit) for name in job.source.names}
    out: Levels = {}
    for name in _names(job):
        make: Callable[..., Any] = {DATA: level0.data, MASK: level0.mask, COVERAGE: level0.coverage}[name]
        given = [frames[DATA]] if name == MASK and job.nan_to_mask else [frames[name]]
        if name == DATA and job.fill_masked and not job.nan_to_mask:
            given.append(frames[MASK])
        if name == DATA and level0.fill_gaps is not None:
            make = level0.without_gaps
            given.append(frames[COVERAGE])
        n_band, dtype = _kind(job, name)
        shape = (len(present), n_band, *window.shape)
        out[name] = map_block(make, *given, shape=shape, dtype=dtype, name=f"level0-{name}-{unit.name}")
    return out


def _kind(job: Job, name: str) -> tuple[int, np.dtype[Any]]:
    """(bands, dtype) of the frames of "data" or of a plane."""
    return (job.spec.layout.n_band, np.dtype(job.spec.dtype)) if name == DATA else (1, np.dtype(np.uint8))


def _read_stored(
    job: Job, stored: StoredLevel, name: str, region: Region, present: tuple[int, ...], unit: Unit
) -> da.Array:
    window = job.plan.passes[region.pass_index].pixels(region, job.spec.layout)
    n_band, dtype = _kind(job, name)
    array = job.spec.layout.variable if name == DATA else name
    label = f"read-stored-{name}-{unit.name}"
    shape = (len(present), n_band, *window.shape)
    return array_of(stored.read, array, present, window, shape=shape, dtype=dtype, name=label)


def _next(job: Job, level: int, below: Levels, unit: Unit) -> Levels:
    """The next level of every array (6, 2.4, 2.5)."""

    def half(a: da.Array) -> tuple[int, ...]:
        return (*a.shape[:2], ceil_div(a.shape[2], 2), ceil_div(a.shape[3], 2))

    out: Levels = {}
    for name, array in below.items():
        label = f"mean-{name}-{level}-{unit.name}"
        if name == DATA:
            mean = _Mean(job.spec.nodata)
            given = (array, below[MASK]) if MASK in below else (array,)
            out[name] = map_block(mean, *given, shape=half(array), dtype=array.dtype, name=label)
        else:
            reduce = mask_max if name == MASK else coverage_mean
            out[name] = map_block(_OnPlane(reduce), array, shape=half(array), dtype=array.dtype, name=label)
    return out


@dataclass(frozen=True)
class _Mean:
    """`block_mean` of a block, with its mask where there is one."""

    nodata: float | int | None

    def __call__(self, data: npt.NDArray[Any], mask: npt.NDArray[np.uint8] | None = None) -> npt.NDArray[Any]:
        return block_mean(data, None if mask is None else mask[:, 0], self.nodata)


@dataclass(frozen=True)
class _OnPlane:
    """A reduction of (time, y, x) on a block of (time, 1, y, x)."""

    reduce: Callable[[npt.NDArray[np.uint8]], npt.NDArray[np.uint8]]

    def __call__(self, plane: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        return self.reduce(plane[:, 0])[:, None]


def _writer(job: Job, region: Region, present: tuple[int, ...], objects: Any) -> ArrayWriter:
    delta = job.encoding == "star-delta" and objects.has_band
    return ArrayWriter(
        target=job.target,
        objects=objects,
        own=job.plan.passes[region.pass_index].times(region),
        present=present,
        references=tuple(job.plan.references(job.encoding)[t] for t in present) if delta else None,
        chunk_size=job.spec.layout.chunk_size,
        fill=job.spec.fill if objects.has_band else 0,
        codec=job.spec.codec,
        shard_time=job.spec.layout.shard_time,
    )


def _store(writer: ArrayWriter, array: da.Array, label: str) -> list[Delayed]:
    """Star-delta, compression and storing, one row of cells a task."""
    out = []
    for row, part in writer.rows():
        y = (row - writer.objects.cells.y0) * writer.chunk_size
        out.append(map_object(_Row(part, y), array, name=f"{label}-{row}"))
    return out


@dataclass(frozen=True)
class _Row:
    """Stores one row of cells of a block, from pixel row `y`. It is a view: a slice by Dask would be a copy of it."""

    writer: ArrayWriter
    y: int

    def __call__(self, frames: npt.NDArray[Any]) -> Stored:
        return self.writer.store(frames[:, :, self.y : self.y + self.writer.chunk_size])


@dataclass(frozen=True)
class _Statistics:
    """Of level 0: volatility sums of the cells over the region's own non-anchor timesteps, and values of the bands."""

    pairs: tuple[tuple[int, int], ...]
    chunk_size: int
    nodata: float | int | None

    def __call__(self, frames: npt.NDArray[Any]) -> Any:
        changes = cell_changes(frames, np.array(self.pairs, np.intp).reshape(-1, 2), self.chunk_size)
        if frames.dtype.kind == "f":
            return changes, [None] * frames.shape[1]
        return changes, distinct_values(frames, None if self.nodata is None else int(self.nodata))


def _statistics(job: Job, region: Region, present: tuple[int, ...], level0: da.Array, unit: Unit) -> Delayed:
    at = {t: i for i, t in enumerate(present)}
    refs = job.plan.references(job.encoding)
    pairs = tuple((at[t], at[refs[t]]) for t in job.plan.slabs.own(region.slab) if refs[t] != t)
    statistics = _Statistics(pairs, job.spec.layout.chunk_size, job.spec.no_value)
    return map_object(statistics, level0, name=f"statistics-{unit.name}")


def _finish(
    journal: Journal, region: Region, stored: list[list[Any]], statistics: Any, taken: Taken, notes: None
) -> RegionDone:
    """Write the receipt: every object of the region is acknowledged by now."""
    arrays = tuple(Stored.joined([row.item() for row in rows]) for rows in stored)
    changes, values = ((), ()) if statistics is None else statistics.item()
    receipt = Receipt(region.name, arrays, changes, values)
    journal.put_receipt(region, receipt)
    give_back()
    return RegionDone(receipt.n_objects, receipt.n_bytes, taken)

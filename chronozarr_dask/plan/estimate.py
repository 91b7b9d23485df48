"""What a plan will take: for each stage units, bytes, objects, requests, core-seconds and seconds. Arithmetic alone.

The seconds of a stage are what its threads need for work and requests, or what the scheduler needs for its tasks, one
after the other: whichever is longer. Speeds are those of `options.prices`, compression that of the benchmarks' texture.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from chronozarr_dask.format.layout import Layout
from chronozarr_dask.options.prices import Prices, Speeds
from chronozarr_dask.plan.limits import count_tasks
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.plan.regions import Pass, Region
from chronozarr_dask.plan.sampling import sampled_cells
from chronozarr_dask.plan.spec import StoreSpec

RECEIPT_READERS = 16
"""Receipts that are read at once."""
READ_BYTES = 2 * 2**20
"""Bytes of pixels that a request to the source brings: a block of 1024 x 1024 of uint16."""
COORDINATES = 4
"""Arrays of a level that hold coordinates: time, band, y, x."""


@dataclass(frozen=True)
class Reading:
    """What is read to make level 0.

    Attributes
    ----------
    nbytes : int
        Bytes of pixels, decoded.
    itemsize : int
        Bytes of a pixel and band.
    is_composite : bool
        Whether scenes are composited; otherwise a cube is taken as it is.
    """

    nbytes: int
    itemsize: int
    is_composite: bool = False

    def core_ns(self, speeds: Speeds) -> float:
        """Core-nanoseconds; the reading of a cube is within what its encoding takes."""
        return self.nbytes / self.itemsize * (speeds.read_ns + speeds.reduce_ns) if self.is_composite else 0.0


@dataclass(frozen=True)
class Stage:
    """What one stage takes.

    Attributes
    ----------
    units : int
        Regions, blocks, or parts of cells; of the commit the documents.
    bytes_in, bytes_out : int
        Pixels read from the source and objects read from the store; bytes written.
    objects : int
        Of the store, at most.
    puts, gets, source_gets : int
        Requests to target and journal, and to the source.
    core_seconds, seconds : float
    """

    units: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    objects: int = 0
    puts: int = 0
    gets: int = 0
    source_gets: int = 0
    core_seconds: float = 0.0
    seconds: float = 0.0

    @property
    def requests(self) -> int:
        """All of them."""
        return self.puts + self.gets + self.source_gets


@dataclass(frozen=True)
class Estimate:
    """What a plan will take.

    Attributes
    ----------
    stages : mapping of stage to Stage
        "stage" and "select" where there are such, "run", "commit".
    threads : int
        That the seconds are for.
    tasks : int
    source_bytes, stored_bytes : int
        Pixels read from the source; what is in the store.
    encoding : "none" or "star-delta"
        That the bytes are for.
    """

    stages: Mapping[str, Stage]
    threads: int
    tasks: int
    source_bytes: int
    stored_bytes: int
    encoding: str

    @property
    def core_seconds(self) -> float:
        """Of all stages."""
        return sum(s.core_seconds for s in self.stages.values())

    @property
    def seconds(self) -> float:
        """Of all stages, one after the other."""
        return sum(s.seconds for s in self.stages.values())

    def to_json(self) -> dict[str, Any]:
        """As in the journal."""
        fields = {k: v for k, v in asdict(self).items() if k != "stages"}
        return {"stages": {k: asdict(s) | {"requests": s.requests} for k, s in self.stages.items()}, **fields}

    def cost(self, prices: Prices) -> dict[str, float]:
        """What it costs, part by part: workers are paid for as long as the run lasts, whether they work or wait."""
        stages = self.stages.values()
        return {
            "cores": self.seconds * self.threads / 3600 * prices.core_hour,
            "puts": sum(s.puts for s in stages) / 1000 * prices.put_1000,
            "gets": sum(s.gets for s in stages) / 1000 * prices.get_1000,
            "source": sum(s.source_gets for s in stages) / 1000 * prices.source_get_1000
            + self.source_bytes / 1e9 * prices.egress_gb,
            "month": self.stored_bytes / 1e9 * prices.gb_month,
        }


@dataclass(frozen=True)
class _Case:
    """All that the stages are reckoned from."""

    plan: Plan
    spec: StoreSpec
    reading: Reading
    speeds: Speeds
    threads: int
    remote: bool
    encoding: str

    @property
    def layout(self) -> Layout:
        return self.spec.layout

    @property
    def arrays(self) -> int:
        return 1 + len(self.spec.planes)

    def padded(self, level: int) -> int:
        """Bytes of a level's chunks: that is what is compressed."""
        return self.layout.n_time * self.cells(level) * self.layout.chunk_size**2 * self.spec.pixel_bytes

    def cells(self, level: int) -> int:
        return math.prod(self.layout.grid(level))

    def kept(self) -> float:
        return self.speeds.kept_by(self.spec.codec, self.encoding)

    def timed(self, stage: Stage, tasks: int) -> Stage:
        """The stage with its seconds: threads wait for their own requests, tasks for the scheduler."""
        wait = (stage.puts + stage.gets) * (self.speeds.request_ms if self.remote else self.speeds.file_ms) / 1000
        wait += stage.source_gets * self.speeds.source_ms / 1000 if self.reading.is_composite else 0.0
        core = stage.core_seconds + tasks * self.speeds.task_ms / 1000
        busy = max((core + wait) / self.threads, tasks * self.speeds.scheduler_ms / 1000)
        return replace(stage, core_seconds=core, seconds=busy)


def estimate(
    plan: Plan,
    spec: StoreSpec,
    reading: Reading,
    *,
    choice: str,
    threads: int,
    remote: bool,
    speeds: Speeds | None = None,
) -> Estimate:
    """What the plan will take.

    Parameters
    ----------
    plan : Plan
    spec : StoreSpec
    reading : Reading
    choice : "auto", "none" or "star-delta"
        `auto` is reckoned as "none", which stores more.
    threads : int
        Of all workers.
    remote : bool
        Whether the target is a bucket.
    speeds : Speeds, optional
        The measured ones when left out.
    """
    encoding = "none" if choice == "auto" else choice
    case = _Case(plan, spec, reading, speeds or Speeds(), threads, remote, encoding)
    stages = {}
    if plan.staged:
        stages["stage"] = _stage(case)
    sampled = 0.0
    if choice == "auto":
        stages["select"], sampled = _select(case)
    stages["run"] = _run(case, 0.0 if plan.staged else 1 - sampled)
    stages["commit"] = _commit(case)
    stored = sum(int(case.spec.raw_bytes(k) * case.kept()) for k in range(case.layout.n_levels))
    return Estimate(stages, threads, count_tasks(plan), reading.nbytes, stored, encoding)


def _stage(case: _Case) -> Stage:
    """The source once into the journal, cut along the regions."""
    nbytes, pieces = case.spec.raw_bytes(0), case.plan.passes[0].n_regions * case.arrays
    core = (nbytes * case.speeds.staged_ns + case.reading.core_ns(case.speeds)) / 1e9
    out = Stage(pieces, nbytes, int(nbytes * case.kept()), 0, pieces, 0, _source_gets(case, 1.0), core)
    return case.timed(out, pieces)


def _select(case: _Case) -> tuple[Stage, float]:
    """The sampled cells both ways, of regions that are read and kept for it; and the share of the source in them."""
    plan, cs = case.plan, case.layout.chunk_size
    cells = len(sampled_cells(*case.layout.grid(0)))
    regions = len(plan.sampled_regions())
    share = regions / plan.passes[0].n_regions
    nbytes = cells * case.layout.n_time * cs**2 * case.layout.n_band * np.dtype(case.spec.dtype).itemsize
    core = 2 * nbytes * case.speeds.codec_ns(case.spec.codec)
    kept = 0 if plan.staged else int(case.spec.raw_bytes(0) * share)
    core += kept * case.speeds.staged_ns + (0.0 if plan.staged else share * case.reading.core_ns(case.speeds))
    read = 0 if plan.staged else int(case.reading.nbytes * share)
    gets = 0 if plan.staged else _source_gets(case, share)
    out = Stage(cells, read, int(kept * case.kept()), 0, 2 * regions, cells, gets, core / 1e9)
    return case.timed(out, 4 * regions + 2 * cells), share


def _source_gets(case: _Case, share: float) -> int:
    return math.ceil(case.reading.nbytes * share / READ_BYTES)


def _run(case: _Case, reads: float) -> Stage:
    """All regions; `reads` is the share of the source that is read in them, and not out of the journal."""
    speeds, layout, plan = case.speeds, case.layout, case.plan
    padded = sum(map(case.padded, range(layout.n_levels)))
    core = padded * (speeds.encode_ns + speeds.codec_ns(case.spec.codec)) + reads * case.reading.core_ns(speeds)
    objects = sum(case.cells(k) for k in range(layout.n_levels)) * layout.n_objects_t * case.arrays
    again = [_read_again(case, p) for p in plan.passes[1:]]
    handovers = _handovers(case)
    out = Stage(
        units=plan.n_regions,
        bytes_in=int(case.reading.nbytes * reads) + sum(nbytes for nbytes, _ in again),
        bytes_out=sum(int(case.spec.raw_bytes(k) * case.kept()) for k in range(layout.n_levels)),
        objects=objects,
        puts=objects + plan.n_regions * (2 if case.reading.is_composite else 1) + handovers,
        gets=sum(n for _, n in again) + 2 * handovers,
        source_gets=_source_gets(case, reads),
        core_seconds=core / 1e9,
    )
    return case.timed(out, count_tasks(plan))


def _read_again(case: _Case, p: Pass) -> tuple[int, int]:
    """Bytes and requests of what a later pass reads of the store; of a shard its index, and its chunks at once."""
    each = 1 if case.layout.shard_time is None else 2
    requests = case.cells(p.base) * case.layout.n_objects_t * case.arrays * each
    return int(case.spec.raw_bytes(p.base) * case.kept()), requests


def _handovers(case: _Case) -> int:
    """Files that slabs leave for the next one of their place."""
    p, slabs = case.plan.passes[0], case.plan.slabs
    return p.counts[0] * p.counts[1] * sum(1 for s in range(slabs.n) if slabs.handed(s)) * case.arrays


def _commit(case: _Case) -> Stage:
    """Receipts, several at once; then coordinates and documents, one after the other."""
    plan, levels = case.plan, case.layout.n_levels
    receipts = plan.n_regions + (plan.passes[0].n_regions if case.reading.is_composite else 0)
    documents = levels * (2 * COORDINATES + case.arrays + 1) + 3
    objects = sum(len(a) for a in plan.arrays(Region(0, 0, 0, 0)))
    nbytes = receipts * (80 + 20 * objects)
    each = (case.speeds.request_ms if case.remote else case.speeds.file_ms) / 1000
    core = receipts * 0.0002
    seconds = receipts * each / RECEIPT_READERS + documents * each + core
    return Stage(documents, nbytes, 0, 0, documents, receipts, 0, core, seconds)

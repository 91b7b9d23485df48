"""From the arguments of an encode to its plan: all that headers and options can show, before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.dtypes import profile
from chronozarr_dask.format.layout import MASK, Layout
from chronozarr_dask.format.planes import PLANES
from chronozarr_dask.format.provenance import GapFill, Provenance
from chronozarr_dask.format.pyramid import default_levels
from chronozarr_dask.format.sharding import check_shard_time
from chronozarr_dask.graph.frames import FrameSource
from chronozarr_dask.options import EncodeOptions
from chronozarr_dask.plan.estimate import Reading
from chronozarr_dask.plan.limits import check_limits
from chronozarr_dask.plan.memory import PixelBytes
from chronozarr_dask.plan.plan import Plan, make_plan, schedule, schedule_intervals
from chronozarr_dask.plan.shape import Budget, Problem, Wish, check_wish
from chronozarr_dask.plan.spec import StoreSpec
from chronozarr_dask.run.composites import CompositeRaster
from chronozarr_dask.run.scenebook import SceneBook
from chronozarr_dask.source.cube import Cube, as_cube

Described = Cube | CompositeRaster
"""What a plan needs to know of an input: a cube, or composites that are not made yet."""


def read_cube(source: xr.DataArray | xr.Dataset, options: EncodeOptions) -> Cube:
    """The input, checked and normalised; InputError says what is wrong with it."""
    return as_cube(
        source,
        variable=options.variable,
        crs=options.crs,
        nodata=options.nodata,
        bands=options.bands,
        mask=options.mask,
        coverage=options.coverage,
        nan_to_mask=options.nan_to_mask,
    )


@dataclass(frozen=True)
class Input:
    """What is encoded.

    Attributes
    ----------
    described : Described
    frames : FrameSource
    gap_fill : "none" or "carry-forward"
    making, making_rows : int
        As of `PixelBytes`.
    identity : mapping
        What decides the pixels, beside what is described: a resume must agree with it.
    documents : mapping of name to bytes
        What the journal keeps from the beginning.
    book : SceneBook or None
        Tells of the scenes at the end.
    reading : Reading or None
        What is read to make level 0; None: a cube as it is.
    """

    described: Described
    frames: FrameSource
    gap_fill: GapFill = "none"
    making: int = 0
    making_rows: int | None = None
    identity: Mapping[str, Any] = field(default_factory=dict)
    documents: Mapping[str, bytes] = field(default_factory=dict)
    book: SceneBook | None = None
    reading: Reading | None = None

    @property
    def read(self) -> Reading:
        """What is read to make level 0."""
        if self.reading is not None:
            return self.reading
        of, itemsize = self.described, np.dtype(self.described.dtype).itemsize
        one = of.n_band * itemsize + len(of.planes)
        return Reading(of.n_time * of.height * of.width * one, itemsize)


def encoding_choice(cube: Described, options: EncodeOptions) -> str:
    """`auto`, `none` or `star-delta`: `auto` is ``none`` where there is nothing to measure (4.3)."""
    p = profile(cube.dtype)
    if options.encoding == "star-delta" and not p.star_delta:
        raise InputError(
            f"encoding is star-delta and the input is {p.name}: residuals are for uint8 and uint16 (section 4.1); take "
            f"none"
        )
    if options.nan_to_mask and not p.is_float:
        raise InputError(f"nan_to_mask is for float32, the input is {p.name}, which has no NaN; leave it out")
    measures = can_measure(cube.dtype, cube.n_time, options.anchor_interval)
    return "none" if options.encoding == "auto" and not measures else options.encoding


def can_measure(dtype: str, n_time: int, anchor_interval: int) -> bool:
    """Whether `auto` has something to measure: there are residuals of this type and schedule (4.1, 4.3)."""
    return profile(dtype).star_delta and n_time > 1 and anchor_interval > 1


def make_spec(cube: Described, options: EncodeOptions) -> StoreSpec:
    """What the store will be."""
    cs = options.chunk_size
    planes = [p for p in PLANES if p in cube.planes or (p == MASK and options.nan_to_mask)]
    if options.fill_masked and MASK not in planes:
        raise InputError(
            "fill_masked stores the fill value where a mask is 0, and there is no mask: give one, or leave it out"
        )
    layout = Layout(
        cube.n_time,
        cube.n_band,
        cube.height,
        cube.width,
        cs,
        options.levels or default_levels(cube.height, cube.width, cs),
        check_shard_time(options.shard_time, cube.n_time),
    )
    return StoreSpec(
        layout=layout,
        dtype=cube.dtype,
        codec=options.made_codec,
        nodata=cube.nodata,
        georef=cube.georef,
        times=cube.times,
        bands=cube.bands,
        planes=tuple(planes),
        anchor_interval=options.anchor_interval,
        provenance=None if options.provenance is None else Provenance.parse(options.provenance),
    )


def plan_encode(given: Input, spec: StoreSpec, options: EncodeOptions, choice: str, budget: Budget) -> Plan:
    """How the work is cut; PlanError when it does not fit, or passes a limit."""
    wish = Wish(options.region_edges, options.time_slab)
    check_wish(wish, spec.layout)
    intervals = schedule_intervals(choice, spec.anchor_interval)
    problem = Problem(
        layout=spec.layout,
        schedules=tuple(schedule(spec.layout.n_time, i) for i in intervals),
        pixel=PixelBytes(
            spec.layout.n_band * np.dtype(spec.dtype).itemsize, len(spec.planes), given.making, given.making_rows
        ),
        blocks=given.described.source_chunks(),
        budget=budget,
        wish=wish,
        carries_gaps=given.gap_fill == "carry-forward",
    )
    plan = make_plan(problem, spec.planes, intervals)
    check_limits(plan, options.max_objects, options.max_tasks)
    return plan


def identity(given: Input, spec: StoreSpec, options: EncodeOptions) -> dict[str, Any]:
    """All that decides the bytes of the store, as JSON: a resume must agree with it."""
    return {
        **spec.identity(),
        "encoding": options.encoding,
        "nan_to_mask": options.nan_to_mask,
        "fill_masked": options.fill_masked,
        "shard_bytes_limit": options.shard_bytes_limit,
        **given.identity,
    }


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What differs between two identities, one text for each field."""
    return [
        f"{k}: the run began with {_short(before.get(k))}, now it is {_short(now.get(k))}"
        for k in sorted({*before, *now})
        if before.get(k) != now.get(k)
    ]


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."

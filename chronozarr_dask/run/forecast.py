"""What a run would do, from headers and items alone: shown by ``run --dry-run``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from chronozarr_dask.errors import ChronozarrError
from chronozarr_dask.format.georef import Georeference
from chronozarr_dask.format.layout import Window
from chronozarr_dask.options.recipe import Recipe
from chronozarr_dask.plan.objects import count_objects
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.plan.shape import Budget
from chronozarr_dask.plan.spec import StoreSpec
from chronozarr_dask.run.found import find
from chronozarr_dask.run.prepare import encoding_choice, make_spec, plan_encode
from chronozarr_dask.run.produce import Product, check_no_secrets
from chronozarr_dask.run.recipes import Document
from chronozarr_dask.run.space import check_space
from chronozarr_dask.run.workers import Workers
from chronozarr_dask.source.stac.assets import SceneAsset
from chronozarr_dask.store.journal import check_apart, claim_url, journal_url
from chronozarr_dask.store.target import Objects, open_target

KEPT = {"none": 0.62, "star-delta": 0.53}
"""Share of the raw bytes that zstd 5 keeps of the benchmarks' texture; `auto` takes star-delta below 0.85 of none."""
TASKS_OF_REGION = 6
"""Beside those of each level: composite, values, coverage, checks, statistics, receipt."""


@dataclass(frozen=True)
class Forecast:
    """What a run would do.

    Attributes
    ----------
    scenes : mapping of timestep to int
        Scenes of each.
    dropped : tuple of (id, reason)
    empty : tuple of str
        Timesteps without a scene.
    offsets : mapping of rule to int
        Scenes that it counts for.
    read_bytes : int
        Raw bytes of the scenes' pixels within the grid, class planes included; files are compressed, and a scene
        without a clear pixel in a region is not read there.
    shape : (time, band, height, width)
    grid : mapping
        crs, transform.
    levels, regions, passes, tasks : int
    region_bytes, worker_bytes : int
        Peak bytes of a region, and of all that are in flight in one process.
    memory : int
        Bytes that a process has for them.
    objects : int
        At most: chunks without a value are not stored.
    raw_bytes : int
        Of all levels and planes, not compressed.
    write_bytes : mapping of encoding to int
        About, by the texture of the benchmarks; `auto` measures.
    encoding : "auto", "none" or "star-delta"
    refused : tuple of str
        Why the run would be refused, as it stands.
    """

    scenes: Mapping[str, int]
    dropped: tuple[tuple[str, str], ...]
    empty: tuple[str, ...]
    offsets: Mapping[str, int]
    read_bytes: int
    shape: tuple[int, int, int, int]
    grid: Mapping[str, Any]
    levels: int
    regions: int
    passes: int
    tasks: int
    region_bytes: int
    worker_bytes: int
    memory: int
    objects: int
    raw_bytes: int
    write_bytes: Mapping[str, int]
    encoding: str
    refused: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The forecast as JSON."""
        return asdict(self)


def forecast(document: Document, recipe: Recipe, workers: Workers) -> Forecast:
    """Search and plan; reads no pixel and writes nothing.

    Raises
    ------
    InputError, PlanError
        Where there is nothing to plan, or nothing fits.
    """
    check_no_secrets(recipe)
    product = Product.of(recipe, find(recipe))
    given = product.input(document)
    spec = make_spec(given.described, product.options)
    choice = encoding_choice(given.described, product.options)
    budget = Budget(workers.memory, workers.process_threads, workers.threads)
    plan = plan_encode(given, spec, product.options, choice, budget)
    raw = _raw_bytes(spec)
    target = open_target(recipe.target.url, dict(recipe.target.storage_options))
    book = product.book()
    scenes = dict.fromkeys(book.labels, 0)
    offsets: dict[str, int] = {}
    for used in book.used:
        scenes[used.timestep] += 1
        offsets[used.rule] = offsets.get(used.rule, 0) + 1
    layout = spec.layout
    return Forecast(
        scenes=scenes,
        dropped=book.dropped,
        empty=tuple(text for text, n in scenes.items() if not n),
        offsets=offsets,
        read_bytes=_read_bytes(product),
        shape=layout.data_shape(0),
        grid={"crs": spec.georef.crs, "transform": list(spec.georef.transform)},
        levels=layout.n_levels,
        regions=plan.n_regions,
        passes=len(plan.passes),
        tasks=_n_tasks(plan),
        region_bytes=plan.region_bytes,
        worker_bytes=plan.region_bytes * budget.in_flight(plan.region_bytes, plan.total_bytes),
        memory=workers.memory,
        objects=count_objects(layout, spec.planes),
        raw_bytes=raw,
        write_bytes={e: int(raw * share) for e, share in KEPT.items() if choice in ("auto", e)},
        encoding=choice,
        refused=_refused(target, recipe, spec),
    )


def _read_bytes(product: Product) -> int:
    raster = product.composites.raster
    whole = Window(0, raster.height, 0, raster.width)
    sizes = [np.dtype(raster.dtype).itemsize] * raster.n_band
    sizes += [1 if product.recipe.source.bits is None else 2]  # of a class plane: SCL is uint8, QA_PIXEL uint16
    total = 0
    for step in product.composites.frames.timesteps:
        for use in (use for tiles in step.observations for use in tiles):
            reach = use.reach or whole
            inside = _n_pixels(_common(reach, whole))
            for asset, itemsize in zip(use.scene.assets, sizes, strict=False):
                total += int(_of_asset(asset, inside, inside / max(_n_pixels(reach), 1), raster.georef) * itemsize)
    return total


def _of_asset(asset: SceneAsset, inside: int, share: float, georef: Georeference) -> float:
    """Pixels of an asset that lie in the grid: by its pixel size, or on another CRS by its share of the grid."""
    if asset.transform is None:
        return inside
    if asset.crs == georef.crs:
        return inside * (georef.transform[0] / asset.transform[0]) ** 2
    return inside if asset.shape is None else math.prod(asset.shape) * share


def _common(a: Window, b: Window) -> Window:
    y0, x0 = max(a.y0, b.y0), max(a.x0, b.x0)
    return Window(y0, max(min(a.y1, b.y1), y0), x0, max(min(a.x1, b.x1), x0))


def _n_pixels(window: Window) -> int:
    return math.prod(window.shape)


def _raw_bytes(spec: StoreSpec) -> int:
    layout = spec.layout
    one = layout.n_band * np.dtype(spec.dtype).itemsize + len(spec.planes)
    return sum(layout.n_time * math.prod(layout.level_size(k)) * one for k in range(layout.n_levels))


def _n_tasks(plan: Plan) -> int:
    """Tasks of all regions: of each level and array one, and one for each row of cells."""
    names = 1 + len(plan.planes)
    total = 0
    for p in plan.passes:
        for row in range(p.counts[0]):
            rows = (p.row_cuts[row + 1] - p.row_cuts[row]) * (len(p.levels))
            total += p.counts[1] * p.counts[2] * (TASKS_OF_REGION + names * (len(p.levels) + rows))
    return total


def _refused(target: Objects, recipe: Recipe, spec: StoreSpec) -> tuple[str, ...]:
    out = []

    def check(what: Callable[[], object]) -> None:
        try:
            what()
        except ChronozarrError as error:
            out.append(str(error))

    options = dict(recipe.target.storage_options)
    journal = open_target(journal_url(target.url, recipe.target.journal), options)
    beside = open_target(claim_url(target.url, journal.url), options)
    check(lambda: check_apart(target, journal))
    check(lambda: check_space(target, spec))
    if not target.is_empty():
        out.append(f"{target.url} is not empty: a store is written under a new prefix; name another target")
    elif not (journal.is_empty() and beside.is_empty()):
        out.append(
            f"{journal.url} is not empty: a run into {target.url} was interrupted or is still running. Go on with it "
            f"with resume (--resume), or name another target"
        )
    return tuple(out)

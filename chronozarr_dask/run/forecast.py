"""What a run would do, from headers and items alone: shown by ``run`` and ``encode`` with ``--dry-run``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from chronozarr_dask.errors import ChronozarrError
from chronozarr_dask.format.temporal import ENCODINGS
from chronozarr_dask.options import EncodeOptions
from chronozarr_dask.options.prices import Prices, Speeds
from chronozarr_dask.options.recipe import Recipe
from chronozarr_dask.plan.estimate import Estimate, estimate
from chronozarr_dask.plan.objects import count_objects
from chronozarr_dask.plan.shape import Budget
from chronozarr_dask.plan.spec import StoreSpec
from chronozarr_dask.run.claims import check_empty
from chronozarr_dask.run.found import find
from chronozarr_dask.run.prepare import Input, encoding_choice, make_spec, plan_encode
from chronozarr_dask.run.produce import Product, check_no_secrets
from chronozarr_dask.run.recipes import Document
from chronozarr_dask.run.space import check_space
from chronozarr_dask.run.workers import Workers
from chronozarr_dask.store.journal import Journal, check_apart, claim_url, journal_url
from chronozarr_dask.store.target import Objects, open_target


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
    estimate : Estimate
        Of each stage; seconds are for `threads`.
    cost : mapping of part to number, or None
        With prices: cores, puts, gets and source once, and what is stored for a month.
    currency : str or None
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
    estimate: Estimate
    cost: Mapping[str, float] | None
    currency: str | None
    refused: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The forecast as JSON."""
        return asdict(self) | {"estimate": self.estimate.to_json()}


@dataclass(frozen=True)
class Place:
    """Where the store would go: URLs of target and journal (None: beside it), and options of the file system."""

    url: str
    journal: str | None
    storage_options: Mapping[str, Any]


def forecast(document: Document, recipe: Recipe, workers: Workers, prices: Prices | None = None) -> Forecast:
    """Search and plan; reads no pixel and writes nothing.

    Raises
    ------
    InputError, PlanError
        Where there is nothing to plan, or nothing fits.
    """
    check_no_secrets(recipe)
    product = Product.of(recipe, find(recipe))
    place = Place(recipe.target.url, recipe.target.journal, recipe.target.storage_options)
    return forecast_input(product.input(document), product.options, place, workers, prices)


def forecast_input(
    given: Input, options: EncodeOptions, place: Place, workers: Workers, prices: Prices | None = None
) -> Forecast:
    """As `forecast`, of what is described."""
    spec = make_spec(given.described, options)
    choice = encoding_choice(given.described, options)
    budget = Budget(workers.memory, workers.process_threads, workers.threads)
    plan = plan_encode(given, spec, options, choice, budget)
    layout, book = spec.layout, given.book
    raw = sum(map(spec.raw_bytes, range(layout.n_levels)))
    target = open_target(place.url, dict(place.storage_options))
    how: Any = {"choice": choice, "threads": workers.threads, "remote": "://" in target.url}
    speeds = Speeds() if prices is None else prices.speeds
    will = estimate(plan, spec, given.read, speeds=speeds, **how)
    scenes = {} if book is None else dict.fromkeys(book.labels, 0)
    offsets: dict[str, int] = {}
    for used in () if book is None else book.used:
        scenes[used.timestep] += 1
        offsets[used.rule] = offsets.get(used.rule, 0) + 1
    return Forecast(
        scenes=scenes,
        dropped=() if book is None else book.dropped,
        empty=tuple(text for text, n in scenes.items() if not n),
        offsets=offsets,
        read_bytes=given.read.nbytes,
        shape=layout.data_shape(0),
        grid={"crs": spec.georef.crs, "transform": list(spec.georef.transform)},
        levels=layout.n_levels,
        regions=plan.n_regions,
        passes=len(plan.passes),
        tasks=will.tasks,
        region_bytes=plan.region_bytes,
        worker_bytes=plan.region_bytes * budget.in_flight(plan.region_bytes, plan.total_bytes),
        memory=workers.memory,
        objects=count_objects(layout, spec.planes),
        raw_bytes=raw,
        write_bytes={e: int(raw * speeds.kept_by(spec.codec, e)) for e in ENCODINGS if choice in ("auto", e)},
        encoding=choice,
        estimate=will,
        cost=None if prices is None else will.cost(prices),
        currency=None if prices is None else prices.currency,
        refused=_refused(target, place, spec),
    )


def _refused(target: Objects, place: Place, spec: StoreSpec) -> tuple[str, ...]:
    out = []

    def check(what: Callable[[], object]) -> None:
        try:
            what()
        except ChronozarrError as error:
            out.append(str(error))

    options = dict(place.storage_options)
    journal = Journal(open_target(journal_url(target.url, place.journal), options))
    beside = Journal(open_target(claim_url(target.url, journal.url), options))
    check(lambda: check_apart(target, journal.objects))
    check(lambda: check_space(target, spec))
    check(lambda: check_empty(target, journal, beside))
    return tuple(out)

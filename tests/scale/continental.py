"""The store of a continent on paper: what `deploy/continental.md` says of it is reckoned here and held by a test.

``python -m tests.scale.continental`` writes the tables into the page anew.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from chronozarr_dask.format.bands import Band
from chronozarr_dask.format.codecs import Codec
from chronozarr_dask.format.georef import Georeference
from chronozarr_dask.format.layout import Layout
from chronozarr_dask.format.planes import Plane
from chronozarr_dask.format.pyramid import default_levels
from chronozarr_dask.options import DEFAULT_MAX_OBJECTS, DEFAULT_MAX_TASKS
from chronozarr_dask.options.prices import Prices, read_prices
from chronozarr_dask.plan.estimate import Estimate, Reading, estimate
from chronozarr_dask.plan.memory import PixelBytes
from chronozarr_dask.plan.objects import region_arrays
from chronozarr_dask.plan.plan import Plan, make_plan, schedule
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.plan.shape import Blocks, Budget, Problem, Wish
from chronozarr_dask.plan.spec import StoreSpec

PAGE = Path(__file__).resolve().parents[2] / "deploy" / "continental.md"
PRICES = PAGE.with_name("prices.yaml")

ROWS, COLS, CELL, MONTHS = 375, 400, 512, 120
BANDS = ("B02", "B03", "B04", "B08")
SCENES = 8
"""Of a pixel and month: two satellites pass every five days, and orbits overlap at the latitudes of Europe."""
CLASS_BYTES = 0.25
"""Of a pixel of 10 m: the plane of classes has 20 m."""
PROCESSES, PROCESS_THREADS, PROCESS_MEMORY = 100, 4, 8 * 2**30
THREADS = PROCESSES * PROCESS_THREADS
PUTS_A_SECOND = 3500
"""That a prefix of S3 takes before it says SlowDown, by its documentation."""
ZSTD_5 = Codec()
SHARD_ENTRY_BYTES = 26
"""Of one line of `shard_bytes` in the root document, as in ``"9/374/399": 3145728,`` with its indent."""


@dataclass(frozen=True)
class Case:
    """One way to store it."""

    name: str
    shard_time: int | None = None
    codec: Codec = ZSTD_5
    region: tuple[int, int] = (2, 24)
    """Edge in cells, and timesteps: `region_cells` and `time_slab`."""


CASES = (
    Case("a chunk an object, zstd 5", region=(4, 6)),
    Case("shards of 12 months, zstd 5", 12),
    Case("shards of 12 months, zstd 1", 12, Codec("zstd", 1)),
    Case("shards of 12 months, blosc zstd 1", 12, Codec("blosc", 1)),
)


def continental(
    shard_time: int | None, codec: Codec | None = None, region: tuple[int, int] | None = None
) -> tuple[Plan, StoreSpec]:
    """Plan and store of 375 x 400 cells, 120 months, 4 bands and coverage."""
    height, width = ROWS * CELL, COLS * CELL
    layout = Layout(MONTHS, len(BANDS), height, width, CELL, default_levels(height, width, CELL), shard_time)
    georef = Georeference("EPSG:3035", (10.0, 0.0, 2_500_000.0, 0.0, -10.0, 5_500_000.0))
    bands, times = tuple(map(Band, BANDS)), tuple(range(MONTHS))
    planes: tuple[Plane, ...] = ("coverage",)
    spec = StoreSpec(layout, "uint16", codec or Codec(), 0, georef, times, bands, planes, 6)
    pixel = PixelBytes(2 * len(BANDS), 1, making=SCENES * (2 * len(BANDS) + 1) + 8 * 12, making_rows=512)
    budget = Budget(PROCESS_MEMORY // 2, PROCESS_THREADS, THREADS)
    wish = Wish() if region is None else Wish((region[0], region[0]), region[1])
    problem = Problem(layout, (schedule(MONTHS, 6),), pixel, Blocks(), budget, wish)
    return make_plan(problem, spec.planes, (6,)), spec


def reading() -> Reading:
    """All scenes of all months, class planes included."""
    pixels = ROWS * COLS * CELL**2 * MONTHS
    return Reading(int(pixels * SCENES * (2 * len(BANDS) + CLASS_BYTES)), 2, is_composite=True)


def reckon(case: Case, prices: Prices) -> tuple[Plan, StoreSpec, Estimate]:
    """What a case takes."""
    plan, spec = continental(case.shard_time, case.codec, case.region)
    how = {"threads": THREADS, "remote": True, "speeds": prices.speeds}
    return plan, spec, estimate(plan, spec, reading(), choice="none", **how)  # type: ignore[arg-type]


def tables() -> dict[str, str]:
    """The tables of the page by their names."""
    prices = read_prices(str(PRICES))
    work = [["", "core-hours", "hours", "stored, TB", "objects", "PUT", "GET", "source GET", "puts a second"]]
    cost = [["", "cores", "PUT", "GET", "once", "a month"]]
    limits = [
        [
            "",
            "regions",
            "largest region",
            "tasks",
            "scheduler, h",
            "receipts, MB",
            "`shard_bytes`, MB",
            "handovers",
            "plan.json, kB",
        ]
    ]
    for case in CASES:
        plan, spec, will = reckon(case, prices)
        run = will.stages["run"]
        puts, gets, source = (sum(getattr(s, k) for s in will.stages.values()) for k in ("puts", "gets", "source_gets"))
        work.append(
            [
                case.name, f"{will.core_seconds / 3600:,.0f}", f"{will.seconds / 3600:.1f}",
                f"{will.stored_bytes / 1e12:.1f}", f"{run.objects:,}", f"{puts:,}", f"{gets:,}", f"{source:,}",
                f"{puts / will.seconds:,.0f}",
            ]
        )  # fmt: skip
        price = will.cost(prices)
        once = sum(v for k, v in price.items() if k != "month")
        cost.append(
            [case.name, *(f"{v:,.0f}" for v in (price["cores"], price["puts"], price["gets"], once, price["month"]))]
        )
        limits.append(_limits(case, plan, spec, will, prices))
    facts = [["figure", "value"], *_facts()]
    return {
        name: _markdown(rows) for name, rows in (("facts", facts), ("work", work), ("cost", cost), ("limits", limits))
    }


def _facts() -> list[list[str]]:
    _, spec = continental(None)
    layout = spec.layout
    pixels = sum(math.prod(layout.level_size(k)) for k in range(layout.n_levels))
    return [
        ["cells x months x bands", f"{ROWS * COLS:,} x {MONTHS} x {len(BANDS)}"],
        ["area", f"{ROWS * COLS * (CELL / 100) ** 2 / 1e6:.1f} million km², pixels of 10 m"],
        ["levels", f"{layout.n_levels}"],
        ["pixels, level 0, decoded", f"{math.prod(layout.data_shape(0)) * 2 / 1e12:.1f} TB"],
        ["all levels with coverage, decoded", f"{pixels * MONTHS * (2 * len(BANDS) + 1) / 1e12:.1f} TB"],
        ["scenes of a pixel and month", f"{SCENES}"],
        ["read of Sentinel-2, decoded", f"{reading().nbytes / 1e12:,.0f} TB"],
        ["workers", f"{PROCESSES} x {PROCESS_THREADS} threads, {PROCESS_MEMORY / 2**30:.0f} GiB each"],
    ]


def _limits(case: Case, plan: Plan, spec: StoreSpec, will: Estimate, prices: Prices) -> list[str]:
    p = plan.passes[0]
    slab = max(b - a for a, b in pairwise(p.time_cuts))
    shape = f"{p.row_cuts[1]} x {p.col_cuts[1]} cells x {slab}"
    receipts = will.stages["commit"].bytes_in
    shards = "-" if case.shard_time is None else f"{will.stages['run'].objects / 2 * SHARD_ENTRY_BYTES / 1e6:,.0f}"
    assert will.stages["run"].objects <= DEFAULT_MAX_OBJECTS
    assert will.tasks <= DEFAULT_MAX_TASKS
    assert len(region_arrays(plan.layout, plan.planes, p, Region(0, 0, 0, 0))) == 2 * len(p.levels)
    return [
        case.name, f"{plan.n_regions:,}", f"{shape}, {plan.region_bytes / 2**20:,.0f} MiB", f"{will.tasks:,}",
        f"{will.tasks * prices.speeds.scheduler_ms / 3.6e6:.1f}", f"{receipts / 1e6:,.0f}", shards,
        f"{_handovers(plan):,}", f"{len(json.dumps(plan.to_json())) / 1e3:.0f}",
    ]  # fmt: skip


def _handovers(plan: Plan) -> int:
    """Slabs that get something from the one before."""
    p = plan.passes[0]
    return p.counts[0] * p.counts[1] * sum(1 for s in range(plan.slabs.n) if plan.slabs.handed(s))


def _markdown(rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], f"|{'---|' * len(rows[0])}", *lines[1:]])


def filled(page: str) -> str:
    """The page with its tables as they are reckoned now; each follows a comment with its name, up to an empty line."""
    for name, text in tables().items():
        before, mark, rest = page.partition(f"<!-- {name} -->\n")
        assert mark, name
        page = before + mark + text + "\n" + re.sub(r"\A(?:\|.*\n)*", "", rest)
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

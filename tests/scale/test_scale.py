"""Memory of client and scheduler does not grow with the regions of a run, and the arithmetic of the watch."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import chronozarr_dask as czd
from chronozarr_dask.plan.limits import count_tasks
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.store.journal import PLAN, Journal
from chronozarr_dask.store.target import open_target
from tests.scale.drive import drive
from tests.scale.empty import OPTIONS, empty_cube, regions_of
from tests.scale.plot import plot
from tests.scale.watch import Sample, growth

REGIONS = int(os.environ.get("CZ_SCALE_REGIONS", "10000"))
CLIENT_MIB, SCHEDULER_MIB = 8, 32
"""Dask keeps what it made of the names of the last 100,000 tasks (`key_split`): 2 KB a region up to some 14,000 and no
more. A scheduler that is not told what to forget grows by 18 KB a region: 100 MiB from a fifth of 10,000 to the end."""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> czd.RunReport:
    """40 regions on threads."""
    return czd.encode(empty_cube(40), tmp_path_factory.mktemp("small") / "s", **OPTIONS)


def test_as_many_regions_as_were_asked_for(small: czd.RunReport) -> None:
    assert regions_of(5) == 5 + 3 + 2 + 1
    assert 40 <= small.regions <= 44


def test_nothing_is_stored_but_receipts_and_the_store_is_one(small: czd.RunReport) -> None:
    assert small.objects == 0
    assert len(list((Path(small.journal) / "receipts").rglob("*-*"))) == small.regions
    store = czd.open_store(small.target)
    assert not np.any(store.read(1))
    assert czd.validate(small.target) == []


def test_tasks_are_counted_as_dask_has_them(small: czd.RunReport) -> None:
    """Of each region of a cube that is read by window, against the graph that is made for it."""
    from dask.delayed import Delayed

    from chronozarr_dask.graph.frames import CubeFrames, Unit
    from chronozarr_dask.graph.region import Job, region_receipt
    from chronozarr_dask.options import make_options
    from chronozarr_dask.run.prepare import make_spec, read_cube

    journal, target = (Journal(open_target(small.journal)), open_target(small.target))
    doc = journal.read(PLAN)
    assert doc is not None
    plan, options = Plan.from_json(doc["plan"]), make_options(**OPTIONS)
    cube = read_cube(empty_cube(40), options)
    job = Job(target, journal, make_spec(cube, options), plan, "none", CubeFrames(cube))

    def tasks(graph: Delayed) -> int:
        return len(dict(graph.__dask_graph__()))

    made = sum(tasks(region_receipt(job, r, Unit(f"{i:016x}", lambda p: p))) for i, r in enumerate(plan.regions()))
    assert count_tasks(plan) == made


@pytest.mark.timeout(3600)
def test_client_and_scheduler_do_not_grow(tmp_path: Path) -> None:
    driven = drive(tmp_path, REGIONS)
    assert driven.report.regions >= REGIONS
    assert not driven.report.failures
    assert driven.samples[-1].done == driven.report.regions
    assert len(driven.samples) > 100
    assert growth(driven.samples, "client") < CLIENT_MIB
    assert growth(driven.samples, "scheduler") < SCHEDULER_MIB


# ---- the watch and the plot ----------------------------------------------------------------------------------------


def made_up(slope: float) -> list[Sample]:
    """100 regions: memory climbs to 200 MiB within the first tenth, and by `slope` MiB a region after."""
    return [Sample(n, n / 10, 100.0, 100 + min(10 * n, 100) + slope * n, n / 100) for n in range(101)]


def test_what_a_process_takes_to_begin_with_is_no_growth() -> None:
    assert growth(made_up(0), "scheduler") == 0
    assert growth(made_up(0.5), "scheduler") == 0.5 * 60
    assert growth(made_up(0.5), "client") == 0


def test_the_plot_is_svg_that_names_what_it_shows() -> None:
    text = plot(made_up(0.1))
    root = ElementTree.fromstring(text)
    lines = root.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 3
    for name in ("client, MiB", "scheduler, MiB", "regions a second", "regions done"):
        assert f">{name}<" in text

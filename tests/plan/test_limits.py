"""Objects and tasks that a plan makes, and the refusal of one that makes too many."""

from __future__ import annotations

from typing import Any

import pytest

from chronozarr_dask.errors import PlanError
from chronozarr_dask.format.layout import Layout
from chronozarr_dask.options import DEFAULT_MAX_OBJECTS, DEFAULT_MAX_TASKS
from chronozarr_dask.plan.limits import check_limits, count_tasks
from chronozarr_dask.plan.memory import PixelBytes
from chronozarr_dask.plan.objects import count_objects
from chronozarr_dask.plan.plan import Plan, make_plan, schedule
from chronozarr_dask.plan.shape import Blocks, Budget, Problem, Wish

# 4 x 4 cells, levels of 4 x 4, 2 x 2 and 1 x 1
LAYOUT = Layout(8, 1, 64, 64, 16, 3)


def plan_of(layout: Layout = LAYOUT, planes: Any = (), budget: Budget | None = None, **wish: Any) -> Plan:
    given = Problem(
        layout,
        (schedule(layout.n_time, 6),),
        PixelBytes(2 * layout.n_band, len(planes)),
        Blocks(),
        budget or Budget(2**40, 2, 2),
        Wish(**{"time_slab": layout.n_time, **wish}),
    )
    return make_plan(given, planes, (6,))


def test_tasks_of_one_region_by_hand() -> None:
    """Read, block, declared, level 0; statistics; two means; 4, 2 and 1 rows; receipt."""
    plan = plan_of(edges=(4, 4))
    assert plan.n_regions == 1
    assert count_tasks(plan) == 4 + 1 + 2 + (4 + 2 + 1) + 1


def test_a_plane_has_tasks_of_its_own() -> None:
    plan = plan_of(edges=(4, 4), planes=("coverage",))
    assert count_tasks(plan) == 2 * (4 + 2 + (4 + 2 + 1)) + 1 + 1


def test_tasks_of_a_later_pass() -> None:
    """Four regions of two levels; one that reads level 1: read, block, a mean, one row, receipt."""
    plan = plan_of(edges=(2, 2))
    assert [p.n_regions for p in plan.passes] == [4, 1]
    assert count_tasks(plan) == 4 * (4 + 1 + 1 + (2 + 1) + 1) + (2 + 1 + 1 + 1)


def test_too_many_objects_are_told_with_what_makes_fewer() -> None:
    plan = plan_of()
    n = count_objects(LAYOUT, ())
    assert n == 8 * (16 + 4 + 1)
    check_limits(plan, n, 10**9)
    with pytest.raises(
        PlanError, match=r"up to 168 objects, and max_objects is 167: set shard_time.*chunk_size, now 16"
    ):
        check_limits(plan, n - 1, 10**9)
    sharded = plan_of(Layout(8, 1, 64, 64, 16, 3, 4))
    with pytest.raises(PlanError, match=r"up to 42 objects, .*: raise shard_time"):
        check_limits(sharded, 41, 10**9)


def test_too_many_tasks_are_told_with_what_makes_fewer() -> None:
    plan = plan_of(edges=(2, 2), time_slab=4)
    n = count_tasks(plan)
    check_limits(plan, 10**9, n)
    with pytest.raises(
        PlanError, match=rf"the {plan.n_regions} regions are {n} tasks .* max_tasks is {n - 1}: .* 2 x 2 "
    ):
        check_limits(plan, 10**9, n - 1)


def test_a_continental_store_is_within_the_defaults() -> None:
    """150,000 cells x 120 months of 4 bands: unsharded 24 million objects; larger regions keep the tasks few."""
    layout = Layout(120, 4, 375 * 512, 400 * 512, 512, 10)
    plan = plan_of(layout, budget=Budget(8 * 2**30, 4, 400), time_slab=None)
    assert count_objects(layout, ()) == 24_019_800
    check_limits(plan, DEFAULT_MAX_OBJECTS, DEFAULT_MAX_TASKS)
    assert plan.n_regions < 300_000
    assert 2 * count_tasks(plan) < DEFAULT_MAX_TASKS

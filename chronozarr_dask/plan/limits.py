"""How many objects and tasks a plan makes, and the refusal of one that makes too many: before any work."""

from __future__ import annotations

from chronozarr_dask.errors import PlanError
from chronozarr_dask.format.layout import ceil_div
from chronozarr_dask.plan.objects import count_objects
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.plan.regions import Pass

READ_TASKS, READ_STORED_TASKS = 4, 2
"""Of each array of a region: read, block, look at what was declared, level 0; or read what is stored, block."""
OF_REGION, OF_FIRST_PASS = 1, 1
"""The receipt; in pass 0 the statistics."""


def count_tasks(plan: Plan) -> int:
    """Tasks of all regions, as they are given to Dask; those of staging and sampling are few beside them."""
    return sum(_tasks_of_pass(p, 1 + len(plan.planes)) for p in plan.passes)


def _tasks_of_pass(p: Pass, names: int) -> int:
    first = p.index == 0
    each = OF_REGION + OF_FIRST_PASS * first + names * ((READ_TASKS if first else READ_STORED_TASKS) + p.depth)
    total = p.n_regions * each
    for row in range(p.counts[0]):
        total += p.counts[1] * p.counts[2] * names * sum(_rows(p, row, level) for level in p.levels)
    return total


def _rows(p: Pass, row: int, level: int) -> int:
    """Rows of cells of one array of a level in the regions of a row: a task stores each."""
    step = 1 << (level - p.base)
    return ceil_div(p.row_cuts[row + 1], step) - p.row_cuts[row] // step


def check_limits(plan: Plan, max_objects: int, max_tasks: int) -> None:
    """Raise PlanError where a plan makes more objects or tasks than is allowed, saying what would make fewer."""
    layout = plan.layout
    if (objects := count_objects(layout, plan.planes)) > max_objects:
        shards = "set shard_time, as in 12" if layout.shard_time is None else "raise shard_time"
        raise PlanError(
            f"the store has up to {objects:,} objects, and max_objects is {max_objects:,}: {shards}, so that one "
            f"object holds several timesteps; or raise chunk_size, now {layout.chunk_size}; or raise max_objects"
        )
    if (tasks := count_tasks(plan)) > max_tasks:
        p = plan.passes[0]
        size = f"{p.row_cuts[1]} x {p.col_cuts[1]} cells x {p.time_cuts[1]} timesteps"
        raise PlanError(
            f"the {plan.n_regions:,} regions are {tasks:,} tasks for the scheduler, and max_tasks is {max_tasks:,}: "
            f"make regions larger, now {size}, with region_cells, with time_slab, or with more memory; or raise "
            f"chunk_size, now {layout.chunk_size}; or raise max_tasks"
        )

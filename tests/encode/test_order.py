"""Which region starts when: every region once, never before what it needs."""

from __future__ import annotations

import random

import pytest

from chronozarr_dask.format.layout import Layout
from chronozarr_dask.format.temporal import Encoding
from chronozarr_dask.plan.memory import PixelBytes
from chronozarr_dask.plan.plan import Plan, make_plan, schedule
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.plan.shape import Blocks, Budget, Problem, Wish
from chronozarr_dask.run.order import Order


def make(shard_time: int | None, interval: int, slab: int) -> Plan:
    layout = Layout(19, 1, 80, 48, 8, 5, shard_time)
    problem = Problem(
        layout,
        (schedule(19, interval),),
        PixelBytes(2, 0),
        Blocks(),
        Budget(10**9, 2, 2),
        Wish((2, 2), slab),
    )
    return make_plan(problem, (), (interval,))


@pytest.mark.parametrize("encoding", ["none", "star-delta"])
@pytest.mark.parametrize(
    ("shard_time", "interval", "slab"), [(None, 6, 6), (4, 6, 4), (3, 4, 3), (1, 6, 1), (5, 7, 10)]
)
@pytest.mark.parametrize("seed", range(3))
def test_every_region_starts_once_and_after_what_it_needs(
    encoding: Encoding, shard_time: int | None, interval: int, slab: int, seed: int
) -> None:
    interval = 6 if encoding == "none" else interval
    plan = make(shard_time, interval, slab)
    rng = random.Random(seed)
    everything = list(plan.regions())
    before = {r for r in everything if r.pass_index == 0 and r.slab < 2 and rng.random() < 0.3}
    before = {r for r in before if all(Region(0, r.row, r.col, s) in before for s in range(r.slab))}
    order = Order(plan, encoding, iter([r in before for r in everything]))
    done, running, started = set(before), [], []
    while True:
        while (region := order.next()) is not None:
            running.append(region)
        if not running:
            break
        region = running.pop(rng.randrange(len(running)))
        if region.pass_index:
            assert set(plan.inputs(region, encoding)) <= done
        elif plan.slabs.handed(region.slab):
            assert Region(0, region.row, region.col, region.slab - 1) in done
        done.add(region)
        started.append(region)
        order.finish(region)
    assert len(started) == len(set(started))
    assert done == set(everything)
    assert order.n_left == 0


def test_what_a_later_pass_reads_is_listed_once() -> None:
    plan = make(4, 6, 4)
    for region in plan.regions():
        if region.pass_index:
            inputs = list(plan.inputs(region, "star-delta"))
            assert len(inputs) == len(set(inputs))

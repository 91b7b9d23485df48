"""Regions partition every array: every object of a store is in exactly one region, in every pass, whatever the cuts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronozarr_dask.format.layout import Layout, Window, object_key
from chronozarr_dask.format.planes import PLANES
from chronozarr_dask.format.pyramid import default_levels
from chronozarr_dask.plan.memory import PixelBytes
from chronozarr_dask.plan.objects import count_objects
from chronozarr_dask.plan.plan import Plan, make_plan, runs, schedule, schedule_intervals
from chronozarr_dask.plan.regions import Pass, Region, Slabs
from chronozarr_dask.plan.shape import Blocks, Budget, Problem, Wish

MUCH = Budget(2**40, 2, 2)


def plan_of(
    layout: Layout, wish: Wish | None = None, interval: int = 6, encoding: str = "star-delta", planes: Any = PLANES
) -> Plan:
    """A plan with plenty of memory, cut as wished."""
    intervals = schedule_intervals(encoding, interval)
    schedules = tuple(schedule(layout.n_time, i) for i in intervals)
    problem = Problem(layout, schedules, PixelBytes(2, len(planes)), Blocks(), MUCH, wish or Wish())
    return make_plan(problem, planes, intervals)


def all_keys(layout: Layout, planes: Any = PLANES) -> list[str]:
    """Every chunk or shard object that the store can have, by the shapes of section 2 alone."""
    out = []
    for level in range(layout.n_levels):
        rows, cols = layout.grid(level)
        for name in (layout.variable, *planes):
            for t, r, c in product(range(layout.n_objects_t), range(rows), range(cols)):
                out.append(object_key(level, name, t, r, c, has_band=name == layout.variable))
    return out


def layout(height: int, width: int, cs: int = 2, n_time: int = 3, shard: int | None = None, more: int = 0) -> Layout:
    n_levels = max(default_levels(height, width, cs) + more, 1)
    return Layout(n_time, 1, height, width, cs, n_levels, shard)


def keys(plan: Plan) -> list[str]:
    arrays = [array for region in plan.regions() for array in plan.arrays(region)]
    return list(chain.from_iterable(array.keys() for array in arrays))


# ---- literal ---------------------------------------------------------------------------------------------------------

P0 = Pass(0, 0, 2, (0, 4, 8, 9), (0, 4, 5), (0, 3))
P1 = Pass(1, 2, 2, (0, 2, 3), (0, 2), (0, 3))


def test_the_name_of_a_region_is_its_place():
    assert Region(0, 3, 1, 0).name == "0/3-1-0"
    assert [r.name for r in P1.regions()] == ["1/0-0-0", "1/1-0-0"]
    assert [P0.position(r) for r in P0.regions()] == list(range(P0.n_regions))


def test_a_pass_stores_its_base_only_when_that_is_level_0():
    assert list(P0.levels) == [0, 1, 2]
    assert list(P1.levels) == [3, 4]


def test_the_cells_of_a_region_shrink_from_level_to_level():
    region = Region(0, 2, 1, 0)
    assert [P0.cells(region, k) for k in (0, 1, 2)] == [Window(8, 9, 4, 5), Window(4, 5, 2, 3), Window(2, 3, 1, 2)]
    assert P0.cells(Region(0, 1, 0, 0), 2) == Window(1, 2, 0, 1)


def test_the_pixels_of_a_region_end_with_the_raster():
    of = Layout(3, 1, 67, 35, 8, 5)
    assert P0.pixels(Region(0, 2, 1, 0), of) == Window(64, 67, 32, 35)
    assert P0.pixels(Region(0, 2, 1, 0), of, 1) == Window(32, 34, 16, 18)


def test_which_regions_a_box_of_cells_meets():
    found = P0.covering(Window(0, 2, 0, 1), range(3), 1)
    assert [r.name for r in found] == ["0/0-0-0"]
    found = P0.covering(Window(1, 3, 0, 2), range(3), 2)
    assert [r.name for r in found] == ["0/1-0-0", "0/1-1-0", "0/2-0-0", "0/2-1-0"]


def test_a_region_of_pass_1_reads_what_it_covers():
    whole = plan_of(Layout(3, 1, 18, 10, 2, 5), planes=())
    plan = replace(whole, passes=(P0, P1))
    assert [r.name for r in plan.inputs(Region(1, 1, 0, 0), "none")] == ["0/2-0-0", "0/2-1-0"]


def test_runs_of_timesteps():
    assert list(runs((0, 1, 2, 5, 7, 8))) == [(0, 3), (5, 6), (7, 9)]
    assert list(runs(())) == []


# ---- all sizes -------------------------------------------------------------------------------------------------------

CS = 2


@pytest.mark.parametrize("shard", [None, 2, 5])
@pytest.mark.parametrize("edges", [None, (2, 2), (4, 2), (2, 6)])
def test_every_object_of_every_size_is_in_one_region(edges: tuple[int, int] | None, shard: int | None):
    for height, width in product(range(1, 4 * CS + 2), repeat=2):
        of = layout(height, width, CS, shard=shard)
        plan = plan_of(of, Wish(edges))
        found = keys(plan)
        assert sorted(found) == sorted(all_keys(of))
        assert len(found) == count_objects(of, PLANES) == sum(len(a) for r in plan.regions() for a in plan.arrays(r))


sizes = st.integers(1, 20 * CS + 1)
wishes = st.builds(
    Wish,
    st.none() | st.tuples(st.sampled_from([2, 4, 6, 8]), st.sampled_from([2, 4, 6, 8])),
    st.none() | st.integers(1, 30),
)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Plans of larger rasters: several passes, several slabs."""
    shard = draw(st.none() | st.integers(1, 14))
    of = layout(draw(sizes), draw(sizes), CS, draw(st.integers(1, 30)), shard, draw(st.integers(-2, 2)))
    wish = draw(wishes)
    encoding = draw(st.sampled_from(["none", "star-delta", "auto"]))
    return plan_of(of, wish, draw(st.integers(1, 9)), encoding, draw(st.sampled_from([(), PLANES])))


@settings(max_examples=60)
@given(plans())
def test_every_object_is_in_one_region_in_every_pass(plan: Plan):
    counts = Counter(keys(plan))
    assert set(counts.values()) == {1}
    assert sorted(counts) == sorted(all_keys(plan.layout, plan.planes))


@settings(max_examples=60)
@given(plans())
def test_inner_cuts_are_even_at_every_level_that_the_pass_makes(plan: Plan):
    for p in plan.passes:
        rows, cols = plan.layout.grid(p.base)
        for cuts, end in ((p.row_cuts, rows), (p.col_cuts, cols)):
            assert cuts[-1] == end
            assert all(c % 2**p.depth == 0 for c in cuts[1:-1])
    assert plan.passes[-1].base + plan.passes[-1].depth == plan.layout.n_levels - 1
    assert [p.base + p.depth for p in plan.passes[:-1]] == [p.base for p in plan.passes[1:]]


@settings(max_examples=60)
@given(plans(), st.sampled_from(["none", "star-delta"]))
def test_the_inputs_of_a_region_hold_all_that_it_reads(plan: Plan, encoding: Any):
    for p, before in zip(plan.passes[1:], plan.passes, strict=False):
        for region in p.regions():
            cells = p.cells(region, p.base)
            stored = {
                (t, r, c)
                for source in plan.inputs(region, encoding)
                for t in before.times(source)
                for r in range(before.cells(source, p.base).y0, before.cells(source, p.base).y1)
                for c in range(before.cells(source, p.base).x0, before.cells(source, p.base).x1)
            }
            rows, cols = range(cells.y0, cells.y1), range(cells.x0, cells.x1)
            assert stored >= set(product(plan.present(region, encoding), rows, cols))


@settings(max_examples=60)
@given(plans())
def test_a_plan_survives_json(plan: Plan):
    again = Plan.from_json(plan.to_json())
    assert again == plan
    assert list(again.regions()) == list(plan.regions())


# ---- slabs -----------------------------------------------------------------------------------------------------------


def test_a_slab_of_shards_needs_the_anchor_beyond_its_end():
    """Interval 6, shards of 4: timesteps 4 and 5 refer to 6, and 10 and 11 to 12."""
    slabs = Slabs((0, 4, 8, 12, 14), (schedule(14, 6),))
    assert [slabs.held(s) for s in range(4)] == [(0, 1, 2, 3), (4, 5, 6, 7), (6, 8, 9, 10, 11, 12), (12, 13)]
    assert [slabs.carry(s) for s in range(4)] == [(), (6,), (12,), ()]
    assert [slabs.handed(s) for s in range(4)] == [(), (), (6,), (12,)]
    assert [slabs.reads(s) for s in range(4)] == [(0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11, 12), (13,)]


def test_a_slab_may_have_nothing_left_to_read():
    """Interval 6, shards of 1: slab 4 reads anchor 6 for its own 4, and hands it on to slab 6."""
    slabs = Slabs(tuple(range(11)), (schedule(10, 6),))
    assert slabs.reads(4) == (4, 6)
    assert slabs.reads(6) == ()
    assert slabs.handed(6) == (6,)
    assert slabs.carry(0) == (0,)
    assert slabs.carry(3) == ()


def test_what_is_handed_on_may_pass_through_a_slab_that_has_no_use_for_it():
    slabs = Slabs((0, 1, 2, 3), ((2, 1, 2),))
    assert slabs.held(1) == (1,)
    assert slabs.present(1) == (1, 2)
    assert slabs.carry(1) == (2,)
    assert slabs.reads(2) == ()


@given(st.integers(1, 40), st.integers(1, 13), st.none() | st.integers(1, 13), st.data())
def test_each_timestep_is_read_by_one_slab(n_time: int, interval: int, shard: int | None, data: st.DataObject):
    """Any interval, any shard_time, cuts at any of the places where slabs may end."""
    intervals = schedule_intervals(data.draw(st.sampled_from(["none", "star-delta", "auto"])), interval)
    schedules = tuple(schedule(n_time, i) for i in intervals)
    ends = range(0, n_time, shard or 1)
    cuts = (0, *sorted(data.draw(st.sets(st.sampled_from(ends))) - {0}), n_time)
    slabs = Slabs(cuts, schedules)
    assert sorted(t for s in range(slabs.n) for t in slabs.reads(s)) == list(range(n_time))
    assert [t for s in range(slabs.n) for t in slabs.own(s)] == list(range(n_time))
    for s in range(slabs.n):
        own = set(slabs.own(s))
        needed = own | {refs[t] for refs in schedules for t in own}
        present = set(slabs.present(s))
        assert needed == set(slabs.held(s)) <= present
        assert present == set(slabs.reads(s)) | set(slabs.handed(s))
        assert not set(slabs.reads(s)) & set(slabs.handed(s))
        assert set(slabs.carry(s)) <= present
        assert slabs.handed(s) == (slabs.carry(s - 1) if s else ())
    assert slabs.carry(slabs.n - 1) == ()


# ---- slabs while gaps are carried forward ----------------------------------------------------------------------------


def test_a_slab_that_carries_gaps_is_handed_the_timestep_before_its_own():
    """Interval 6: stars 0..3, 4..9, 10..15."""
    slabs = Slabs((0, 4, 10, 14), (schedule(14, 6),), carries_gaps=True)
    assert [slabs.reads(s) for s in range(3)] == [tuple(range(4)), tuple(range(4, 10)), tuple(range(10, 14))]
    assert [slabs.handed(s) for s in range(3)] == [(), (3,), (9,)]
    assert [slabs.carry(s) for s in range(3)] == [(3,), (9,), ()]


def test_a_slab_of_shards_that_carries_gaps_reads_up_to_the_anchor_beyond_its_end():
    """Interval 6, shards of 4: anchor 6 is filled from 5, and 5 from 4; both wait for the slab that stores them."""
    slabs = Slabs((0, 4, 8, 12, 14), (schedule(14, 6),), carries_gaps=True)
    assert [slabs.held(s) for s in range(4)] == [
        (0, 1, 2, 3), tuple(range(3, 8)), tuple(range(6, 13)), (11, 12, 13),
    ]  # fmt: skip
    assert [slabs.reads(s) for s in range(4)] == [(0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11, 12), (13,)]
    assert [slabs.carry(s) for s in range(4)] == [(3,), (6, 7), (11, 12), ()]


def test_an_anchor_far_beyond_the_end_brings_all_timesteps_up_to_it():
    """Interval 13, shards of 4: timesteps 7 refer to 13."""
    slabs = Slabs((0, 4, 8, 12, 16), (schedule(16, 13),), carries_gaps=True)
    assert slabs.reads(1) == tuple(range(4, 14))
    assert slabs.reads(2) == ()
    assert set(slabs.handed(2)) >= {7, *range(8, 12), 13}
    assert slabs.reads(3) == (14, 15)


@given(st.integers(1, 40), st.integers(1, 14), st.none() | st.integers(1, 13), st.data())
def test_carried_gaps_are_filled_once_and_in_order(n_time: int, interval: int, shard: int | None, data: st.DataObject):
    """Each timestep is read by one slab, right behind the one before it, which is at hand or read there too."""
    intervals = schedule_intervals(data.draw(st.sampled_from(["none", "star-delta", "auto"])), interval)
    schedules = tuple(schedule(n_time, i) for i in intervals)
    ends = range(0, n_time, shard or 1)
    cuts = (0, *sorted(data.draw(st.sets(st.sampled_from(ends))) - {0}), n_time)
    slabs = Slabs(cuts, schedules, carries_gaps=True)
    read = [t for s in range(slabs.n) for t in slabs.reads(s)]
    assert read == list(range(n_time))
    for s in range(slabs.n):
        needed = set(slabs.own(s)) | {refs[t] for refs in schedules for t in slabs.own(s)}
        present = set(slabs.present(s))
        assert needed <= set(slabs.held(s)) <= present
        assert present == set(slabs.reads(s)) | set(slabs.handed(s))
        assert slabs.handed(s) == (slabs.carry(s - 1) if s else ())
        reads = slabs.reads(s)
        if reads:
            assert list(reads) == list(range(reads[0], reads[-1] + 1))
            assert reads[0] == 0 or reads[0] - 1 in slabs.handed(s)

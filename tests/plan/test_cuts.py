"""Where cuts may lie, and the cuts nearest to a wanted size."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.plan.cuts import (
    at_level,
    cell_positions,
    depth_of,
    longest,
    nearest_cuts,
    on_blocks,
    star_starts,
    time_positions,
)
from chronozarr_dask.plan.plan import schedule

positions = st.sets(st.integers(1, 60), min_size=1).map(lambda s: (0, *sorted(s)))


def test_stars_of_interval_6_begin_at_0_4_10_16():
    assert star_starts(schedule(20, 6)) == (0, 4, 10, 16, 20)
    assert star_starts(schedule(4, 1)) == (0, 1, 2, 3, 4)
    assert star_starts(schedule(1, 6)) == (0, 1)


def test_slabs_end_between_stars_or_between_shards():
    assert time_positions(schedule(10, 6), None) == (0, 4, 10)
    assert time_positions(schedule(10, 6), 4) == (0, 4, 8, 10)
    assert time_positions(schedule(10, 6), 13) == (0, 10)


def test_cells_and_blocks():
    assert cell_positions(7, 2) == (0, 2, 4, 6, 7)
    assert cell_positions(1, 1) == (0, 1)
    # 7 cells of 32 pixels, the raster ends at 200; blocks of 64 pixels end at even cells and at the raster's edge
    assert on_blocks((0, 2, 4, 6, 7), (0, 64, 128, 192, 200), 32, 200) == (0, 2, 4, 6, 7)
    assert on_blocks((0, 2, 4, 6, 7), (0, 96, 192, 200), 32, 200) == (0, 6, 7)


def test_each_interval_is_the_longest_that_is_allowed():
    assert nearest_cuts((0, 2, 4, 6, 7), 4) == (0, 4, 7)
    assert nearest_cuts((0, 4, 10, 16, 20), 7) == (0, 4, 10, 16, 20)
    assert nearest_cuts((0, 4, 10, 16, 20), 10) == (0, 10, 20)
    assert nearest_cuts((0, 10, 20), 3) == (0, 10, 20)  # as short as the positions allow
    assert longest((0, 4, 10, 12)) == 6


def test_the_depth_is_the_power_of_two_in_every_inner_cut():
    assert depth_of((0, 4, 8, 9), 9, 5) == 2
    assert depth_of((0, 4, 6, 9), 9, 5) == 1
    assert depth_of((0, 9), 9, 5) == 5  # no inner cut: as deep as the pyramid
    assert depth_of((0, 8, 9), 9, 2) == 2
    assert [at_level(9, k) for k in range(5)] == [9, 5, 3, 2, 1]


@given(positions, st.integers(1, 70))
def test_cuts_are_positions_from_end_to_end(where: tuple[int, ...], target: int):
    cuts = nearest_cuts(where, target)
    assert (cuts[0], cuts[-1]) == (where[0], where[-1])
    assert sorted(set(cuts)) == list(cuts)
    assert set(cuts) <= set(where)
    for a, b in pairwise(cuts):
        within = [p for p in where if a < p <= a + target]
        assert b == (max(within) if within else min(p for p in where if p > a))


@given(st.integers(1, 40), st.integers(1, 9))
def test_no_star_is_cut(n_time: int, interval: int):
    refs = schedule(n_time, interval)
    starts = star_starts(refs)
    for a, b in pairwise(starts):
        assert len(set(refs[a:b])) == 1  # one anchor
        assert a <= refs[a] < b  # and it lies within

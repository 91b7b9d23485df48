"""Staged pieces: blocks cut along regions, each piece for one region, each pixel in one piece."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.layout import Layout, Window
from chronozarr_dask.format.pyramid import default_levels
from chronozarr_dask.plan.memory import PixelBytes
from chronozarr_dask.plan.plan import Plan, make_plan, schedule
from chronozarr_dask.plan.shape import Blocks, Budget, Problem, Wish
from chronozarr_dask.store.staging import StagingMap, meet, read_parts, within, write_block
from tests.store.stores import Memory

CS = 2


def plan_of(n_time: int, height: int, width: int, shard: int | None, wish: Wish) -> Plan:
    layout = Layout(n_time, 1, height, width, CS, default_levels(height, width, CS), shard)
    budget = Budget(2**40, 2, 2)
    return make_plan(Problem(layout, (schedule(n_time, 6),), PixelBytes(2, 0), Blocks(), budget, wish), (), (6,))


def cuts(n: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Boundaries of irregular blocks."""
    return st.sets(st.integers(0, n)).map(lambda s: tuple(sorted(s | {0, n})))


@st.composite
def maps(draw: st.DrawFn) -> StagingMap:
    """A plan of several regions and slabs, and a source of any blocks."""
    n, height, width = draw(st.integers(1, 14)), draw(st.integers(1, 13)), draw(st.integers(1, 13))
    shard = draw(st.none() | st.integers(1, 7))
    plan = plan_of(n, height, width, shard, Wish((2, 4), draw(st.none() | st.integers(1, 7))))
    return StagingMap(Memory(), plan, draw(cuts(n)), draw(cuts(height)), draw(cuts(width)))


def data_of(m: StagingMap) -> np.ndarray[Any, Any]:
    layout = m.plan.layout
    shape = (layout.n_time, 1, layout.height, layout.width)
    return np.arange(np.prod(shape), dtype=np.uint16).reshape(shape)


@settings(max_examples=40)
@given(maps())
def test_what_blocks_are_cut_into_is_what_regions_read(m: StagingMap):
    data, layout = data_of(m), m.plan.layout
    written: list[str] = []
    for i, j, k in product(*(range(len(c) - 1) for c in (m.time_cuts, m.y_cuts, m.x_cuts))):
        (t0, t1), (y0, y1), (x0, x1) = m.time_cuts[i : i + 2], m.y_cuts[j : j + 2], m.x_cuts[k : k + 2]
        parts = list(m.pieces_of_block("data", (i, j, k)))
        written += [p.key for p in parts]
        n = write_block(parts, data[t0:t1, :, y0:y1, x0:x1], list(range(t0, t1)), y0, x0)
        assert n == sum(len(m.objects.get(p.key) or b"") for p in parts)
    assert len(written) == len(set(written))  # no piece is written twice
    read: list[str] = []
    for region in m.plan.passes[0].regions():
        window, times = m.plan.passes[0].pixels(region, layout), m.plan.slabs.reads(region.slab)
        parts = list(m.pieces("data", region))
        read += [p.key for p in parts]
        y, x = window.slices
        found = read_parts(parts, times, window, 1, "<u2")
        assert np.array_equal(found, data[list(times), :, y, x])
    assert sorted(read) == sorted(written)  # each piece for one region


def test_a_part_of_a_piece_may_be_read():
    plan = plan_of(3, 8, 8, None, Wish((4, 4)))
    m = StagingMap(Memory(), plan, (0, 3), (0, 8), (0, 8))
    data = data_of(m)
    (region,) = plan.passes[0].regions()
    parts = list(m.pieces("data", region))
    write_block(parts, data, [0, 1, 2], 0, 0)
    assert np.array_equal(read_parts(parts, (2, 1), Window(1, 3, 4, 8), 1, "<u2"), data[[2, 1], :, 1:3, 4:8])


def test_a_piece_that_is_gone_is_told():
    m = StagingMap(Memory(), plan_of(1, 4, 4, None, Wish()), (0, 1), (0, 4), (0, 4))
    part = next(m.pieces("data", next(m.plan.passes[0].regions())))
    with pytest.raises(StoreError, match=r"memory/staging/0/0-0-0/data/0-0-0 is gone"):
        part.read()


def test_windows():
    a, b = Window(0, 4, 2, 6), Window(2, 8, 0, 3)
    both = meet(a, b)
    assert both == Window(2, 4, 2, 3) == meet(b, a)
    assert within(both, a) == (slice(2, 4), slice(0, 1))
    assert meet(a, Window(4, 5, 2, 6)) is None
    assert meet(a, Window(0, 4, 6, 7)) is None


def test_blocks_that_are_longer_than_a_slab_are_cut_along_it():
    m = StagingMap(Memory(), plan_of(10, 2, 2, 4, Wish(time_slab=4)), (0, 10), (0, 2), (0, 2))
    times = [p.times for p in m.pieces_of_block("data", (0, 0, 0))]
    assert times == [tuple(m.plan.slabs.reads(s)) for s in range(3)]
    assert all(a[-1] < b[0] for a, b in pairwise(times))

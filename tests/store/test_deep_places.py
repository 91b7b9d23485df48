"""The cut of a store into places, and the sample."""

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.layout import Layout
from chronozarr_dask.format.pyramid import default_levels
from chronozarr_dask.store.deep import places as module
from chronozarr_dask.store.deep.places import check_sample, chosen, count_places, is_looked_at, places, run_length

CHUNK = module.RUN_BYTES // 5 // 3
"""Bytes of a chunk of which three timesteps are a run."""


def layout(height: int, width: int, n_time: int = 4, levels: int | None = None) -> Layout:
    return Layout(n_time, 1, height, width, 2, levels or default_levels(height, width, 2))


def test_four_cells_below_one_and_a_run_of_timesteps() -> None:
    """3 x 2 cells of level 0 make 2 x 1 of level 1 and one of level 2; 4 timesteps are cut after 3."""
    small = layout(6, 4)
    assert run_length(CHUNK) == 3
    found = [(p.number, p.level, p.row, p.col, p.times, p.own) for p in places(small, CHUNK)]
    assert found == [
        (0, 0, 0, 0, range(3), False),
        (1, 0, 0, 0, range(3, 4), False),
        (2, 0, 1, 0, range(3), False),
        (3, 0, 1, 0, range(3, 4), False),
        (4, 1, 0, 0, range(3), True),
        (5, 1, 0, 0, range(3, 4), True),
    ]
    assert [p.cells(small) for p in places(small, CHUNK)][1:4:2] == [[(0, 0), (0, 1), (1, 0), (1, 1)], [(2, 0), (2, 1)]]


def test_a_store_of_one_level_has_places_with_nothing_above() -> None:
    one = layout(6, 4, levels=1)
    assert [(p.row, p.col, p.above, p.own) for p in places(one, 1)] == [(0, 0, False, False), (1, 0, False, False)]


def test_a_chunk_larger_than_a_run_is_one_timestep() -> None:
    assert run_length(10 * module.RUN_BYTES) == 1


layouts = st.builds(layout, st.integers(1, 40), st.integers(1, 40), st.integers(1, 7), st.none() | st.integers(1, 4))
samples = st.none() | st.floats(0.01, 1)


@given(layouts, samples)
def test_every_chunk_that_is_looked_at_is_checked_by_itself_once(of: Layout, sample: float | None) -> None:
    checked = []
    every = list(places(of, CHUNK, sample))
    for p in every:
        checked += [(p.level, *cell, t) for cell in p.cells(of) for t in p.times]
        if p.own:
            checked += [(p.level + 1, p.row, p.col, t) for t in p.times]
    expected = {
        (k, r, c, t)
        for k in range(of.n_levels)
        for r, c in product(*map(range, of.grid(k)))
        for t in range(of.n_time)
        if is_looked_at(of, sample, k, r, c)
    }
    assert len(checked) == len(set(checked))
    assert set(checked) == expected
    assert [p.number for p in every] == list(range(count_places(of, CHUNK, sample)))


@given(layouts, st.floats(0.01, 1))
def test_a_sample_is_a_fraction_of_level_0_and_above_what_rests_on_it(of: Layout, sample: float) -> None:
    rows, cols = (-(-n // 2) for n in of.grid(0))
    first, *above = chosen(of, sample)
    assert len(first) == math.ceil(sample * (rows * cols))
    for level, (below, cells) in enumerate(zip((first, *above), above, strict=False), 1):
        grid = of.grid(level)
        for r, c in product(*(range(-(-n // 2)) for n in grid)):
            children = [(y, x) for y in (2 * r, 2 * r + 1) for x in (2 * c, 2 * c + 1) if y < grid[0] and x < grid[1]]
            assert ((r, c) in cells) == all(child in below for child in children)


def test_the_whole_is_a_sample_too() -> None:
    of = layout(30, 22)
    assert list(places(of, CHUNK, 1.0)) == list(places(of, CHUNK))


def test_a_larger_sample_holds_the_smaller_one() -> None:
    of = layout(64, 64)
    assert chosen(of, 0.1)[0] < chosen(of, 0.3)[0]


@pytest.mark.parametrize("sample", [0, -1, 1.01, float("nan"), float("inf")])
def test_no_fraction(sample: float) -> None:
    with pytest.raises(InputError, match="fraction"):
        check_sample(sample)

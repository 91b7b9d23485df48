"""The shape of regions: whole blocks of the source within the memory, else staged; and what no cut makes fit."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronozarr_dask.errors import PlanError
from chronozarr_dask.format.layout import Layout
from chronozarr_dask.plan.cuts import longest
from chronozarr_dask.plan.memory import MIB, PixelBytes
from chronozarr_dask.plan.plan import schedule
from chronozarr_dask.plan.regions import Slabs
from chronozarr_dask.plan.shape import (
    MANY_REGIONS,
    WANTED_BYTES,
    Blocks,
    Budget,
    Problem,
    Shape,
    Wish,
    check_wish,
    choose_shape,
)

CS = 32
LAYOUT = Layout(24, 1, 16 * CS, 16 * CS, CS, 5)  # a cell of all timesteps: 48 KiB of uint16
AMPLE = Budget(1024 * MIB, 2, 2)


def every(step: int, end: int) -> tuple[int, ...]:
    return (*range(0, end, step), end)


WHOLE_T, WHOLE = (0, 24), (0, 16 * CS)
MAPS = Blocks(every(1, 24), WHOLE, WHOLE, opaque=True)
SERIES = Blocks(WHOLE_T, every(2 * CS, 16 * CS), every(2 * CS, 16 * CS), opaque=True)
CELLS = Blocks(every(1, 24), every(CS, 16 * CS), every(CS, 16 * CS), opaque=True)
STRIPS = Blocks(every(1, 24), every(4 * CS, 16 * CS), WHOLE, opaque=True)
CROOKED = Blocks(every(5, 24), every(50, 16 * CS), every(50, 16 * CS), opaque=True)
FILE = Blocks(every(1, 24), every(CS, 16 * CS), every(CS, 16 * CS))


ANYWHERE, NOTHING = Blocks(), Wish()


def problem(blocks: Blocks = ANYWHERE, budget: Budget = AMPLE, wish: Wish = NOTHING, **layout: Any) -> Problem:
    of = replace(LAYOUT, **layout)
    return Problem(of, (schedule(of.n_time, 6),), PixelBytes(2, 0), blocks, budget, wish)


def reads_whole_blocks(p: Problem, shape: Shape) -> bool:
    """By looking at every pixel position of every block: is each block read by one region?"""
    cs, layout = p.layout.chunk_size, p.layout
    slabs = Slabs(shape.time_cuts, p.schedules)
    slab_of = {t: s for s in range(slabs.n) for t in slabs.reads(s)}
    for boundaries, cuts, size in (
        (p.blocks.y, shape.row_cuts, layout.height),
        (p.blocks.x, shape.col_cuts, layout.width),
    ):
        pixel_cuts = {min(c * cs, size) for c in cuts}
        if boundaries is not None and not pixel_cuts <= set(boundaries):
            return False
    spans = zip(p.blocks.time or (), (p.blocks.time or ())[1:], strict=False)
    return all(len({slab_of[t] for t in range(a, b)}) == 1 for a, b in spans)


# ---- what fits -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "blocks"),
    [("maps", MAPS), ("series", SERIES), ("cells", CELLS), ("strips", STRIPS), ("anything", Blocks())],
)
def test_blocks_that_fit_a_region_are_read_whole_and_not_staged(name: str, blocks: Blocks):
    p = problem(blocks)
    shape = choose_shape(p)
    assert not shape.staged
    assert reads_whole_blocks(p, shape)


def test_whole_maps_are_cut_along_time_alone():
    shape = choose_shape(problem(MAPS, Budget(16 * MIB, 2, 2)))
    assert (shape.row_cuts, shape.col_cuts) == ((0, 16), (0, 16))
    assert shape.time_cuts == (0, 10, 16, 24)  # whole stars


def test_whole_series_and_cells_keep_the_time_axis_whole():
    for blocks in (SERIES, CELLS):
        shape = choose_shape(problem(blocks))
        assert shape.time_cuts == (0, 24)
        assert shape.n_places > 1


def test_there_are_several_regions_for_every_thread():
    few, many = (choose_shape(problem(budget=Budget(1024 * MIB, n, n))).n_places for n in (1, 16))
    assert 4 <= few < many == 64


def test_a_region_takes_more_than_is_usual_only_where_there_would_be_too_many():
    """256 MiB up to 26 TB; of 80 TB as much as makes a hundred thousand regions, where the memory allows it."""
    ample = Budget(8 * 2**30, 4, 400)
    assert ample.wanted(WANTED_BYTES * MANY_REGIONS) == WANTED_BYTES
    assert ample.wanted(3 * WANTED_BYTES * MANY_REGIONS) == 3 * WANTED_BYTES
    assert ample.in_flight(3 * WANTED_BYTES, 3 * WANTED_BYTES * MANY_REGIONS) == 4
    assert Budget(2 * 2**30, 4, 400).wanted(3 * WANTED_BYTES * MANY_REGIONS) == 512 * MIB


def test_blocks_that_fit_no_region_are_staged():
    p = problem(CROOKED)
    shape = choose_shape(replace(p, budget=Budget(3 * MIB, 2, 2)))
    assert shape.staged
    assert shape.n_places > 1


def test_a_chain_of_slabs_with_fewer_places_than_threads_is_staged():
    """Sharded slabs of one place wait for each other: whole maps would leave seven of eight threads idle."""
    blocks = replace(MAPS, time=every(1, 24))
    chained = choose_shape(problem(blocks, Budget(16 * MIB, 8, 8), shard_time=4))
    assert chained.staged
    assert chained.n_places >= 8
    unsharded = choose_shape(problem(blocks, Budget(16 * MIB, 8, 8)))
    assert not unsharded.staged  # whole stars need nothing of each other


def test_a_block_that_two_slabs_would_read_is_staged():
    """Shards and blocks of 4 timesteps, interval 6: shard 2 needs anchor 12 out of the block of shard 3."""
    fours = replace(MAPS, time=every(4, 24))
    shape = choose_shape(problem(fours, wish=Wish(time_slab=4), shard_time=4))
    assert shape.staged
    shape = choose_shape(problem(MAPS, wish=Wish(time_slab=4), shard_time=4))  # 12 is a block of its own
    assert not shape.staged


def test_what_is_read_by_window_is_never_staged():
    for blocks in (FILE, replace(CROOKED, opaque=False)):
        assert not choose_shape(problem(blocks, Budget(2 * MIB, 2, 2))).staged


def test_slabs_of_a_sharded_store_end_between_shards():
    shape = choose_shape(problem(budget=Budget(12 * MIB, 2, 2), shard_time=5, wish=Wish((16, 16))))
    assert len(shape.time_cuts) > 2
    assert all(t % 5 == 0 for t in shape.time_cuts[:-1])


@settings(max_examples=60)
@given(
    st.sampled_from([MAPS, SERIES, CELLS, STRIPS, CROOKED, FILE, Blocks()]),
    st.integers(1, 64),
    st.integers(1, 4),
    st.none() | st.integers(1, 30),
    st.none() | st.sampled_from([(2, 2), (4, 8), (16, 16)]),
    st.none() | st.integers(1, 30),
)
def test_what_is_chosen_fits_and_reads_each_block_once(
    blocks: Blocks, mib: int, threads: int, shard: int | None, edges: tuple[int, int] | None, slab: int | None
):
    p = problem(blocks, Budget(mib * MIB, threads, threads), Wish(edges, slab), shard_time=shard)
    try:
        shape = choose_shape(p)
    except PlanError:
        return
    assert p.bytes_of(shape) <= p.budget.memory
    assert shape.staged or not blocks.opaque or reads_whole_blocks(p, shape)
    assert not shape.staged or blocks.opaque
    assert all(c % 2 == 0 for cuts in (shape.row_cuts, shape.col_cuts) for c in cuts[:-1])
    assert (shape.row_cuts[-1], shape.col_cuts[-1], shape.time_cuts[-1]) == (16, 16, 24)


# ---- what was wished for ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("blocks", [Blocks(), FILE, CELLS])
@pytest.mark.parametrize("edges", [(2, 2), (4, 8), (16, 2)])
def test_the_edges_that_were_named_are_taken(blocks: Blocks, edges: tuple[int, int]):
    shape = choose_shape(problem(blocks, wish=Wish(edges)))
    assert not shape.staged
    assert shape.edges == edges


def test_edges_that_the_blocks_forbid_are_taken_on_a_staged_source():
    shape = choose_shape(problem(MAPS, wish=Wish((2, 2))))
    assert shape.staged
    assert shape.edges == (2, 2)


def test_a_slab_that_was_named_is_the_longest_that_is_allowed():
    assert choose_shape(problem(wish=Wish(time_slab=10))).time_cuts == (0, 10, 16, 24)
    assert choose_shape(problem(wish=Wish(time_slab=1))).time_cuts == (0, 4, 10, 16, 24)  # no star is cut
    assert choose_shape(problem(wish=Wish(time_slab=10), shard_time=4)).time_cuts == (0, 8, 16, 24)
    assert longest(choose_shape(problem(wish=Wish(time_slab=99))).time_cuts) == 24


# ---- what does not fit -----------------------------------------------------------------------------------------------


def test_a_region_that_no_cut_makes_fit_names_both_numbers_and_the_option():
    p = problem(budget=Budget(MIB // 8, 2, 2), shard_time=24)
    with pytest.raises(PlanError) as caught:
        choose_shape(p)
    text = str(caught.value)
    for part in ("2 x 2 cells x 24 timesteps", "128.0 KiB", "memory", "shard_time"):
        assert part in text
    assert re.search(r"raise memory to \d+MiB", text)


def test_what_the_error_asks_for_is_enough():
    p = problem(budget=Budget(MIB // 8, 2, 2), shard_time=24)
    with pytest.raises(PlanError):
        choose_shape(p)
    choose_shape(replace(p, budget=Budget(MIB, 2, 2)))


def test_a_slab_shorter_than_a_shard_names_both():
    with pytest.raises(PlanError, match=r"time_slab is 4.*shard of 12 timesteps.*time_slab to at least 12"):
        check_wish(Wish(time_slab=4), replace(LAYOUT, shard_time=12))
    check_wish(Wish(time_slab=4), replace(LAYOUT, n_time=3, shard_time=12))  # the one shard has 3 timesteps
    check_wish(Wish(time_slab=4), LAYOUT)


def whole_maps(n_time: int, height: int) -> Problem:
    """Blocks of one timestep x 2048 rows x the full width, four bands of uint16, in a process of 8 GiB."""
    layout = Layout(n_time, 4, height, 5120, 512, 5)
    rows = (*range(0, height, 2048), height)
    blocks = Blocks(tuple(range(n_time + 1)), rows, (0, 5120), opaque=True)
    return Problem(layout, (schedule(n_time, 6),), PixelBytes(8, 0), blocks, Budget(8 * 2**30, 2, 2))


@pytest.mark.parametrize(("n_time", "height"), [(24, 2048), (96, 2048), (24, 8192)])
def test_regions_that_blocks_force_to_be_far_too_large_are_staged(n_time: int, height: int):
    p = whole_maps(n_time, height)
    shape = choose_shape(p)
    assert shape.staged
    assert p.bytes_of(shape) <= WANTED_BYTES


def test_large_regions_that_are_named_or_small_enough_are_not_staged():
    assert not choose_shape(whole_maps(24, 512)).staged
    named = replace(whole_maps(24, 2048), wish=Wish(time_slab=6))
    assert not choose_shape(named).staged


def test_a_region_that_was_named_and_does_not_fit_is_told_with_its_name():
    for wish, told in ((Wish((16, 16)), "set region_cells, chunk"), (Wish(time_slab=24), "set time_slab, chunk")):
        with pytest.raises(PlanError, match=told):
            choose_shape(problem(FILE, Budget(MIB // 4, 2, 2), wish))

"""Section 14: what an append adds and what stays."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.append import (
    check_after,
    grow_temporal,
    grow_volatility,
    rewritten_shard,
    volatility_references,
    written_objects_t,
)
from chronozarr_dask.format.temporal import Temporal, references
from chronozarr_dask.format.volatility import change_sum, volatility
from tests.format import slow
from tests.format.strategies import intervals, values

batches = st.lists(st.integers(1, 12), min_size=1, max_size=5)


def grow(counts: list[int], interval: int) -> Temporal:
    temporal, n = Temporal.star_delta(counts[0], interval), counts[0]
    for count in counts[1:]:
        temporal, n = grow_temporal(temporal, n, count), n + count
    return temporal


# ---- references ----------------------------------------------------------------------------------------------------


def test_a_recorded_reference_stays() -> None:
    """Case 19: with 5 timesteps 4 refers to 0, and goes on to do so; a fresh encode of 10 would have 4 -> 6."""
    assert Temporal.star_delta(5, 6).reference(4) == 0
    temporal = grow_temporal(Temporal.star_delta(5, 6), 5, 5)
    assert temporal.anchor_indices == (0, 6)
    assert temporal.delta_reference == {1: 0, 2: 0, 3: 0, 4: 0, 5: 6, 7: 6, 8: 6, 9: 6}
    assert references(10, 6)[4] == 6, "what a fresh encode would record"


def test_new_timesteps_refer_to_anchors_of_their_own_batch() -> None:
    temporal = grow_temporal(Temporal.star_delta(4, 6), 4, 4)
    assert temporal.delta_reference == {1: 0, 2: 0, 3: 0, 4: 6, 5: 6, 7: 6}


def test_one_timestep_at_a_time_refers_back_until_the_next_anchor() -> None:
    temporal = grow([1] * 8, 6)
    assert temporal.delta_reference == {1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 7: 6}
    assert temporal.anchor_indices == (0, 6)


def test_a_none_store_has_nothing_to_grow() -> None:
    selection = {"mode": "auto", "sampled_cells": 3, "ratio": 0.9}
    assert grow_temporal(Temporal.none(selection), 4, 2) == Temporal.none(selection)


def test_selection_stays_as_recorded() -> None:
    selection = {"mode": "auto", "sampled_cells": 3, "ratio": 0.5}
    assert grow_temporal(Temporal.star_delta(4, 6, selection), 4, 2).selection == selection


@given(batches, intervals)
def test_a_grown_block_is_valid_and_keeps_what_was_recorded(counts: list[int], interval: int) -> None:
    temporal = grow(counts, interval)
    n = sum(counts)
    temporal.check(n)
    assert list(temporal.anchor_indices) == list(range(0, n, interval))
    for i in range(1, len(counts)):
        before = grow(counts[:i], interval)
        assert before.delta_reference.items() <= temporal.delta_reference.items()
        assert temporal.anchor_indices[: len(before.anchor_indices)] == before.anchor_indices


@given(batches, intervals)
def test_a_new_timestep_takes_the_nearest_anchor_that_exists_after_its_append(counts: list[int], interval: int) -> None:
    temporal = grow(counts, interval)
    for start, end in pairwise([0, *accumulate(counts)]):
        anchors = list(range(0, end, interval))
        for t in range(start, end):
            assert temporal.reference(t) == slow.nearest_anchor(t, anchors)


# ---- volatility ----------------------------------------------------------------------------------------------------


@given(batches, intervals)
def test_volatility_of_star_delta_follows_the_recorded_references(counts: list[int], interval: int) -> None:
    temporal = grow(counts, interval)
    assert volatility_references(temporal, counts) == [temporal.reference(t) for t in range(sum(counts))]


@given(batches)
def test_volatility_of_none_follows_interval_6_at_every_append(counts: list[int]) -> None:
    """Case 20: the references that a star-delta store of interval 6 would have recorded."""
    nominal = grow(counts, 6)
    assert volatility_references(Temporal.none(), counts) == [nominal.reference(t) for t in range(sum(counts))]


@given(batches, st.sampled_from(["uint8", "uint16", "float32"]), st.booleans(), st.data())
def test_volatility_after_appends_equals_the_definition(
    counts: list[int], dtype: str, star: bool, data: st.DataObject
) -> None:
    """Case 20: joining each batch's changes to the stored mean gives section 5 over the recorded references."""
    element = st.floats(0, 16384, width=32) if dtype == "float32" else values(dtype)
    shape = (sum(counts), 1, 2, 2)
    cube: Any = data.draw(hnp.arrays(dtype, shape, elements=element)).clip(0, 9999)  # no clipped mean in between
    refs = volatility_references(grow(counts, 4) if star else Temporal.none(), counts)

    def sums(start: int, end: int) -> list[int | float]:
        return [change_sum(cube[t], cube[refs[t]]) for t in range(start, end) if refs[t] != t]

    first = sums(0, counts[0])
    n_values = len(first) * 4
    value = volatility(first, n_values)
    for start, end in pairwise(accumulate(counts)):
        added = sums(start, end)
        value = grow_volatility(value, n_values, sum(added), len(added) * 4)
        n_values += len(added) * 4
    assert value == pytest.approx(slow.volatility(cube, refs), rel=1e-5, abs=1e-9)


# ---- objects -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_old", "n_new", "shard_time", "written", "rewritten"),
    [
        (5, 2, None, [5, 6], None),
        (5, 2, 4, [1], 1),
        (5, 4, 4, [1, 2], 1),
        (4, 1, 4, [1], None),
        (4, 1, 12, [0], 0),
        (12, 13, 12, [1, 2], None),
    ],
)
def test_objects_that_gain_data_are_written(
    n_old: int, n_new: int, shard_time: int | None, written: list[int], rewritten: int | None
) -> None:
    assert list(written_objects_t(n_old, n_new, shard_time)) == written
    assert rewritten_shard(n_old, shard_time or 1) == rewritten


@given(st.integers(1, 40), st.integers(1, 40), st.none() | st.integers(1, 50))
def test_objects_without_a_new_timestep_are_not_written(n_old: int, n_new: int, shard_time: int | None) -> None:
    step = shard_time or 1
    assert set(written_objects_t(n_old, n_new, shard_time)) == {t // step for t in range(n_old, n_old + n_new)}
    old = {t // step for t in range(n_old)}
    again = old & set(written_objects_t(n_old, n_new, shard_time))
    assert again == (set() if rewritten_shard(n_old, step) is None else {rewritten_shard(n_old, step)})


def test_new_timesteps_are_after_the_last() -> None:
    check_after([0, 1000], [1001])
    check_after([0, 1000], [])
    for first in (1000, 999):
        with pytest.raises(InputError, match=r"the store ends at 1970-01-01T00:00:01Z"):
            check_after([0, 1000], [first, 2000])


def test_stored_volatility_of_1_joins_as_1() -> None:
    assert grow_volatility(np.float32(1), 1, 0, 1) == np.float32(0.5)

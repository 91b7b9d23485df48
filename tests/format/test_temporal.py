"""Section 4: anchors, references, residuals, and the choice between the encodings."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.errors import InputError, StoreError
from chronozarr_dask.format.sharding import shard_of
from chronozarr_dask.format.temporal import (
    DEFAULT_ANCHOR_INTERVAL,
    NOMINAL_ANCHOR_INTERVAL,
    Selection,
    Temporal,
    anchors,
    check_interval,
    nearest_anchor,
    references,
    residual,
    restore,
)
from tests.format import example, slow
from tests.format.strategies import intervals, temporals

n_times = st.integers(1, 60)


# ---- 4.1 the temporal block ----------------------------------------------------------------------------------------


def test_block_of_the_example() -> None:
    block = example.CHRONOZARR["temporal"]
    assert Temporal.star_delta(5, 2).to_json() == block
    assert Temporal.from_json(block, 5) == Temporal.star_delta(5, 2)


def test_none_names_no_schedule() -> None:
    assert Temporal.none().to_json() == {"encoding": "none"}


def test_interval_1_makes_every_timestep_an_anchor() -> None:
    block = Temporal.star_delta(3, 1).to_json()
    assert block == {"encoding": "star-delta", "anchor_interval": 1, "anchor_indices": [0, 1, 2], "delta_reference": {}}


def test_default_intervals_are_6() -> None:
    assert (DEFAULT_ANCHOR_INTERVAL, NOMINAL_ANCHOR_INTERVAL) == (6, 6)


def test_interval_below_1_is_refused() -> None:
    with pytest.raises(InputError, match="anchor_interval is 0"):
        check_interval(0)


GOOD = {"encoding": "star-delta", "anchor_interval": 2, "anchor_indices": [0, 2], "delta_reference": {"1": 0}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"encoding": "chain"}, "encoding is 'chain'"),
        ({"encoding": None}, "encoding is None"),
        ({"anchor_interval": 0}, "anchor_interval"),
        ({"anchor_interval": 2.0}, "anchor_interval"),
        ({"anchor_interval": True}, "anchor_interval"),
        ({"anchor_indices": None}, "needs anchor_indices"),
        ({"anchor_indices": [0, "2"]}, "anchor_indices has '2'"),
        ({"anchor_indices": [0, 2, 4]}, "there are 3 timesteps"),
        ({"anchor_indices": [0, 1, 2]}, "timestep 1 must be either"),
        ({"delta_reference": {}}, "timestep 1 must be either"),
        ({"delta_reference": [0]}, "delta_reference"),
        ({"delta_reference": {"01": 0}}, "key '01'"),
        ({"delta_reference": {"-1": 0}}, "key '-1'"),
        ({"delta_reference": {"1": "0"}}, "delta_reference has '0'"),
        ({"delta_reference": {"1": 0, "3": 2}}, "maps 3 to 2"),
        ({"delta_reference": {"1": 1}}, "maps 1 to 1"),
        ({"anchor_indices": [0], "delta_reference": {"1": 0, "2": 0}}, "maps 2 to 0"),
        ({"anchor_indices": [0], "delta_reference": {"1": 0, "2": 1}}, "maps 2 to 1"),
        ({"selection": "auto"}, "selection"),
    ],
)
def test_block_that_cannot_be_decoded_is_named(change: dict[str, Any], message: str) -> None:
    assert Temporal.from_json(GOOD, 3).reference(1) == 0
    with pytest.raises(StoreError, match=message):
        Temporal.from_json(GOOD | change, 3)


def test_block_must_be_an_object() -> None:
    with pytest.raises(StoreError, match="temporal is missing"):
        Temporal.from_json(None, 3)


@given(n_times.flatmap(lambda n: st.tuples(st.just(n), temporals(n))))
def test_blocks_round_trip_through_json(case: tuple[int, Temporal]) -> None:
    n_time, temporal = case
    assert Temporal.from_json(json.loads(json.dumps(temporal.to_json())), n_time) == temporal


# ---- 4.2 the schedule ----------------------------------------------------------------------------------------------


def test_schedule_of_10_timesteps_with_interval_6() -> None:
    """Case 19: 3 -> 0 by the tie, 4 -> 6, 9 -> 6."""
    assert anchors(10, 6) == [0, 6]
    assert references(10, 6).tolist() == [0, 0, 0, 0, 6, 6, 6, 6, 6, 6]


def test_timesteps_after_the_last_anchor_refer_back() -> None:
    """Without anchor 6 below n_time, 4 and 5 have only 0."""
    assert references(6, 6).tolist() == [0] * 6


def test_shards_and_stars_end_at_different_timesteps() -> None:
    """Case 23: shard_time 3, interval 4: timestep 2 is in shard 0; timestep 3 refers to anchor 4 in shard 1."""
    temporal = Temporal.star_delta(8, 4)
    assert (temporal.reference(2), temporal.reference(3)) == (0, 4)
    assert [shard_of(t, 3) for t in (2, 3, 4)] == [(0, 2), (1, 0), (1, 1)]
    assert shard_of(temporal.reference(7), 3) == (1, 1)
    assert shard_of(7, 3) == (2, 1), "timestep 7 refers to an anchor in another shard"


@given(n_times, intervals)
def test_references_equal_a_search_over_all_anchors(n_time: int, interval: int) -> None:
    listed = [a for a in range(n_time) if a % interval == 0]
    assert anchors(n_time, interval) == listed
    expected = [slow.nearest_anchor(t, listed) for t in range(n_time)]
    assert references(n_time, interval).tolist() == expected
    assert [nearest_anchor(t, n_time, interval) for t in range(n_time)] == expected


@given(n_times, intervals)
def test_every_reference_is_an_anchor_nearer_than_the_interval(n_time: int, interval: int) -> None:
    temporal = Temporal.star_delta(n_time, interval)
    temporal.check(n_time)
    for t in range(n_time):
        a = temporal.reference(t)
        assert a in temporal.anchor_indices
        assert (t == a) == (t in temporal.anchor_indices)
        assert t == a or 0 < abs(t - a) < interval


@given(n_times, intervals)
def test_stars_partition_time_into_contiguous_runs(n_time: int, interval: int) -> None:
    refs = references(n_time, interval).tolist()
    starts = [t for t in range(n_time) if t == 0 or refs[t] != refs[t - 1]]
    runs = [range(a, b) for a, b in pairwise([*starts, n_time])]
    assert [t for run in runs for t in run] == list(range(n_time))
    assert len(runs) == len(set(refs)), "a star in two pieces"
    assert all(refs[run[0]] in run for run in runs), "a star without its anchor"


def test_stars_of_interval_6() -> None:
    refs = references(18, 6).tolist()
    assert [t for t in range(1, 18) if refs[t] != refs[t - 1]] == [4, 10]


# ---- 4.2 residuals -------------------------------------------------------------------------------------------------


def test_residual_wraps_around() -> None:
    source, anchor = np.array([3, 0, 65535], np.uint16), np.array([5, 1, 0], np.uint16)
    assert residual(source, anchor).tolist() == [65534, 65535, 65535]
    assert restore(np.array([255], np.uint8), np.array([3], np.uint8)).tolist() == [2]


def test_nodata_is_restored_like_any_other_value() -> None:
    source, anchor = np.array([0], np.uint16), np.array([1200], np.uint16)
    stored = residual(source, anchor)
    assert stored.tolist() == [65536 - 1200]
    assert restore(stored, anchor).tolist() == [0]


def test_absent_chunk_of_a_delta_is_a_residual_of_fill_not_nodata() -> None:
    """Case 18: with fill 0 the timestep equals its anchor; with fill 7 it is the anchor plus 7."""
    anchor = np.array([1200, 65535], np.uint16)
    assert restore(np.full(2, 0, np.uint16), anchor).tolist() == [1200, 65535]
    assert restore(np.full(2, 7, np.uint16), anchor).tolist() == [1207, 6]


def test_a_delta_of_nodata_alone_is_not_stored_as_fill() -> None:
    """Case 18: every pixel of the timestep is nodata, its stored bytes are not."""
    nodata = np.zeros(4, np.uint16)
    assert residual(nodata, np.full(4, 1200, np.uint16)).any()


def test_residual_and_restore_are_inverse_for_every_pair_of_uint8() -> None:
    source, anchor = (a.astype(np.uint8) for a in np.meshgrid(np.arange(256), np.arange(256)))
    stored = residual(source, anchor)
    assert stored.dtype == np.uint8
    np.testing.assert_array_equal(stored, (source.astype(int) - anchor) % 256)
    np.testing.assert_array_equal(restore(stored, anchor), source)


@given(st.sampled_from([0, 1, 32767, 32768, 65535]) | st.integers(0, 65535))
def test_residual_and_restore_are_inverse_for_every_uint16(anchor: int) -> None:
    source = np.arange(65536).astype(np.uint16)
    against = np.full_like(source, anchor)
    stored = residual(source, against)
    assert stored.dtype == np.uint16
    np.testing.assert_array_equal(stored, (source.astype(int) - anchor) % 65536)
    np.testing.assert_array_equal(restore(stored, against), source)


@given(st.integers(0, 65535), st.integers(-32767, 32767))
def test_small_residuals_have_the_bits_of_v0_1(anchor: int, change: int) -> None:
    """What fits in int16 is stored as its two's complement, as v0.1 did."""
    source = min(max(anchor + change, 0), 65535)
    stored = residual(np.array([source], np.uint16), np.array([anchor], np.uint16))
    assert stored.view(np.int16).item() == source - anchor


@given(n_times, intervals, st.sampled_from([np.uint8, np.uint16]), st.integers(0, 2**32 - 1))
def test_a_timestep_decodes_through_at_most_two_chunks(n_time: int, interval: int, dtype: Any, seed: int) -> None:
    """Encode by the schedule, decode by the recorded map: the input, exactly."""
    source = np.random.default_rng(seed).integers(0, np.iinfo(dtype).max, (n_time, 3), dtype=dtype, endpoint=True)
    refs = references(n_time, interval)
    stored = [source[t] if refs[t] == t else residual(source[t], source[refs[t]]) for t in range(n_time)]
    block = json.loads(json.dumps(Temporal.star_delta(n_time, interval).to_json()))
    for t in range(n_time):
        anchor = block["delta_reference"].get(str(t))
        got = stored[t] if t in block["anchor_indices"] else restore(stored[t], stored[anchor])
        np.testing.assert_array_equal(got, source[t])


# ---- 4.3 selection -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("star", "plain", "encoding", "ratio"),
    [
        (850, 1000, "star-delta", 0.85),
        (851, 1000, "none", 0.851),
        (85001, 100000, "none", 0.85),  # compared unrounded, recorded rounded
        (0, 1000, "star-delta", 0.0),
        (1200, 1000, "none", 1.2),
        (81236, 100000, "star-delta", 0.8124),
        (0, 0, "none", 1.0),
    ],
)
def test_auto_keeps_star_delta_at_085_or_less(star: int, plain: int, encoding: str, ratio: float) -> None:
    measured = Selection(3, star, plain)
    assert measured.encoding == encoding
    assert measured.to_json() == {"mode": "auto", "sampled_cells": 3, "ratio": ratio}


def test_selection_is_written_for_either_outcome_and_never_for_a_forced_one() -> None:
    selection = Selection(3, 1, 2).to_json()
    assert Temporal.none(selection).to_json() == {"encoding": "none", "selection": selection}
    assert Temporal.star_delta(2, 2, selection).to_json()["selection"] == selection
    assert "selection" not in Temporal.star_delta(2, 2).to_json()

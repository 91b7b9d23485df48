"""Pixels of a region to objects: which, in which order, with which bytes; each put once and none asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.format.codecs import Codec
from chronozarr_dask.format.layout import Window
from chronozarr_dask.format.sharding import index_bytes, parse_index
from chronozarr_dask.format.temporal import references, residual
from chronozarr_dask.format.volatility import change_sum
from chronozarr_dask.plan.objects import ArrayObjects
from chronozarr_dask.store.compress import crc32c, decompress
from chronozarr_dask.store.writer import ArrayWriter, cell_changes, sizes_both_ways
from tests.store.stores import Memory

CS = 4
CODEC = Codec()


def writer(target: Memory, **how: Any) -> ArrayWriter:
    """Timesteps 0 to 2 of cells (2, 5) and (2, 6), unsharded, true values."""
    plain = ArrayWriter(
        target=target,
        objects=ArrayObjects(1, "data", True, Window(2, 3, 5, 7), range(3)),
        own=range(3),
        present=(0, 1, 2),
        references=None,
        chunk_size=CS,
        fill=9,
        codec=CODEC,
        shard_time=None,
    )
    return replace(plain, **how)


def frames(n: int = 3) -> np.ndarray[Any, Any]:
    """One cell and an edge of 2 columns: (n, 1, 3, 6), no pixel is 9."""
    return (np.arange(n * 18) % 8 + 10).astype(np.uint16).reshape(n, 1, 3, 6)


def chunk(blob: bytes) -> np.ndarray[Any, Any]:
    return decompress(blob, CODEC, np.dtype("<u2"), (1, CS, CS), "here")


def test_a_chunk_for_each_timestep_of_each_cell_time_inside():
    target = Memory()
    stored = writer(target).store(frames())
    assert list(target.objects) == [f"1/data/c/{t}/0/2/{c}" for c in (5, 6) for t in range(3)]
    assert stored.lengths == tuple(map(len, target.objects.values()))
    assert stored.checksums == tuple(crc32c(b) for b in target.objects.values())
    assert target.requests() == []  # nothing is read


def test_the_edge_is_padded_with_fill():
    target = Memory()
    writer(target).store(frames())
    found = chunk(target.objects["1/data/c/1/0/2/6"])
    assert np.array_equal(found[:, :3, :2], frames()[1, :, :, 4:])
    assert (found[:, 3:] == 9).all()
    assert (found[:, :, 2:] == 9).all()


def test_residuals_are_padded_with_0_and_anchors_with_fill():
    target = Memory()
    data = frames()
    writer(target, references=(0, 0, 2)).store(data)
    found = chunk(target.objects["1/data/c/1/0/2/6"])
    assert np.array_equal(found[:, :3, :2], residual(data[1], data[0])[:, :, 4:])
    assert (found[:, 3:] == 0).all()
    for anchor in (0, 2):
        assert np.array_equal(chunk(target.objects[f"1/data/c/{anchor}/0/2/6"])[:, :3, :2], data[anchor, :, :, 4:])
        assert (chunk(target.objects[f"1/data/c/{anchor}/0/2/6"])[:, 3:] == 9).all()


def test_a_chunk_that_is_all_fill_is_left_out_with_a_length_of_0():
    target, data = Memory(), frames()
    data[1, :, :, :4] = 9
    stored = writer(target).store(data)
    assert "1/data/c/1/0/2/5" not in target.objects
    assert (stored.lengths[1], stored.checksums[1]) == (0, 0)
    assert len(stored.lengths) == 6


def test_a_plane_has_no_band():
    target = Memory()
    objects = ArrayObjects(1, "mask", False, Window(2, 3, 5, 6), range(3))
    writer(target, objects=objects, fill=0).store(np.ones((3, 1, 4, 4), np.uint8))
    assert list(target.objects) == [f"1/mask/c/{t}/2/5" for t in range(3)]
    blob = target.objects["1/mask/c/0/2/5"]
    assert decompress(blob, CODEC, np.dtype("u1"), (CS, CS), "here").all()


def test_only_its_own_timesteps_are_stored_of_those_at_hand():
    """Timesteps 4 and 5 refer to anchor 6, which the next slab stores."""
    target, data = Memory(), frames()
    objects = ArrayObjects(0, "data", True, Window(0, 1, 0, 1), range(4, 6))
    writer(target, objects=objects, own=range(4, 6), present=(4, 5, 6), references=(6, 6, 6)).store(data[:, :, :, :4])
    assert list(target.objects) == ["0/data/c/4/0/0/0", "0/data/c/5/0/0/0"]
    assert np.array_equal(chunk(target.objects["0/data/c/5/0/0/0"])[:, :3], residual(data[1], data[2])[..., :4])


@pytest.mark.parametrize(("shard_time", "n_shards"), [(2, 2), (3, 1), (5, 1)])
def test_shards_are_stored_whole_with_all_their_entries(shard_time: int, n_shards: int):
    target, data = Memory(), frames()
    objects = ArrayObjects(0, "data", True, Window(0, 1, 0, 1), range(n_shards))
    writer(target, objects=objects, shard_time=shard_time).store(data[:, :, :, :4])
    assert list(target.objects) == [f"0/data/c/{s}/0/0/0" for s in range(n_shards)]
    for s in range(n_shards):
        blob = target.objects[f"0/data/c/{s}/0/0/0"]
        entries = parse_index(blob[-index_bytes(shard_time) :], shard_time, crc32c, "here", len(blob))
        for i, entry in enumerate(entries):
            t = s * shard_time + i
            assert (entry is None) == (t > 2)
            if entry is not None:
                offset, length = entry
                assert np.array_equal(chunk(blob[offset : offset + length])[:, :3], data[t, :, :, :4])
    assert target.requests() == []


def test_a_shard_of_nothing_is_left_out():
    target = Memory()
    objects = ArrayObjects(0, "data", True, Window(0, 1, 0, 1), range(2))
    data = np.full((3, 1, 4, 4), 9, np.uint16)
    data[2] = 1
    stored = writer(target, objects=objects, shard_time=2).store(data)
    assert list(target.objects) == ["0/data/c/1/0/0/0"]
    assert stored.lengths[0] == 0


# ---- sums and sizes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16", "float32"])
def test_changes_are_one_exact_sum_a_cell_or_one_float_a_pair(dtype: str):
    rng = np.random.default_rng(0)
    data = rng.integers(0, 200, (5, 2, 7, 6)).astype(dtype)
    pairs = np.array([(1, 0), (2, 0), (3, 4)], np.intp)
    found = cell_changes(data, pairs, CS)
    assert len(found) == 4
    for i, (y, x) in enumerate([(0, 0), (0, 4), (4, 0), (4, 4)]):
        cell = data[:, :, y : y + 4, x : x + 4]
        sums = [change_sum(cell[t], cell[a]) for t, a in pairs]
        assert found[i] == (sums if dtype == "float32" else [sum(sums)])


@given(st.integers(2, 12), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_the_sizes_of_both_encodings_are_those_of_what_is_stored(n: int, interval: int, seed: int):
    rng = np.random.default_rng(seed)
    data = (rng.integers(0, 3, (n, 1, 3, 4)) * 7).astype(np.uint16)
    refs = tuple(references(n, interval).tolist())
    sizes = []
    for how in (refs, None):
        target = Memory()
        objects = ArrayObjects(0, "data", True, Window(0, 1, 0, 1), range(n))
        each = writer(target, objects=objects, own=range(n), present=tuple(range(n)), references=how, fill=7)
        sizes.append(sum(each.store(data).lengths))
    assert sizes_both_ways(data, refs, CS, 7, CODEC) == tuple(sizes)

"""What reads cost: by hand, over the web, in nested blocks, in threads that measure at once; and what is bounded."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dask
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.errors import StoreError
from chronozarr_dask.store import assembly, cells, chunks, ranges
from chronozarr_dask.store.cost import Cost
from chronozarr_dask.store.ranges import Entry, coalesce
from chronozarr_dask.store.reader import open_store
from tests.services.web import Server
from tests.store.stores import Memory, array_document, compressed, numbered, one_cell, opened, px, shard, simple, star
from tests.store.test_reader_xarray import CS, DATA, B, H, T, W, cube

# ---- by hand ---------------------------------------------------------------------------------------------------------


def test_one_chunk():
    objects = one_cell({0: px(1, 2, 3, 4)}, 2)
    store = opened(objects)
    with store.measure() as cost:
        store.read(0)
    length = len(objects.objects["0/data/c/0/0/0/0"])
    assert cost == Cost(1, 1, length, 8, 4, 4)
    assert cost.amplification == 1
    with store.measure() as absent:
        store.read(1)
    assert absent == Cost(1, 1, 0, 0, 0, 4)
    assert absent.as_dict()["amplification"] == 0


def test_nothing_costs_nothing():
    store = opened(one_cell({}, 1))
    with store.measure() as cost:
        assert store.times.size == 1
    assert (cost, cost.amplification) == (Cost(), 0)


def test_a_residual_costs_its_anchor_until_that_is_held():
    store = opened(one_cell({t: px(t, t, t, t) for t in range(3)}, 3, star(3, 6, {1: 0, 2: 0})))
    with store.measure() as first:
        store.read(1)
    with store.measure() as second:
        store.read(2)
    with store.measure() as anchor:
        store.read(0)
    assert [(c.chunks, c.requests, c.amplification) for c in (first, second, anchor)] == [
        (2, 2, 2),
        (1, 1, 1),
        (0, 0, 0),
    ]


def test_padding_and_pixels_that_were_not_wanted_are_amplification():
    store = opened(numbered()[0])  # 5 x 7 pixels of 2 bands in cells of 2
    with store.measure() as cost:
        store.read_window(0, (4, 5, 6, 7))
    assert (cost.chunks, cost.cells_decoded, cost.cells_wanted, cost.amplification) == (1, 8, 2, 4)


def test_a_series_of_a_shard_is_its_index_and_one_range():
    objects = cube(shard_time=T)
    store = opened(objects)
    with store.measure() as cost:
        series = store.series(500005, 4999995)
    assert np.array_equal(series["data"], DATA[:, :, 0, 0])
    blob = objects.objects["0/data/c/0/0/0/0"]
    assert (cost.chunks, cost.requests, cost.bytes_fetched) == (T, 2, len(blob))
    assert cost.cells_decoded == T * B * CS * CS
    assert cost.amplification == CS * CS


def test_an_empty_chunk_of_a_shard_is_not_touched():
    arrays = {"0/data": array_document((3, 1, 2, 2), "uint16", 2, shard_time=3)}
    objects = simple(arrays, {"0/data/c/0/0/0/0": shard([None, compressed(px(1, 2, 3, 4)), None])})
    store = opened(objects)
    with store.measure() as cost:
        store.series(500005, 4999995)
    assert (cost.chunks, cost.requests) == (1, 2)


@pytest.mark.parametrize("listed", [True, False])
def test_a_start_located_index(listed: bool):
    blob = shard([compressed(px(t, t, t, t)) for t in range(3)], "start")
    arrays = {"0/data": array_document((3, 1, 2, 2), "uint16", 2, shard_time=3, location="start")}
    objects = simple(
        arrays, {"0/data/c/0/0/0/0": blob}, **({"shard_bytes": {"0": {"0/0/0": len(blob)}}} if listed else {})
    )
    store = opened(objects)
    with store.measure() as cost:
        assert store.series(500005, 4999995)["data"].values.ravel().tolist() == [0, 1, 2]
    assert cost.requests == (2 if listed else 3)


# ---- ranges ----------------------------------------------------------------------------------------------------------

entries = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 30)), max_size=20, unique_by=lambda e: e[0]
).map(lambda found: [Entry(t, offset, nbytes) for t, (offset, nbytes) in enumerate(found)])  # fmt: skip


@given(entries, st.integers(0, 20), st.integers(1, 60))
def test_ranges_hold_every_chunk_once_and_nothing_far(found: list[Entry], gap: int, most: int):
    out = coalesce(found, gap, most)
    assert sorted(e.t for r in out for e in r.entries) == list(range(len(found)))
    for r in out:
        assert len(r.entries) == 1 or r.stop - r.start <= most
        assert (r.start, r.stop) == (min(e.offset for e in r.entries), max(e.end for e in r.entries))
        covered = {b for e in r.entries for b in range(e.offset, e.end)}
        runs = [b for b in range(r.start, r.stop) if b not in covered]
        assert all(set(range(b, b + gap + 1)) - set(runs) for b in runs)  # no run is longer than the gap


def test_a_long_gap_is_asked_around(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ranges.coalesce, "__defaults__", (0, ranges.RANGE_BYTES))
    store = opened(cube(shard_time=T, encoding="none"))
    with store.measure() as cost:
        assert np.array_equal(store.to_xarray().data[[0, 1, 3], :, 0, 0], DATA[[0, 1, 3], :, 0, 0])
    assert (cost.chunks, cost.requests) == (3, 3)  # index; 0 and 1; 3


# ---- who is charged --------------------------------------------------------------------------------------------------


def test_blocks_nest():
    store = opened(cube(encoding="none"))
    with store.measure() as outer:
        store.read_cell(0, 0, 0)
        with store.measure() as inner:
            store.read_cell(1, 0, 0)
        store.read_cell(2, 0, 0)
    store.read_cell(3, 0, 0)
    assert (outer.chunks, inner.chunks) == (3, 1)


def test_another_store_is_not_charged():
    mine, other = opened(cube()), opened(cube())
    with mine.measure() as cost:
        other.read(0)
    assert cost == Cost()
    with mine.measure() as cost, other.measure() as others:
        mine.read_cell(0, 0, 0)
    assert (cost.chunks, others.chunks) == (1, 0)


def test_blocks_may_close_in_another_order():
    store = opened(cube(encoding="none"))
    first, second = store.measure(), store.measure()
    a, b = first.__enter__(), second.__enter__()
    store.read_cell(0, 0, 0)
    first.__exit__(None, None, None)
    store.read_cell(1, 0, 0)
    second.__exit__(None, None, None)
    store.read_cell(2, 0, 0)
    assert (a.chunks, b.chunks) == (1, 2)


def test_threads_that_measure_at_once_count_their_own():
    """Each reads other cells; what the pool's threads do is charged to who asked."""
    store = opened(cube(encoding="none"))
    gate = threading.Barrier(8)

    def ask(i: int) -> tuple[int, int]:
        gate.wait()
        with store.measure() as cost:
            for t in range(T):
                for _ in range(i + 1):
                    store.read_window(t, (0, H, 0, W))
        return i, cost.chunks

    with store.measure(every_thread=True) as everyone, store.measure() as mine, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(8)))
    assert found == [(i, 12 * T * (i + 1)) for i in range(8)]
    assert everyone.chunks == sum(n for _, n in found)
    assert mine.chunks == 0


def test_dask_s_threads_are_charged_where_every_thread_is():
    store = opened(cube(encoding="none"))
    lazy = store.to_xarray().chunk(time=1)
    with dask.config.set(scheduler="threads"), store.measure(every_thread=True) as cost:
        lazy.data.load()
    with dask.config.set(scheduler="synchronous"), store.measure() as own:
        store.to_xarray().chunk(time=1).data.load()
    assert (cost.chunks, cost.amplification) == (12 * T, 12 * CS * CS / (H * W))
    assert own.chunks == 12 * T


def test_many_threads_read_one_star_and_fetch_its_anchor_once():
    class Slow(Memory):
        def get(self, key: str) -> bytes | None:
            threading.Event().wait(0.02)
            return super().get(key)

    objects = cube()
    slow = Slow(objects.objects)
    store = opened(slow)
    gate = threading.Barrier(8)

    def ask(i: int) -> Any:
        gate.wait()
        return store.read_cell(i % 2, 0, 0)

    with ThreadPoolExecutor(8) as pool, store.measure(every_thread=True) as cost:
        found = list(pool.map(ask, range(8)))
    assert all(np.array_equal(f, DATA[i % 2, :, :CS, :CS]) for i, f in enumerate(found))
    assert slow.requests().count(("get", "0/data/c/0/0/0/0")) == 1
    assert cost.chunks == 1 + 4  # the anchor; the residual of each who asked for one


def test_an_error_frees_the_anchors_that_others_wait_for():
    objects = cube()
    objects.objects["0/data/c/0/0/1/1"] = b"torn"
    store = opened(objects)
    for _ in range(2):
        with pytest.raises(StoreError, match="0/data/c/0/0/1/1"):
            store.read(1)
    assert np.array_equal(store.read_cell(1, 0, 0), DATA[1, :, :CS, :CS])
    assert store._anchors._pending == {}


@pytest.mark.parametrize("threads", [1, 2, 32])
@pytest.mark.parametrize("shard_time", [None, 1, 3])
def test_a_pool_of_any_size_does(threads: int, shard_time: int | None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("chronozarr_dask.store.reader.READ_THREADS", threads)
    monkeypatch.setattr(assembly, "IN_FLIGHT", 2)
    store = opened(cube(shard_time=shard_time))
    with ThreadPoolExecutor(4) as pool:
        for frames in pool.map(lambda _: store.to_xarray().data.values, range(8)):
            assert np.array_equal(frames, DATA)


def test_the_caches_are_bounded():
    store = opened(cube(shard_time=3))
    assert store._anchors.limit == cells.ANCHOR_CACHE_BYTES
    assert store._indexes.limit == chunks.INDEX_CACHE_BYTES
    store._anchors.limit, store._indexes.limit = 3 * B * CS * CS * 2, 2 * (3 * 16 + 128)
    for _ in range(2):
        assert np.array_equal(store.to_xarray().data, DATA)
        assert store._anchors.nbytes <= store._anchors.limit
        assert 0 < store._indexes.nbytes <= store._indexes.limit


def test_a_block_does_not_travel():
    store = opened(cube())
    with store.measure() as cost:
        pickle.loads(pickle.dumps(store)).read(0)
    assert cost.chunks == 0


def test_over_the_web_requests_are_those_that_the_server_saw():
    for shard_time in (None, 3):
        with Server(cube(("mask",), shard_time=shard_time).objects) as server:
            store = open_store(server.url)
            server.forget()
            with store.measure() as cost:
                store.to_xarray(physical=True).data.load()
            assert cost.requests == len(server.forget()) > 0

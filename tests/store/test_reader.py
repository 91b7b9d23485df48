"""Section 10 by hand: small stores written as literals, and how many requests each read makes."""

import pickle
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from chronozarr_dask.errors import StoreError
from chronozarr_dask.store.reader import Store
from tests.store.stores import (
    GZIP,
    Memory,
    array_document,
    compressed,
    group_document,
    numbered,
    one_cell,
    opened,
    px,
    root_document,
    shard,
    simple,
    star,
    two_levels,
)

# ---- true values -----------------------------------------------------------------------------------------------------


def test_a_none_store_is_one_get_for_each_timestep():
    objects = one_cell({0: px(1, 2, 3, 4), 1: px(5, 6, 7, 8)}, 2)
    store = opened(objects)
    assert np.array_equal(store.read(1), px(5, 6, 7, 8))
    assert objects.requests() == [("get", "0/data/c/1/0/0/0")]


def test_a_residual_is_added_with_wraparound():
    objects = one_cell({0: px(65535, 0, 10, 100), 1: px(2, 65535, 65526, 0)}, 2, star(2, 6, {1: 0}))
    store = opened(objects)
    assert store.read(1).tolist() == [[[1, 65535], [0, 100]]]
    assert store.read(1).dtype == np.uint16


def test_an_anchor_is_read_once_and_no_read_takes_more_than_two_chunks():
    objects = one_cell({t: px(t, t, t, t) for t in range(4)}, 4, star(4, 6, {1: 0, 2: 0, 3: 0}))
    store = opened(objects)
    store.read(3)
    assert sorted(objects.requests()) == [("get", "0/data/c/0/0/0/0"), ("get", "0/data/c/3/0/0/0")]
    store.read(0)
    assert objects.requests() == []
    store.read_cell(2, 0, 0)
    assert objects.requests() == [("get", "0/data/c/2/0/0/0")]


def test_a_missing_chunk_of_a_residual_is_a_residual_of_fill():
    store = opened(one_cell({0: px(1, 2, 3, 4)}, 2, star(2, 6, {1: 0}), fill=10))
    assert np.array_equal(store.read(1), px(11, 12, 13, 14))  # not all 10


def test_a_missing_anchor_is_fill():
    store = opened(one_cell({1: px(1, 2, 3, 65535)}, 2, star(2, 6, {1: 0}), fill=10))
    assert np.array_equal(store.read(0), px(10, 10, 10, 10))
    assert np.array_equal(store.read(1), px(11, 12, 13, 9))


def test_the_recorded_reference_counts_not_the_nearest_anchor():
    """10 timesteps appended to 5: 4 refers to 0 as when it was written; a fresh encode would have it refer to 6."""
    references = {1: 0, 2: 0, 3: 0, 4: 0, 5: 6, 7: 6, 8: 6, 9: 6}
    chunks = {0: px(1, 1, 1, 1), 4: px(1, 2, 3, 4), 6: px(50, 50, 50, 50)}
    store = opened(one_cell(chunks, 10, star(10, 6, references)))
    assert np.array_equal(store.read(4), px(2, 3, 4, 5))
    assert np.array_equal(store.read(5), px(50, 50, 50, 50))


def test_a_reference_in_another_shard_is_followed():
    """shard_time 3, interval 4: timestep 2 is in shard 0 and refers to 4, in shard 1; so does 3, in shard 1."""
    arrays = {"0/data": array_document((6, 1, 2, 2), "uint16", 2, shard_time=3)}
    chunks = {
        "0/data/c/0/0/0/0": shard([compressed(px(9, 9, 9, 9)), None, compressed(px(1, 2, 3, 4))]),
        "0/data/c/1/0/0/0": shard([compressed(px(5, 5, 5, 5)), compressed(px(100, 100, 100, 100)), None]),
    }
    objects = simple(arrays, chunks, temporal=star(6, 4, {1: 0, 2: 4, 3: 4, 5: 4}))
    store = opened(objects)
    assert np.array_equal(store.read(2), px(101, 102, 103, 104))
    assert Counter(objects.requests()) == {
        ("tail", "0/data/c/0/0/0/0"): 1,
        ("range", "0/data/c/0/0/0/0"): 1,
        ("tail", "0/data/c/1/0/0/0"): 1,
        ("range", "0/data/c/1/0/0/0"): 1,
    }
    assert np.array_equal(store.read(3), px(105, 105, 105, 105))
    assert objects.requests() == [("range", "0/data/c/1/0/0/0")]


def test_shard_bytes_may_list_some_shards_only():
    listed, other = shard([compressed(px(1, 1, 1, 1))]), shard([compressed(px(2, 2, 2, 2))])
    arrays = {"0/data": array_document((2, 1, 2, 2), "uint16", 2, shard_time=1)}
    chunks = {"0/data/c/0/0/0/0": listed, "0/data/c/1/0/0/0": other}
    objects = simple(arrays, chunks, shard_bytes={"0": {"0/0/0": len(listed)}})
    store = opened(objects)
    assert store.read(0)[0, 0, 0] == 1
    assert objects.requests() == [("range", "0/data/c/0/0/0/0")] * 2
    assert store.read(1)[0, 0, 0] == 2
    assert objects.requests() == [("tail", "0/data/c/1/0/0/0"), ("range", "0/data/c/1/0/0/0")]


def test_shard_bytes_say_nothing_of_planes():
    arrays = {
        "0/data": array_document((1, 1, 2, 2), "uint16", 2, shard_time=1),
        "0/mask": array_document((1, 2, 2), "uint8", 2, shard_time=1),
    }
    chunks = {"0/mask/c/0/0/0": shard([compressed(np.ones((2, 2), "u1"))])}
    objects = simple(arrays, chunks, shard_bytes={"0": {"0/0/0": 1000}})
    assert opened(objects).read_mask(0).tolist() == [[1, 1], [1, 1]]


def test_negative_zero_keeps_its_sign():
    store = opened(one_cell({0: px(-0.0, 0.0, -0.0, 1.5, dtype="<f4")}, 2, dtype="float32"))
    assert np.signbit(store.read(0)).tolist() == [[[True, False], [True, False]]]
    assert not np.signbit(store.read(1)).any()


def test_int16_under_gzip():
    arrays = {"0/data": array_document((1, 1, 2, 2), "int16", 2, codec=GZIP, fill=-32768)}
    chunk = px(-1, -32768, 5, 32767, dtype="<i2")
    store = opened(simple(arrays, {"0/data/c/0/0/0/0": compressed(chunk, GZIP)}, nodata=-32768))
    assert np.array_equal(store.read(0), chunk)


# ---- what the metadata say -------------------------------------------------------------------------------------------


def test_what_the_root_says():
    objects = one_cell({}, 2, star(2, 6, {1: 0}))
    store = opened(objects)
    assert store.times.tolist() == np.array(["2024-01-01", "2024-02-01"], "datetime64[ms]").tolist()
    assert store.times.dtype == "datetime64[ms]"
    assert [b.name for b in store.bands] == ["b0"]
    assert (store.crs, store.nodata, store.variable) == ("EPSG:32631", 0, "data")
    assert (store.dtype, store.chunk_size) == (np.dtype("uint16"), 2)
    assert store.temporal.delta_reference == {1: 0}
    assert store.provenance is None
    assert store.attributes["chronozarr"]["spec_version"] == "0.2.0"
    assert "2 times x 1 bands x 2 x 2 px of uint16, 1 levels, star-delta, EPSG:32631" in repr(store)


def test_the_variable_is_never_hard_coded():
    objects, data = numbered()
    renamed = Memory({k.replace("/data/", "/ndvi/"): v for k, v in objects.objects.items()})
    document = root_document({"0/data": array_document((2, 2, 5, 7), "uint16", 2)}, variable="ndvi")
    below = document["consolidated_metadata"]["metadata"]
    below["0/ndvi"] = below.pop("0/data")
    renamed.put_json("zarr.json", document)
    store = opened(renamed)
    assert np.array_equal(store.read(0), data[0])
    assert "ndvi" in store.to_xarray()


def test_a_v0_1_store():
    """Bands are strings; no levels, no band_names, no encoding; nodata reads as 0; pixels_per_tile is ignored."""
    arrays = {"0/data": array_document((2, 1, 2, 2), "uint16", 2)}
    temporal = star(2, 6, {1: 0})
    del temporal["encoding"]
    document = root_document(arrays, temporal, spec_version="0.1.0", bands=["B04"], levels=None, band_names=None)
    del document["attributes"]["chronozarr"]["nodata"]
    document["attributes"]["multiscales"][0]["datasets"][0]["pixels_per_tile"] = 512
    objects = Memory(
        {"0/data/c/0/0/0/0": compressed(px(1, 2, 3, 4)), "0/data/c/1/0/0/0": compressed(px(-1, 1, 0, 0, dtype="<i2"))}
    )
    objects.put_json("zarr.json", document)
    store = opened(objects)
    assert np.array_equal(store.read(1), px(0, 3, 3, 4))
    assert (store.nodata, store.bands[0].name, store.bands[0].scale) == (0, "B04", 1.0)
    assert store.temporal.encoding == "star-delta"
    assert store.levels[0].transform == (10, 0, 500000, 0, -10, 5000000)
    assert store.levels[0].grid == (1, 1)


# ---- threads and processes -------------------------------------------------------------------------------------------


def test_many_threads_read_one_store():
    objects, data = numbered()
    store = opened(objects)
    with ThreadPoolExecutor(8) as pool:
        frames = list(pool.map(store.read, [0, 1] * 20))
    assert all(np.array_equal(frame, data[i % 2]) for i, frame in enumerate(frames))


def test_a_store_is_pickled_without_its_caches():
    objects = one_cell({t: px(t, t, t, t) for t in range(2)}, 2, star(2, 6, {1: 0}))
    store = opened(objects)
    fresh = pickle.dumps(store)
    expected = store.read(1)
    objects.requests()
    assert pickle.dumps(store) == fresh
    again = pickle.loads(fresh)
    assert isinstance(again, Store)
    assert np.array_equal(again.read(1), expected)


def test_an_error_in_one_cell_reaches_the_caller():
    objects, _ = numbered()
    objects.objects["0/data/c/0/0/1/1"] = b"torn"
    with pytest.raises(StoreError, match=r"0/data/c/0/0/1/1.*zstd"):
        opened(objects).read(0)


def test_a_result_is_the_caller_s_own():
    store = opened(one_cell({0: px(1, 2, 3, 4)}, 2, star(2, 6, {1: 0})))
    store.read(0)[...] = 0
    assert np.array_equal(store.read(0), px(1, 2, 3, 4))


def test_documents_are_read_level_by_level_where_they_are_not_consolidated():
    objects = two_levels()
    arrays = {f"{k}/data": array_document((1, 1, n, n), "uint16", 2) for k, n in enumerate((3, 2))}
    document = root_document(arrays, levels=None)
    del document["consolidated_metadata"]
    objects.put_json("zarr.json", document)
    for path, array in arrays.items():
        objects.put_json(f"{path}/zarr.json", array)
    for k in range(2):
        objects.put_json(f"{k}/zarr.json", group_document(k))
    store = opened(objects)
    assert np.array_equal(store.read(0, 1), px(5, 6, 7, 8))
    assert store.levels == opened(two_levels()).levels

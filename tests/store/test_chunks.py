"""One array's chunks: keys, the shard index (start, end, listed, not listed), what is absent, what is damaged."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.arrays import check_data_document
from chronozarr_dask.store.chunks import Chunks
from tests.store.stores import Memory, array_document, compressed, refused, shard

A = np.array([[[1, 2], [3, 4]]], "<u2")
B = np.array([[[5, 6], [7, 8]]], "<u2")


def chunks(objects: Memory, lengths: dict[str, int] | None = None, **document: Any) -> Chunks:
    """Access to 0/data: 3 timesteps, 1 band, 4 x 4 pixels, cells of 2."""
    meta = check_data_document(array_document((3, 1, 4, 4), "uint16", 2, **document), "0/data")
    return Chunks(objects, "0/data", meta, lengths or {})


def test_an_unsharded_chunk_is_one_object():
    objects = Memory({"0/data/c/2/0/1/0": compressed(A)})
    assert np.array_equal(chunks(objects).read(2, 1, 0), A)
    assert objects.requests() == [("get", "0/data/c/2/0/1/0")]


def test_a_plane_has_no_band_index():
    meta = check_data_document(array_document((3, 4, 4), "uint8", 2), "0/mask")
    plane = Chunks(Memory({"0/mask/c/2/1/0": compressed(A[0].astype("u1"))}), "0/mask", meta)
    assert np.array_equal(plane.read(2, 1, 0), A[0])


def test_a_chunk_that_is_not_stored_is_fill():
    assert np.array_equal(chunks(Memory(), fill=7).read(0, 0, 0), np.full((1, 2, 2), 7))


def test_what_is_handed_out_cannot_be_written_to():
    stored = chunks(Memory({"0/data/c/0/0/0/0": compressed(A)}))
    for t in (0, 1):
        with pytest.raises(ValueError, match="read-only"):
            stored.read(t, 0, 0)[...] = 0


@pytest.mark.parametrize("location", ["start", "end"])
@pytest.mark.parametrize("listed", [True, False])
def test_a_shard_costs_its_index_once_then_one_range_for_each_chunk(location: str, listed: bool):
    key, blob = "0/data/c/0/0/1/0", shard([compressed(A), None, compressed(B)], location)
    objects = Memory({key: blob})
    stored = chunks(objects, {"0/1/0": len(blob)} if listed else {}, shard_time=3, location=location)
    assert np.array_equal(stored.read(0, 1, 0), A)
    index = "range" if listed else "tail"
    opening = [("size", key), ("range", key)] if (listed, location) == (False, "start") else [(index, key)]
    assert objects.requests() == [*opening, ("range", key)]
    assert np.array_equal(stored.read(2, 1, 0), B)
    assert objects.requests() == [("range", key)]
    assert np.array_equal(stored.read(1, 1, 0), np.zeros((1, 2, 2)))
    assert objects.requests() == []


def test_a_partial_last_shard_keeps_its_entries():
    objects = Memory(
        {"0/data/c/0/0/0/0": shard([compressed(A), compressed(A)]), "0/data/c/1/0/0/0": shard([compressed(B), None])}
    )
    assert np.array_equal(chunks(objects, shard_time=2).read(2, 0, 0), B)


@pytest.mark.parametrize("lengths", [{}, {"0/0/0": 100}])
def test_a_missing_shard_is_fill_and_is_asked_for_once(lengths: dict[str, int]):
    objects = Memory()
    stored = chunks(objects, lengths, shard_time=3, fill=9)
    for t in range(3):
        assert np.array_equal(stored.read(t, 0, 0), np.full((1, 2, 2), 9))
    assert len(objects.requests()) == 1


def flipped(blob: bytes, at: int) -> bytes:
    out = bytearray(blob)
    out[at] ^= 1
    return bytes(out)


WHOLE = shard([compressed(A), None, compressed(B)])


def reaching_beyond() -> bytes:
    """A shard whose first entry says more bytes than the object has; its checksum is right."""
    good = shard([compressed(A) + b"x" * 1000, None, None])
    return good[len(compressed(A)) + 1000 :]


@pytest.mark.parametrize(
    ("blob", "lengths", "message"),
    [
        (flipped(WHOLE, -20), {}, "crc32c"),
        (flipped(WHOLE, -1), {}, "crc32c"),
        (reaching_beyond(), {}, "index entry 0 says bytes 0 to 10"),
        (WHOLE[:30], {}, "the shard has 30 bytes, its index alone has 52"),
        (shard([b"x" * 70_000, None, None]), {}, "index entry 0 has 70000 bytes, where a whole chunk has 8"),
        (WHOLE, {"0/0/0": len(WHOLE) - 8}, "crc32c .* open the store again"),
        (WHOLE, {"0/0/0": len(WHOLE) + 8}, "the shard index has 44 bytes, 52 expected"),
        (WHOLE, {"0/0/0": 10}, "the shard has 10 bytes"),
        (flipped(WHOLE, 2), {}, r"timestep 0.* do not decode as zstd"),
        (b"<!DOCTYPE html><html>" + b" " * 100, {"0/0/0": 52}, "web page"),
    ],
)
def test_a_damaged_shard_is_an_error_with_its_place(blob: bytes, lengths: dict[str, int], message: str):
    with pytest.raises(StoreError, match=rf"memory/0/data/c/0/0/0/0.*{message}"):
        chunks(Memory({"0/data/c/0/0/0/0": blob}), lengths, shard_time=3).read(0, 0, 0)


@pytest.mark.parametrize("now", [None, WHOLE[:10]])
def test_a_shard_that_changes_after_its_index_was_read_is_an_error(now: bytes | None):
    objects = Memory({"0/data/c/0/0/0/0": WHOLE})
    stored = chunks(objects, shard_time=3)
    stored.read(0, 0, 0)
    objects.objects = {} if now is None else {"0/data/c/0/0/0/0": now}
    with pytest.raises(StoreError, match="open the store again"):
        stored.read(2, 0, 0)


def test_a_web_page_in_place_of_a_chunk_is_named():
    page = b"\n<html><body>Not found</body></html>"
    with pytest.raises(StoreError, match=r"web page.*404"):
        chunks(Memory({"0/data/c/0/0/0/0": page})).read(0, 0, 0)


def test_an_index_is_fetched_once_by_many_threads():
    gate = threading.Barrier(8)

    class Slow(Memory):
        def tail(self, key: str, nbytes: int) -> tuple[bytes, int] | None:
            threading.Event().wait(0.05)
            return super().tail(key, nbytes)

    objects = Slow({"0/data/c/0/0/0/0": WHOLE})
    stored = chunks(objects, shard_time=3)

    def read(_: int) -> Any:
        gate.wait()
        return stored.read(0, 0, 0)

    with ThreadPoolExecutor(8) as pool:
        assert all(np.array_equal(c, A) for c in pool.map(read, range(8)))
    assert objects.requests().count(("tail", "0/data/c/0/0/0/0")) == 1


@given(st.binary(max_size=120), st.booleans())
def test_any_bytes_in_place_of_a_shard_are_an_error_or_fill(blob: bytes, start: bool):
    stored = chunks(Memory({"0/data/c/0/0/0/0": blob}), shard_time=3, location="start" if start else "end")
    with pytest.raises(StoreError, match="0/data/c/0/0/0/0"):
        stored.read(0, 0, 0)


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_a_flipped_byte_of_a_shard_is_an_error_or_harmless(at: int, bits: int):
    blob = bytearray(WHOLE)
    blob[at] ^= bits
    stored = chunks(Memory({"0/data/c/0/0/0/0": bytes(blob)}), shard_time=3)
    for t in range(3):
        said = refused(lambda: stored.read(t, 0, 0))  # noqa: B023  (called at once)
        assert said == "" or "0/data/c/0/0/0/0" in said

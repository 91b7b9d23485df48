"""Section 7: shards and their index."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import google_crc32c
import numcodecs
import numpy as np
import pytest
import zarr
import zarr.codecs
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.errors import InputError, StoreError
from chronozarr_dask.format.arrays import data_meta
from chronozarr_dask.format.codecs import Codec, chain
from chronozarr_dask.format.layout import Layout
from chronozarr_dask.format.sharding import (
    EMPTY,
    IndexLocation,
    Sharding,
    assemble,
    check_shard_time,
    index_bytes,
    pack_index,
    parse_index,
    parse_sharding,
    shard_of,
)
from tests.format import example, slow

chunk_lists = st.lists(st.none() | st.binary(min_size=1, max_size=20), min_size=1, max_size=12)


def crc(data: bytes) -> int:
    return int(google_crc32c.value(data))


# ---- 7.1 layout ----------------------------------------------------------------------------------------------------


def test_timesteps_of_the_example_lie_in_two_shards() -> None:
    assert [shard_of(t, 4) for t in range(5)] == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]


@pytest.mark.parametrize(("given_time", "expected"), [(None, None), ("all", 5), (1, 1), (5, 5), (12, 12)])
def test_shard_time_may_exceed_the_number_of_timesteps(given_time: Any, expected: int | None) -> None:
    assert check_shard_time(given_time, 5) == expected


@pytest.mark.parametrize("wrong", [0, -1, True, 2.0, "whole"])
def test_shard_time_below_1_is_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match="shard_time is"):
        check_shard_time(wrong, 5)


def test_codecs_of_the_example() -> None:
    sharding = Sharding((4, 2, 512, 512), (1, 2, 512, 512))
    assert sharding.to_json(chain(Codec(), "uint16")) == example.DATA["codecs"]
    assert parse_sharding(example.DATA["codecs"], (4, 2, 512, 512), "") == (sharding, chain(Codec(), "uint16"))
    assert sharding.shard_time == 4


def test_unsharded_codecs_are_those_of_the_chunk() -> None:
    assert parse_sharding(chain(Codec(), "uint16"), (1, 2, 512, 512), "") == (None, chain(Codec(), "uint16"))


def test_index_location_is_read_from_the_codec() -> None:
    locations: list[IndexLocation] = ["start", "end"]
    for location in locations:
        codecs = Sharding((4, 8, 8), (1, 8, 8), location).to_json(chain(Codec(), "uint8"))
        parsed, _ = parse_sharding(json.loads(json.dumps(codecs)), (4, 8, 8), "")
        assert parsed is not None
        assert parsed.location == location


def sharded(**change: Any) -> list[dict[str, Any]]:
    return [{"name": "sharding_indexed", "configuration": example.DATA["codecs"][0]["configuration"] | change}]


CRC = {"name": "crc32c"}


@pytest.mark.parametrize(
    ("codecs", "message"),
    [
        (5, "not a list of objects"),
        ("sharding_indexed", "not a list of objects"),
        ([*sharded(), {"name": "zstd"}], r"\['zstd'\] around sharding_indexed"),
        ([{"name": "sharding_indexed"}], "no configuration"),
        (sharded(chunk_shape=None), "inner chunk_shape is None"),
        (sharded(chunk_shape=[1, 2, 512]), "inner chunk_shape"),
        (sharded(chunk_shape=[1, 2, 512, 0]), "inner chunk_shape"),
        (sharded(chunk_shape=[True, 2, 512, 512]), "inner chunk_shape"),
        (sharded(index_codecs=None), "index_codecs are None"),
        (sharded(index_codecs=5), "index_codecs are 5"),
        (sharded(index_codecs={"bytes": 1, "crc32c": 2}), "index_codecs are"),
        (sharded(index_codecs=[{"name": "bytes"}]), "index_codecs are"),
        (sharded(index_codecs=[{"name": "bytes", "configuration": {"endian": "big"}}, CRC]), "not little-endian"),
        (sharded(index_codecs=[{"name": "bytes", "configuration": 5}, CRC]), "not little-endian"),
        (sharded(index_location="middle"), "index_location is 'middle'"),
    ],
)
def test_sharding_that_cannot_be_read_is_named(codecs: Any, message: str) -> None:
    with pytest.raises(StoreError, match=f"^0/data: .*{message}"):
        parse_sharding(codecs, (4, 2, 512, 512), "0/data")


# ---- 7.2 index -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shard_time", "expected"), [(4, 68), (117, 1876), (1, 20)])
def test_index_has_16_bytes_for_each_timestep_and_4_for_the_checksum(shard_time: int, expected: int) -> None:
    assert index_bytes(shard_time) == expected
    assert len(pack_index([None] * shard_time, crc)) == expected


def test_checksum_is_the_known_crc32c() -> None:
    assert slow.crc32c(b"123456789") == 0xE3069283 == crc(b"123456789")


def test_bytes_of_a_small_shard() -> None:
    got = assemble([b"abc", None, b"de"], crc)
    table = np.array([0, 3, EMPTY, EMPTY, 3, 2], "<u8").tobytes()
    assert got == b"abcde" + table + slow.crc32c(table).to_bytes(4, "little")


def test_room_is_used_again_by_the_next_shard() -> None:
    room = memoryview(bytearray(b"\xff" * 60))
    for chunks in ([b"abcdef", b"gh"], [None, b"x"], [b"", None]):
        assert assemble(chunks, crc, room) == assemble(chunks, crc)
    assert assemble([None, None], crc, room) is None
    with pytest.raises(ValueError, match="different structures"):
        assemble([b"abcdef" * 9, None], crc, room)


def test_partial_last_shard_keeps_all_of_its_entries() -> None:
    """Case 21 and the shard c/1/0/r/c of the example: one timestep, four entries, three of them empty."""
    shard = assemble([b"chunk", None, None, None], crc)
    assert shard is not None
    assert len(shard) == 5 + 68
    assert parse_index(shard[-68:], 4, crc, "") == ((0, 5), None, None, None)


def test_shard_of_fill_alone_is_not_stored() -> None:
    """Case 22: what is not stored is not listed in shard_bytes."""
    assert assemble([None, None, None], crc) is None


@given(chunk_lists)
def test_shards_come_apart_into_their_chunks(chunks: list[bytes | None]) -> None:
    shard = assemble(chunks, crc)
    if shard is None:
        assert not any(chunks)
        return
    n = index_bytes(len(chunks))
    index = parse_index(shard[-n:], len(chunks), slow.crc32c, "", len(shard))
    assert [None if e is None else shard[e[0] : e[0] + e[1]] for e in index] == chunks


@given(chunk_lists, st.data())
def test_a_flipped_bit_of_the_index_is_noticed(chunks: list[bytes | None], data: st.DataObject) -> None:
    index = bytearray(pack_index([None if c is None else (0, len(c)) for c in chunks], crc))
    bit = data.draw(st.integers(0, 8 * len(index) - 1))
    index[bit // 8] ^= 1 << bit % 8
    with pytest.raises(StoreError, match=r"0/data/c/0/0/0/0: .*crc32c"):
        parse_index(bytes(index), len(chunks), crc, "0/data/c/0/0/0/0")


def test_index_of_another_length_is_refused() -> None:
    with pytest.raises(StoreError, match="has 20 bytes, 36 expected"):
        parse_index(pack_index([None], crc), 2, crc, "")


@pytest.mark.parametrize("entry", [(90, 20), (EMPTY - 1, 1), (101, 0)])
def test_entry_beyond_the_object_is_refused(entry: tuple[int, int]) -> None:
    with pytest.raises(StoreError, match="index entry 0 says"):
        parse_index(pack_index([entry], crc), 1, crc, "", object_bytes=100)


@pytest.mark.parametrize("entry", [(EMPTY, 5), (5, EMPTY)])
def test_entry_that_is_half_empty_is_refused(entry: tuple[int, int]) -> None:
    with pytest.raises(StoreError, match="half empty"):
        parse_index(pack_index([entry], crc), 1, crc, "")


@pytest.mark.parametrize("location", ["start", "end"])
def test_index_that_zarr_writes_is_read_at_either_location(tmp_path: Path, location: IndexLocation) -> None:
    values = np.arange(3 * 8 * 8, dtype=np.uint16).reshape(3, 1, 8, 8) + 1
    values[1] = 0
    array = zarr.create_array(
        tmp_path / "a", shape=values.shape, dtype="uint16", chunks=(4, 1, 8, 8), fill_value=0, filters=None,
        compressors=None, overwrite=True,
        serializer=zarr.codecs.ShardingCodec(
            chunk_shape=(1, 1, 8, 8), index_location=location,
            codecs=[zarr.codecs.BytesCodec(), zarr.codecs.ZstdCodec(level=5)],
        ),
    )  # fmt: skip
    array[:] = values
    blob = (tmp_path / "a/c/0/0/0/0").read_bytes()
    codecs = json.loads((tmp_path / "a/zarr.json").read_text())["codecs"]
    sharding, _ = parse_sharding(codecs, (4, 1, 8, 8), "")
    assert sharding is not None
    n = index_bytes(sharding.shard_time)
    index = parse_index(blob[:n] if sharding.location == "start" else blob[-n:], 4, crc, "", len(blob))
    assert [e is None for e in index] == [False, True, False, True]
    for t in (0, 2):
        entry = index[t]
        assert entry is not None
        raw = numcodecs.Zstd().decode(blob[entry[0] : entry[0] + entry[1]])
        np.testing.assert_array_equal(np.frombuffer(raw, "<u2").reshape(1, 8, 8), values[t])


def test_zarr_reads_the_shard_that_we_assemble(tmp_path: Path) -> None:
    layout = Layout(n_time=3, n_band=1, height=8, width=8, chunk_size=8, n_levels=1, shard_time=4)
    meta = data_meta(layout, 0, "uint16", Codec(), 0, example.GEOREF)
    values = np.arange(3 * 8 * 8, dtype="<u2").reshape(3, 1, 8, 8)
    zstd = numcodecs.Zstd(level=5)
    shard = assemble([zstd.encode(values[0]), None, zstd.encode(values[2]), None], crc)
    assert shard is not None
    (tmp_path / "c/0/0/0").mkdir(parents=True)
    (tmp_path / "c/0/0/0/0").write_bytes(shard)
    (tmp_path / "zarr.json").write_text(json.dumps(meta.to_json()))
    values[1] = 0
    np.testing.assert_array_equal(zarr.open_array(tmp_path, mode="r")[:], values)

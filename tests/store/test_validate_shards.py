"""Shards, their indexes and shard_bytes: one broken thing, one problem."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import google_crc32c
import pytest

from tests.store.validate_cases import CZ, Edit, Memory, Row, drop, each, put, root, write

SHARDING = "codecs.0.configuration"
EMPTY = 2**64 - 1


def index(edit: Callable[[list[int]], Any], key: str = "0/data/c/0/0/0/0", n: int = 3) -> Edit:
    """Edit the 2 n numbers of a shard's index (at its end), and write it with a right checksum."""

    def change(s: Memory) -> None:
        blob = s.objects[key]
        start = len(blob) - 16 * n - 4
        numbers = list(struct.unpack(f"<{2 * n}Q", blob[start:-4]))
        edit(numbers)
        body = struct.pack(f"<{2 * n}Q", *numbers)
        s.objects[key] = blob[:start] + body + struct.pack("<I", google_crc32c.value(body))

    return change


SHARDS = [
    Row("a codec around a shard", "full", put("0/data", "codecs", lambda c: [*c, {"name": "crc32c"}]), "7.1", "codecs"),
    Row("a sharding codec without configuration", "full", drop("0/data", SHARDING), "7.1", "codecs.configuration"),
    Row("no inner chunk shape", "full", drop("0/data", f"{SHARDING}.chunk_shape"), "7.1", "codecs.chunk_shape"),
    Row(
        "a shard of four cells",
        "full",
        put("0/data", "chunk_grid.configuration.chunk_shape", [3, 2, 32, 32]),
        "7.1",
        "0/data/zarr.json: chunk_grid",
    ),
    Row(
        "another shard_time in a level",
        "full",
        put("2/data", "chunk_grid.configuration.chunk_shape", [4, 2, 16, 16]),
        "7.1",
        "2/data/zarr.json: chunk_grid",
    ),
    Row(
        "an index without crc32c",
        "full",
        put("0/data", f"{SHARDING}.index_codecs", [{"name": "bytes"}]),
        "7.2",
        "index_cod",
    ),
    Row(
        "a big-endian index",
        "full",
        put("0/data", f"{SHARDING}.index_codecs.0.configuration.endian", "big"),
        "7.2",
        "index_codecs",
    ),
    Row(
        "an index in the middle", "full", put("0/data", f"{SHARDING}.index_location", "middle"), "7.2", "index_location"
    ),
    Row("a shard shorter than its index", "full", write("0/data/c/0/0/0/0", b"12"), "7.2", "0/data/c/0/0/0/0"),
    Row(
        "a torn shard",
        "full",
        lambda s: s.objects.update({"0/data/c/0/0/0/0": s.objects["0/data/c/0/0/0/0"][:-7]}),
        "7.2",
        "0/data/c/0/0/0/0",
    ),
    Row(
        "a wrong checksum",
        "full",
        lambda s: s.objects.update({"1/data/c/1/0/0/1": s.objects["1/data/c/1/0/0/1"][:-1] + b"\0"}),
        "7.2",
        "1/data/c/1/0/0/1",
    ),
    Row("a torn shard of a mask", "full", write("1/mask/c/0/0/0", b"12"), "7.2", "1/mask/c/0/0/0"),
    Row("an entry beyond the object", "full", index(lambda e: e.__setitem__(1, 10**6)), "7.2", "0/data/c/0/0/0/0"),
    Row(
        "an entry that would overflow", "full", index(lambda e: e.__setitem__(0, EMPTY - 1)), "7.2", "0/data/c/0/0/0/0"
    ),
    Row("entries that overlap", "full", index(lambda e: e.__setitem__(2, e[2] - 1)), "7.2", "0/data/c/0/0/0/0"),
    Row(
        "an entry that reaches into the index",
        "full",
        index(lambda e: e.__setitem__(5, e[5] + 1)),
        "7.2",
        "0/data/c/0/0",
    ),
    Row("an entry of no bytes", "full", index(lambda e: e.__setitem__(1, 0)), "7.2", "0/data/c/0/0/0/0"),
    Row(
        "an entry beyond the last timestep",
        "full",
        index(
            lambda e: e.__setitem__(slice(2, 6), [e[0], 1, EMPTY, EMPTY]) or e.__setitem__(slice(0, 2), [EMPTY, EMPTY]),
            "0/data/c/2/0/0/0",
        ),
        "7.2",
        "0/data/c/2/0/0/0",
    ),
    Row("shard_bytes in an unsharded store", "none", root("shard_bytes", {}), "7.3", "shard_bytes"),
    Row("shard_bytes that is a list", "full", root("shard_bytes", []), "7.3", "shard_bytes"),
    Row("a level that is a list", "full", root("shard_bytes.2", []), "7.3", "shard_bytes[2]"),
    Row(
        "a shard beyond the grid",
        "full",
        root("shard_bytes.2", lambda d: d | {"9/0/0": 5}),
        "7.3",
        "shard_bytes[2][9/0/0]",
    ),
    Row("a level that is not listed", "full", drop("", f"{CZ}.shard_bytes.1"), "7.3", "shard_bytes[1]"),
    Row("a level that there is not", "full", root("shard_bytes", lambda d: d | {"3": {}}), "7.3", "shard_bytes[3]"),
    Row("a key of another form", "full", root("shard_bytes.0", lambda d: d | {"0/0": 5}), "7.3", "shard_bytes[0][0/0]"),
    Row("a length that differs", "full", root("shard_bytes.1.0/0/1", lambda n: n + 1), "7.3", "shard_bytes[1][0/0/1]"),
    Row("a length that is a text", "full", root("shard_bytes.1.0/0/1", str), "7.3", "shard_bytes[1][0/0/1]"),
    Row("a shard that is not listed", "full", drop("", f"{CZ}.shard_bytes.0.2/1/1"), "7.3", "shard_bytes[0][2/1/1]"),
    Row(
        "a shard that does not exist",
        "full",
        lambda s: s.objects.pop("0/data/c/1/0/2/0"),
        "7.3",
        "shard_bytes[0][1/2/0]",
    ),
]


@pytest.mark.oracle
@each(SHARDS)
def test_shards(row: Row) -> None:
    row.check()

"""Codecs: one broken thing, one problem."""

from __future__ import annotations

import pytest

from tests.store.validate_cases import Row, drop, each, put

SHARDING = "codecs.0.configuration"
CODEC = "codecs.1.configuration"

CODECS = [
    Row("codecs that are a text", "none", put("0/data", "codecs", "zstd"), "8", "0/data/zarr.json: codecs"),
    Row("no compressor", "none", drop("0/data", "codecs.1"), "8", "0/data/zarr.json: codecs"),
    Row("no bytes codec", "none", drop("0/data", "codecs.0"), "8", "0/data/zarr.json: codecs"),
    Row(
        "a third codec",
        "none",
        put("0/data", "codecs", lambda c: [*c, {"name": "crc32c"}]),
        "8",
        "0/data/zarr.json: codecs",
    ),
    Row(
        "a compressor that is not permitted",
        "none",
        put("0/data", "codecs.1.name", "lz4"),
        "8",
        "0/data/zarr.json: codecs",
    ),
    Row(
        "big-endian values",
        "none",
        put("0/data", "codecs.0.configuration.endian", "big"),
        "8",
        "0/data/zarr.json: codecs",
    ),
    Row("no byte order", "none", drop("0/data", "codecs.0.configuration"), "8", "0/data/zarr.json: codecs"),
    Row("another level of compression", "none", put("1/data", f"{CODEC}.level", 6), "8", "1/data/zarr.json: codecs"),
    Row("zstd at level 23", "none", put("volatility", f"{CODEC}.level", 23), "8", "codecs.level"),
    Row("a level that is a text", "none", put("0/data", f"{CODEC}.level", "5"), "8", "0/data/zarr.json: codecs"),
    Row("zstd with a checksum", "none", put("0/data", f"{CODEC}.checksum", True), "8", "codecs.checksum", "warning"),
    Row(
        "gzip at level 0",
        "single",
        put("0/data", "codecs.1", {"name": "gzip", "configuration": {"level": 0}}),
        "8",
        "0/data/zarr.json: codecs.level",
    ),
    Row(
        "another codec in a mask",
        "full",
        put("0/mask", f"{SHARDING}.{CODEC}.clevel", 3),
        "8",
        "0/mask/zarr.json: codecs",
    ),
    Row(
        "blosc of another cname",
        "full",
        put("0/data", f"{SHARDING}.{CODEC}.cname", "zlib"),
        "8",
        "0/data/zarr.json: codecs",
    ),
    Row(
        "blosc with bitshuffle", "full", put("0/data", f"{SHARDING}.{CODEC}.shuffle", "bitshuffle"), "8", "0/data/zarr"
    ),
    Row("blosc of another typesize", "full", put("0/data", f"{SHARDING}.{CODEC}.typesize", 4), "8", "codecs.typesize"),
    Row("blosc without typesize", "full", drop("0/data", f"{SHARDING}.{CODEC}.typesize"), "8", "codecs.typesize"),
    Row("blosc in blocks", "full", put("0/data", f"{SHARDING}.{CODEC}.blocksize", 512), "8", "codecs.blocksize"),
    Row("texts without vlen-utf8", "none", put("0/band", "codecs.0.name", "bytes"), "8", "0/band/zarr.json: codecs"),
    Row(
        "a shard inside a shard", "full", put("0/data", f"{SHARDING}.codecs.1.name", "sharding_indexed"), "8", "codecs"
    ),
]


@pytest.mark.oracle
@each(CODECS)
def test_codecs(row: Row) -> None:
    row.check()

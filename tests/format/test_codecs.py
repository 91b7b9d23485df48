"""Section 8: the codecs of a chunk."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from chronozarr_dask.errors import InputError, StoreError
from chronozarr_dask.format.codecs import Codec, bytes_codec, chain, parse_chain
from tests.format.strategies import codecs, dtypes

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
ZSTD = {"name": "zstd", "configuration": {"level": 5, "checksum": False}}


def blosc(**change: Any) -> list[dict[str, Any]]:
    configuration = {"typesize": 2, "cname": "zstd", "clevel": 1, "shuffle": "shuffle", "blocksize": 0}
    return [LITTLE, {"name": "blosc", "configuration": configuration | change}]


def test_default_is_zstd_level_5_without_checksum() -> None:
    assert chain(Codec(), "uint16") == [LITTLE, ZSTD]
    assert Codec.make("zstd") == Codec()


def test_one_byte_has_no_byte_order() -> None:
    assert bytes_codec("uint8") == {"name": "bytes"}
    assert bytes_codec("float32") == LITTLE


@pytest.mark.parametrize(("dtype", "typesize"), [("uint8", 1), ("uint16", 2), ("int16", 2), ("float32", 4)])
def test_blosc_has_the_dtypes_size_and_blocksize_0(dtype: str, typesize: int) -> None:
    assert Codec.make("blosc", 9, {"cname": "lz4", "shuffle": "noshuffle"}).to_json(dtype) == {
        "name": "blosc",
        "configuration": {"typesize": typesize, "cname": "lz4", "clevel": 9, "shuffle": "noshuffle", "blocksize": 0},
    }


def test_gzip_has_a_level() -> None:
    assert Codec.make("gzip", 9).to_json("uint8") == {"name": "gzip", "configuration": {"level": 9}}


@pytest.mark.parametrize(
    ("name", "level", "options", "message"),
    [
        ("lz4", None, None, "zstd, blosc and gzip"),
        ("zstd", 0, None, "codec_level is 0: zstd takes 1 to 22"),
        ("zstd", 23, None, "codec_level is 23"),
        ("zstd", True, None, "codec_level is True"),
        ("zstd", 5.0, None, "codec_level is 5.0"),
        ("blosc", 10, None, "codec_level is 10: blosc takes 0 to 9"),
        ("gzip", 0, None, "codec_level is 0: gzip takes 1 to 9"),
        ("gzip", 6, {"cname": "lz4"}, "are for blosc"),
        ("blosc", 1, {"cname": "zlib"}, "cname is 'zlib'"),
        ("blosc", 1, {"shuffle": "bitshuffle"}, "shuffle is 'bitshuffle'"),
        ("blosc", 1, {"blocksize": 8}, "has 'blocksize'"),
    ],
)
def test_configuration_that_is_not_permitted_is_refused(name: str, level: Any, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Codec.make(name, level, options)


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        (None, "not a list of objects"),
        ("zstd", "not a list of objects"),
        (["zstd"], "not a list of objects"),
        ([], "bytes, then exactly one"),
        ([ZSTD], "bytes, then exactly one"),
        ([LITTLE], "bytes, then exactly one"),
        ([LITTLE, ZSTD, ZSTD], "bytes, then exactly one"),
        ([ZSTD, LITTLE], "bytes, then exactly one"),
        ([{"name": "bytes", "configuration": {"endian": "big"}}, ZSTD], "'big'-endian"),
        ([LITTLE, {"name": "lz4"}], "codec 'lz4' is not permitted"),
        ([LITTLE, {"name": ["zstd"]}], "is not permitted"),
        ([LITTLE, {"name": "zstd", "configuration": 5}], "configuration of codec 'zstd'"),
        ([LITTLE, {"name": "zstd", "configuration": {"level": "5"}}], "level is '5'"),
        (blosc(cname="zlib"), "cname 'zlib'"),
        (blosc(shuffle="bitshuffle"), "shuffle 'bitshuffle'"),
        (blosc(clevel=None), "clevel is None"),
    ],
)
def test_chain_that_is_not_permitted_is_named(listed: Any, message: str) -> None:
    with pytest.raises(StoreError, match=rf"^0/data: .*{message}"):
        parse_chain(listed, "0/data")


@given(codecs(), dtypes)
def test_chains_round_trip_through_json(codec: Codec, dtype: str) -> None:
    parsed = parse_chain(json.loads(json.dumps(chain(codec, dtype))), "0/data")
    assert parsed.to_json(dtype) == codec.to_json(dtype)
    assert parsed == codec

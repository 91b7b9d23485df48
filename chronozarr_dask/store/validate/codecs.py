"""Sections 7.1, 7.2 and 8: an array's codecs, around a shard and within a chunk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.codecs import Codec, parse_chain
from chronozarr_dask.format.sharding import IndexLocation
from chronozarr_dask.store.validate.problem import Findings
from chronozarr_dask.store.validate.values import as_mapping, is_sizes, same_json

SHARDING = "sharding_indexed"
TEXTS = "vlen-utf8"
# zstd has no range in the text: these are the levels that the codec itself has
_LEVELS = {"zstd": ("level", -131072, 22), "blosc": ("clevel", 0, 9), "gzip": ("level", 1, 9)}


@dataclass(frozen=True)
class Chunking:
    """How an array is cut: a shard's shape and its inner chunk's, which are equal when unsharded.

    Attributes
    ----------
    location : "start", "end" or None
        Of a shard's index; None when unsharded, or where the index cannot be read.
    """

    outer: tuple[int, ...]
    inner: tuple[int, ...]
    sharded: bool = False
    location: IndexLocation | None = None


@dataclass(frozen=True)
class Compressor:
    """The compressor of a chunk, and what its chain says of the size and order of a value's bytes.

    Attributes
    ----------
    codec : Codec
    endian : str or None
        Of the bytes codec; None where it says nothing.
    typesize : int or None
        What blosc is told.
    """

    codec: Codec
    endian: str | None
    typesize: int | None

    @property
    def settings(self) -> tuple[Any, ...]:
        """What is the same for data, mask and coverage: all but what depends on the dtype."""
        c = self.codec
        return (c.name, c.level) + ((c.cname, c.shuffle) if c.name == "blosc" else ())


def read_codecs(
    codecs: Any, outer: tuple[int, ...] | None, dtype: str | None, may_shard: bool, key: str, out: Findings
) -> tuple[Chunking | None, Compressor | None]:
    """(how the array is cut, its compressor), each None where it cannot be known; the faults are reported.

    Parameters
    ----------
    codecs : Any
        The list in the document.
    outer : tuple of int or None
        The `chunk_shape` of the chunk grid.
    dtype : str or None
    may_shard : bool
        Data and planes are sharded or not; coordinates and volatility never are.
    key : str
        Of the document.
    """
    names = [as_mapping(c).get("name") for c in codecs] if isinstance(codecs, list) else []
    if SHARDING not in names or not may_shard:
        compressor = _read_chain(codecs, dtype, key, out)
        return (None if compressor is None or outer is None else Chunking(outer, outer)), compressor
    if len(codecs) > 1:
        message = f"a shard is stored as it is: nothing around {SHARDING}"
        out.error("7.1", f"{key}: codecs", message, [SHARDING], names)
    return _read_sharding(codecs[names.index(SHARDING)].get("configuration"), outer, dtype, key, out)


def _read_sharding(
    configuration: Any, outer: tuple[int, ...] | None, dtype: str | None, key: str, out: Findings
) -> tuple[Chunking | None, Compressor | None]:
    where = f"{key}: codecs"
    if not isinstance(configuration, Mapping):
        out.error("7.1", f"{where}.configuration", "say how a shard is cut and written", "an object", configuration)
        return None, None
    location = configuration.get("index_location", "end")
    if location not in ("start", "end"):
        message = "the index is at the end (or the start) of a shard"
        out.error("7.2", f"{where}.index_location", message, "end", location)
        location = None
    index_codecs = configuration.get("index_codecs")
    if not _is_index_chain(index_codecs):
        message = "a shard index is written by bytes (little-endian), then crc32c"
        out.error("7.2", f"{where}.index_codecs", message, ["bytes", "crc32c"], index_codecs)
        location = None
    compressor = _read_chain(configuration.get("codecs"), dtype, key, out)
    inner = configuration.get("chunk_shape")
    if outer is None:
        return None, compressor
    if not is_sizes(inner, len(outer)):
        message = f"the inner chunk is one timestep of a cell: {len(outer)} positive integers"
        out.error("7.1", f"{where}.chunk_shape", message, len(outer), inner)
        return None, compressor
    return Chunking(outer, tuple(inner), True, location), compressor


def _is_index_chain(codecs: Any) -> bool:
    if not isinstance(codecs, list) or [as_mapping(c).get("name") for c in codecs] != ["bytes", "crc32c"]:
        return False
    return bool(as_mapping(codecs[0].get("configuration")).get("endian") == "little")


def _read_chain(codecs: Any, dtype: str | None, key: str, out: Findings) -> Compressor | None:
    """Section 8: bytes (vlen-utf8 for texts), then exactly one compressor as it is permitted."""
    where = f"{key}: codecs"
    first = as_mapping(codecs[0]) if isinstance(codecs, list) and codecs else {}
    name, endian = first.get("name"), as_mapping(first.get("configuration")).get("endian")
    if dtype == "string" and name != TEXTS:
        out.error("8", where, f"texts are stored by {TEXTS}, then one compressor", TEXTS, name)
        return None
    if (dtype == "uint8" and name == "bytes") or (dtype in (None, "string") and name == TEXTS):
        codecs = [{"name": "bytes"}, *codecs[1:]]  # one byte has no order (2.3), nor has a text
    try:
        codec = parse_chain(codecs, key)
    except StoreError as error:
        out.error("8", where, str(error), "bytes, then zstd, blosc or gzip", codecs)
        return None
    configuration = as_mapping(codecs[1].get("configuration"))
    level, low, high = _LEVELS[codec.name]
    if level not in configuration or not low <= codec.level <= high:
        message = f"{codec.name} takes {low} to {high}"
        out.error("8", f"{where}.{level}", message, [low, high], configuration.get(level))
        return None
    if codec.name == "zstd" and configuration.get("checksum", False) is not False:
        out.warn("8", f"{where}.checksum", "chunks are written without a checksum", False, configuration["checksum"])
    if codec.name == "blosc" and not same_json(configuration.get("blocksize", 0), 0):
        out.error("8", f"{where}.blocksize", "blosc chooses the block size itself", 0, configuration["blocksize"])
    typesize = configuration.get("typesize")
    return Compressor(codec, endian if isinstance(endian, str) else None, typesize if type(typesize) is int else None)

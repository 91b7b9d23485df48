"""The values of a small array, decoded from its chunks: coordinates (2.2) and volatility (5)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.arrays import MAX_CHUNK_BYTES
from chronozarr_dask.format.codecs import Codec
from chronozarr_dask.store.compress import decompress
from chronozarr_dask.store.inflate import DAMAGED, inflate_up_to
from chronozarr_dask.store.target import Objects
from chronozarr_dask.store.validate.facts import STRING, Facts
from chronozarr_dask.store.validate.problem import Findings
from chronozarr_dask.store.validate.values import is_number

Names = tuple[str, ...]

MAX_CHUNKS = 10_000
"""Chunks of one coordinate that are read; each SHOULD be one."""
MAX_VALUES = 1 << 24
"""Values of a coordinate, or of volatility, that are read: four times the Earth's girth at 10 m."""
MAX_TEXT_BYTES = 1 << 24


def load(objects: Objects, facts: Facts, out: Findings) -> npt.NDArray[Any] | Names | None:
    """The values of an array of one axis (or of one chunk), None after saying why they cannot be had."""
    if facts.shape is None or facts.dtype is None or facts.compressor is None or facts.chunking is None:
        return None
    chunk, ndim = facts.chunking.outer, len(facts.shape)
    count = -(-facts.shape[0] // chunk[0]) if ndim == 1 else 1
    if count > MAX_CHUNKS or count * math.prod(chunk) > MAX_VALUES:
        message = f"{count} chunks of {math.prod(chunk)} values are too many to be read; its values are not checked"
        out.warn("2.2", f"{facts.path}/c", message)
        return None
    parts: list[Any] = []
    for i in range(count):
        key = f"{facts.path}/c/{'/'.join([str(i)] + ['0'] * (ndim - 1))}"
        try:
            parts.append(_decode(objects.get(key), facts, chunk, key))
        except StoreError as error:
            out.error(facts.role.section, key, f"{error}; write the chunk again", "a chunk", None)
            return None
    if facts.dtype == STRING:
        return tuple(text for part in parts for text in part)[: facts.shape[0]]
    return np.asarray(np.concatenate(parts)[: facts.shape[0]])


def _decode(blob: bytes | None, facts: Facts, chunk: tuple[int, ...], key: str) -> Any:
    assert facts.compressor is not None
    fill = facts.document.get("fill_value")
    if facts.dtype == STRING:
        if chunk[0] > MAX_CHUNK_BYTES // 8:
            raise StoreError(f"{key}: {chunk[0]} texts are too many")
        return (
            [str(fill)] * chunk[0] if blob is None else texts(inflate(blob, facts.compressor.codec, key), chunk[0], key)
        )
    dtype = np.dtype(facts.dtype)
    nbytes = dtype.itemsize
    for n in chunk:
        nbytes *= n
    if nbytes > MAX_CHUNK_BYTES:
        raise StoreError(f"{key}: a chunk of {nbytes} bytes is more than the {MAX_CHUNK_BYTES} that codecs take")
    if blob is None:
        value = fill if is_number(fill) and (dtype.kind == "f" or -(2**63) <= fill < 2**63) else 0
        return np.full(chunk, value).astype(dtype)
    return decompress(blob, facts.compressor.codec, dtype.newbyteorder("<"), chunk, key)


def inflate(blob: bytes, codec: Codec, key: str) -> bytes:
    """Decompressed bytes of a chunk whose size is not known beforehand; StoreError if they cannot be had."""
    try:
        return inflate_up_to(blob, codec.name, MAX_TEXT_BYTES)
    except DAMAGED as error:
        raise StoreError(f"{key}: its {len(blob)} bytes do not decode as {codec.name}: {error}") from error


def texts(data: bytes, n: int, key: str) -> list[str]:
    """The texts of a vlen-utf8 chunk: a count, then each text behind its length; all numbers uint32.

    Raises
    ------
    StoreError
        If the chunk is cut, holds another number of texts, or one that is no UTF-8.
    """
    count, at, out = int.from_bytes(data[:4], "little"), 4, []
    if len(data) < 4 or count != n:
        raise StoreError(f"{key}: the chunk holds {count} texts, {n} expected")
    for _ in range(n):
        size = int.from_bytes(data[at : at + 4], "little")
        text = data[at + 4 : at + 4 + size]
        if len(data) < at + 4 or len(text) < size:
            raise StoreError(f"{key}: the chunk is cut")
        try:
            out.append(text.decode())
        except UnicodeDecodeError as error:
            raise StoreError(f"{key}: {error}") from error
        at += 4 + size
    return out

"""Pixels on their way: a small checked container for what the journal keeps until a region is stored.

A JSON line with shape and dtype, a crc32c, then zstd at its fastest level; never part of a store.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.codecs import Codec
from chronozarr_dask.store.compress import compress, crc32c, decompress

_CODEC = Codec("zstd", 1)


def pack(frames: npt.NDArray[Any]) -> bytes:
    """An array of any shape as bytes."""
    little = np.ascontiguousarray(frames, frames.dtype.newbyteorder("<"))
    payload = compress(little, _CODEC) if little.size else b""
    header = {"shape": little.shape, "dtype": little.dtype.str, "crc32c": crc32c(payload)}
    return json.dumps(header).encode() + b"\n" + payload


def unpack(blob: bytes, where: str) -> npt.NDArray[Any]:
    """Inverse of `pack`; StoreError when the bytes are torn."""
    head, _, payload = blob.partition(b"\n")
    try:
        header = json.loads(head)
        shape, dtype, checksum = tuple(header["shape"]), np.dtype(header["dtype"]), header["crc32c"]
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{where}: not a file of pixels of this journal, or torn: {error}") from error
    if crc32c(payload) != checksum:
        raise StoreError(f"{where}: {len(payload)} bytes of pixels fail their crc32c; the file is torn")
    return decompress(payload, _CODEC, dtype, shape, where) if payload else np.empty(shape, dtype)

"""Section 8 at work: one chunk compressed or decompressed by direct codec calls, without a pipeline around them.

Compressing one chunk twice gives the same bytes: gzip is written without a timestamp, blosc without threads.
"""

from __future__ import annotations

import gzip
import math
from typing import Any

import google_crc32c
import numcodecs
import numcodecs.blosc
import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.codecs import Codec
from chronozarr_dask.store.inflate import DAMAGED, inflate

numcodecs.blosc.use_threads = False

_PIECE = 2**20


def crc32c(data: bytes | memoryview) -> int:
    """CRC-32C (Castagnoli) of bytes, as shard indexes and receipts use it."""
    if isinstance(data, bytes):
        return int(google_crc32c.value(data))
    crc = 0  # of a piece at a time: the library takes nothing that can be written to
    for start in range(0, len(data), _PIECE):
        crc = google_crc32c.extend(crc, bytes(data[start : start + _PIECE]))
    return crc


def most_bytes(nbytes: int) -> int:
    """What compressed bytes of `nbytes` take at most, with any codec of section 8."""
    return nbytes + nbytes // 128 + 4096


def compress(chunk: npt.NDArray[Any], codec: Codec) -> bytes:
    """Stored bytes of one chunk.

    Parameters
    ----------
    chunk : ndarray, C-contiguous, little-endian
        Already padded to the full chunk shape.
    codec : Codec
    """
    if codec.name == "zstd":
        return bytes(numcodecs.Zstd(level=codec.level, checksum=False).encode(chunk))
    if codec.name == "gzip":
        return gzip.compress(chunk.data, compresslevel=codec.level, mtime=0)
    shuffle = numcodecs.Blosc.SHUFFLE if codec.shuffle == "shuffle" else numcodecs.Blosc.NOSHUFFLE
    blosc = numcodecs.Blosc(cname=codec.cname, clevel=codec.level, shuffle=shuffle, blocksize=0)
    return bytes(blosc.encode(chunk))


def decompress(
    blob: bytes,
    codec: Codec,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    where: str,
    out: npt.NDArray[np.uint8] | None = None,
) -> npt.NDArray[Any]:
    """The chunk behind stored bytes; takes no more memory than the chunk's own size. `out` is used where it can be.

    Raises
    ------
    StoreError
        If the bytes are damaged, or do not decode to exactly `shape` of `dtype`.
    """
    nbytes = math.prod(shape) * dtype.itemsize
    try:
        return inflate(blob, codec.name, nbytes, out).view(dtype).reshape(shape)
    except DAMAGED as error:
        raise StoreError(f"{where}: its {len(blob)} bytes do not decode as {codec.name}: {error}") from error

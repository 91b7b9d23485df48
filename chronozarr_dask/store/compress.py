"""Section 8 at work: one chunk compressed or decompressed by direct codec calls, without a pipeline around them.

Compressing one chunk twice gives the same bytes: gzip is written without a timestamp, blosc without threads.
"""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import google_crc32c
import numcodecs
import numcodecs.blosc
import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.codecs import Codec

_GZIP_WINDOW = zlib.MAX_WBITS | 16
_BLOSC_HEADER = 16

numcodecs.blosc.use_threads = False


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli) of bytes, as shard indexes and receipts use it."""
    return int(google_crc32c.value(data))


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


def decompress(blob: bytes, codec: Codec, dtype: np.dtype[Any], shape: tuple[int, ...], where: str) -> npt.NDArray[Any]:
    """The chunk behind stored bytes; never allocates more than the chunk's own size.

    Raises
    ------
    StoreError
        If the bytes are damaged, or do not decode to exactly `shape` of `dtype`.
    """
    out = np.empty(shape, dtype)
    try:
        if codec.name == "gzip":
            data = _gunzip(blob, out.nbytes)
        else:
            decoder = numcodecs.Zstd() if codec.name == "zstd" else numcodecs.Blosc()
            _check_frame(blob, codec, out.nbytes)
            decoder.decode(blob, out=out.reshape(-1).view(np.uint8))
            return out
    except (RuntimeError, ValueError, TypeError, zlib.error, EOFError) as error:
        raise StoreError(f"{where}: its {len(blob)} bytes do not decode as {codec.name}: {error}") from error
    if len(data) != out.nbytes:
        raise StoreError(f"{where}: decodes to {len(data)} bytes, {out.nbytes} expected")
    return np.frombuffer(bytearray(data), dtype).reshape(shape)


def _gunzip(blob: bytes, nbytes: int) -> bytes:
    """Decompress all members of a gzip stream (RFC 1952, 2.2), as far as `nbytes` bytes."""
    data = b""
    while blob:
        decoder = zlib.decompressobj(_GZIP_WINDOW)
        data += decoder.decompress(blob, nbytes + 1 - len(data))
        if not decoder.eof or len(data) > nbytes:
            raise ValueError("the stream is cut, or longer than the chunk")
        blob = decoder.unused_data
    return data


def _check_frame(blob: bytes, codec: Codec, nbytes: int) -> None:
    """Raise ValueError unless the frame's header announces exactly `nbytes`, and blosc's its own length too.

    numcodecs takes a frame that is shorter than the output, and reads past the end of a cut blosc frame.
    """
    if codec.name == "blosc":
        if len(blob) < _BLOSC_HEADER:
            raise ValueError("the frame is cut within its header")
        announced = int.from_bytes(blob[4:8], "little")
        if int.from_bytes(blob[12:16], "little") != len(blob):
            raise ValueError("the frame is cut, or longer than its header says")
    else:
        size = _zstd_content_size(blob)
        if size is None:  # a streaming encoder leaves it out; the decoder then checks it at the end
            return
        announced = size
    if announced != nbytes:
        raise ValueError(f"the frame announces {announced} bytes, {nbytes} expected")


def _zstd_content_size(blob: bytes) -> int | None:
    """Frame_Content_Size of a zstd frame (RFC 8878, 3.1.1.1), None where there is none."""
    if len(blob) < 6 or blob[:4] != b"\x28\xb5\x2f\xfd":
        raise ValueError("not a zstd frame")
    descriptor = blob[4]
    single = bool(descriptor & 0x20)
    flag = descriptor >> 6
    at = 5 + (0 if single else 1) + (0, 1, 2, 4)[descriptor & 3]
    size = (1 if single else 0, 2, 4, 8)[flag]
    if not size:
        return None
    if len(blob) < at + size:
        raise ValueError("the frame is cut within its header")
    return int.from_bytes(blob[at : at + size], "little") + (256 if size == 2 else 0)

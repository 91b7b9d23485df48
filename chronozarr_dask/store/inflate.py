"""Section 8, against bytes that lie: decompressing takes no more memory than what is expected, whatever is stored.

A decoder must know its end before it begins. What a header announces is compared with the expected size before anything
is allocated; where a zstd frame announces nothing, the expected size is written into its header, and zstd itself then
refuses more and less. gzip announces nothing of use, and is taken piece by piece.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numcodecs
import numpy as np
import numpy.typing as npt

from chronozarr_dask.format.codecs import CodecName

_GZIP_WINDOW = zlib.MAX_WBITS | 16
_PIECE = 2**16  # of a gzip stream: what is copied at the end of each of its members
_BLOSC_HEADER = 16
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_BLOCK = 2**17  # most bytes that a block decodes to (RFC 8878, 3.1.1.2.4)
_SINGLE_SEGMENT, _CHECKSUM, _DICTIONARY = 0x20, 0x04, 0x03

DAMAGED = (RuntimeError, ValueError, TypeError, zlib.error, EOFError)
"""What the functions of this module raise on bytes that are not what they are taken for."""


def inflate(
    blob: bytes, codec: CodecName, nbytes: int, out: npt.NDArray[np.uint8] | None = None
) -> npt.NDArray[np.uint8]:
    """Decompress exactly `nbytes` bytes.

    Parameters
    ----------
    blob : bytes
        The whole stored chunk.
    codec : "zstd", "blosc" or "gzip"
    nbytes : int
        What it must decode to.
    out : ndarray (nbytes,), uint8, optional
        To decode into, where the codec can.

    Returns
    -------
    ndarray (nbytes,), uint8
        Owned and writable.

    Raises
    ------
    One of `DAMAGED`
        If the bytes are damaged, or decode to more or less; nothing was allocated where a header says so.
    """
    if codec == "gzip":
        data = _gunzip(blob, nbytes)
        if len(data) != nbytes:
            raise ValueError(f"decodes to {len(data)} bytes, {nbytes} expected")
        return np.frombuffer(data, np.uint8)
    announced = _blosc_size(blob) if codec == "blosc" else zstd_size(blob)
    if announced is None:
        blob = _with_size(blob, nbytes)
    elif announced != nbytes:
        raise ValueError(f"the frame announces {announced} bytes, {nbytes} expected")
    out = np.empty(nbytes, np.uint8) if out is None else out
    (numcodecs.Blosc() if codec == "blosc" else numcodecs.Zstd()).decode(blob, out=out)
    return out


def inflate_up_to(blob: bytes, codec: CodecName, limit: int) -> bytes:
    """Decompress what has a size that is not known beforehand, as band names have; never more than `limit` bytes.

    Raises
    ------
    One of `DAMAGED`
        If the bytes are damaged, or could decode to more.
    """
    if codec == "gzip":
        return bytes(_gunzip(blob, limit))
    bound: Callable[[bytes], int] = _blosc_size if codec == "blosc" else _zstd_bound
    if bound(blob) > limit:
        raise ValueError(f"the frame decodes to as much as {bound(blob)} bytes, {limit} are allowed")
    return bytes((numcodecs.Blosc() if codec == "blosc" else numcodecs.Zstd()).decode(blob))


def _gunzip(blob: bytes, limit: int) -> bytearray:
    """Decompress all members of a gzip stream (RFC 1952, 2.2); ValueError if there are more than `limit` bytes."""
    data = bytearray()
    decoder = zlib.decompressobj(_GZIP_WINDOW)
    for at in range(0, len(blob), _PIECE):
        rest = blob[at : at + _PIECE]
        while rest:
            if decoder.eof:
                decoder = zlib.decompressobj(_GZIP_WINDOW)
            data += decoder.decompress(rest, limit + 1 - len(data))
            if len(data) > limit:
                raise ValueError(f"the stream is longer than the {limit} bytes expected")
            rest = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
    if not decoder.eof:
        raise ValueError("the stream is cut")
    return data


def _blosc_size(blob: bytes) -> int:
    """What a blosc frame announces; ValueError unless it also announces its own length.

    c-blosc believes the header, and reads past the end of a frame that was cut.
    """
    if len(blob) < _BLOSC_HEADER:
        raise ValueError("the frame is cut within its header")
    if int.from_bytes(blob[12:16], "little") != len(blob):
        raise ValueError("the frame is cut, or longer than its header says")
    return int.from_bytes(blob[4:8], "little")


def _zstd_header(blob: bytes) -> tuple[int, int]:
    """Where Frame_Content_Size is in a zstd frame, and its length, 0 where there is none (RFC 8878, 3.1.1.1)."""
    if len(blob) < 6 or blob[:4] != _ZSTD_MAGIC:
        raise ValueError("not a zstd frame")
    descriptor = blob[4]
    single = bool(descriptor & _SINGLE_SEGMENT)
    at = 5 + (0 if single else 1) + (0, 1, 2, 4)[descriptor & _DICTIONARY]
    size = (1 if single else 0, 2, 4, 8)[descriptor >> 6]
    if len(blob) < at + size:
        raise ValueError("the frame is cut within its header")
    return at, size


def zstd_size(blob: bytes) -> int | None:
    """Frame_Content_Size of a zstd frame, None where a streaming encoder left it out; ValueError if it is no frame."""
    at, size = _zstd_header(blob)
    return int.from_bytes(blob[at : at + size], "little") + (256 if size == 2 else 0) if size else None


def _with_size(blob: bytes, nbytes: int) -> bytes:
    """The same zstd frame with Frame_Content_Size in its header, eight bytes wide."""
    at, _ = _zstd_header(blob)
    return b"".join([blob[:4], bytes([blob[4] | 0xC0]), blob[5:at], nbytes.to_bytes(8, "little"), blob[at:]])


def _zstd_bound(blob: bytes) -> int:
    """Most bytes that a zstd frame decodes to: what it announces, else what its blocks can hold."""
    announced = zstd_size(blob)
    if announced is not None:
        return announced
    at, size = _zstd_header(blob)
    at, total, last = at + size, 0, False
    while not last:
        if len(blob) < at + 3:
            raise ValueError("the frame is cut")
        header = int.from_bytes(blob[at : at + 3], "little")
        last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
        total += _ZSTD_BLOCK if kind == 2 else size  # 0: stored, 1: one byte repeated, 2: compressed
        at += 3 + (1 if kind == 1 else size)
    if at + (4 if blob[4] & _CHECKSUM else 0) != len(blob):
        raise ValueError("the frame is cut, or something follows it")
    return total

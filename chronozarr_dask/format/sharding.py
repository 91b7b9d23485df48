"""Section 7: shards. One object holds a cell over `shard_time` timesteps, with an index of its chunks at the end::

    [chunk of t0][chunk of t1] ... [offset, nbytes | offset, nbytes | ...][crc32c]
                                    16 bytes for each of shard_time, empty ones too      4 bytes

An empty chunk has 2^64 - 1 in both places. A partial last shard keeps all of its `shard_time` entries (7.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import InputError, StoreError

EMPTY = 2**64 - 1
ENTRY_BYTES = 16
CHECKSUM_BYTES = 4
WHOLE_AXIS = "all"
DEFAULT_SHARD_BYTES_LIMIT = 50_000
MAX_OBJECT_BYTES = 2**53
"""No host takes longer objects; what a JSON number says exactly, and an offset in a file can be."""

IndexLocation = Literal["start", "end"]
Checksum = Callable[[bytes], int]


def check_shard_time(shard_time: int | Literal["all"] | None, n_time: int) -> int | None:
    """Timesteps in a shard, None for unsharded, ``"all"`` for the whole axis; InputError if it is none of these."""
    if shard_time is None:
        return None
    if shard_time == WHOLE_AXIS:
        return n_time
    if isinstance(shard_time, bool) or not isinstance(shard_time, int) or shard_time < 1:
        raise InputError(
            f"shard_time is {shard_time!r}: give a number of timesteps of at least 1, 'all', or nothing for an "
            f"unsharded store (section 7.1)"
        )
    return shard_time


def index_bytes(shard_time: int) -> int:
    """N = 16 * shard_time + 4 (7.2)."""
    return ENTRY_BYTES * shard_time + CHECKSUM_BYTES


def shard_of(t: int, shard_time: int) -> tuple[int, int]:
    """(time shard, inner position) of a timestep (7.1)."""
    return t // shard_time, t % shard_time


def pack_index(entries: Sequence[tuple[int, int] | None], checksum: Checksum) -> bytes:
    """The index of a shard: one (offset, nbytes) or None for each of its `shard_time` positions, and the crc32c."""
    table = np.array([(EMPTY, EMPTY) if e is None else e for e in entries], dtype="<u8")
    body = table.tobytes()
    return body + checksum(body).to_bytes(CHECKSUM_BYTES, "little")


def assemble(
    chunks: Iterable[bytes | None], checksum: Checksum, room: memoryview | None = None
) -> bytes | memoryview | None:
    """A whole shard with its index at the end, or None when every chunk is empty: such a shard is not stored.

    Parameters
    ----------
    chunks : iterable of bytes or None
        Compressed chunks by inner position, `shard_time` of them; None is an empty one. Each is let go of before the
        next is asked for.
    checksum : callable
        crc32c of bytes.
    room : memoryview of bytes, optional
        Where the shard is put together: the result is the part of it that is used. Many shards, one after the other,
        need no memory of their own. ValueError when it is too small.
    """
    out: bytearray | memoryview = bytearray() if room is None else room
    entries: list[tuple[int, int] | None] = []
    end = 0
    for c in chunks:
        entries.append(None if c is None else (end, len(c)))
        if c is not None:
            out[end : end + len(c)] = c
            end += len(c)
    if not any(entries):
        return None
    index = pack_index(entries, checksum)
    out[end : end + len(index)] = index
    return bytes(out) if room is None else room[: end + len(index)]


def index_table(
    blob: bytes, shard_time: int, checksum: Checksum, where: str, object_bytes: int | None = None
) -> npt.NDArray[np.int64]:
    """Where each inner chunk of a shard is.

    Parameters
    ----------
    blob : bytes
        The `index_bytes(shard_time)` bytes of the index.
    shard_time : int
    checksum : callable
        crc32c of bytes.
    where : str
        Of the object, for the error.
    object_bytes : int, optional
        Length of the shard object: no entry may reach beyond it.

    Returns
    -------
    ndarray (shard_time, 2), int64
        Offset and length in bytes; -1 and -1 where the chunk is empty.

    Raises
    ------
    StoreError
        If the length or the checksum is wrong, or an entry is half empty, of no bytes or not within the object.
    """
    if len(blob) != index_bytes(shard_time):
        raise StoreError(f"{where}: the shard index has {len(blob)} bytes, {index_bytes(shard_time)} expected (7.2)")
    body, tail = blob[:-CHECKSUM_BYTES], blob[-CHECKSUM_BYTES:]
    stored = int.from_bytes(tail, "little")
    if checksum(body) != stored:
        raise StoreError(
            f"{where}: the shard index fails its crc32c ({checksum(body):08x}, stored {stored:08x}): the object is "
            f"torn, or it grew since the root document was read; open the store again (7.2, 14)"
        )
    table = np.frombuffer(body, "<u8").reshape(-1, 2)
    offset, nbytes = table[:, 0], table[:, 1]
    end = np.uint64(MAX_OBJECT_BYTES if object_bytes is None else object_bytes)
    empty = (table == np.uint64(EMPTY)).all(axis=1)
    within = (nbytes > 0) & (offset < end) & (nbytes <= end - np.minimum(offset, end))  # no sum: it could wrap around
    wrong = ~(empty | within)
    if wrong.any():
        raise StoreError(_wrong_entry(table, int(np.argmax(wrong)), where, object_bytes))
    return table.view("<i8").astype(np.int64)  # an empty entry, 2^64 - 1 twice, reads as -1 twice


def _wrong_entry(table: npt.NDArray[np.uint64], i: int, where: str, object_bytes: int | None) -> str:
    offset, nbytes = table[i].tolist()
    if EMPTY in (offset, nbytes):
        return f"{where}: index entry {i} is half empty: offset {offset}, {nbytes} bytes (7.2)"
    if offset + nbytes > (MAX_OBJECT_BYTES if object_bytes is None else object_bytes):
        of = "" if object_bytes is None else f" of {object_bytes}"
        return f"{where}: index entry {i} says bytes {offset} to {offset + nbytes}{of} (7.2)"
    return f"{where}: index entry {i} has no bytes at offset {offset}: an empty chunk has 2^64 - 1 twice (7.2)"


def parse_index(
    blob: bytes, shard_time: int, checksum: Checksum, where: str, object_bytes: int | None = None
) -> tuple[tuple[int, int] | None, ...]:
    """(offset, nbytes) of each inner chunk, None where empty: `index_table` as Python numbers."""
    table = index_table(blob, shard_time, checksum, where, object_bytes)
    return tuple(None if nbytes < 0 else (offset, nbytes) for offset, nbytes in table.tolist())


@dataclass(frozen=True)
class Sharding:
    """The ``sharding_indexed`` codec of one array (7.1).

    Attributes
    ----------
    shape : tuple of int
        Shard shape: (shard_time, [n_band,] cs, cs).
    inner : tuple of int
        Inner chunk shape: (1, [n_band,] cs, cs).
    location : "start" or "end"
        Where the index is; written at the end, both are read (7.2).
    """

    shape: tuple[int, ...]
    inner: tuple[int, ...]
    location: IndexLocation = "end"

    @property
    def shard_time(self) -> int:
        """Timesteps in a shard."""
        return self.shape[0]

    def to_json(self, codecs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The array's codecs list around the `codecs` of an inner chunk."""
        return [
            {
                "name": "sharding_indexed",
                "configuration": {
                    "chunk_shape": list(self.inner),
                    "codecs": codecs,
                    "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
                    "index_location": self.location,
                },
            }
        ]


def parse_sharding(codecs: Any, chunk_shape: tuple[int, ...], where: str) -> tuple[Sharding | None, Any]:
    """(sharding or None, codecs of an inner chunk) of an array's codecs list.

    Raises
    ------
    StoreError
        If there are codecs around the shard, or index codecs other than bytes and crc32c: each is named.
    """
    if not isinstance(codecs, Sequence) or isinstance(codecs, str) or not all(isinstance(c, Mapping) for c in codecs):
        raise StoreError(f"{where}: codecs is not a list of objects")
    names = [c.get("name") for c in codecs]
    if "sharding_indexed" not in names:
        return None, codecs
    if len(names) > 1:
        others = [n for n in names if n != "sharding_indexed"] or names[1:]
        raise StoreError(f"{where}: {others} around sharding_indexed: a shard is stored as it is (7.1)")
    config = codecs[0].get("configuration")
    if not isinstance(config, Mapping):
        raise StoreError(f"{where}: sharding_indexed has no configuration (7.1)")
    inner = config.get("chunk_shape")
    if (
        not isinstance(inner, list)
        or len(inner) != len(chunk_shape)
        or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in inner)
    ):
        raise StoreError(f"{where}: the inner chunk_shape is {inner!r} (7.1)")
    _check_index_codecs(config.get("index_codecs"), where)
    location = config.get("index_location", "end")
    if location not in ("start", "end"):
        raise StoreError(f"{where}: index_location is {location!r}: start or end (7.2)")
    return Sharding(tuple(chunk_shape), tuple(inner), location), config.get("codecs")


def _check_index_codecs(codecs: Any, where: str) -> None:
    listed = codecs if isinstance(codecs, list) else []
    names = [c.get("name") if isinstance(c, Mapping) else c for c in listed]
    if names != ["bytes", "crc32c"]:
        raise StoreError(f"{where}: index_codecs are {codecs!r}: section 7 has bytes and crc32c")
    config = listed[0].get("configuration", {})
    if not isinstance(config, Mapping) or config.get("endian", "little") != "little":
        raise StoreError(f"{where}: the shard index is not little-endian (7.2)")

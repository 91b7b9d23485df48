"""Sections 7, 8 and 10 (rules 4 and 6): one array's stored chunks: key, shard index, bytes, decoded.

What is stored is handed out: the true value of a star-delta timestep is made in `cells`. An unsharded chunk is one GET.
A shard costs its index, once: one range where ``shard_bytes`` lists its length, else a suffix range, else a HEAD and a
range; then one range for each run of chunks that lie together (`ranges`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.arrays import ArrayMeta, most_stored_bytes
from chronozarr_dask.format.sharding import Sharding, index_bytes, index_table
from chronozarr_dask.store.answers import HTML_ANSWER, looks_like_html
from chronozarr_dask.store.cache import Cache
from chronozarr_dask.store.compress import crc32c, decompress
from chronozarr_dask.store.cost import spent
from chronozarr_dask.store.ranges import Entry, Range, coalesce
from chronozarr_dask.store.target import Objects

INDEX_CACHE_BYTES = 32 * 2**20

ShardIndex = npt.NDArray[np.int64] | None
"""(shard_time, 2): offset and length of each inner chunk, -1 where empty. None for a shard that is not there."""


def index_cache() -> Cache[ShardIndex]:
    """A cache for the shard indexes of a store."""
    return Cache(INDEX_CACHE_BYTES, lambda index: 64 if index is None else index.nbytes + 128)


@dataclass(frozen=True)
class Chunks:
    """Access to the chunks of one array.

    Attributes
    ----------
    objects : Objects
        The store's.
    path : str
        Of the array, for example ``0/data``.
    meta : ArrayMeta
    lengths : mapping of str to int
        Entries of ``shard_bytes`` for this array (7.3); may lack any shard.
    indexes : Cache
        Shard indexes, shared by the arrays of a store.
    """

    objects: Objects
    path: str
    meta: ArrayMeta
    lengths: Mapping[str, int] = field(default_factory=dict)
    indexes: Cache[ShardIndex] = field(default_factory=index_cache)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a decoded chunk: (n_band, cs, cs), for a plane (cs, cs)."""
        return self.meta.chunk[1:]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Stored dtype, little-endian."""
        return np.dtype(self.meta.dtype).newbyteorder("<")

    @property
    def shard_time(self) -> int:
        """Timesteps in an object."""
        return 1 if self.meta.sharding is None else self.meta.sharding.shard_time

    def key(self, t: int, row: int, col: int) -> str:
        """Key of the object that holds a chunk: its own, or its shard's."""
        cell = f"0/{row}/{col}" if len(self.meta.shape) == 4 else f"{row}/{col}"
        return f"{self.path}/c/{t // self.shard_time}/{cell}"

    def read(self, t: int, row: int, col: int) -> npt.NDArray[Any]:
        """The stored chunk, at its full size; all fill where it is not stored. Not to be written to.

        Raises
        ------
        StoreError
            If its bytes, or its shard's index, are damaged.
        TargetError
            If the target does not answer.
        """
        if self.meta.sharding is None:
            blob = self.fetch(t, row, col)
            return self.fill() if blob is None else self.decoded(blob, t, row, col)
        ranges, _ = self.locate([t], row, col)
        if not ranges:
            return self.fill()
        return self.decoded(self.fetch_range(ranges[0], row, col)[0][1], t, row, col)

    def fill(self) -> npt.NDArray[Any]:
        """A chunk that is not stored."""
        return np.broadcast_to(np.array(self.meta.fill, self.dtype), self.shape)

    def fetch(self, t: int, row: int, col: int) -> bytes | None:
        """Stored bytes of a chunk of an unsharded array, None where it is not stored."""
        spent(chunks=1, requests=1)
        blob = self.objects.get(self.key(t, row, col))
        if blob is not None:
            spent(bytes_fetched=len(blob))
        return blob

    def decoded(
        self, blob: bytes, t: int, row: int, col: int, out: npt.NDArray[np.uint8] | None = None
    ) -> npt.NDArray[Any]:
        """The chunk behind stored bytes. Not to be written to.

        Parameters
        ----------
        blob : bytes
        t, row, col : int
            Where it is from, for the error.
        out : ndarray (nbytes,), uint8, optional
            To decode into, where the codec can.
        """
        where = f"{self.objects.url}/{self.key(t, row, col)}"
        if looks_like_html(blob):
            raise StoreError(f"{where}: {HTML_ANSWER}")
        if self.meta.sharding is not None:
            where += f" (timestep {t})"
        chunk = decompress(blob, self.meta.codec, self.dtype, self.shape, where, out)
        chunk.setflags(write=False)
        spent(bytes_decoded=chunk.nbytes, cells_decoded=chunk.size)
        return chunk

    # ---- shards -----------------------------------------------------------------------------------------------------

    def locate(self, times: Sequence[int], row: int, col: int) -> tuple[list[Range], list[int]]:
        """Where the chunks of a cell are, for timesteps of one shard: the ranges to read, and those not stored."""
        sharding = self.meta.sharding
        assert sharding is not None
        ts = times[0] // self.shard_time
        key = self.key(times[0], row, col)
        index = self.indexes.get(key, lambda: self._index(sharding, key, f"{ts}/{row}/{col}"))
        if index is None:
            return [], list(times)
        found = {t: index[t - ts * self.shard_time].tolist() for t in times}
        stored = [Entry(t, offset, nbytes) for t, (offset, nbytes) in found.items() if nbytes >= 0]
        return coalesce(stored), [t for t, (_, nbytes) in found.items() if nbytes < 0]

    def fetch_range(self, part: Range, row: int, col: int) -> list[tuple[int, bytes]]:
        """Stored bytes of the chunks of a range of a shard, each with its timestep; one request."""
        key = self.key(part.entries[0].t, row, col)
        spent(chunks=len(part.entries), requests=1)
        blob = self.objects.get_range(key, part.start, part.stop)
        if blob is None or len(blob) != part.stop - part.start:
            times = ", ".join(str(e.t) for e in part.entries)
            got = "is gone" if blob is None else f"gave {len(blob)} of them"
            raise StoreError(
                f"{self.objects.url}/{key}: bytes {part.start} to {part.stop} of timestep {times} were asked for, the "
                f"object {got}: it changed since its index was read; open the store again (7.2, 14)"
            )
        spent(bytes_fetched=len(blob))
        if len(part.entries) == 1:
            return [(part.entries[0].t, blob)]
        return [(e.t, blob[e.offset - part.start : e.end - part.start]) for e in part.entries]

    def _index(self, sharding: Sharding, key: str, name: str) -> ShardIndex:
        """Fetch and check a shard's index; no entry may reach beyond the object, or be far larger than a chunk."""
        where = f"{self.objects.url}/{key}"
        n = index_bytes(sharding.shard_time)
        found = self._index_blob(sharding, key, self.lengths.get(name), n)
        if found is None:
            return None
        blob, length = found
        spent(bytes_fetched=len(blob))
        if looks_like_html(blob):
            raise StoreError(f"{where}: {HTML_ANSWER}")
        if length < n:
            raise StoreError(f"{where}: the shard has {length} bytes, its index alone has {n} (7.2)")
        index = index_table(blob, sharding.shard_time, crc32c, where, length)
        most = most_stored_bytes(self.meta.chunk_bytes)
        if (index[:, 1] > most).any():
            i = int(np.argmax(index[:, 1] > most))
            raise StoreError(
                f"{where}: index entry {i} has {index[i, 1]} bytes, where a whole chunk has "
                f"{self.meta.chunk_bytes} before it is compressed (7.2)"
            )
        return index

    def _index_blob(self, sharding: Sharding, key: str, length: int | None, n: int) -> tuple[bytes, int] | None:
        """Bytes of a shard's index, and the shard's length; None where there is no shard."""
        if length is None and sharding.location == "end":
            spent(requests=1)
            return self.objects.tail(key, n)
        if length is None:
            spent(requests=1)
            length = self.objects.size(key)
            if length is None:
                return None
        if length < n:
            return b"", length
        start = 0 if sharding.location == "start" else length - n
        spent(requests=1)
        blob = self.objects.get_range(key, start, start + n)
        return None if blob is None else (blob, length)

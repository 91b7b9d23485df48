"""Sections 7, 8 and 10 (rules 4 and 6): one array's stored chunks, each read alone: key, shard index, bytes, decoded.

What is stored is handed out: the true value of a star-delta timestep is made in `cells`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.arrays import ArrayMeta
from chronozarr_dask.format.sharding import Sharding, index_bytes, parse_index, shard_of
from chronozarr_dask.store.cache import Cache
from chronozarr_dask.store.compress import crc32c, decompress
from chronozarr_dask.store.target import Objects

INDEX_CACHE_BYTES = 32 * 2**20
_EMPTY = -1

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

    def key(self, t: int, row: int, col: int) -> str:
        """Key of the object that holds a chunk: its own, or its shard's."""
        ts = t if self.meta.sharding is None else t // self.meta.sharding.shard_time
        cell = f"0/{row}/{col}" if len(self.meta.shape) == 4 else f"{row}/{col}"
        return f"{self.path}/c/{ts}/{cell}"

    def read(self, t: int, row: int, col: int) -> npt.NDArray[Any]:
        """The stored chunk, at its full size; all fill where it is not stored. Not to be written to.

        Raises
        ------
        StoreError
            If its bytes, or its shard's index, are damaged.
        TargetError
            If the target does not answer.
        """
        blob = self._bytes(t, row, col)
        if blob is None:
            return np.broadcast_to(np.array(self.meta.fill, self.dtype), self.shape)
        where = f"{self.objects.url}/{self.key(t, row, col)}"
        if looks_like_html(blob):
            raise StoreError(f"{where}: {HTML_ANSWER}")
        if self.meta.sharding is not None:
            where += f" (timestep {t})"
        chunk = decompress(blob, self.meta.codec, self.dtype, self.shape, where)
        chunk.setflags(write=False)
        return chunk

    def _bytes(self, t: int, row: int, col: int) -> bytes | None:
        """Stored bytes of a chunk, None where it is not stored."""
        key = self.key(t, row, col)
        if self.meta.sharding is None:
            return self.objects.get(key)
        ts, position = shard_of(t, self.meta.sharding.shard_time)
        sharding = self.meta.sharding
        index = self.indexes.get(key, lambda: self._index(sharding, key, f"{ts}/{row}/{col}"))
        if index is None or index[position, 0] == _EMPTY:
            return None
        offset, nbytes = (int(v) for v in index[position])
        blob = self.objects.get_range(key, offset, offset + nbytes)
        if blob is None or len(blob) != nbytes:
            got = "is gone" if blob is None else f"gave {len(blob)} of them"
            raise StoreError(
                f"{self.objects.url}/{key}: bytes {offset} to {offset + nbytes} of timestep {t} were asked for, the "
                f"object {got}: it changed since its index was read; open the store again (7.2, 14)"
            )
        return blob

    def _index(self, sharding: Sharding, key: str, name: str) -> ShardIndex:
        """Fetch and check a shard's index: one bounded range, after a HEAD where its length is not listed."""
        where = f"{self.objects.url}/{key}"
        length = self.lengths.get(name)
        if length is None:
            length = self.objects.size(key)
        if length is None:
            return None
        n = index_bytes(sharding.shard_time)
        if length < n:
            raise StoreError(f"{where}: the shard has {length} bytes, its index alone has {n} (7.2)")
        start = 0 if sharding.location == "start" else length - n
        blob = self.objects.get_range(key, start, start + n)
        if blob is None:
            return None
        if looks_like_html(blob):
            raise StoreError(f"{where}: {HTML_ANSWER}")
        entries = parse_index(blob, sharding.shard_time, crc32c, where, length)
        return np.array([(_EMPTY, _EMPTY) if e is None else e for e in entries], np.int64)


HTML_ANSWER = (
    "the answer is a web page. The host answers a page where an object is absent, or asks for a login; it must answer "
    "404 for an absent key (section 9)"
)


def looks_like_html(blob: bytes) -> bool:
    """Whether an answer is a web page instead of an object."""
    return blob[:64].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith((b"<!doctype", b"<html", b"<head", b"<?xml"))

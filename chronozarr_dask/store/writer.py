"""Turn the pixels of one array of one region into stored objects: each compressed and put exactly once, never read.

Cell by cell, timesteps inside: residuals and padding exist for one chunk at a time, compressed bytes for one object. A
chunk whose stored bytes are all fill is left out (2.1); a shard is put together whole (7).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.format.codecs import Codec
from chronozarr_dask.format.dtypes import Number
from chronozarr_dask.format.layout import object_key
from chronozarr_dask.format.sharding import assemble, index_bytes
from chronozarr_dask.kernels.change import change_sums
from chronozarr_dask.kernels.fill import cut_cell, empty_chunk, equals_fill
from chronozarr_dask.kernels.residuals import residual_cell
from chronozarr_dask.plan.objects import ArrayObjects
from chronozarr_dask.store.compress import compress, crc32c, most_bytes
from chronozarr_dask.store.heap import keep
from chronozarr_dask.store.receipts import Stored
from chronozarr_dask.store.target import Objects

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class ArrayWriter:
    """Writes one array of one region.

    Attributes
    ----------
    target : Objects
    objects : ArrayObjects
        Which objects.
    own : range
        Timesteps to store.
    present : tuple of int
        Timestep of each frame at hand.
    references : tuple of int or None
        Star-delta: the anchor of each present timestep. None: true values are stored.
    chunk_size : int
    fill : number
    codec : Codec
    shard_time : int or None
    """

    target: Objects
    objects: ArrayObjects
    own: range
    present: tuple[int, ...]
    references: tuple[int, ...] | None
    chunk_size: int
    fill: Number
    codec: Codec
    shard_time: int | None

    def rows(self) -> Iterator[tuple[int, ArrayWriter]]:
        """(row, writer) of every row of cells."""
        cells = self.objects.cells
        for row in range(cells.y0, cells.y1):
            yield row, replace(self, objects=replace(self.objects, cells=replace(cells, y0=row, y1=row + 1)))

    def store(self, frames: Array) -> Stored:
        """Store the objects of `frames`, ndarray (present, band, y, x); a plane has one band."""
        keep()
        lengths, checksums = [], []
        cells, shape = self.objects.cells, frames.shape[1:] if self.objects.has_band else frames.shape[2:]
        room = empty_chunk(shape, self.chunk_size, frames.dtype)
        shard = self._room_of_shard(room.nbytes)
        for row in range(cells.y0, cells.y1):
            for col in range(cells.x0, cells.x1):
                y, x = (row - cells.y0) * self.chunk_size, (col - cells.x0) * self.chunk_size
                cell = frames[:, :, y : y + self.chunk_size, x : x + self.chunk_size]
                for t, blob in self._objects(cell, room, shard):
                    lengths.append(0 if blob is None else len(blob))
                    checksums.append(0 if blob is None else crc32c(blob))
                    if blob is not None:
                        has_band = self.objects.has_band
                        self.target.put(
                            object_key(self.objects.level, self.objects.name, t, row, col, has_band=has_band), blob
                        )
        return Stored(tuple(lengths), tuple(checksums))

    def _room_of_shard(self, chunk_bytes: int) -> memoryview:
        """Room for any shard; memory is taken only where it is written to."""
        n = 0 if self.shard_time is None else min(self.shard_time, len(self.own))
        index = 0 if self.shard_time is None else index_bytes(self.shard_time)
        return np.empty(n * most_bytes(chunk_bytes) + index, np.uint8).data

    def _objects(self, cell: Array, room: Array, shard: memoryview) -> Iterator[tuple[int, bytes | memoryview | None]]:
        """(time index, bytes or None) of every object of one cell."""
        if self.shard_time is None:
            for t in self.own:
                yield t, self._chunk(cell, t, room)
            return
        for ts in self.objects.objects_t:
            times = range(ts * self.shard_time, (ts + 1) * self.shard_time)
            inner = (self._chunk(cell, t, room) if t < self.own.stop else None for t in times)
            yield ts, assemble(inner, crc32c, shard)

    def _chunk(self, cell: Array, t: int, room: Array) -> bytes | None:
        """The compressed chunk of one timestep of one cell; None when it is all fill. `room` is written to."""
        i = self._at[t]
        frame = cell[i] if self.objects.has_band else cell[i, 0]
        if self.references is not None and self.references[i] != t:
            chunk = residual_cell(frame, cell[self._at[self.references[i]]], self.chunk_size, room)
        else:
            chunk = cut_cell(frame, self.chunk_size, self.fill, room)
        return None if equals_fill(chunk, self.fill) else compress(chunk, self.codec)

    @cached_property
    def _at(self) -> dict[int, int]:
        """Position of each present timestep among the frames."""
        return {t: i for i, t in enumerate(self.present)}


def cell_changes(frames: Array, pairs: npt.NDArray[np.intp], chunk_size: int) -> list[list[int]] | list[list[float]]:
    """Sums of absolute change of every cell of a region, row by row (5).

    Parameters
    ----------
    frames : ndarray (present, band, y, x)
        Level 0, unpadded.
    pairs : ndarray (n, 2)
        Indices of a non-anchor frame and of its anchor.

    Returns
    -------
    list of one list per cell: the exact sum over all pairs for integers, one sum per pair for float32
    """
    exact = frames.dtype.kind != "f"
    out = []
    for y in range(0, frames.shape[2], chunk_size):
        for x in range(0, frames.shape[3], chunk_size):
            sums = change_sums(frames[:, :, y : y + chunk_size, x : x + chunk_size], pairs).tolist()
            out.append([sum(sums)] if exact else sums)
    return out


def sizes_both_ways(
    cell: Array, references: tuple[int, ...], chunk_size: int, fill: Number, codec: Codec
) -> tuple[int, int]:
    """(star-delta, plain) compressed bytes of one cell over the whole time axis, for ``auto`` (4.3).

    Parameters
    ----------
    cell : ndarray (time, band, h, w)
    """
    room, total = empty_chunk(cell.shape[1:], chunk_size, cell.dtype), [0, 0]
    for t, anchor in enumerate(references):
        plain = _size(cut_cell(cell[t], chunk_size, fill, room), fill, codec)
        total[1] += plain
        total[0] += plain if anchor == t else _size(residual_cell(cell[t], cell[anchor], chunk_size, room), fill, codec)
    return total[0], total[1]


def _size(chunk: Array, fill: Number, codec: Codec) -> int:
    return 0 if equals_fill(chunk, fill) else len(compress(chunk, codec))

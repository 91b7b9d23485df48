"""Turn the pixels of one array of one region into stored objects: each compressed and put exactly once, never read.

Cell by cell, timesteps inside: star-delta residuals, padding and compressed bytes exist for one cell at a time. A chunk
whose stored bytes are all fill is left out (2.1); a shard is put together whole (7).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.format.codecs import Codec
from chronozarr_dask.format.dtypes import Number
from chronozarr_dask.format.layout import object_key
from chronozarr_dask.format.sharding import assemble
from chronozarr_dask.kernels.change import change_sums
from chronozarr_dask.kernels.fill import cut_cell, equals_fill
from chronozarr_dask.kernels.residuals import residuals
from chronozarr_dask.plan.objects import ArrayObjects
from chronozarr_dask.store.compress import compress, crc32c
from chronozarr_dask.store.receipts import Stored
from chronozarr_dask.store.target import Objects


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

    def store(self, frames: npt.NDArray[Any]) -> Stored:
        """Store the objects of `frames`, ndarray (present, band, y, x); a plane has one band."""
        lengths, checksums = [], []
        cells = self.objects.cells
        for row in range(cells.y0, cells.y1):
            for col in range(cells.x0, cells.x1):
                y, x = (row - cells.y0) * self.chunk_size, (col - cells.x0) * self.chunk_size
                cell = frames[:, :, y : y + self.chunk_size, x : x + self.chunk_size]
                for t, blob in self._objects(cell):
                    lengths.append(0 if blob is None else len(blob))
                    checksums.append(0 if blob is None else crc32c(blob))
                    if blob is not None:
                        has_band = self.objects.has_band
                        self.target.put(
                            object_key(self.objects.level, self.objects.name, t, row, col, has_band=has_band), blob
                        )
        return Stored(tuple(lengths), tuple(checksums))

    def _objects(self, cell: npt.NDArray[Any]) -> Iterator[tuple[int, bytes | None]]:
        """(time index, bytes or None) of every object of one cell."""
        chunks = self._chunks(cell)
        if self.shard_time is None:
            yield from chunks
            return
        for ts in self.objects.objects_t:
            stop = min((ts + 1) * self.shard_time, self.own.stop)
            inner = [next(chunks)[1] for _ in range(ts * self.shard_time, stop)]
            yield ts, assemble(inner + [None] * (self.shard_time - len(inner)), crc32c)

    def _chunks(self, cell: npt.NDArray[Any]) -> Iterator[tuple[int, bytes | None]]:
        """(timestep, compressed chunk or None) of one cell, all own timesteps in order."""
        at = {t: i for i, t in enumerate(self.present)}
        if self.references is not None:
            cell = residuals(cell, np.array([at.get(a, i) for i, a in enumerate(self.references)], np.intp))
        for t in self.own:
            frame = cell[at[t]] if self.objects.has_band else cell[at[t], 0]
            is_residual = self.references is not None and self.references[at[t]] != t
            chunk = cut_cell(frame, self.chunk_size, 0 if is_residual else self.fill)
            yield t, None if equals_fill(chunk, self.fill) else compress(chunk, self.codec)


def cell_changes(
    frames: npt.NDArray[Any], pairs: npt.NDArray[np.intp], chunk_size: int
) -> list[list[int]] | list[list[float]]:
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
    cell: npt.NDArray[Any], references: tuple[int, ...], chunk_size: int, fill: Number, codec: Codec
) -> tuple[int, int]:
    """(star-delta, plain) compressed bytes of one cell over the whole time axis, for ``auto`` (4.3).

    Parameters
    ----------
    cell : ndarray (time, band, h, w)
    """
    delta = residuals(cell, np.array(references, np.intp))
    total = [0, 0]
    for t, anchor in enumerate(references):
        plain = _size(cell[t], chunk_size, fill, fill, codec)
        total[1] += plain
        total[0] += plain if anchor == t else _size(delta[t], chunk_size, 0, fill, codec)
    return total[0], total[1]


def _size(frame: npt.NDArray[Any], chunk_size: int, padding: Number, fill: Number, codec: Codec) -> int:
    chunk = cut_cell(frame, chunk_size, padding)
    return 0 if equals_fill(chunk, fill) else len(compress(chunk, codec))

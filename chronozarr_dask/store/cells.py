"""Sections 2.1, 4.2 and 10 (rules 4 and 5): true values of one array, put together from its cells.

A timestep of a cell costs one chunk read, two where it refers to an anchor. Decoded anchors are kept, so a series or a
second frame costs one. Cells are read a few at a time by a pool of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.format.temporal import Temporal, restore
from chronozarr_dask.store.cache import Cache
from chronozarr_dask.store.chunks import Chunks

ANCHOR_CACHE_BYTES = 64 * 2**20
READ_THREADS = 8

Indices = npt.NDArray[np.intp]
Selector = slice | Indices


def anchor_cache() -> Cache[npt.NDArray[Any]]:
    """A cache for the decoded anchors of a store."""
    return Cache(ANCHOR_CACHE_BYTES, lambda chunk: chunk.nbytes)


@dataclass(frozen=True)
class Piece:
    """Part of an index along one axis that falls into one cell: `into` the output, `within` the cell."""

    cell: int
    into: Selector
    within: Selector


def pieces(index: Indices, cs: int) -> Iterator[Piece]:
    """Cut an index of pixels along one axis by cells of `cs` pixels.

    >>> [(p.cell, p.into, p.within) for p in pieces(np.arange(3, 6), 4)]
    [(0, slice(0, 1, None), slice(3, 4, None)), (1, slice(1, 3, None), slice(0, 2, None))]
    """
    cells = index // cs
    for cell in np.unique(cells).tolist():
        into = np.flatnonzero(cells == cell)
        yield Piece(cell, _as_slice(into), _as_slice(index[into] - cell * cs))


def _as_slice(index: Indices) -> Selector:
    """The slice that selects the same, where the index is a run."""
    if np.all(np.diff(index) == 1):
        return slice(int(index[0]), int(index[-1]) + 1)
    return index


def _box(y: Selector, x: Selector) -> tuple[Any, Selector]:
    """A pair that numpy takes as an outer index of the last two axes."""
    if isinstance(y, slice) or isinstance(x, slice):
        return y, x
    return y[:, None], x


@dataclass(frozen=True)
class Cells:
    """True values of one array.

    Attributes
    ----------
    chunks : Chunks
    temporal : Temporal
        ``none`` for a plane, which is never star-delta encoded (2.4, 2.5).
    anchors : Cache
        Decoded anchors, shared by the arrays of a store.
    pool : callable
        Gives the executor that reads several cells at once.
    """

    chunks: Chunks
    temporal: Temporal
    anchors: Cache[npt.NDArray[Any]]
    pool: Callable[[], Executor]

    def chunk(self, t: int, row: int, col: int) -> npt.NDArray[Any]:
        """True values of a timestep of a cell at the chunk's full size, padding included. Not to be written to."""
        if self.temporal.encoding == "none":
            return self.chunks.read(t, row, col)
        a = self.temporal.reference(t)
        anchor = self.anchors.get((self.chunks.path, a, row, col), lambda: self.chunks.read(a, row, col))
        return anchor if a == t else restore(self.chunks.read(t, row, col), anchor)

    def gather(self, t: Indices, y: Indices, x: Indices, bands: Selector | None = None) -> npt.NDArray[Any]:
        """Values at every combination of the given positions.

        Parameters
        ----------
        t, y, x : ndarray of int
            Positions along each axis, in any order, all within the array.
        bands : slice or ndarray of int, optional
            Bands of a data array, all where left out. Not for a plane.

        Returns
        -------
        ndarray (len(t), [band,] len(y), len(x)), stored dtype
        """
        meta = self.chunks.meta
        bands = slice(None) if bands is None else bands
        lead = (np.arange(meta.shape[1])[bands].size,) if len(meta.shape) == 4 else ()
        out = np.empty((len(t), *lead, len(y), len(x)), self.chunks.dtype)
        cs = meta.chunk[-1]

        def place(task: tuple[Piece, Piece, int]) -> None:
            row, col, i = task
            chunk = self.chunk(int(t[i]), row.cell, col.cell)
            part = chunk[bands] if lead else chunk
            out[i][(..., *_box(row.into, col.into))] = part[(..., *_box(row.within, col.within))]

        tasks = list(product(pieces(y, cs), pieces(x, cs), range(len(t))))
        if len(tasks) == 1:
            place(tasks[0])
        else:
            for _ in self.pool().map(place, tasks):
                pass
        return out

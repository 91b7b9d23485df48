"""Sections 2.1, 4.2 and 10 (rules 4 and 5): true values of one array, put together from its cells.

A timestep of a cell costs one chunk read, two where it refers to an anchor. Decoded anchors are kept, so a series or a
second frame costs one. All that a read needs is asked for at once by a pool of threads (`assembly`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.format.temporal import Temporal, restore
from chronozarr_dask.store.assembly import Assembly
from chronozarr_dask.store.cache import Cache
from chronozarr_dask.store.chunks import Chunks
from chronozarr_dask.store.cost import Account, spent

ANCHOR_CACHE_BYTES = 64 * 2**20
READ_THREADS = 32
"""Requests of a store at a time: a frame of 20 cells, or the series of two years, is one round trip."""

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
    for cell in sorted(set(cells.tolist())):  # np.unique imports numpy.ma: 30 ms before the first request is sent
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
        Gives the executor that reads several chunks at once.
    account : Account
        Of the store: the measuring blocks that reads are charged to.
    """

    chunks: Chunks
    temporal: Temporal
    anchors: Cache[npt.NDArray[Any]]
    pool: Callable[[], Executor]
    account: Account = field(default_factory=Account)

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

        tiles = {(row.cell, col.cell): (row, col) for row, col in product(pieces(y, cs), pieces(x, cs))}
        where: dict[int, list[int]] = defaultdict(list)
        for i, step in enumerate(t.tolist()):
            where[step].append(i)

        def place(step: int, row: int, col: int, chunk: npt.NDArray[Any], anchor: npt.NDArray[Any] | None) -> None:
            down, across = tiles[row, col]
            within, into = _box(down.within, across.within), (..., *_box(down.into, across.into))
            part, *added = ((c[bands] if lead else c)[(..., *within)] for c in (chunk, anchor) if c is not None)
            for i in where[step]:
                out[i][into] = restore(part, *added) if added else part

        with self.account.charging():
            spent(cells_wanted=out.size)
            Assembly(self.chunks, self.temporal, self.anchors, place).run(where, tiles, self.pool)
        return out

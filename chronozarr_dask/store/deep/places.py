"""The cut of a store into places to check, and the sample of them: a function of the grid and the fraction alone."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.layout import Layout, ceil_div

RUN_BYTES = 256 * 2**20
"""Decoded bytes of one place: a run of timesteps is as long as this allows."""

Cell = tuple[int, int]


@dataclass(frozen=True)
class Place:
    """One unit of work.

    Attributes
    ----------
    number : int
        In the order of the checks.
    level : int
        Of the cells below.
    row, col : int
        Of the cell above: rows 2 row and 2 row + 1 below.
    times : range
    above : bool
        Whether there is a level above; not in a store of one level.
    own : bool
        Whether the chunks of the cell above are checked by themselves here, since no other place does.
    """

    number: int
    level: int
    row: int
    col: int
    times: range
    above: bool
    own: bool

    def cells(self, layout: Layout) -> list[Cell]:
        """The cells below, up to four."""
        rows, cols = layout.grid(self.level)
        pairs = product(range(2 * self.row, 2 * self.row + 2), range(2 * self.col, 2 * self.col + 2))
        return [(r, c) for r, c in pairs if r < rows and c < cols]


def check_sample(sample: float | None) -> float | None:
    """Return `sample` if it is a fraction above 0 and at most 1, or None; else raise InputError."""
    if sample is None or 0 < sample <= 1:
        return sample
    raise InputError(f"sample is {sample}: give the fraction of the store to look at, above 0 and at most 1 (0.05: 5%)")


@lru_cache(maxsize=4)
def chosen(layout: Layout, sample: float) -> tuple[frozenset[Cell], ...]:
    """Places that a sample looks at: for each level above 0 the cells, at level 1 a fraction, above where whole.

    Entry k is of level k + 1. A store of one level has the places of level 0 as its only entry.
    """
    rows, cols = _half(layout.grid(0))
    every = sorted(product(range(rows), range(cols)), key=_rank)
    out: list[frozenset[Cell]] = [frozenset(every[: math.ceil(sample * len(every))])]
    for level in range(1, layout.n_levels - 1):
        below, grid = out[-1], layout.grid(level)
        cells = {(r // 2, c // 2) for r, c in below}
        out.append(frozenset(cell for cell in cells if _children(cell, grid) <= below))
    return tuple(out)


def is_looked_at(layout: Layout, sample: float | None, level: int, row: int, col: int) -> bool:
    """Whether a sample looks at a cell; None looks at all."""
    if sample is None:
        return True
    return (
        (row // 2, col // 2) in chosen(layout, sample)[0]
        if level == 0
        else (row, col) in chosen(layout, sample)[level - 1]
    )


def places(layout: Layout, chunk_bytes: int, sample: float | None = None) -> Iterator[Place]:
    """All places, or those of a sample, level by level.

    Parameters
    ----------
    layout : Layout
    chunk_bytes : int
        Of a decoded data chunk.
    sample : float, optional
        Fraction of the places of level 0.
    """
    number, step = 0, run_length(chunk_bytes)
    for level in range(max(layout.n_levels - 1, 1)):
        above = layout.n_levels > 1
        for cell in _cells(layout, level, sample):
            own = above and not _is_below(layout, sample, level + 1, cell)
            for start in range(0, layout.n_time, step):
                times = range(start, min(start + step, layout.n_time))
                yield Place(number, level, *cell, times, above, own)
                number += 1


def count_places(layout: Layout, chunk_bytes: int, sample: float | None = None) -> int:
    """Number of `places`."""
    cells = sum(sum(1 for _ in _cells(layout, level, sample)) for level in range(max(layout.n_levels - 1, 1)))
    return cells * ceil_div(layout.n_time, run_length(chunk_bytes))


def run_length(chunk_bytes: int) -> int:
    """Timesteps of a place."""
    return max(1, RUN_BYTES // (5 * chunk_bytes))


def _cells(layout: Layout, level: int, sample: float | None) -> Iterator[Cell]:
    if sample is None:
        rows, cols = _half(layout.grid(level))
        yield from product(range(rows), range(cols))
    else:
        yield from sorted(chosen(layout, sample)[level])


def _is_below(layout: Layout, sample: float | None, level: int, cell: Cell) -> bool:
    """Whether a cell of `level` is one of the cells below in a place that is looked at."""
    if level >= layout.n_levels - 1:
        return False
    return sample is None or (cell[0] // 2, cell[1] // 2) in chosen(layout, sample)[level]


def _half(grid: Cell) -> Cell:
    return ceil_div(grid[0], 2), ceil_div(grid[1], 2)


def _children(cell: Cell, grid: Cell) -> set[Cell]:
    pairs = product(range(2 * cell[0], 2 * cell[0] + 2), range(2 * cell[1], 2 * cell[1] + 2))
    return {(r, c) for r, c in pairs if r < grid[0] and c < grid[1]}


def _rank(cell: Cell) -> bytes:
    """Spreads a sample over the grid, whatever its number of columns."""
    return hashlib.blake2b(f"{cell[0]}/{cell[1]}".encode(), digest_size=8).digest()

"""The cells that ``auto`` measures (4.3): at least 3, a tenth of all, at most 32, on a fixed lattice.

A function of the grid alone, so that every run over the same raster measures the same cells.
"""

from __future__ import annotations

from chronozarr_dask.format.layout import ceil_div
from chronozarr_dask.format.temporal import SELECTION_MIN_CELLS

MAX_CELLS = 32
SHARE = 10
_GOLDEN = (5**0.5 - 1) / 2


def sampled_cells(rows: int, cols: int) -> list[tuple[int, int]]:
    """(row, col) of the sampled cells of a level 0 grid, sorted.

    Rows are spread evenly and columns by the golden ratio, so that no row, column or diagonal is favoured; a cell that
    is taken already gives way to the next free one.
    """
    total = rows * cols
    n = min(total, MAX_CELLS, max(SELECTION_MIN_CELLS, ceil_div(total, SHARE)))
    taken: set[int] = set()
    for i in range(n):
        row = int((i + 0.5) / n * rows)
        col = int((i + 0.5) * _GOLDEN % 1 * cols)
        cell = row * cols + col
        while cell in taken:
            cell = (cell + 1) % total
        taken.add(cell)
    return [divmod(cell, cols) for cell in sorted(taken)]

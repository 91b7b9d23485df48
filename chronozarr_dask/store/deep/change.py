"""Section 5: volatility made again from the true values of level 0, and compared with what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.layout import Window
from chronozarr_dask.format.volatility import volatility
from chronozarr_dask.kernels.change import change_sums
from chronozarr_dask.store.deep.found import Found
from chronozarr_dask.store.deep.frames import Frames
from chronozarr_dask.store.deep.places import Cell
from chronozarr_dask.store.deep.scope import Scope
from chronozarr_dask.store.validate.problem import Problem
from chronozarr_dask.store.volatility import KEY, read_volatility

TOLERANCE = 1e-5
"""Relative. An append joins float32 means (14), so what it stores is the definition but for the rounding of each."""

Sums = list[int | float] | None
"""Sums of change of a run of timesteps; None where a chunk could not be decoded."""
_PAIR = np.array([[0, 1]], np.intp)


def change_of(frames: Frames, t: int, reference: int, cell: Cell, window: Window) -> int | float | None:
    """Sum of absolute change of one timestep of a cell; None where it or its reference cannot be decoded."""
    pair = [frames.frame(i, *cell).values for i in (t, reference)]
    if pair[0] is None or pair[1] is None:
        return None
    h, w = window.shape
    both = np.stack([p[:, :h, :w] for p in pair if p is not None])
    total: int | float = change_sums(both, _PAIR)[0].item()
    return total


@dataclass
class Changes:
    """Gathers the sums of each cell, and makes its volatility when all of its timesteps are there.

    Attributes
    ----------
    scope : Scope
    n_runs : int
        Runs of timesteps that a cell is cut into.
    values : dict of cell to float32 or None
        None where a chunk could not be decoded.
    """

    scope: Scope
    n_runs: int
    values: dict[Cell, np.float32 | None] = field(default_factory=dict)
    _parts: dict[Cell, list[Sums]] = field(default_factory=dict)

    def add(self, sums: Mapping[Cell, Sums]) -> None:
        """Add what one place found."""
        for cell, part in sums.items():
            parts = self._parts.setdefault(cell, [])
            parts.append(part)
            if len(parts) == self.n_runs:
                self.values[cell] = self._value(cell, self._parts.pop(cell))

    def _value(self, cell: Cell, parts: list[Sums]) -> np.float32 | None:
        sums: list[int | float] = []
        for part in parts:
            if part is None:
                return None
            sums += part
        layout = self.scope.layout
        h, w = layout.cell_window(0, *cell).shape
        n = sum(1 for t, a in enumerate(self.scope.references) if a != t)
        return volatility(sums, n * layout.n_band * h * w)


def check_volatility(changes: Changes, found: Found) -> None:
    """Compare with the stored array. That of a ``none`` store rests on a schedule that is not recorded: a warning."""
    scope = changes.scope
    stored = _stored(scope)
    if stored is None:
        return
    recorded = scope.temporal.encoding == "star-delta"
    for (row, col), expected in sorted(changes.values.items()):
        if expected is None or np.isclose(stored[row, col], expected, rtol=TOLERANCE, atol=0):
            continue
        message = f"cell ({row}, {col}) is not the mean change that its pixels of level 0 show"
        if not recorded:
            message += (
                " by the nearest anchors of interval 6 over all timesteps; a store of encoding none records no "
                "schedule, so another interval, or an append, explains it too"
            )
        problem = Problem(
            "error" if recorded else "warning", "5", KEY, message, expected.item(), stored[row, col].item()
        )
        found.add("volatility", problem)


def _stored(scope: Scope) -> npt.NDArray[Any] | None:
    """The stored array; None where it cannot be had, which the checks of the documents tell."""
    try:
        return read_volatility(scope.objects, scope.layout.grid(0))
    except StoreError:
        return None

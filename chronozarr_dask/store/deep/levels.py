"""Sections 2.4, 2.5 and 6: the cell above a place is made again from the cells below, and compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.format.layout import MASK, Window
from chronozarr_dask.kernels.block_mean import block_mean, coverage_mean, mask_max
from chronozarr_dask.store.deep.change import Sums, change_of
from chronozarr_dask.store.deep.chunks import check_chunk, first_of, place
from chronozarr_dask.store.deep.found import Found
from chronozarr_dask.store.deep.frames import Frame, Frames
from chronozarr_dask.store.deep.places import Cell, Place
from chronozarr_dask.store.deep.scope import Scope
from chronozarr_dask.store.validate.problem import Problem, Severity

Array = npt.NDArray[Any]


@dataclass
class Checked:
    """What the check of a place gives.

    Attributes
    ----------
    found : Found
    changes : dict of cell to list of sums, or None
        At level 0: sums of change of the place's timesteps (5).
    nbytes : int
        Bytes that were decoded.
    """

    found: Found
    changes: dict[Cell, Sums] = field(default_factory=dict)
    nbytes: int = 0


def check_place(scope: Scope, where: Place) -> Checked:
    """Check every chunk of the cells below, and the cell above against them, a timestep at a time.

    Raises
    ------
    TargetError
        If the target does not answer.
    """
    out = Checked(Found(where.number))
    kept = frozenset(scope.references) if where.level == 0 else frozenset()
    below = {name: Frames(scope, where.level, name, kept) for name in scope.names}
    above = {name: Frames(scope, where.level + 1, name) for name in scope.names} if where.above else {}
    cells = where.cells(scope.layout)
    for t in where.times:
        uppers = {
            name: _read(scope, where.level + 1, f, t, (where.row, where.col), where.own, out)
            for name, f in above.items()
        }
        for cell in cells:
            lowers = {name: _read(scope, where.level, f, t, cell, True, out) for name, f in below.items()}
            for name, upper in uppers.items():
                pair = _Pair(scope, where, t, cell, below[name], above[name])
                mask = lowers.get(MASK) if below[name].is_data else None
                pair.check(lowers[name], upper, mask, out.found)
            if where.level == 0:
                _add_change(scope, below[scope.layout.variable], t, cell, out)
    out.nbytes = sum(f.nbytes for f in (*below.values(), *above.values()))
    return out


def _read(scope: Scope, level: int, frames: Frames, t: int, cell: Cell, own: bool, out: Checked) -> Frame:
    """A frame, its chunk checked by itself where that is asked for."""
    frame = frames.frame(t, *cell)
    if own:
        check_chunk(frames, frame, t, cell, scope.layout.cell_window(level, *cell), out.found)
    return frame


def _add_change(scope: Scope, frames: Frames, t: int, cell: Cell, out: Checked) -> None:
    sums = out.changes.setdefault(cell, [])
    reference = scope.references[t]
    if reference == t or sums is None:
        return
    change = change_of(frames, t, reference, cell, scope.layout.cell_window(0, *cell))
    if change is None:
        out.changes[cell] = None
    elif sums and isinstance(change, int):
        sums[0] += change
    else:
        sums.append(change)


@dataclass(frozen=True)
class _Pair:
    """One array of one timestep of a cell, and the quarter of the cell above that is made of it."""

    scope: Scope
    where: Place
    t: int
    cell: Cell
    below: Frames
    above: Frames

    def check(self, lower: Frame, upper: Frame, mask: Frame | None, found: Found) -> None:
        """Compare; nothing is compared where a chunk could not be decoded."""
        if lower.values is None or upper.values is None or (mask is not None and mask.values is None):
            return
        h, w = self.scope.layout.cell_window(self.where.level, *self.cell).shape
        flags = None if mask is None or mask.values is None else mask.values[:h, :w]
        expected = self._derive(lower.values[..., :h, :w], flags)
        window = self._quarter(expected.shape[-2:])
        actual = upper.values[(..., *window.slices)]
        wrong = _differs(expected, actual)
        if wrong.any():
            self._tell(expected, actual, wrong, window, (upper.is_absent, lower.is_absent), found)

    def _derive(self, values: Array, mask: npt.NDArray[np.uint8] | None) -> Array:
        """One timestep of the next level out of one cell: data (band, y, x), a plane (y, x)."""
        if self.below.is_data:
            out = block_mean(values[None], None if mask is None else mask[None], self.scope.nodata)
        else:
            out = (mask_max if self._is_mask else coverage_mean)(values[None])
        return np.asarray(out[0])

    @property
    def _is_mask(self) -> bool:
        return self.below.chunks.path.endswith(f"/{MASK}")

    def _quarter(self, size: tuple[int, int]) -> Window:
        """Pixels of the cell above, within its chunk."""
        half = self.scope.layout.chunk_size // 2
        y, x = (self.cell[0] % 2) * half, (self.cell[1] % 2) * half
        return Window(y, y + size[0], x, x + size[1])

    def _tell(
        self,
        expected: Array,
        actual: Array,
        wrong: npt.NDArray[np.bool_],
        quarter: Window,
        absent: tuple[bool, bool],
        found: Found,
    ) -> None:
        level, cell, at = self.where.level + 1, (self.where.row, self.where.col), first_of(wrong)
        window = self.scope.layout.cell_window(level, *cell)
        first = place(self.t, cell, (*at[:-2], at[-2] + quarter.y0, at[-1] + quarter.x0), window)
        rule = "block mean" if self.below.is_data else "maximum" if self._is_mask else "rounded mean"
        section = "6" if self.below.is_data else "2.4" if self._is_mask else "2.5"
        n = int(np.count_nonzero(wrong))
        more = "" if n == 1 else f", the first of {n} such values"
        message = f"level {level}, {first}: not the {rule} of level {level - 1}{more}; "
        severity: Severity = "error"
        if _is_rounding(expected[wrong], actual[wrong]):
            severity = "warning"
            message += "all are one last bit apart, as by another order of summation"
        else:
            message += self._suspects(*absent)
        key, values = self.above.key(self.t, *cell), (expected[at].item(), actual[at].item())
        found.add(f"level {self.above.chunks.path} {severity}", Problem(severity, section, key, message, *values))

    def _suspects(self, upper_absent: bool, lower_absent: bool) -> str:
        """Which objects may be at fault: the one above, or the one below that it is made from."""
        upper, lower = self.above.key(self.t, self.where.row, self.where.col), self.below.key(self.t, *self.cell)
        text = f"this object, or {lower} that it is made from, is not what was written"
        if self.below.is_data and self.below.is_residual(self.t):
            text += f", or timestep {self.below.temporal.reference(self.t)} of the same cells is not, the anchor"
        absent = [key for key, is_absent in ((upper, upper_absent), (lower, lower_absent)) if is_absent]
        if absent:
            text += f"; timestep {self.t} is not stored in {' and '.join(absent)} and reads as fill: it may be lost"
        return text


def _differs(expected: Array, actual: Array) -> npt.NDArray[np.bool_]:
    """Where values differ; what is not a number in both is told where it comes from, at level 0."""
    wrong: npt.NDArray[np.bool_] = expected != actual
    if expected.dtype.kind == "f":
        wrong &= ~(np.isnan(expected) & np.isnan(actual))
    return wrong


def _is_rounding(expected: Array, actual: Array) -> bool:
    """Whether values differ by the last bit of a float32 alone: section 6 does not say in which order to add."""
    if expected.dtype.kind != "f":
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.all(np.nextafter(expected, actual, dtype=expected.dtype) == actual))

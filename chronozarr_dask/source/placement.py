"""Where a raster's pixels lie on the store's grid: one to one, repeated from a coarser nested grid, or transformed.

A raster whose pixel edges are edges of the grid is copied, never resampled; one whose pixels each cover n x n pixels of
the grid, edge on edge, is repeated. Any other is taken at the centres of the grid's pixels, transformed exactly::

    grid     |--|--|--|--|--|--|            column 0 at x = c
    nested   |-----|-----|-----|            factor 2, at row, col of its corner
    warped     ·--|-·---|-·--                 rows, cols = centres of the grid's pixels in pixels of the raster

A centre depends on its own row and column alone, so that the result is the same however the grid is cut.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyproj

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.layout import Window
from chronozarr_dask.source.stac.assets import Affine
from chronozarr_dask.source.stac.grid import TOLERANCE, Grid

Positions = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


@dataclass(frozen=True)
class Raster:
    """What the header of a file says of the place of its pixels: CRS, transform of pixel corners, size."""

    crs: str
    transform: Affine
    height: int
    width: int


@dataclass(frozen=True)
class Nested:
    """A raster whose pixels each cover `factor` x `factor` pixels of the grid, from (`row`, `col`) on."""

    row: int
    col: int
    factor: int
    height: int
    width: int

    def part(self, window: Window) -> Window | None:
        """The part of a window of the grid that the raster covers."""
        y0, x0 = max(window.y0, self.row), max(window.x0, self.col)
        y1 = min(window.y1, self.row + self.height * self.factor)
        x1 = min(window.x1, self.col + self.width * self.factor)
        return Window(y0, y1, x0, x1) if y0 < y1 and x0 < x1 else None

    def source(self, part: Window) -> Window:
        """Pixels of the raster that a covered part needs."""
        y0, y1, x0, x1 = part.y0 - self.row, part.y1 - self.row, part.x0 - self.col, part.x1 - self.col
        n = self.factor
        return Window(y0 // n, -(-y1 // n), x0 // n, -(-x1 // n))


@dataclass(frozen=True)
class Warped:
    """A raster that is taken at the transformed centres of the grid's pixels."""

    raster: Raster
    grid: Grid

    def positions(self, window: Window) -> Positions:
        """(rows, cols), float64 (y, x): the centres of a window in pixel coordinates of the raster."""
        return self._positions(np.arange(window.y0, window.y1) + 0.5, np.arange(window.x0, window.x1) + 0.5)

    def _positions(self, rows: npt.NDArray[Any], cols: npt.NDArray[Any]) -> Positions:
        y, x = (np.ascontiguousarray(v) for v in np.broadcast_arrays(rows[:, None], cols[None]))
        return in_pixels_of(self.raster, y, x, self.grid)

    @property
    def half(self) -> tuple[float, float]:
        """Half the height and width of a pixel in the middle of the grid, in pixels of the raster."""
        y, x = self.grid.height / 2, self.grid.width / 2
        rows, cols = self._positions(np.array([y, y + 1]), np.array([x, x + 1]))
        (r, r_right), (r_below, _) = rows.tolist()
        (c, c_right), (c_below, _) = cols.tolist()
        height, width = math.hypot(r_below - r, r_right - r), math.hypot(c_right - c, c_below - c)
        if not math.isfinite(height + width):
            raise InputError(
                f"the middle of the grid in {self.grid.crs} cannot be shown in {self.raster.crs}, the CRS of a source: "
                f"is the source far from the area? Leave it out of the search"
            )
        return height / 2, width / 2


def in_pixels_of(raster: Raster | Grid, rows: Any, cols: Any, other: Raster | Grid) -> Positions:
    """Pixel coordinates in `raster` of points that are given in pixel coordinates of `other`; not finite for none."""
    a, b, c, d, e, f = other.transform
    x, y = c + a * cols + b * rows, f + d * cols + e * rows
    if raster.crs != other.crs:
        x, y = _transformer(other.crs, raster.crs).transform(x, y)
    a, b, c, d, e, f = raster.transform
    x, y = x - c, y - f
    if b == 0 and d == 0:
        return y / e, x / a
    det = a * e - b * d
    with np.errstate(invalid="ignore"):  # a difference of infinities is NaN: no place either
        return (a * y - d * x) / det, (e * x - b * y) / det


def place(raster: Raster, grid: Grid) -> Nested | Warped:
    """How the pixels of a raster get onto the grid."""
    a, b, c, d, e, f = raster.transform
    ga, _, gc, _, ge, gf = grid.transform
    factor = round(a / ga)
    if raster.crs == grid.crs and b == 0 and d == 0 and factor >= 1:
        size = max(raster.height, raster.width, grid.height, grid.width)
        drift = max(abs(a / ga - factor), abs(e / ge - factor)) * size
        row, col = (f - gf) / ge, (c - gc) / ga
        off = max(abs(row - round(row)), abs(col - round(col)))
        if drift <= TOLERANCE and off <= TOLERANCE:
            return Nested(round(row), round(col), factor, raster.height, raster.width)
    return Warped(raster, grid)


@cache
def _transformer(source: str, target: str) -> Any:
    return pyproj.Transformer.from_crs(source, target, always_xy=True)

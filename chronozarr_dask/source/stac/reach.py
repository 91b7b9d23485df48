"""How far a scene reaches on the grid: beyond it the scene is not opened. A few pixels too many cost nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.georef import check_crs
from chronozarr_dask.format.layout import Window
from chronozarr_dask.source.placement import Raster, in_pixels_of
from chronozarr_dask.source.stac.grid import Grid
from chronozarr_dask.source.stac.items import Scene

MARGIN = 3
"""Pixels of the grid around what an item's projection says: half-pixel conventions differ, and edges are curved."""

EDGE_POINTS = 65

Floats = npt.NDArray[np.float64]


def reach_of(scene: Scene, bands: Sequence[str], grid: Grid) -> Window | None:
    """Pixels of the grid beyond which a scene has none; None where its item does not tell, or the grid cannot show it.

    The window may lie beyond the grid. The item's box in degrees is not looked at: many are drawn around valid pixels
    alone, or rounded, and a scene must not lose pixels by it.
    """
    asset = min((scene.asset(band) for band in bands), key=lambda a: a.pixel_size)
    if asset.crs is not None and asset.transform is not None and asset.shape is not None:
        try:
            crs = check_crs(asset.crs)
        except InputError:
            return None
        return _of_raster(Raster(crs, asset.transform, *asset.shape), grid)
    return None


def _of_raster(raster: Raster, grid: Grid) -> Window | None:
    share = np.linspace(0, 1, EDGE_POINTS)
    zero, one = np.zeros(EDGE_POINTS), np.ones(EDGE_POINTS)
    y, x = np.stack([zero, share, one, share]), np.stack([share, zero, share, one])
    return _around(*in_pixels_of(grid, y * raster.height, x * raster.width, raster))


def _around(rows: Floats, cols: Floats) -> Window | None:
    """Window around points, which follow each other along the last axis."""
    if not (np.isfinite(rows).all() and np.isfinite(cols).all()):
        return None
    (y0, y1), (x0, x1) = _span(rows), _span(cols)
    return Window(y0, y1, x0, x1)


def _span(along: Floats) -> tuple[int, int]:
    """First and last pixel of edges, given by points: between two of them a curve leaves the line by its bend / 8."""
    bend = np.abs(np.diff(along, 2, axis=-1)).max(initial=0.0)
    margin = MARGIN + math.ceil(bend / 4)  # the bend itself varies from point to point
    return math.floor(along.min()) - margin, math.ceil(along.max()) + margin

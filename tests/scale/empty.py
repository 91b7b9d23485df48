"""An input without a payload: every pixel is the fill value, so that no chunk is stored and only the machinery works.

The raster is a strip, one cell of 2 x 2 pixels high; its regions are two cells wide, the least that make the level
above them, and half of all regions belong to later passes. They are read, levels are made, chunks are looked at and
left out, receipts are written and added up: by the code of every run. A region is 5 to 9 tasks.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

CELL = 2
REGION_CELLS = 2
N_TIME = 2
OPTIONS: dict[str, Any] = {
    "encoding": "none", "chunk_size": CELL, "region_cells": REGION_CELLS, "crs": "EPSG:32631", "nodata": 0,
}  # fmt: skip


class Nothing(BackendArray):
    """Zeros (time, y, x) that take no memory until a window of them is read, as of a file."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.dtype = np.dtype(np.uint16)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> npt.NDArray[np.uint16]:
        """The window of a key."""
        found: npt.NDArray[np.uint16] = indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.BASIC, self._window
        )
        return found

    def _window(self, key: tuple[Any, ...]) -> npt.NDArray[np.uint16]:
        shape = [len(range(n)[k]) for n, k in zip(self.shape, key, strict=True) if isinstance(k, slice)]
        return np.zeros(shape, self.dtype)


def regions_of(places: int) -> int:
    """Regions of all passes of a strip of `places` regions of level 0."""
    total = places
    while places > 1:
        places = ceil(places / 2)
        total += places
    return total


def empty_cube(regions: int) -> xr.DataArray:
    """The shortest strip that has at least so many regions in all passes."""
    places = regions // 2
    while regions_of(places) < regions:
        places += 1
    height, width = CELL, places * REGION_CELLS * CELL
    data = xr.Variable(("time", "y", "x"), indexing.LazilyIndexedArray(Nothing((N_TIME, height, width))))
    coords = {
        "time": np.datetime64("2024-01-01", "ns") + np.arange(N_TIME) * np.timedelta64(31, "D"),
        "y": 5_000_000 - 10 * (np.arange(height) + 0.5),
        "x": 500_000 + 10 * (np.arange(width) + 0.5),
    }
    return xr.DataArray(data, coords, name="data")

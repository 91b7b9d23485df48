"""Arrays that xarray indexes before anything is read: the stored values of one array, and physical values (3.6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from xarray.backends import BackendArray
from xarray.core import indexing

from chronozarr_dask.format.bands import Band
from chronozarr_dask.format.dtypes import Number, valid_pixels
from chronozarr_dask.store.cells import Cells


class CellSource(Protocol):
    """What a lazy array reads from, and what travels with it to another process: the store."""

    def cells(self, level: int, name: str) -> Cells:
        """Access to one array of a level."""


class StoredArray(BackendArray):
    """True values of one array of a level, in the stored dtype.

    Parameters
    ----------
    source : CellSource
    level : int
    name : str
        Of the data array or a plane.
    shape : tuple of int
        (time, band, y, x), for a plane (time, y, x).
    """

    def __init__(self, source: CellSource, level: int, name: str, shape: Sequence[int]) -> None:
        self.source = source
        self.level = level
        self.name = name
        self.shape = tuple(shape)
        self.dtype: np.dtype[Any] = source.cells(level, name).chunks.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        if not isinstance(key, indexing.VectorizedIndexer):  # the adapter fails on an empty slice that steps back
            return self._outer(key.tuple)
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._outer)

    def _outer(self, key: tuple[Any, ...]) -> npt.NDArray[Any]:
        """Values at an outer index: one integer, slice or integer array for each axis."""
        index = [np.atleast_1d(np.arange(n)[k]) for k, n in zip(key, self.shape, strict=True)]
        drop = tuple(slice(None) if np.ndim(np.arange(n)[k]) else 0 for k, n in zip(key, self.shape, strict=True))
        return self.values(index)[drop]

    def values(self, index: list[npt.NDArray[np.intp]]) -> npt.NDArray[Any]:
        """Values at every combination of the positions of `index`, one array for each axis."""
        bands = index[1] if len(self.shape) == 4 else None
        return self.source.cells(self.level, self.name).gather(index[0], index[-2], index[-1], bands)


class PhysicalArray(StoredArray):
    """stored * scale + offset of each band as float32, NaN where a pixel is invalid (2.3, 3.6).

    Parameters
    ----------
    stored : StoredArray
        Of the data array.
    bands : sequence of Band
    nodata : number or None
    mask : str or None
        Name of the mask array, where the store has one.
    """

    def __init__(self, stored: StoredArray, bands: Sequence[Band], nodata: Number | None, mask: str | None) -> None:
        super().__init__(stored.source, stored.level, stored.name, stored.shape)
        self.dtype = np.dtype(np.float32)
        self.nodata = nodata
        self.mask = mask
        self.scale = np.array([b.scale for b in bands])
        self.offset = np.array([b.offset for b in bands])

    def values(self, index: list[npt.NDArray[np.intp]]) -> npt.NDArray[np.float32]:
        """Physical values at every combination of the positions of `index`."""
        stored = super().values(index)
        mask = None
        if self.mask is not None:
            mask = self.source.cells(self.level, self.mask).gather(index[0], index[2], index[3])
        scale, offset = (v[index[1]][:, None, None] for v in (self.scale, self.offset))
        out = np.empty(stored.shape, np.float32)
        for i, values in enumerate(stored):  # one timestep at a time: the products are float64
            valid = valid_pixels(values, None if mask is None else mask[i], self.nodata)
            out[i] = np.where(valid, values * scale + offset, np.nan)
        return out

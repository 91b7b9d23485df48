"""A source array with its axes in the format's order, still lazy.

xarray moves axes of a dask array or of numpy for nothing. It loads a lazily indexed file, though, when an axis is added
or the dtype changed, and a moved axis makes it read point by point. `View` does these on each window instead, after the
window was read as the file has it.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from chronozarr_dask.source.axes import Axes

Index = tuple[int | slice | npt.NDArray[np.integer[Any]], ...]


class View(BackendArray):
    """Windows of a lazily indexed variable, transposed and converted when they are read.

    Parameters
    ----------
    source : Variable
        Of any order of dimensions.
    dims : tuple of (dimension of the source or None)
        One for each axis of the view; None is a new axis of length 1.
    dtype : dtype
        What the source is cast to, bit for bit where only the sign differs.
    """

    def __init__(self, source: xr.Variable, dims: tuple[Hashable | None, ...], dtype: np.dtype[Any]) -> None:
        self.source = source
        self.dims = dims
        self.dtype = dtype
        self.shape = tuple(1 if d is None else source.sizes[d] for d in dims)

    def __getitem__(self, key: Any) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: Index) -> npt.NDArray[Any]:
        """The window under `key`: an index, slice or array for each axis."""
        kept = tuple(slice(k, k + 1) if isinstance(k, (int, np.integer)) else k for k in key)
        window = self.source.isel({d: k for d, k in zip(self.dims, kept, strict=True) if d is not None})
        order = [window.dims.index(d) for d in self.dims if d is not None]
        data = np.asarray(window.values).transpose(order)
        new = tuple(None if d is None else slice(None) for d in self.dims)
        data = data[new][tuple(k if d is None else slice(None) for d, k in zip(self.dims, kept, strict=True))]
        squeezed = tuple(i for i, k in enumerate(key) if isinstance(k, (int, np.integer)))
        return data.squeeze(squeezed).astype(self.dtype, copy=False)


def is_chunked(array: xr.DataArray) -> bool:
    """Whether it is a dask array, or one like it: its blocks are opaque, each is computed whole."""
    return array.chunks is not None


def is_in_memory(array: xr.DataArray) -> bool:
    """Whether it is numpy already, told from an empty window: only of numpy is that a view into all of the data."""
    if is_chunked(array):
        return False
    try:
        empty: Any = array.variable.isel(dict.fromkeys(array.dims, slice(0, 0))).data
    except IndexError:  # xarray cannot take nothing of a file's variable that was turned round; numpy can
        return False
    while isinstance(empty, np.ndarray) and isinstance(empty.base, np.ndarray):
        empty = empty.base
    return isinstance(empty, np.ndarray) and (empty.size > 0 or array.size == 0)


def view(array: xr.DataArray, axes: Axes, order: tuple[str, ...], dtype: np.dtype[Any]) -> xr.DataArray:
    """`array` with dims `order` and a dtype, without coordinates; an axis that it lacks is new, of length 1.

    The result's encoding has ``preferred_chunks`` under the new names, when the source's has.
    """
    dims = tuple(axes.get(name) for name in order)  # type: ignore[call-overload]
    if is_chunked(array) or is_in_memory(array):
        moved = array.variable.transpose(*(d for d in dims if d is not None))
        moved = moved.astype(dtype) if moved.dtype != dtype else moved
        data: Any = moved.data[tuple(None if d is None else slice(None) for d in dims)]
    else:
        data = indexing.LazilyIndexedArray(View(array.variable, dims, dtype))
    out = xr.DataArray(xr.Variable(order, data), name=array.name)
    hint = array.encoding.get("preferred_chunks") or {}
    out.encoding["preferred_chunks"] = {n: hint[d] for n, d in zip(order, dims, strict=True) if d in hint}
    return out

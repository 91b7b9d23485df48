"""A level as a lazy xarray Dataset, and the series of one pixel.

CRS and grid are said in the ways that other tools look for: a ``spatial_ref`` coordinate (CF grid mapping and GDAL's
GeoTransform, found by rioxarray) and the attributes ``crs`` and ``transform``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyproj
import xarray as xr
from pyproj.exceptions import CRSError
from xarray.core import indexing

from chronozarr_dask.errors import InputError, StoreError
from chronozarr_dask.format.attributes import LevelMirror
from chronozarr_dask.format.dtypes import valid_pixels
from chronozarr_dask.format.layout import COVERAGE, DATA_DIMS, MASK, PLANE_DIMS, VOLATILITY, VOLATILITY_DIMS, centres
from chronozarr_dask.store.lazy import PhysicalArray, StoredArray

if TYPE_CHECKING:
    from chronozarr_dask.store.reader import Store

GRID_MAPPING = "spatial_ref"


def level_dataset(store: Store, level: int, physical: bool) -> xr.Dataset:
    """A level as a lazy Dataset (see `Store.to_xarray`)."""
    entry = store.levels[level]
    stored = StoredArray(store, level, store.variable, entry.shape)
    attrs: dict[str, Any] = {"crs": store.crs, "transform": list(entry.transform)}
    data = stored
    if physical:
        data = PhysicalArray(stored, store.bands, store.nodata, MASK if MASK in store.planes else None)
        attrs["nodata"] = math.nan
    elif store.nodata is not None:
        attrs["nodata"] = store.nodata
    variables = {store.variable: _variable(store, level, DATA_DIMS, data, attrs)}
    for plane in store.planes:
        shape = (entry.shape[0], *entry.shape[2:])
        variables[plane] = _variable(store, level, PLANE_DIMS, StoredArray(store, level, plane, shape), {})
    return xr.Dataset(variables, coords=_coordinates(store, entry))


def _variable(
    store: Store, level: int, dims: tuple[str, ...], array: StoredArray, attrs: dict[str, Any]
) -> xr.Variable:
    chunk = store.cells(level, array.name).chunks.meta.chunk
    encoding = {"grid_mapping": GRID_MAPPING, "preferred_chunks": dict(zip(dims, chunk, strict=True))}
    return xr.Variable(dims, indexing.LazilyIndexedArray(array), attrs, encoding)


def _coordinates(store: Store, entry: LevelMirror) -> dict[str, xr.Variable]:
    height, width = entry.shape[2:]
    a, _, c, _, e, f = entry.transform
    axes = {axis["axis"]: axis for axis in _crs(store).cs_to_cf()}
    return {
        "time": xr.Variable("time", store.times, {"standard_name": "time"}),
        "band": xr.Variable("band", np.array([b.name for b in store.bands])),
        "y": xr.Variable("y", np.array(centres(f, e, height)), axes.get("Y")),
        "x": xr.Variable("x", np.array(centres(c, a, width)), axes.get("X")),
        GRID_MAPPING: xr.Variable((), np.int64(0), _grid_mapping(store, entry)),
    }


def _crs(store: Store) -> pyproj.CRS:
    try:
        return pyproj.CRS.from_user_input(store.crs)
    except CRSError as error:
        raise StoreError(
            f"{store.url}: chronozarr.crs is {store.crs!r}, which PROJ does not know: {error} (3.2)"
        ) from error


def _grid_mapping(store: Store, entry: LevelMirror) -> dict[str, Any]:
    crs = _crs(store)
    a, b, c, d, e, f = entry.transform
    geotransform = " ".join(repr(float(v)) for v in (c, a, b, f, d, e))
    return {**crs.to_cf(), "spatial_ref": crs.to_wkt(), "GeoTransform": geotransform}


def volatility_map(store: Store, values: npt.NDArray[np.float32]) -> xr.DataArray:
    """The stored volatility with the places of its cells (see `Store.volatility`)."""
    a, _, c, _, e, f = store.levels[0].transform
    height, width = store.levels[0].shape[2:]
    edges = [
        np.minimum(np.arange(n + 1) * store.chunk_size, m) for n, m in zip(values.shape, (height, width), strict=True)
    ]
    y, x = (
        corner + step * (edge[:-1] + edge[1:]) / 2 for edge, corner, step in zip(edges, (f, c), (e, a), strict=True)
    )
    coords = {"y": ("row", y), "x": ("col", x)}
    attrs = {"long_name": "mean change against the anchors / 10000", "crs": store.crs}
    return xr.DataArray(values, coords, VOLATILITY_DIMS, VOLATILITY, attrs)


def pixel_at(store: Store, x: float, y: float, level: int) -> tuple[int, int]:
    """(row, col) of the pixel of a level under a coordinate; InputError names the bounds where it is outside."""
    a, _, c, _, e, f = store.levels[0].transform
    height, width = store.levels[0].shape[2:]
    right, bottom = c + a * width, f + e * height
    if not (c <= x <= right and bottom <= y <= f):
        raise InputError(
            f"({x}, {y}) is outside of the raster: in {store.crs} x is {c} to {right}, y is {bottom} to {f}; "
            f"give the coordinate in the store's CRS"
        )
    scale_x, scale_y = store.levels[level].transform[0], store.levels[level].transform[4]
    rows, cols = store.levels[level].shape[2:]
    return min(math.floor((y - f) / scale_y), rows - 1), min(math.floor((x - c) / scale_x), cols - 1)


def pixel_series(store: Store, x: float, y: float, level: int) -> xr.Dataset:
    """The series of one pixel (see `Store.series`)."""
    row, col = pixel_at(store, x, y, level)
    index = np.arange(len(store.times)), np.array([row]), np.array([col])
    data = store.cells(level, store.variable).gather(*index)
    planes: dict[str, npt.NDArray[Any]] = {p: store.cells(level, p).gather(*index) for p in store.planes}
    valid = valid_pixels(data, planes.get(MASK), store.nodata)
    variables: dict[str, Any] = {
        "data": (("time", "band"), data[..., 0, 0]),
        "valid": (("time", "band"), valid[..., 0, 0]),
    }
    if COVERAGE in planes:
        variables[COVERAGE] = ("time", planes[COVERAGE][:, 0, 0])
    a, _, c, _, e, f = store.levels[level].transform
    coords: dict[str, Any] = {
        "time": store.times,
        "band": [b.name for b in store.bands],
        "x": c + a * (col + 0.5),
        "y": f + e * (row + 0.5),
    }
    return xr.Dataset(variables, coords=coords, attrs={"crs": store.crs})

"""The part of a store that a request names, as a lazy Dataset: nothing of it is read yet."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyproj
import xarray as xr

from chronozarr_dask.cli.reading.request import Request
from chronozarr_dask.errors import InputError
from chronozarr_dask.format.bands import Band
from chronozarr_dask.format.georef import Transform
from chronozarr_dask.format.layout import Window, ceil_div
from chronozarr_dask.store.datasets import GRID_MAPPING, pixel_at
from chronozarr_dask.store.reader import Store

EDGE = 1e-6
"""Pixels by which a box may reach over an edge by rounding alone."""
_NUMBER = re.compile(r"[+-]?\d{1,6}")
_MONTH_OR_DAY = re.compile(r"\d{4}-\d\d(-\d\d)?")


@dataclass(frozen=True)
class Selection:
    """A part of one level of a store.

    Attributes
    ----------
    store : Store
    dataset : Dataset
        Lazy: the data array and the planes, (time, band) and (time) of a pixel, else (time, band, y, x) and
        (time, y, x) with one timestep.
    bands : tuple of Band
        Of the dataset, in its order.
    level : int
    window : Window
        Pixels of the level.
    transform : six floats
        Of the window's own corner (3.3).
    physical : bool
        Whether values are scaled, NaN where they are invalid; else they are as stored.
    is_series : bool
    """

    store: Store
    dataset: xr.Dataset
    bands: tuple[Band, ...]
    level: int
    window: Window
    transform: Transform
    physical: bool
    is_series: bool


def select(store: Store, request: Request) -> Selection:
    """What a request names in a store.

    Raises
    ------
    InputError
        If the store has no such level, place, time or band.
    """
    whole = store.to_xarray(request.level, request.physical)
    window = _window(store, request)
    at = _times(store, request)
    places = _bands(store, request.bands)
    rows, cols = window.slices
    a, b, c, d, e, f = store.levels[request.level].transform
    transform = (a, b, c + a * window.x0, d, e, f + e * window.y0)
    dataset = whole.isel(time=at, band=places, y=rows, x=cols)
    for name in (GRID_MAPPING, store.variable, *store.planes):  # isel shares the attributes with the whole level
        dataset[name].attrs = dict(dataset[name].attrs)
    if request.is_series:
        dataset = dataset.isel(y=0, x=0)
        del dataset[store.variable].attrs["transform"], dataset[GRID_MAPPING].attrs["GeoTransform"]
    else:
        dataset[store.variable].attrs["transform"] = list(transform)
        gdal = (transform[2], a, b, transform[5], d, e)
        dataset[GRID_MAPPING].attrs["GeoTransform"] = " ".join(repr(float(v)) for v in gdal)
    bands = tuple(store.bands[i] for i in places)
    return Selection(store, dataset, bands, request.level, window, transform, request.physical, request.is_series)


def _window(store: Store, request: Request) -> Window:
    height, width = store.levels[request.level].shape[2:]
    if request.point is not None:
        return _pixel(store, *request.point, request.level)
    if request.lonlat is not None:
        return _pixel(store, *_projected(store, *request.lonlat), request.level)
    if request.cell is not None:
        return _cell(store, *request.cell, request.level)
    if request.bbox is not None:
        return _box(store, request.bbox, request.level)
    if request.window is None:
        return Window(0, height, 0, width)
    w = Window(*request.window)
    if not (0 <= w.y0 < w.y1 <= height and 0 <= w.x0 < w.x1 <= width):
        raise InputError(
            f"--window y {w.y0} to {w.y1}, x {w.x0} to {w.x1} is empty or not within level {request.level}, which has "
            f"y 0 to {height}, x 0 to {width}"
        )
    return w


def _pixel(store: Store, x: float, y: float, level: int) -> Window:
    row, col = pixel_at(store, x, y, level)
    return Window(row, row + 1, col, col + 1)


def _projected(store: Store, lon: float, lat: float) -> tuple[float, float]:
    there = pyproj.Transformer.from_crs("EPSG:4326", store.crs, always_xy=True)
    x, y = there.transform(lon, lat)
    if not (math.isfinite(x) and math.isfinite(y)):
        raise InputError(f"--lonlat {lon},{lat} has no place in {store.crs}: the store is of another part of the world")
    return x, y


def _cell(store: Store, row: int, col: int, level: int) -> Window:
    height, width = store.levels[level].shape[2:]
    cs = store.cells(level, store.variable).chunks.meta.chunk[-1]
    rows, cols = ceil_div(height, cs), ceil_div(width, cs)
    if not (0 <= row < rows and 0 <= col < cols):
        raise InputError(
            f"--cell {row},{col} does not exist: level {level} has rows 0 to {rows - 1}, columns 0 to {cols - 1}"
        )
    return Window(row * cs, min((row + 1) * cs, height), col * cs, min((col + 1) * cs, width))


def _box(store: Store, box: tuple[float, float, float, float], level: int) -> Window:
    """Every pixel that the box covers a part of, within the raster."""
    a, _, c, _, e, f = store.levels[level].transform
    height, width = store.levels[level].shape[2:]
    left, bottom, right, top = box
    y0, y1 = max(0, math.floor((top - f) / e + EDGE)), min(height, math.ceil((bottom - f) / e - EDGE))
    x0, x1 = max(0, math.floor((left - c) / a + EDGE)), min(width, math.ceil((right - c) / a - EDGE))
    if y0 >= y1 or x0 >= x1:
        raise InputError(
            f"--bbox {','.join(f'{v:.12g}' for v in box)} is outside of the raster: in {store.crs} x is {c:.12g} to "
            f"{c + a * width:.12g}, y is {f + e * height:.12g} to {f:.12g}; give LEFT,BOTTOM,RIGHT,TOP in that CRS"
        )
    return Window(y0, y1, x0, x1)


def _times(store: Store, request: Request) -> list[int] | slice:
    if request.time is None:
        n = len(store.times)
        if request.is_series:
            return slice(None)
        if n > 1:
            raise InputError(f"--time is missing: which of the {n} timesteps, {store.times[0]} to {store.times[-1]}?")
        return [0]
    return [timestep_named(request.time, store.times)]


def timestep_named(text: str, times: npt.NDArray[np.datetime64]) -> int:
    """Position of a timestep: by its number, its time, or the day or month if there is one timestep in it."""
    from chronozarr_dask.store.timesteps import timestep

    if _NUMBER.fullmatch(text):
        return timestep(int(text), times)
    if _MONTH_OR_DAY.fullmatch(text):
        unit = "M" if len(text) == len("2024-01") else "D"
        try:
            within = np.flatnonzero(times.astype(f"datetime64[{unit}]") == np.datetime64(text))
        except ValueError as error:
            raise InputError(f"--time is {text!r}: there is no such date ({error})") from error
        if len(within) > 1:
            some = ", ".join(str(t) for t in times[within[:5]])
            raise InputError(
                f"--time {text} stands for {len(within)} timesteps: {some}{', ...' if len(within) > 5 else ''}; give "
                f"one of these"
            )
        if len(within) == 1:
            return int(within[0])
        text = text if unit == "D" else f"{text}-01"
    return timestep(text, times)


def _bands(store: Store, names: tuple[str, ...] | None) -> list[int]:
    known = [band.name for band in store.bands]
    if names is None:
        return list(range(len(known)))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(f"--bands names {', '.join(map(repr, unknown))}: the store has {', '.join(known)}")
    return [known.index(name) for name in dict.fromkeys(names)]

"""Numpy twins of `resample`, bit for bit, for a source that is there as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.format.dtypes import Number

Pixels = npt.NDArray[Any]
Positions = npt.NDArray[np.float64]


def nearest_numpy(source: Pixels, rows: Positions, cols: Positions, nothing: Number) -> Pixels:
    """Twin of `resample.nearest`."""
    inside, row, col = _inside(source, rows, cols)
    picked = source[:, row.astype(np.int64), col.astype(np.int64)]
    return np.where(inside, picked, source.dtype.type(nothing)).astype(source.dtype)


def bilinear_numpy(source: Pixels, rows: Positions, cols: Positions, nodata: Number | None) -> Pixels:
    """Twin of `resample.bilinear`."""
    inside, row, col = _inside(source, rows, cols)
    top, left = np.floor(row - 0.5), np.floor(col - 0.5)
    down, right = row - 0.5 - top, col - 0.5 - left
    total: Any = np.float64(0)
    weights: Any = np.float64(0)
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        weight = (down if i else 1.0 - down) * (right if j else 1.0 - right)
        pixels, ok = _pixels(source, top.astype(np.int64) + i, left.astype(np.int64) + j, nodata)
        total = total + np.where(ok, weight * pixels, 0.0)
        weights = weights + np.where(ok, weight, 0.0)
    return _result(source, inside, total, weights, nodata)


def box_mean_numpy(
    source: Pixels, rows: Positions, cols: Positions, half: tuple[float, float], nodata: Number | None
) -> Pixels:
    """Twin of `resample.box_mean`."""
    inside, row, col = _inside(source, rows, cols)
    (r0, r1), (c0, c1) = (
        [np.ceil(centre + sign * reach - 0.5).astype(np.int64) for sign in (-1, 1)]
        for centre, reach in zip((row, col), half, strict=True)
    )
    total: Any = np.float64(0)
    count: Any = np.int64(0)
    for i in range(int((r1 - r0).max(initial=0))):
        for j in range(int((c1 - c0).max(initial=0))):
            pixels, ok = _pixels(source, r0 + i, c0 + j, nodata)
            ok &= (r0 + i < r1) & (c0 + j < c1)
            total = total + np.where(ok, pixels, 0.0)
            count = count + ok
    return _result(source, inside, total, count, nodata)


def _inside(source: Pixels, rows: Positions, cols: Positions) -> tuple[npt.NDArray[np.bool_], Positions, Positions]:
    """Which positions lie in the source, and the positions, 0 where they do not."""
    h, w = source.shape[1:]
    inside = (rows >= 0) & (rows < h) & (cols >= 0) & (cols < w)
    return inside, np.where(inside, rows, 0.0), np.where(inside, cols, 0.0)


def _pixels(
    source: Pixels, r: npt.NDArray[np.int64], c: npt.NDArray[np.int64], nodata: Number | None
) -> tuple[Pixels, npt.NDArray[np.bool_]]:
    """Pixels of all bands in float64, 0 where there is none, and where there is one."""
    h, w = source.shape[1:]
    there = (r >= 0) & (r < h) & (c >= 0) & (c < w)
    pixels = source[:, np.where(there, r, 0), np.where(there, c, 0)]
    ok = there & np.isfinite(pixels)
    if nodata is not None:
        ok &= pixels != source.dtype.type(nodata)
    return np.where(ok, pixels, pixels.dtype.type(0)).astype(np.float64), ok


def _result(source: Pixels, inside: npt.NDArray[np.bool_], total: Any, weights: Any, nodata: Number | None) -> Pixels:
    ok = inside & (weights > 0)
    mean = total / np.where(ok, weights, 1)
    if source.dtype.kind != "f":
        mean = np.floor(mean + 0.5)
    return np.where(ok, mean, 0 if nodata is None else nodata).astype(source.dtype)

"""Section 6: the pyramid. Each level is the block mean of the one below, invalid pixels excluded.

An odd edge is padded by repeating the last row or column, at the raster's own edge only, and validity is repeated
with it::

    7 x 5  ->  padded 8 x 6  ->  4 x 3

The functions here are the reference; `kernels.block_mean` is the compiled twin that runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.dtypes import Number, fill_value, valid_pixels
from chronozarr_dask.format.layout import ceil_div

FACTOR = 2
MAX_LEVELS = 32


def default_levels(height: int, width: int, chunk_size: int) -> int:
    """Number of levels up to the first whose grid is 1 x 1, that level included."""
    n = 1
    while ceil_div(height, chunk_size) > 1 or ceil_div(width, chunk_size) > 1:
        height, width, n = ceil_div(height, FACTOR), ceil_div(width, FACTOR), n + 1
    return n


def check_levels(levels: int) -> int:
    """Return the number of levels if it makes sense, else raise InputError."""
    if not 1 <= levels <= MAX_LEVELS:
        raise InputError(f"levels is {levels}: give the number of levels, level 0 included, from 1 to {MAX_LEVELS}")
    return levels


def pad_to_even(a: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Repeat the last row and column where height and width (the last two axes) are odd."""
    h, w = a.shape[-2:]
    return np.pad(a, [(0, 0)] * (a.ndim - 2) + [(0, h % 2), (0, w % 2)], mode="edge")


def quarters(a: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
    """The four pixels of every 2 x 2 block, in the order (0,0), (0,1), (1,0), (1,1). Height and width are even."""
    return a[..., 0::2, 0::2], a[..., 0::2, 1::2], a[..., 1::2, 0::2], a[..., 1::2, 1::2]


def next_level(data: npt.NDArray[Any], mask: npt.NDArray[np.uint8] | None, nodata: Number | None) -> npt.NDArray[Any]:
    """Data of the next level, in the dtype of `data`.

    Integers: exact sum, floor division by the number of valid pixels. float32: the sum in float64 in the order
    (0,0), (0,1), (1,0), (1,1). A block without a valid pixel is nodata, or 0 when nodata is null.

    Parameters
    ----------
    data : ndarray (..., band, y, x), one of the four dtypes
    mask : ndarray (..., y, x), uint8, or None
    nodata : number or None
    """
    valid = valid_pixels(data, mask, nodata)
    wide = np.float64 if data.dtype.kind == "f" else np.int64
    values = quarters(pad_to_even(data))
    flags = quarters(pad_to_even(valid))
    total = np.zeros(values[0].shape, wide)
    count = np.zeros(values[0].shape, np.int64)
    for v, ok in zip(values, flags, strict=True):
        total = np.where(ok, total + v.astype(wide), total)
        count += ok
    divisor = np.maximum(count, 1)
    mean = total / divisor if data.dtype.kind == "f" else total // divisor
    with np.errstate(over="ignore"):
        return np.where(count > 0, mean, fill_value(nodata)).astype(data.dtype)

"""Section 6, compiled: the block mean of data, the maximum of masks and the mean of coverage.

The mean of integers is taken in float32, that of float32 in float64. The former is exact: the sum of four 16-bit values
is below 2^24, which float32 holds, and a quotient by 2, 3 or 4 that is not whole is at least 1/4 away from a whole
number, far more than the rounding of the division; so its floor is the floor of the exact quotient. Floating point is
what lets the division run in vector instructions.

A pixel beyond an odd edge is the edge's own pixel again, validity included: here it is read twice, nothing is padded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.format.dtypes import Number, fill_value, valid_pixels
from chronozarr_dask.format.layout import ceil_div
from chronozarr_dask.kernels.compiled import compiled
from chronozarr_dask.kernels.rows import flat_rows, time_parts

ALL_VALID, BY_NODATA, BY_MASK = 0, 1, 2
_NO_MASK = np.empty(0, np.uint8)
_NO_MASK.flags.writeable = False


def block_mean(data: npt.NDArray[Any], mask: npt.NDArray[np.uint8] | None, nodata: Number | None) -> npt.NDArray[Any]:
    """Data of the next level: `format.pyramid.next_level`, bit for bit.

    Parameters
    ----------
    data : ndarray (time, band, y, x), uint8, uint16, int16 or float32
        May be a window of a larger array: it is read in place.
    mask : ndarray (time, y, x), uint8, or None
        1 is valid. When there is one, nodata only fills blocks without a valid pixel.
    nodata : number or None

    Returns
    -------
    ndarray (time, band, ceil(y / 2), ceil(x / 2)), the dtype of `data`
    """
    n_time, n_band, h, w = data.shape
    native = data.dtype.newbyteorder("=")
    out = np.empty((n_time, n_band, ceil_div(h, 2), ceil_div(w, 2)), native)
    fill = native.type(fill_value(nodata))
    mode = BY_MASK if mask is not None else ALL_VALID if nodata is None else BY_NODATA
    is_float = native.kind == "f"
    zero = np.float64(0) if is_float else np.float32(0)
    for part in time_parts(n_time, data, mask):
        flat, strides = flat_rows(data[part])
        flags, flag_strides = (_NO_MASK, (0, 0)) if mask is None else flat_rows(mask[part])
        _block_mean(flat, strides, (h, w), flags, flag_strides, out[part], mode, fill, zero, not is_float)
    return out.astype(data.dtype, copy=False)


def block_mean_numpy(
    data: npt.NDArray[Any], mask: npt.NDArray[np.uint8] | None, nodata: Number | None
) -> npt.NDArray[Any]:
    """Twin of `block_mean`."""
    wide = np.float64 if data.dtype.kind == "f" else np.int32
    total: Any = wide(0)
    count: Any = np.uint8(0)
    for pixels, ok in zip(_four(data), _four(valid_pixels(data, mask, nodata)), strict=True):
        total = total + np.where(ok, pixels, pixels.dtype.type(0)).astype(wide)
        count = count + ok
    divisor = np.maximum(count, 1)
    mean = total / divisor if wide is np.float64 else total // divisor
    return np.where(count > 0, mean, fill_value(nodata)).astype(data.dtype)


def mask_max(mask: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Mask of the next level: `format.planes.next_mask`.

    Parameters
    ----------
    mask : ndarray (time, y, x), uint8; read in place

    Returns
    -------
    ndarray (time, ceil(y / 2), ceil(x / 2)), uint8
    """
    return _plane(mask, True)


def coverage_mean(coverage: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Coverage of the next level, halves up: `format.planes.next_coverage`.

    Parameters
    ----------
    coverage : ndarray (time, y, x), uint8; read in place

    Returns
    -------
    ndarray (time, ceil(y / 2), ceil(x / 2)), uint8
    """
    return _plane(coverage, False)


def mask_max_numpy(mask: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Twin of `mask_max`."""
    a, b, c, d = _four(mask)
    greatest: npt.NDArray[np.uint8] = np.maximum(np.maximum(a, b), np.maximum(c, d))
    return greatest


def coverage_mean_numpy(coverage: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Twin of `coverage_mean`."""
    a, b, c, d = _four(coverage)
    total: npt.NDArray[np.uint16] = a.astype(np.uint16) + b + c + d
    return ((total + 2) >> 2).astype(np.uint8)


def _four(a: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """The pixels of each block: (0,0), (0,1), (1,0), (1,1). Beyond an odd edge it is the edge's own."""
    h, w = a.shape[-2:]
    below, right = (slice(1, None, 2) if n % 2 == 0 else [*range(1, n, 2), n - 1] for n in (h, w))
    return [side for row in (a[..., 0::2, :], a[..., below, :]) for side in (row[..., 0::2], row[..., right])]


def _plane(plane: npt.NDArray[np.uint8], greatest: bool) -> npt.NDArray[np.uint8]:
    n_time, h, w = plane.shape
    out = np.empty((n_time, ceil_div(h, 2), ceil_div(w, 2)), np.uint8)
    for part in time_parts(n_time, plane):
        flat, strides = flat_rows(plane[part])
        _block_plane(flat, strides, (h, w), out[part], greatest)
    return out


@compiled
def _block_mean(
    flat: Any, strides: Any, size: Any, flags: Any, flag_strides: Any, out: Any,
    mode: int, fill: Any, zero: Any, whole: bool,
) -> None:  # fmt: skip
    """Fill `out`. The type of `zero` is the type of the sums; `whole` takes the floor of the mean."""
    h, w = size
    for t in range(out.shape[0]):
        for b in range(out.shape[1]):
            for y in range(out.shape[2]):
                below = 1 if 2 * y + 1 < h else 0
                start = t * strides[0] + b * strides[1] + 2 * y * strides[2]
                top = flat[start:][:w]
                bottom = flat[start + below * strides[2] :][:w]
                row = out[t, b, y]
                if mode == ALL_VALID:
                    _row_all_valid(top, bottom, row, zero, whole)
                elif mode == BY_NODATA:
                    _row_by_nodata(top, bottom, row, fill, zero, whole)
                else:
                    start = t * flag_strides[0] + 2 * y * flag_strides[1]
                    top_flags = flags[start:][:w]
                    bottom_flags = flags[start + below * flag_strides[1] :][:w]
                    _row_by_mask(top, bottom, top_flags, bottom_flags, row, fill, zero, whole)


@compiled
def _row_all_valid(top: Any, bottom: Any, row: Any, zero: Any, whole: bool) -> None:
    valid = (True, True, True, True)
    for x in range(top.size // 2):
        pixels = (top[2 * x], top[2 * x + 1], bottom[2 * x], bottom[2 * x + 1])
        row[x] = _mean(pixels, valid, zero, zero, whole)
    if top.size % 2:
        row[-1] = _mean((top[-1], top[-1], bottom[-1], bottom[-1]), valid, zero, zero, whole)


@compiled
def _row_by_nodata(top: Any, bottom: Any, row: Any, nodata: Any, zero: Any, whole: bool) -> None:
    for x in range(top.size // 2):
        a, b, c, d = top[2 * x], top[2 * x + 1], bottom[2 * x], bottom[2 * x + 1]
        valid = (a != nodata, b != nodata, c != nodata, d != nodata)
        row[x] = _mean((a, b, c, d), valid, nodata, zero, whole)
    if top.size % 2:
        a, c = top[-1], bottom[-1]
        row[-1] = _mean((a, a, c, c), (a != nodata, a != nodata, c != nodata, c != nodata), nodata, zero, whole)


@compiled
def _row_by_mask(
    top: Any, bottom: Any, top_flags: Any, bottom_flags: Any, row: Any, fill: Any, zero: Any, whole: bool
) -> None:
    for x in range(top.size // 2):
        pixels = (top[2 * x], top[2 * x + 1], bottom[2 * x], bottom[2 * x + 1])
        a, b, c, d = top_flags[2 * x], top_flags[2 * x + 1], bottom_flags[2 * x], bottom_flags[2 * x + 1]
        row[x] = _mean(pixels, (a == 1, b == 1, c == 1, d == 1), fill, zero, whole)
    if top.size % 2:
        a, c = top_flags[-1], bottom_flags[-1]
        row[-1] = _mean((top[-1], top[-1], bottom[-1], bottom[-1]), (a == 1, a == 1, c == 1, c == 1), fill, zero, whole)


@compiled
def _mean(pixels: Any, valid: Any, fill: Any, zero: Any, whole: bool) -> Any:
    """Mean of the valid ones of four pixels, summed in their order; `fill` if there is none.

    An invalid pixel adds a positive zero, which changes no sum: each begins with one, so none is ever -0.0.
    Written out, not as a loop over the four: a loop would keep the caller's from using vector instructions.
    """
    one = zero + type(zero)(1)
    total = zero + pixels[0] if valid[0] else zero
    total = total + (zero + pixels[1] if valid[1] else zero)
    total = total + (zero + pixels[2] if valid[2] else zero)
    total = total + (zero + pixels[3] if valid[3] else zero)
    count = (one if valid[0] else zero) + (one if valid[1] else zero)
    count = count + (one if valid[2] else zero) + (one if valid[3] else zero)
    mean = total / max(count, one)
    if whole:
        mean = np.floor(mean)
    return mean if count > zero else fill


@compiled
def _block_plane(flat: Any, strides: Any, size: Any, out: Any, greatest: bool) -> None:
    h, w = size
    for t in range(out.shape[0]):
        for y in range(out.shape[1]):
            below = 1 if 2 * y + 1 < h else 0
            start = t * strides[0] + 2 * y * strides[1]
            top = flat[start:][:w]
            bottom = flat[start + below * strides[1] :][:w]
            row = out[t, y]
            for x in range(w // 2):
                row[x] = _of_four(top[2 * x], top[2 * x + 1], bottom[2 * x], bottom[2 * x + 1], greatest)
            if w % 2:
                row[-1] = _of_four(top[-1], top[-1], bottom[-1], bottom[-1], greatest)


@compiled
def _of_four(a: Any, b: Any, c: Any, d: Any, greatest: bool) -> Any:
    return max(max(a, b), max(c, d)) if greatest else (a + b + c + d + 2) >> 2

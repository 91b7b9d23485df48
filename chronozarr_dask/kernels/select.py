"""Mean, and the first valid, of the observations of each pixel, compiled; and one observation merged into another.

The sum of integers is taken in float64, which holds each of them exactly below 2^53, that is for fewer than 2^37
observations. The quotient's floor is then the floor of the exact one: a quotient that is not whole is at least 1 / n
away from a whole number, far more than the rounding of the division.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from chronozarr_dask.format.dtypes import Number
from chronozarr_dask.kernels.compiled import compiled
from chronozarr_dask.kernels.observations import by_rows
from chronozarr_dask.kernels.rows import Flat, flat_rows, has_rows

WIDTH = 4096
"""Pixels of a row that are taken through all observations at once, so that sums and counts stay in a cache."""


def masked_mean(stack: npt.NDArray[Any], valid: npt.NDArray[Any], fill: Number) -> npt.NDArray[Any]:
    """Mean of the valid observations: floor(sum / n) of integers; of float32 in float64, in their order, rounded once.

    Parameters
    ----------
    stack : ndarray (observation, band, y, x), uint8, uint16, int16 or float32; read in place
    valid : ndarray (observation, y, x), uint8 or bool
    fill : number
        What a pixel without a valid observation holds.

    Returns
    -------
    ndarray (band, y, x), the dtype of `stack`
    """
    if not len(stack):
        return np.full(stack.shape[1:], fill, stack.dtype)
    native = stack.dtype.newbyteorder("=")
    return by_rows(_mean, stack, valid, len(stack), native.type(fill), native.kind != "f")


def masked_mean_numpy(stack: npt.NDArray[Any], valid: npt.NDArray[Any], fill: Number) -> npt.NDArray[Any]:
    """Twin of `masked_mean`, integers in int64."""
    wide = np.float64 if stack.dtype.kind == "f" else np.int64
    total: Any = np.zeros(stack.shape[1:], wide)
    n = (valid != 0).sum(axis=0)
    for pixels, ok in zip(stack, valid != 0, strict=True):
        total = total + np.where(ok, pixels, stack.dtype.type(0)).astype(wide)
    divisor = np.maximum(n, 1)
    mean = total / divisor if stack.dtype.kind == "f" else total // divisor
    return np.where(n > 0, mean, fill).astype(stack.dtype)


def first_valid(
    stack: npt.NDArray[Any], valid: npt.NDArray[Any], fill: Number, order: Sequence[int] | None = None
) -> npt.NDArray[Any]:
    """The first valid observation of each pixel.

    Parameters
    ----------
    stack : ndarray (observation, band, y, x), any dtype; read in place
    valid : ndarray (observation, y, x), uint8 or bool
    fill : number
        What a pixel without a valid observation holds.
    order : sequence of int, optional
        Indices of all observations, the preferred one first; as they lie in the stack when left out.

    Returns
    -------
    ndarray (band, y, x), the dtype of `stack`
    """
    last_to_first = _preference(len(stack), order)[::-1].copy()
    if not len(stack):
        return np.full(stack.shape[1:], fill, stack.dtype)
    native = stack.dtype.newbyteorder("=")
    return by_rows(_first, stack, valid, last_to_first, native.type(fill))


def first_valid_numpy(
    stack: npt.NDArray[Any], valid: npt.NDArray[Any], fill: Number, order: Sequence[int] | None = None
) -> npt.NDArray[Any]:
    """Twin of `first_valid`."""
    out = np.full(stack.shape[1:], fill, stack.dtype)
    left = np.ones(stack.shape[2:], np.bool_)
    for i in _preference(len(stack), order):
        ok = left & (valid[i] != 0)
        out[:, ok] = stack[i][:, ok]
        left &= ~ok
    return out


def merge_first(
    bands: npt.NDArray[Any], valid: npt.NDArray[np.uint8], other: npt.NDArray[Any], other_valid: npt.NDArray[np.uint8]
) -> None:
    """Put the valid pixels of another observation where one has none yet, in place.

    Parameters
    ----------
    bands : ndarray (band, y, x), of native byte order, dense along x; changed in place
    valid : ndarray (y, x), uint8, 0 or 1, dense along x; changed in place
    other : ndarray (band, y, x), the dtype of `bands`
    other_valid : ndarray (y, x), uint8; 0 is invalid
    """
    assert bands.dtype == other.dtype
    assert bands.shape == other.shape
    assert valid.shape == other_valid.shape == bands.shape[1:]
    assert has_rows(bands)
    assert has_rows(valid)
    _merge(bands.shape, *_writable(bands), *_writable(valid), *flat_rows(other), *flat_rows(other_valid))


def merge_first_numpy(
    bands: npt.NDArray[Any], valid: npt.NDArray[np.uint8], other: npt.NDArray[Any], other_valid: npt.NDArray[np.uint8]
) -> None:
    """Twin of `merge_first`."""
    new = (valid == 0) & (other_valid != 0)
    np.copyto(bands, other, where=new)
    valid |= new.view(np.uint8)


def _writable(a: npt.NDArray[Any]) -> Flat:
    """`flat_rows` of an array with rows, to write into."""
    flat, strides = flat_rows(a)
    return as_strided(a, flat.shape, flat.strides), strides


def _preference(n: int, order: Sequence[int] | None) -> npt.NDArray[np.int64]:
    given = np.arange(n) if order is None else np.array(order, np.int64)
    assert np.array_equal(np.sort(given), np.arange(n)), f"{order} does not name each of {n} observations once"
    return given


@compiled
def _mean(
    flat: Any, strides: Any, flags: Any, flag_strides: Any, out: Any, n: int, fill: Any, whole: bool
) -> None:  # fmt: skip
    n_band, h, w = out.shape
    totals = np.empty(min(w, WIDTH), np.float64)
    counts = np.empty(min(w, WIDTH), np.float64)
    for y in range(h):
        for begin in range(0, w, WIDTH):
            size = min(WIDTH, w - begin)
            total, count = totals[:size], counts[:size]
            count[:] = 0.0
            at = y * flag_strides[1] + begin
            for i in range(n):
                ok = flags[at + i * flag_strides[0] :][:size]
                for x in range(size):
                    count[x] += 1.0 if ok[x] != 0 else 0.0
            for b in range(n_band):
                total[:] = 0.0
                for i in range(n):
                    ok = flags[at + i * flag_strides[0] :][:size]
                    pixels = flat[i * strides[0] + b * strides[1] + y * strides[2] + begin :][:size]
                    for x in range(size):
                        pixel = np.float64(pixels[x])
                        total[x] += pixel if ok[x] != 0 else 0.0
                row = out[b, y, begin:][:size]
                for x in range(size):
                    mean = total[x] / max(count[x], 1.0)
                    if whole:
                        mean = np.floor(mean)
                    row[x] = mean if count[x] > 0 else fill


@compiled
def _first(flat: Any, strides: Any, flags: Any, flag_strides: Any, out: Any, last_to_first: Any, fill: Any) -> None:
    """From the least preferred observation on, each overwrites where it is valid; both values are read first."""
    n_band, h, w = out.shape
    for y in range(h):
        for begin in range(0, w, WIDTH):
            size = min(WIDTH, w - begin)
            for b in range(n_band):
                row = out[b, y, begin:][:size]
                row[:] = fill
                for i in last_to_first:
                    ok = flags[i * flag_strides[0] + y * flag_strides[1] + begin :][:size]
                    pixels = flat[i * strides[0] + b * strides[1] + y * strides[2] + begin :][:size]
                    for x in range(size):
                        new, old = pixels[x], row[x]
                        row[x] = new if ok[x] != 0 else old


@compiled
def _merge(
    size: Any, into: Any, into_strides: Any, valid: Any, valid_stride: Any, flat: Any, strides: Any, flags: Any,
    flag_stride: Any,
) -> None:  # fmt: skip
    n_band, h, w = size
    for y in range(h):
        done = valid[y * valid_stride[0] :][:w]
        ok = flags[y * flag_stride[0] :][:w]
        for b in range(n_band):
            row = into[b * into_strides[0] + y * into_strides[1] :][:w]
            pixels = flat[b * strides[0] + y * strides[1] :][:w]
            for x in range(w):
                new, old = pixels[x], row[x]
                row[x] = new if ok[x] != 0 and done[x] == 0 else old
        for x in range(w):
            done[x] = np.uint8(1) if done[x] | ok[x] else np.uint8(0)

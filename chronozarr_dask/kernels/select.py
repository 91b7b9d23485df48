"""Mean, and the first valid, of the observations of each pixel, compiled.

The sum of integers is taken in float64, which holds each of them exactly below 2^53, that is for fewer than 2^37
observations. The quotient's floor is then the floor of the exact one: a quotient that is not whole is at least 1 / n
away from a whole number, far more than the rounding of the division.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.format.dtypes import Number
from chronozarr_dask.kernels.compiled import compiled
from chronozarr_dask.kernels.observations import row_parts


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
    native = stack.dtype.newbyteorder("=")
    out = np.empty(stack.shape[1:], native)
    for part, (flat, strides), (flags, flag_strides) in row_parts(stack, valid):
        size = (stack.shape[0], *out[:, part].shape)
        _mean(flat, strides, flags, flag_strides, size, out[:, part], native.type(fill), native.kind != "f")
    return out.astype(stack.dtype, copy=False)


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
    native = stack.dtype.newbyteorder("=")
    out = np.full(stack.shape[1:], fill, native)
    last_to_first = _preference(len(stack), order)[::-1].copy()
    for part, (flat, strides), (flags, flag_strides) in row_parts(stack, valid):
        _first(flat, strides, flags, flag_strides, last_to_first, out[:, part])
    return out.astype(stack.dtype, copy=False)


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


def _preference(n: int, order: Sequence[int] | None) -> npt.NDArray[np.int64]:
    given = np.arange(n) if order is None else np.array(order, np.int64)
    assert np.array_equal(np.sort(given), np.arange(n)), f"{order} does not name each of {n} observations once"
    return given


@compiled
def _mean(
    flat: Any, strides: Any, flags: Any, flag_strides: Any, size: Any, out: Any, fill: Any, whole: bool
) -> None:  # fmt: skip
    n, n_band, h, w = size
    total = np.empty(w, np.float64)
    count = np.empty(w, np.float64)
    for y in range(h):
        count[:] = 0.0
        for i in range(n):
            ok = flags[i * flag_strides[0] + y * flag_strides[1] :][:w]
            for x in range(w):
                count[x] += 1.0 if ok[x] != 0 else 0.0
        for b in range(n_band):
            total[:] = 0.0
            for i in range(n):
                ok = flags[i * flag_strides[0] + y * flag_strides[1] :][:w]
                pixels = flat[i * strides[0] + b * strides[1] + y * strides[2] :][:w]
                for x in range(w):
                    pixel = np.float64(pixels[x])
                    total[x] += pixel if ok[x] != 0 else 0.0
            row = out[b, y]
            for x in range(w):
                mean = total[x] / max(count[x], 1.0)
                if whole:
                    mean = np.floor(mean)
                row[x] = mean if count[x] > 0 else fill


@compiled
def _first(flat: Any, strides: Any, flags: Any, flag_strides: Any, last_to_first: Any, out: Any) -> None:
    """From the least preferred observation on, each overwrites where it is valid."""
    n_band, h, w = out.shape
    for y in range(h):
        for b in range(n_band):
            row = out[b, y]
            for i in last_to_first:
                ok = flags[i * flag_strides[0] + y * flag_strides[1] :][:w]
                pixels = flat[i * strides[0] + b * strides[1] + y * strides[2] :][:w]
                for x in range(w):
                    new, old = pixels[x], row[x]  # both read before one is chosen, so that vector instructions can
                    row[x] = new if ok[x] != 0 else old

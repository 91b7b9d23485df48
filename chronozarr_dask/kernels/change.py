"""Section 5, compiled: the sums of change that volatility is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.kernels.compiled import compiled
from chronozarr_dask.kernels.rows import flat_rows, has_rows


def change_sums(data: npt.NDArray[Any], pairs: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """`format.volatility.change_sum` of every pair of timesteps of one cell, bit for bit.

    Parameters
    ----------
    data : ndarray (time, band, h, w), one of the four dtypes
        A cell cut to the array's shape; may be a window of a larger array: it is read in place.
    pairs : ndarray (n, 2), intp
        Timestep and anchor, as indices within `data`.

    Returns
    -------
    ndarray (n,)
        int64, exact, for integers; float64 for float32, added one after the other in C order.
    """
    is_float = data.dtype.kind == "f"
    zero = np.float64(0) if is_float else np.int64(0)
    sums = np.zeros(len(pairs), np.float64 if is_float else np.int64)
    if has_rows(data):
        flat, strides = flat_rows(data)
        _change_sums(flat, strides, data.shape[1:], pairs, zero, sums)
        return sums
    one_pair = np.array([[0, 1]], np.intp)
    for i, pair in enumerate(pairs):
        two = data[pair]
        flat, strides = flat_rows(two)
        _change_sums(flat, strides, two.shape[1:], one_pair, zero, sums[i : i + 1])
    return sums


def change_sums_numpy(data: npt.NDArray[Any], pairs: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """Twin of `change_sums`."""
    wide = np.float64 if data.dtype.kind == "f" else np.int64
    sums = np.zeros(len(pairs), wide)
    for i, (t, anchor) in enumerate(pairs):
        change = np.abs(data[t].astype(wide) - data[anchor].astype(wide)).ravel()
        # np.sum adds in pairs of blocks, accumulate one after the other.
        sums[i] = np.add.accumulate(change)[-1] if wide is np.float64 else change.sum()
    return sums


@compiled
def _change_sums(flat: Any, strides: Any, cell: Any, pairs: Any, zero: Any, sums: Any) -> None:
    """The type of `zero` is the type of the sums."""
    n_band, h, w = cell
    for i in range(pairs.shape[0]):
        total = zero
        for b in range(n_band):
            for y in range(h):
                offset = b * strides[1] + y * strides[2]
                values = flat[pairs[i, 0] * strides[0] + offset :][:w]
                base = flat[pairs[i, 1] * strides[0] + offset :][:w]
                for x in range(w):
                    total += abs((zero + values[x]) - (zero + base[x]))
        sums[i] = total

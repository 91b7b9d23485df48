"""A stack of observations and its validity, as the kernels read them; and how many observations a pixel has.

    stack   (observation, band, y, x)    any dtype of the format
    valid   (observation, y, x)          uint8 or bool; 0 is invalid, anything else valid; the same for all bands

Nothing is copied where the rows of both are dense in memory. What is not (bands last, flipped, the other byte order) is
copied a few rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.kernels.compiled import compiled
from chronozarr_dask.kernels.rows import Flat, flat_rows, has_rows

COPY_BYTES = 2**24
"""Most of a stack that is copied at a time; one row where a row is larger."""


def by_rows(
    kernel: Callable[..., None], stack: npt.NDArray[Any], valid: npt.NDArray[Any], *more: Any
) -> npt.NDArray[Any]:
    """Run ``kernel(flat, strides, flags, flag_strides, out, *more)`` over an observation or more, a run of y at a time.

    Where neither has a gap between two rows, the kernel gets all of them as one long row: long runs of memory are what
    a processor reads ahead.

    Returns
    -------
    ndarray (band, y, x), the dtype of `stack`
        What the kernel wrote into `out`, an array (band, y, x) of native byte order.
    """
    n_band, h, w = stack.shape[1:]
    assert len(stack), "the value of no observation is for the caller to say"
    out = np.empty((n_band, h, w), stack.dtype.newbyteorder("="))
    for part, (flat, strides), (flags, flag_strides) in row_parts(stack, valid):
        rows = part.stop - part.start
        piece = out if rows == h else np.empty((n_band, rows, w), out.dtype)
        joined = strides[-1] == flag_strides[-1] == w
        kernel(flat, strides, flags, flag_strides, piece.reshape(n_band, 1, -1) if joined else piece, *more)
        if piece is not out:
            out[:, part] = piece
    return out.astype(stack.dtype, copy=False)


def row_parts(stack: npt.NDArray[Any], valid: npt.NDArray[Any]) -> Iterator[tuple[slice, Flat, Flat]]:
    """Runs of y that a kernel takes at once, and the stack and validity in each as flat rows."""
    assert valid.shape == (stack.shape[0], *stack.shape[2:]), f"validity {valid.shape} of a stack {stack.shape}"
    valid = as_flags(valid)
    if not stack.size:
        return
    h = stack.shape[2]
    step = h if has_rows(stack) and has_rows(valid) else max(1, COPY_BYTES * h // stack.nbytes)
    for y in range(0, h, step):
        part = slice(y, min(y + step, h))
        yield part, flat_rows(stack[:, :, part]), flat_rows(valid[:, part])


def as_flags(valid: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Validity as uint8, not copied."""
    assert valid.dtype in (np.bool_, np.uint8), f"validity is {valid.dtype}, not uint8 or bool"
    return valid.view(np.uint8)


def count_valid(valid: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Coverage (2.5): the number of valid observations of each pixel; 255 stands for 255 and more.

    Parameters
    ----------
    valid : ndarray (observation, y, x), uint8 or bool; read in place

    Returns
    -------
    ndarray (y, x), uint8
    """
    out = np.zeros(valid.shape[1:], np.uint8)
    for one in as_flags(valid):
        flat, strides = flat_rows(one)
        _add_valid(flat, strides[0], out)
    return out


def count_valid_numpy(valid: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Twin of `count_valid`."""
    count: npt.NDArray[np.int64] = (valid != 0).sum(axis=0, dtype=np.int64)
    return np.minimum(count, 255).astype(np.uint8)


@compiled
def _add_valid(flat: Any, stride: int, out: Any) -> None:
    w = out.shape[1]
    for y in range(out.shape[0]):
        row = flat[y * stride :][:w]
        total = out[y]
        for x in range(w):
            total[x] += np.uint8(1) if row[x] != 0 and total[x] != 255 else np.uint8(0)

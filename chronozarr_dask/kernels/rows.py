"""Strided arrays as rows of flat memory: what lets a compiled kernel read a window of a larger array without a copy.

A window of a C-ordered array is strided, but each of its rows is not::

    flat   . . . . . . . . . . . . . . . . . . . . .
    rows         [0 0 0 0]     [1 1 1 1]     [2 2 2 2]
                 ^ start       ^ start + stride

Only when the compiler knows that the pixels of a row are neighbours can it use vector instructions. An array without
such rows (bands last, flipped, the other byte order) is copied, one timestep at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

Flat = tuple[npt.NDArray[Any], tuple[int, ...]]


def has_rows(a: npt.NDArray[Any]) -> bool:
    """Whether the last axis is dense in memory and the others go forward in whole, aligned, native elements."""
    dense = a.strides[-1] == a.itemsize or a.shape[-1] <= 1
    forward = all(s >= 0 and s % a.itemsize == 0 for s in a.strides[:-1])
    return bool(dense and forward and a.dtype.isnative and a.flags.aligned)


def flat_rows(a: npt.NDArray[Any]) -> Flat:
    """The memory under an array as one flat, read-only array, and the strides of all axes but the last, in elements.

    Element (i, ..., x) of `a` is element ``i * strides[0] + ... + x`` of the flat one. `a` is copied if it has no rows.
    Read-only always, so that a kernel is compiled once and not once more for inputs that may not be written.
    """
    if not has_rows(a):
        a = np.ascontiguousarray(a, a.dtype.newbyteorder("="))
    strides = tuple(s // a.itemsize for s in a.strides[:-1])
    span = sum((n - 1) * s for n, s in zip(a.shape, strides, strict=False)) + a.shape[-1] if a.size else 0
    return as_strided(a, (span,), (a.itemsize,), writeable=False), strides


def time_parts(n_time: int, *arrays: npt.NDArray[Any] | None) -> Iterator[slice]:
    """Slices of the time axis that a kernel takes at once: all of it, or one timestep where a copy is needed."""
    if all(a is None or has_rows(a) for a in arrays):
        yield slice(0, n_time)
    else:
        yield from (slice(t, t + 1) for t in range(n_time))

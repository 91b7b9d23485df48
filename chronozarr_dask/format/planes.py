"""Sections 2.4 and 2.5: the two planes, mask and coverage: uint8 (time, y, x), fill 0, never star-delta encoded."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from chronozarr_dask.format.layout import COVERAGE, MASK
from chronozarr_dask.format.pyramid import pad_to_even, quarters

Plane = Literal["mask", "coverage"]
PLANES: tuple[Plane, ...] = ("mask", "coverage")
PLANE_DTYPE = np.dtype(np.uint8)
PLANE_FILL = 0
COVERAGE_MAX = 255

assert PLANES == (MASK, COVERAGE)


def next_mask(mask: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Mask of the next level: the maximum of each 2 x 2 block (2.4).

    Parameters
    ----------
    mask : ndarray (..., y, x), uint8 of 0 and 1
    """
    q = quarters(pad_to_even(mask))
    out: npt.NDArray[np.uint8] = np.maximum(np.maximum(q[0], q[1]), np.maximum(q[2], q[3]))
    return out


def next_coverage(coverage: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Coverage of the next level: the mean of each 2 x 2 block, halves up: (sum + 2) // 4 (2.5).

    Parameters
    ----------
    coverage : ndarray (..., y, x), uint8
    """
    total = sum(q.astype(np.uint16) for q in quarters(pad_to_even(coverage)))
    return ((np.asarray(total) + 2) // 4).astype(np.uint8)


def saturate(counts: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Observation counts as coverage: 255 stands for 255 and more (2.5)."""
    out: npt.NDArray[np.uint8] = np.minimum(counts, COVERAGE_MAX).astype(np.uint8)
    return out

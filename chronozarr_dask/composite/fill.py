"""Fill gaps in time: where a timestep has no observation, the composite of the timestep before is carried forward.

    composites  a . . b .        coverage  3 0 0 1 0
    carried     a a a b b                  3 0 0 1 0      coverage goes on telling what was seen

A slab of time hands its last filled frame to the next one; two slabs give what one would. Nothing but the frame is
needed: a pixel that was never seen holds the fill value in it, and carrying that forward changes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.format.provenance import GapFill

Frame = npt.NDArray[Any]


def fill_gaps(
    values: npt.NDArray[Any], coverage: npt.NDArray[np.uint8], last: Frame | None = None, *, how: GapFill
) -> Frame | None:
    """Fill the gaps of a slab in place.

    Parameters
    ----------
    values : ndarray (time, band, y, x); changed in place
        Composites, the fill value where `coverage` is 0.
    coverage : ndarray (time, y, x), uint8
    last : ndarray (band, y, x) or None
        What the slab before handed on; None for the first slab.
    how : "none" or "carry-forward"

    Returns
    -------
    ndarray (band, y, x) or None
        To hand on to the next slab; for an empty slab what was given. None when nothing is carried.
    """
    assert values.shape[:1] + values.shape[2:] == coverage.shape
    if how == "none":
        return None
    for frame, seen in zip(values, coverage, strict=True):
        if last is not None:
            np.copyto(frame, last, where=seen == 0)
        last = frame
    return None if last is None else last.copy()

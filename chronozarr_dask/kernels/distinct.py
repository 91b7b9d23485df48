"""Which few values a band takes, to warn of flags and classes whose block means make no sense (6). Leaves early."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.kernels.compiled import compiled

MOST = 16
"""A band with more values than this is taken for a quantity. The classes of the usual products are fewer."""


def distinct_values(frames: npt.NDArray[Any], skip: int | None) -> list[list[int] | None]:
    """The values of each band, sorted; None for a band with more than `MOST`.

    Parameters
    ----------
    frames : ndarray (time, band, y, x), integer
    skip : int or None
        Value that does not count: nodata.
    """
    out: list[list[int] | None] = []
    for band in range(frames.shape[1]):
        found = np.zeros(MOST + 1, np.int64)
        n = 0
        for t in range(frames.shape[0]):
            n = _collect(frames[t, band], skip is not None, skip or 0, found, n)
            if n > MOST:
                break
        out.append(None if n > MOST else sorted(found[:n].tolist()))
    return out


@compiled
def _collect(frame: Any, has_skip: bool, skip: int, found: Any, n: int) -> int:
    """Add the values of a frame (y, x) to `found`; returns how many there are, at most one more than fit."""
    last = -1
    for y in range(frame.shape[0]):
        for x in range(frame.shape[1]):
            v = np.int64(frame[y, x])
            if (has_skip and v == skip) or (last >= 0 and v == found[last]):
                continue
            last = -1
            for i in range(n):
                if found[i] == v:
                    last = i
                    break
            if last < 0:
                found[n] = v
                last = n
                n += 1
                if n == found.size:
                    return n
    return n

"""Where an input can be cut without computing, or reading, anything twice."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import xarray as xr

from chronozarr_dask.plan.shape import Blocks
from chronozarr_dask.source.view import is_chunked

Cuts = tuple[int, ...]


def blocks_of(arrays: Sequence[xr.DataArray]) -> Blocks:
    """Boundaries that all arrays have: those of dask arrays when there are any, else those that files hint at.

    Parameters
    ----------
    arrays : sequence of DataArray (time, ..., y, x)
        Bands' parts and planes of one cube.
    """
    chunked = [a for a in arrays if is_chunked(a)]
    cuts = {axis: _common([_cuts(a, axis) for a in chunked or arrays]) for axis in ("time", "y", "x")}
    return Blocks(cuts["time"], cuts["y"], cuts["x"], opaque=bool(chunked))


def _common(every: list[Cuts | None]) -> Cuts | None:
    known = [set(c) for c in every if c is not None]
    return tuple(sorted(set.intersection(*known))) if known else None


def _cuts(array: xr.DataArray, axis: str) -> Cuts | None:
    n = array.sizes[axis]
    if is_chunked(array):
        return (0, *accumulate(array.chunksizes[axis]))
    hint = (array.encoding.get("preferred_chunks") or {}).get(axis)
    if hint is None:
        return None
    if isinstance(hint, (int, np.integer)):
        return (*range(0, n, int(hint)), n)
    ends = tuple(accumulate(hint))
    return (0, *(e for e in ends if e < n), n)

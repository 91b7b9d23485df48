"""Where an input can be cut without computing, or reading, anything twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import xarray as xr

from chronozarr_dask.source.view import is_chunked, is_in_memory

Cuts = tuple[int, ...]


@dataclass(frozen=True)
class Blocks:
    """Boundaries of the source's blocks along each axis.

    Attributes
    ----------
    time, y, x : tuple of int, or None
        Increasing, from 0 to the axis' length, both included: a cut at one of them goes through no block. None: nothing
        speaks against any cut.
    opaque : bool
        Whether a block is computed whole (dask arrays), so that a cut within one computes it twice. Otherwise the
        source is read by window, and the boundaries say what is cheap.
    in_memory : bool
        Whether some of it is numpy in this process: what goes to a worker is a window, never the array.
    """

    time: Cuts | None
    y: Cuts | None
    x: Cuts | None
    opaque: bool
    in_memory: bool


def blocks_of(arrays: Sequence[xr.DataArray]) -> Blocks:
    """Boundaries that all arrays have: those of dask arrays when there are any, else those that files hint at.

    Parameters
    ----------
    arrays : sequence of DataArray (time, ..., y, x)
        Bands' parts and planes of one cube.
    """
    chunked = [a for a in arrays if is_chunked(a)]
    cuts = {axis: _common([_cuts(a, axis) for a in chunked or arrays]) for axis in ("time", "y", "x")}
    return Blocks(
        cuts["time"], cuts["y"], cuts["x"], opaque=bool(chunked), in_memory=any(is_in_memory(a) for a in arrays)
    )


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

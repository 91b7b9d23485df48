"""Add a number to the digital numbers of a scene, in place: the offset of Sentinel-2's processing baselines."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.kernels.compiled import compiled


def add_offset(bands: npt.NDArray[Any], offset: int, nothing: int, least: int) -> None:
    """Add `offset` in place, clipped to `least` .. the dtype's greatest; a pixel that is `nothing` stays.

    A sum that is `nothing` becomes the next greater number: what was a value stays one.

    Parameters
    ----------
    bands : ndarray (..., y, x), uint8, uint16 or int16, writeable, of native byte order
        May be a window of a larger array.
    offset : int
        From -65535 to 65535.
    nothing : int
        Value of a missing pixel.
    least : int
        What smaller results become.
    """
    numbers = np.int32(offset), np.int32(nothing), np.int32(least), np.int32(np.iinfo(bands.dtype).max)
    if bands.flags.c_contiguous:
        _add(bands.reshape(-1), *numbers)
        return
    for index in np.ndindex(bands.shape[:-1]):
        row = np.ascontiguousarray(bands[index])
        _add(row, *numbers)
        bands[index] = row


def add_offset_numpy(bands: npt.NDArray[Any], offset: int, nothing: int, least: int) -> None:
    """Twin of `add_offset`."""
    moved = np.clip(bands.astype(np.int32) + offset, least, np.iinfo(bands.dtype).max)
    bands[...] = np.where(bands == nothing, bands, moved + (moved == nothing))


@compiled
def _add(pixels: Any, offset: Any, nothing: Any, least: Any, greatest: Any) -> None:
    for i in range(pixels.size):
        v = np.int32(pixels[i])
        moved = np.int32(min(max(v + offset, least), greatest))
        pixels[i] = v if v == nothing else moved + np.int32(moved == nothing)

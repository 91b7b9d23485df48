"""The tiles of one pass are one observation: per pixel the first valid tile in the order of (datetime, id).

Tiles overlap by some kilometres, and the same ground would otherwise count twice. Each tile is merged as it was read
and then forgotten, so that a mosaic takes the memory of one observation however many tiles it has. A tile may cover a
part of the region only: give the same part of the observation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.kernels.select import merge_first


def merge_tile(
    bands: npt.NDArray[Any], valid: npt.NDArray[np.uint8], tile: npt.NDArray[Any], tile_valid: npt.NDArray[np.uint8]
) -> None:
    """Put the valid pixels of a tile where the observation has none yet, in place.

    Parameters
    ----------
    bands : ndarray (band, y, x); changed in place
        The observation so far, or the part of it that the tile covers.
    valid : ndarray (y, x), uint8, 0 or 1; changed in place
        All 0 before the first tile; what `bands` holds there does not matter.
    tile : ndarray (band, y, x), the dtype of `bands`
    tile_valid : ndarray (y, x), uint8, 0 or 1
    """
    merge_first(bands, valid, tile, tile_valid)

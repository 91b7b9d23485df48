"""The tiles of one pass are one observation: per pixel the first valid tile in the order of (datetime, id).

Tiles overlap by some kilometres, and the same ground would otherwise count twice. Each tile is merged as it was read
and then forgotten, so that a mosaic takes the memory of one observation however many tiles it has. A tile may cover a
part of the region only: give the same part of the observation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.kernels.select import merge_first

PASS_GAP_MS = 600_000


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


def group_passes(scenes: Sequence[tuple[str | None, int]], *, mosaic: bool) -> tuple[tuple[int, ...], ...]:
    """Which scenes are one observation: tiles of one platform that follow each other within ten minutes.

    A platform comes back to a place after an orbit of 98 minutes at the earliest; from a tile to the next it takes 15
    seconds, and tiles in between may be missing.

    Parameters
    ----------
    scenes : sequence of (platform, datetime)
        In the order of (datetime, id); milliseconds. A scene of an unknown platform is an observation of its own.
    mosaic : bool
        False: every scene is an observation of its own.

    Returns
    -------
    tuple of tuple of int
        Indices into `scenes`; observations in the order of their first scenes.
    """
    groups: list[list[int]] = []
    open_groups: dict[str, list[int]] = {}
    for i, (platform, ms) in enumerate(scenes):
        group = open_groups.get(platform) if mosaic and platform else None
        if group is not None and ms - scenes[group[-1]][1] <= PASS_GAP_MS:
            group.append(i)
            continue
        groups.append([i])
        if platform:
            open_groups[platform] = groups[-1]
    return tuple(tuple(g) for g in groups)

"""Section 6: a warning for a band of flags or classes, whose coarser levels are block means that mean nothing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from chronozarr_dask.format.bands import Band
from chronozarr_dask.format.dtypes import Number

MIN_PIXELS = 1000
"""For each value: in a smaller raster a quantity may take few values by chance."""
SCALED_STEP = 100
"""Values so far apart are a scaled fraction, as section 6 advises (0 and 10000), and their means are right."""


def flag_warnings(
    bands: Sequence[Band], values: Sequence[Sequence[int] | None], nodata: Number | None, n_pixels: int
) -> tuple[str, ...]:
    """One text for each band that looks like flags or classes.

    Parameters
    ----------
    bands : sequence of Band
    values : sequence
        The values of each band in the whole store without nodata, sorted; None where they are many.
    nodata : number or None
    n_pixels : int
        Pixels of a band, all timesteps.
    """
    out = []
    for band, found in zip(bands, values, strict=True):
        if found and n_pixels >= MIN_PIXELS * len(found):
            out.append(_warning(band.name, list(found), nodata))
    return tuple(text for text in out if text)


def _warning(name: str, values: list[int], nodata: Number | None) -> str:
    """The text for a band, empty where its few values are a quantity."""
    if values == [1] and nodata == 0:
        return (
            f"band {name} has no value but 1 beside nodata 0: a flag's 0 counts as missing then, and every coarser "
            f"level is 1 wherever one pixel is. Store a fraction, 0 or 10000 with scale 0.0001 and units 'fraction', "
            f"with nodata=None (section 6)"
        )
    if len(values) < 2 or min(b - a for a, b in pairwise(values)) >= SCALED_STEP:
        return ""
    listed = ", ".join(map(str, values))
    if len(values) == 2:
        return (
            f"band {name} has two values, {listed}: coarser levels are block means rounded down, so the share of a "
            f"flag shrinks with every level. Store a fraction instead, for example 0 or 10000 with scale 0.0001 and "
            f"units 'fraction' (section 6)"
        )
    return (
        f"band {name} has {len(values)} values, {listed}: if they are classes, the block means of the coarser levels "
        f"are not. Reduce them by a rule of your own, such as the majority, and encode each overview as a store with "
        f"levels=1 (section 6)"
    )

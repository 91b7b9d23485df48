"""Whether a grid can lie where its CRS has it: metres under a CRS of degrees, or degrees under one of metres."""

from __future__ import annotations

import math

import pyproj

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.georef import Transform

TURN = 2 * math.pi
HALF_PIXEL = 0.5
"""Global grids have a row of centres on each pole, so that their edge lies half a pixel beyond it."""


def check_extent(crs: pyproj.CRS, transform: Transform, shape: tuple[int, int]) -> tuple[str, ...]:
    """Warnings of a grid that is hardly where its CRS has it.

    Parameters
    ----------
    crs : CRS
        With an EPSG code.
    transform : six floats
        Of the pixel corners, north-up.
    shape : (height, width)

    Raises
    ------
    InputError
        If the CRS has no such place: latitudes beyond a pole, or coordinates that cannot be projected back.
    """
    a, _, left, _, e, top = transform
    right, bottom = left + a * shape[1], top + e * shape[0]
    name = f"EPSG:{crs.to_epsg()} ({crs.name})"
    place = f"x {left:.12g} to {right:.12g}, y {bottom:.12g} to {top:.12g}"
    mend = "name the CRS that the coordinates are in with crs=, or mend the coordinates"
    if crs.is_geographic:
        unit = crs.axis_info[0].unit_conversion_factor  # radians
        pole, slack = TURN / 4 / unit, HALF_PIXEL * abs(e) + 1e-9
        far = max(abs(left), abs(right)) > 1.5 * TURN / unit  # 0 to 360 and -180 to 180 both are in use
        if far or top > pole + slack or bottom < -pole - slack:
            raise InputError(
                f"the raster has {place}, and its CRS is {name}, whose latitudes are -{pole:g} to {pole:g}: {mend}"
            )
        return ()
    there = pyproj.Transformer.from_crs(crs.geodetic_crs, crs, always_xy=True)
    x, y = (left + right) / 2, (bottom + top) / 2
    again = there.transform(*there.transform(x, y, direction="INVERSE"))[1]
    if not abs(again - y) <= abs(e):  # x alone may differ, by a turn around the globe
        raise InputError(f"the raster has {place}, where {name} has no place on the ground: {mend}")
    if max(abs(left), abs(right)) <= 360 and max(abs(top), abs(bottom)) <= 90 and abs(a) < 1:
        return (
            f"the raster has {place}, which looks like degrees, and its CRS is {name}, in "
            f"{crs.axis_info[0].unit_name}: if they are degrees, {mend}.",
        )
    return ()

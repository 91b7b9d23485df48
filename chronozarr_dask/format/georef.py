"""Section 3.3: CRS, transform and resolution of a level, and the attributes by which other tools find them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.layout import centres

Transform = tuple[float, float, float, float, float, float]

_EPSG = re.compile(r"EPSG:[1-9][0-9]{3,9}")


def check_crs(crs: str) -> str:
    """Return `crs` if it reads ``EPSG:<code>`` (3.2), else raise InputError."""
    if not isinstance(crs, str) or not _EPSG.fullmatch(crs):
        raise InputError(f"crs is {crs!r}: the format names a CRS by its EPSG code, as in EPSG:32631 (section 3.2)")
    return crs


def check_transform(transform: Sequence[float]) -> Transform:
    """Six floats of a north-up grid, or InputError: rotated, south-up and mirrored grids have no place (3.3, 2.2)."""
    values = tuple(float(v) for v in transform)
    if len(values) != 6 or not all(math.isfinite(v) for v in values):
        raise InputError(
            f"transform is {list(values)}: give six finite numbers [a, b, c, d, e, f] in Affine order (3.3)"
        )
    a, b, _, d, e, _ = values
    if b or d:
        raise InputError(
            f"the grid is rotated or sheared (b = {b}, d = {d}): warp the raster onto a north-up grid first, for "
            f"example with rioxarray's reproject (section 3.3)"
        )
    if e > 0:
        raise InputError(
            f"the grid is south-up (e = {e}): row 0 must be the north edge (section 2.1); sort y descending first, "
            f"for example cube.sortby('y', ascending=False)"
        )
    if a <= 0 or e == 0:
        raise InputError(f"pixel size is {a} x {e}: x must increase and y decrease (section 2.2)")
    return values


@dataclass(frozen=True)
class Georeference:
    """CRS and grid of level 0.

    Attributes
    ----------
    crs : str
        ``EPSG:<code>``.
    transform : six floats
        [a, b, c, d, e, f] in Affine order, pixel corners, north-up; pixels need not be square.
    """

    crs: str
    transform: Transform

    def __post_init__(self) -> None:
        check_crs(self.crs)
        object.__setattr__(self, "transform", check_transform(self.transform))

    def level_transform(self, level: int) -> Transform:
        """[a * 2^k, b, c, d, e * 2^k, f]."""
        a, b, c, d, e, f = self.transform
        return a * 2**level, b, c, d, e * 2**level, f

    def resolution(self, level: int) -> float:
        """abs(a) * 2^k, in units of the CRS."""
        return float(abs(self.transform[0]) * 2**level)

    def group_attributes(self, level: int) -> dict[str, Any]:
        """Attributes of a level group."""
        return {"crs": self.crs, "transform": list(self.level_transform(level)), "resolution": self.resolution(level)}

    def array_attributes(self, level: int, height: int, width: int) -> dict[str, Any]:
        """What the data array repeats: crs, transform, proj:code, spatial:* and _CRS."""
        transform = list(self.level_transform(level))
        a, _, c, _, e, f = transform
        return {
            "crs": self.crs,
            "transform": transform,
            "proj:code": self.crs,
            "spatial:dimensions": ["y", "x"],
            "spatial:shape": [height, width],
            "spatial:transform": transform,
            "spatial:bbox": [c, f + e * height, c + a * width, f],
            "_CRS": {"url": f"http://www.opengis.net/def/crs/EPSG/0/{self.crs.removeprefix('EPSG:')}"},
        }

    def x(self, level: int, width: int) -> list[float]:
        """x of the pixel centres, increasing (2.2)."""
        t = self.level_transform(level)
        return centres(t[2], t[0], width)

    def y(self, level: int, height: int) -> list[float]:
        """y of the pixel centres, decreasing (2.2)."""
        t = self.level_transform(level)
        return centres(t[5], t[4], height)

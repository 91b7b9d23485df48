"""Which pixels of a scene count, and the offset that Sentinel-2's processing baselines add to their numbers.

A pixel of a scene is valid when its class is kept and every band has a value: not nodata and, in float32, finite. The
class comes from a plane of class numbers (Sentinel-2's SCL) or of bits (Landsat's QA_PIXEL).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.dtypes import Number, is_finite_number
from chronozarr_dask.kernels.offset import add_offset

Flags = npt.NDArray[np.uint8]

SCL_KEPT = (4, 5, 6, 7, 11)
"""Vegetation, not vegetated, water, unclassified, snow or ice."""

QA_BITS = {
    "fill": 0, "dilated_cloud": 1, "cirrus": 2, "cloud": 3, "cloud_shadow": 4, "snow": 5, "clear": 6, "water": 7,
}  # fmt: skip
"""Single bits of QA_PIXEL of Landsat Collection 2, Level 2."""

QA_REJECTED = ("fill", "dilated_cloud", "cirrus", "cloud", "cloud_shadow")

LEAST = 1
"""What an offset makes of an unsigned number that it would take to 0 or below: 0 is nodata."""

NO_PIXEL = int(np.iinfo(np.int32).max)
"""A number that no pixel has."""

MOST_OFFSET = 65535


@dataclass(frozen=True)
class ClassRule:
    """A pixel counts when its class is one of those kept.

    Attributes
    ----------
    keep : tuple of int
        From 0 to 65535.
    nothing : int
        Class that stands for a place outside of the scene; 0 in SCL. It cannot be kept.
    """

    keep: tuple[int, ...] = SCL_KEPT
    nothing: int = 0

    def __post_init__(self) -> None:
        if not self.keep:
            raise InputError("no class is kept, so no pixel would be valid: name at least one class")
        wrong = [c for c in self.keep if not 0 <= c <= 65535]
        if wrong:
            raise InputError(f"class {wrong[0]} is kept: classes are numbers from 0 to 65535")
        if self.nothing in self.keep:
            raise InputError(
                f"class {self.nothing} is kept, and stands for places outside of a scene: leave it out of the classes, "
                f"or name another class for those places"
            )

    def valid(self, plane: npt.NDArray[Any]) -> Flags:
        """Validity (y, x), uint8, of a class plane (y, x), uint8 or uint16."""
        assert plane.dtype.kind == "u"
        table = np.zeros(np.iinfo(plane.dtype).max + 1, np.uint8)
        table[[c for c in self.keep if c < table.size]] = 1
        valid: Flags = table[plane]
        return valid


@dataclass(frozen=True)
class BitRule:
    """A pixel counts when none of some bits is set.

    Attributes
    ----------
    reject : tuple of str or int
        Names of `QA_BITS`, or bit numbers from 0 to 15.
    nothing_bit : int
        Bit that stands for a place outside of the scene; always rejected.
    """

    reject: tuple[str | int, ...] = QA_REJECTED
    nothing_bit: int = QA_BITS["fill"]

    def __post_init__(self) -> None:
        for bit in self.reject:
            known = bit in QA_BITS if isinstance(bit, str) else 0 <= bit <= 15
            if not known:
                raise InputError(f"bit {bit!r} cannot be rejected: bits are {', '.join(QA_BITS)}, or numbers 0 to 15")

    @property
    def nothing(self) -> int:
        """Value that stands for a place outside of the scene."""
        return 1 << self.nothing_bit

    @property
    def mask(self) -> int:
        """The rejected bits as one number."""
        bits = {QA_BITS[bit] if isinstance(bit, str) else bit for bit in self.reject}
        return sum(1 << bit for bit in bits | {self.nothing_bit})

    def valid(self, plane: npt.NDArray[Any]) -> Flags:
        """Validity (y, x), uint8, of a plane of bits (y, x), uint8 or uint16."""
        assert plane.dtype.kind == "u"
        rejected = plane.dtype.type(self.mask & np.iinfo(plane.dtype).max)
        valid: Flags = ((plane & rejected) == 0).view(np.uint8)
        return valid


Rule = ClassRule | BitRule


def drop_missing(valid: Flags, bands: npt.NDArray[Any], nodata: Number | None) -> None:
    """Take out, in place, the pixels at which any band is nodata or, in float32, not finite.

    Parameters
    ----------
    valid : ndarray (y, x), uint8, 0 or 1; changed in place
    bands : ndarray (band, y, x), before any offset
    nodata : number or None
        NaN is as None: what is not finite never counts.
    """
    for band in bands:
        if is_finite_number(nodata):
            valid &= (band != band.dtype.type(nodata)).view(np.uint8)
        if band.dtype.kind == "f":
            valid &= np.isfinite(band).view(np.uint8)


def apply_offset(bands: npt.NDArray[Any], offset: Number, nodata: int | None = 0) -> None:
    """Add an offset to integers in place; nodata stays, and no sum becomes nodata.

    Unsigned sums are clipped to 1 .. the dtype's greatest, signed ones, which may be negative, to the dtype's range.

    Parameters
    ----------
    bands : ndarray (band, y, x), uint8, uint16 or int16; changed in place
    offset : int
        -1000 for Sentinel-2 from baseline 4.00 on, where the catalogue has not applied it.
    nodata : int or None
        Number of a missing pixel, whether the file has a tag for it or not; None: every number is a value.

    Raises
    ------
    InputError
        If the bands are float32, or the offset is not a whole number of at most 65535 either way.
    """
    if bands.dtype.kind not in "iu":
        raise InputError(
            f"an offset of {offset} is asked for {bands.dtype} bands, and is for the integers of a product: set the "
            f"offset policy to none"
        )
    if not is_finite_number(offset) or offset != int(offset) or abs(offset) > MOST_OFFSET:
        raise InputError(f"offset is {offset!r}: give a whole number from -{MOST_OFFSET} to {MOST_OFFSET}")
    if offset:
        least = LEAST if bands.dtype.kind == "u" else int(np.iinfo(bands.dtype).min)
        add_offset(bands, int(offset), NO_PIXEL if nodata is None else nodata, least)


def count_least(bands: npt.NDArray[Any], valid: Flags) -> tuple[int, int]:
    """How many valid pixels have 1, the least number, in any band after an offset; and how many are valid.

    More than a fifth of them tells that the offset was applied before.
    """
    on_least = np.zeros(valid.shape, np.bool_)
    for band in bands:
        on_least |= band == LEAST
    ok = valid != 0
    return int(np.count_nonzero(on_least & ok)), int(np.count_nonzero(ok))

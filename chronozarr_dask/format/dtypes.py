"""Section 2.3: the four dtype profiles, nodata and validity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import InputError

DTypeName = Literal["uint8", "uint16", "int16", "float32"]
Number = int | float


@dataclass(frozen=True)
class Profile:
    """What section 2.3 says of one dtype.

    Attributes
    ----------
    name : str
        The Zarr v3 ``data_type``.
    default_nodata : int or None
        What a writer declares when it is told nothing.
    star_delta : bool
        Whether residuals are allowed (4.1).
    """

    name: DTypeName
    default_nodata: int | None
    star_delta: bool

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy dtype, little-endian."""
        return np.dtype(self.name).newbyteorder("<")

    @property
    def is_float(self) -> bool:
        """Whether means are accumulated in float64 (section 6)."""
        return self.name == "float32"


PROFILES: dict[str, Profile] = {
    p.name: p
    for p in (
        Profile("uint8", 0, True),
        Profile("uint16", 0, True),
        Profile("int16", None, False),
        Profile("float32", None, False),
    )
}


def profile(dtype: npt.DTypeLike) -> Profile:
    """Profile of a dtype of either byte order; InputError if the format does not have it."""
    name = np.dtype(dtype).name
    if name not in PROFILES:
        raise InputError(
            f"dtype {name} cannot be stored: the format has {', '.join(PROFILES)} (section 2.3); "
            f"convert the input where every value fits, for example with .astype('float32')"
        )
    return PROFILES[name]


def is_number(value: object) -> TypeGuard[Number]:
    """Whether `value` is a number, of Python or numpy, other than a bool."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_finite_number(value: object) -> TypeGuard[Number]:
    """Whether `value` is a number that a float64 can come near to: not NaN, not infinite, not an int beyond 1e308."""
    try:
        return is_number(value) and math.isfinite(value)
    except OverflowError:
        return False


def check_nodata(nodata: Any, dtype: npt.DTypeLike) -> Number | None:
    """Return `nodata` as the dtype's own number, or None.

    An integer dtype must hold it exactly; for float32 it is rounded as the pixels are.

    Raises
    ------
    InputError
        If it is not a finite number in the range of the dtype.
    """
    if nodata is None:
        return None
    p = profile(dtype)
    if not is_number(nodata):
        raise InputError(f"nodata is {nodata!r}: give a number that {p.name} can hold, or null for none (section 2.3)")
    if not is_finite_number(nodata):
        raise InputError(
            f"nodata is {nodata}: NaN and infinities cannot mark missing pixels (section 2.3); "
            f"name a finite value, or use nan_to_mask to turn NaN into a mask"
        )
    if p.is_float:
        value = float(np.float32(nodata)) if abs(float(nodata)) <= float(np.finfo(np.float32).max) else float("inf")
        if not np.isfinite(value):
            raise InputError(f"nodata is {nodata}: out of the range of float32")
        return value
    info = np.iinfo(p.name)
    if float(nodata) != int(nodata) or not info.min <= int(nodata) <= info.max:
        raise InputError(f"nodata is {nodata}: {p.name} holds the integers {info.min} to {info.max} (section 2.3)")
    return int(nodata)


def fill_value(nodata: Number | None) -> Number:
    """``fill_value`` of every data array: nodata when it is a number, else 0."""
    return 0 if nodata is None else nodata


def valid_pixels(
    data: npt.NDArray[Any], mask: npt.NDArray[np.uint8] | None, nodata: Number | None
) -> npt.NDArray[np.bool_]:
    """Validity of each pixel of each band by the rule of 2.3.

    Parameters
    ----------
    data : ndarray (..., band, y, x)
    mask : ndarray (..., y, x), uint8, or None
        When there is one, nodata is not looked at.
    nodata : number or None

    Returns
    -------
    ndarray of bool, the shape of `data`
    """
    if mask is not None:
        return np.broadcast_to((mask == 1)[..., None, :, :], data.shape)
    if nodata is not None:
        valid: npt.NDArray[np.bool_] = data != data.dtype.type(nodata)
        return valid
    return np.ones(data.shape, np.bool_)

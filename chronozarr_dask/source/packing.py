"""What an input declares of its stored numbers: scale, offset, unit, nodata, sign. Stored numbers stay as they are.

The format keeps the stored integers, with scale and offset on the band (3.6). A file opened in the usual way of xarray
has lost them: it is floats with NaN where the fill value was. That is refused here, with how to open it instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.dtypes import Number, check_nodata

# In the order in which they are believed; all that are there must agree.
NODATA_KEYS = ("_FillValue", "missing_value", "nodata", "nodatavals")


def check_stored(array: xr.DataArray, what: str) -> None:
    """Raise InputError if a reader has already turned stored integers into floats."""
    if array.dtype.kind != "f":
        return
    packed = {key: array.encoding[key] for key in ("scale_factor", "add_offset") if key in array.encoding}
    stored = array.encoding.get("dtype")
    integers = stored is not None and np.dtype(stored).kind in "iu"
    if packed or integers:
        told = ", ".join(f"{k} {v}" for k, v in packed.items()) or f"stored as {np.dtype(stored)}"
        raise InputError(
            f"{what} is {array.dtype}, decoded from a file of packed numbers ({told}), so the stored numbers are lost: "
            f"open the file with mask_and_scale=False (rioxarray: masked=False), and scale and offset go to the band; "
            f"or, to store these floats, call drop_encoding() on the cube"
        )


def stored_dtype(array: xr.DataArray) -> np.dtype[Any]:
    """Dtype of the stored numbers, in this machine's byte order.

    NetCDF-3 and its heirs have no unsigned integers of two bytes: the attribute ``_Unsigned`` says that the bits of an
    int16 are a uint16 (or those of a uint8 an int8).
    """
    dtype = array.dtype.newbyteorder("=")
    said = str(array.attrs.get("_Unsigned", "")).lower()
    if said == "true" and dtype.kind == "i":
        return np.dtype(f"u{dtype.itemsize}")
    if said == "false" and dtype.kind == "u":
        return np.dtype(f"i{dtype.itemsize}")
    return dtype


def unpacked(coordinate: xr.DataArray) -> npt.NDArray[Any]:
    """Values of a coordinate, with its own scale_factor and add_offset applied when it carries them."""
    values = np.asarray(coordinate.values)
    scale, offset = coordinate.attrs.get("scale_factor"), coordinate.attrs.get("add_offset")
    if scale is None and offset is None:
        return values
    return values.astype(np.float64) * float(1 if scale is None else scale) + float(0 if offset is None else offset)


def per_band(value: Any, n_band: int) -> list[Any]:
    """One value for each band: a list of `n_band` as it is, anything single repeated, None otherwise."""
    if isinstance(value, np.ndarray):
        value = value.ravel().tolist()
    if isinstance(value, (list, tuple)):
        if len(value) == n_band:
            return list(value)
        return [value[0]] * n_band if len(value) == 1 else [None] * n_band
    return [value] * n_band


def declared_scales(attrs: Mapping[str, Any], n_band: int) -> list[dict[str, Any]]:
    """Keywords scale, offset and units of each band, those that are declared."""
    out: list[dict[str, Any]] = [{} for _ in range(n_band)]
    for keyword, keys in (("scale", ("scales", "scale_factor")), ("offset", ("offsets", "add_offset"))):
        for key in keys:
            if key in attrs:
                for band, value in zip(out, per_band(attrs[key], n_band), strict=True):
                    if value is not None:
                        band[keyword] = _number(value, key)
                break
    for band, value in zip(out, per_band(attrs.get("units"), n_band), strict=True):
        if isinstance(value, str) and value:
            band["units"] = value
    return out


def _number(value: Any, key: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"attribute {key} is {value!r}: not a number; mend it, or remove it from attrs") from error


def declared_nodata(array: xr.DataArray, n_band: int, what: str) -> Number | None:
    """The one nodata value that an array's attributes or encoding declare; None when there is none, or it is NaN.

    Raises
    ------
    InputError
        If two declarations, or two bands, differ, or the dtype cannot hold the value.
    """
    found: list[tuple[str, Number]] = []
    for where, attrs in (("attribute", array.attrs), ("encoding", array.encoding)):
        for key in NODATA_KEYS:
            values = np.ravel(np.asarray(attrs.get(key), object)).tolist()
            for i, value in enumerate(values):
                number = _nodata_number(value, array, f"{where} {key} of {what}")
                if number is not None:
                    place = "" if len(values) == 1 else f" of band {i + 1}" if len(values) == n_band else f"[{i}]"
                    found.append((f"{where} {key}{place}", number))
    for name, number in found[1:]:
        if number != found[0][1]:
            raise InputError(
                f"{what} declares two nodata values, {found[0][1]} ({found[0][0]}) and {number} ({name}), and a store "
                f"has one: pass nodata= with the right one, or nodata=None and a mask"
            )
    return found[0][1] if found else None


def _nodata_number(value: Any, array: xr.DataArray, where: str) -> Number | None:
    if value is None:
        return None
    number: Any = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, (str, bytes)):  # JSON has no NaN, and some writers quote every number
        try:
            number = float(number)
        except ValueError as error:
            raise InputError(f"{where} is {value!r}: not a number; pass nodata=") from error
    if isinstance(number, float) and np.isnan(number):
        return None
    dtype = stored_dtype(array)
    if isinstance(number, int) and number < 0 and (array.dtype.kind, dtype.kind) == ("i", "u"):
        number += 2 ** (8 * dtype.itemsize)  # of an _Unsigned variable, written with the sign of its bits
    try:
        return check_nodata(number, dtype)
    except InputError as error:
        raise InputError(f"{where}: {error}; pass nodata= to say what marks missing pixels, or nodata=None") from error

"""Section 3.6: the band objects of an input, from what the caller names or what the input says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.bands import COMMON_NAMES, Band, as_bands
from chronozarr_dask.source.axes import Axes
from chronozarr_dask.source.packing import declared_scales

BandLike = str | Band | Mapping[str, Any]


def _texts(values: Any) -> list[str] | None:
    """As texts, when each is a text that is not empty; None otherwise."""
    out = [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in values]
    return out if all(isinstance(v, str) and v for v in out) else None


def _names(array: xr.DataArray, axes: Axes, n_band: int) -> list[str]:
    """Texts along the band axis, else rioxarray's descriptions, else numbers along it, else band_1, band_2, ..."""
    dim = axes.get("band")
    if dim is None:
        name = "" if array.name is None else str(array.name)
        return [name or "band_1"]
    coordinate = array.coords[dim].values.tolist() if dim in array.coords else []
    texts = _texts(coordinate) if coordinate else None
    if texts:
        return texts
    long_name = array.attrs.get("long_name")
    if isinstance(long_name, (list, tuple)) and len(long_name) == n_band:
        described = _texts(long_name)
        if described:
            return described
    return [str(v) for v in coordinate] or [f"band_{i + 1}" for i in range(n_band)]


def _common_names(array: xr.DataArray, axes: Axes, n_band: int) -> list[str | None]:
    """STAC's common names, where a coordinate of that name lies along the band axis (as stackstac has it)."""
    dim = axes.get("band")
    if dim is None or "common_name" not in array.coords or array.coords["common_name"].dims != (dim,):
        return [None] * n_band
    return [v if v in COMMON_NAMES else None for v in np.asarray(array.coords["common_name"].values).tolist()]


def bands_of(array: xr.DataArray, axes: Axes) -> list[Band]:
    """Bands that an array declares: name, common name, scale, offset and unit; their names may still repeat."""
    n = array.sizes[axes["band"]] if "band" in axes else 1
    names, common, scales = _names(array, axes, n), _common_names(array, axes, n), declared_scales(array.attrs, n)
    return [Band(name, c, **more) for name, c, more in zip(names, common, scales, strict=True)]


def resolve_bands(declared: list[Band], given: Iterable[BandLike] | None) -> tuple[Band, ...]:
    """Bands with the caller's names or objects in place of the declared ones.

    A name renames and keeps what is declared; a mapping replaces the keys that it has; a Band replaces all.

    Raises
    ------
    InputError
        If the counts differ, or two bands have one name.
    """
    if given is None:
        return as_bands(declared)
    if isinstance(given, str):
        return as_bands(given)  # which says that a single text is no list
    listed = list(given)
    if len(listed) != len(declared):
        raise InputError(
            f"bands has {len(listed)} entries and the input has {len(declared)} bands "
            f"({', '.join(b.name for b in declared)}): give one for each, in this order"
        )
    out: list[Band] = []
    for band, new in zip(declared, listed, strict=True):
        if isinstance(new, str):
            out.append(replace(band, name=new))
        elif isinstance(new, Mapping):
            out.append(_updated(band, new))
        else:
            out.append(new)
    return as_bands(out)


def _updated(band: Band, new: Mapping[str, Any]) -> Band:
    try:
        return replace(band, **new)
    except TypeError as error:
        raise InputError(
            f"bands has {dict(new)!r}: the keys of a band are name, common_name, scale, offset and units (section 3.6)"
        ) from error

"""Any cube of rasters in xarray as a checked, normalised and still lazy `Cube`: what the encoder starts from.

Only coordinates and attributes are read here. Pixels, and with them NaN, infinities and mask values, are looked at by
the regions that need them. Nothing is loaded, and no dask array is rechunked::

    DataArray (t, lat, lon, band)      ->  parts = one array     (time, band, y, x)
    Dataset of B04, B08 (time, y, x)   ->  parts = two arrays, each (time, 1, y, x), side by side along band
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import xarray as xr

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.bands import Band
from chronozarr_dask.format.dtypes import Number, check_nodata, profile
from chronozarr_dask.format.georef import Georeference
from chronozarr_dask.format.layout import DATA_DIMS
from chronozarr_dask.format.planes import PLANES, Plane
from chronozarr_dask.plan.shape import Blocks
from chronozarr_dask.source.axes import Axes, coordinate_along, find_axes, is_geographic, require_axes
from chronozarr_dask.source.bands import BandLike, bands_of, resolve_bands
from chronozarr_dask.source.blocks import blocks_of
from chronozarr_dask.source.crs import crs_warnings, find_crs
from chronozarr_dask.source.extent import check_extent
from chronozarr_dask.source.grid import find_transform
from chronozarr_dask.source.packing import check_stored, declared_nodata, stored_dtype
from chronozarr_dask.source.planes import as_plane, pick_plane
from chronozarr_dask.source.times import decode_times
from chronozarr_dask.source.variables import pick_arrays
from chronozarr_dask.source.view import view


@dataclass(frozen=True)
class Cube:
    """A checked input.

    Attributes
    ----------
    parts : tuple of DataArray (time, band, y, x)
        One dtype, one behind the other along band; numpy, dask or read by window; without coordinates.
    mask, coverage : DataArray (time, y, x), or None
        uint8 where it came as bool, else the integers that it came as.
    times : tuple of int
        Milliseconds since the Unix epoch, strictly increasing (2.2).
    bands : tuple of Band
        In order of the parts (3.6).
    georef : Georeference
        CRS and transform of level 0 (3.3).
    dtype : str
        ``uint8``, ``uint16``, ``int16`` or ``float32``.
    nodata : int, float or None
        What marks missing pixels; None is null (2.3).
    warnings : tuple of str
        What a person should know before going on.
    """

    parts: tuple[xr.DataArray, ...]
    mask: xr.DataArray | None
    coverage: xr.DataArray | None
    times: tuple[int, ...]
    bands: tuple[Band, ...]
    georef: Georeference
    dtype: str
    nodata: Number | None
    warnings: tuple[str, ...]

    @property
    def planes(self) -> tuple[Plane, ...]:
        """The planes that there are."""
        return tuple(p for p in PLANES if getattr(self, p) is not None)

    @property
    def n_time(self) -> int:
        """Number of timesteps."""
        return len(self.times)

    @property
    def n_band(self) -> int:
        """Number of bands."""
        return len(self.bands)

    @property
    def height(self) -> int:
        """Rows."""
        return int(self.parts[0].sizes["y"])

    @property
    def width(self) -> int:
        """Columns."""
        return int(self.parts[0].sizes["x"])

    def source_chunks(self) -> Blocks:
        """Where the parts and the planes can be cut without doing anything twice."""
        return blocks_of([*self.parts, *(p for p in (self.mask, self.coverage) if p is not None)])


def as_cube(
    cube: xr.DataArray | xr.Dataset,
    *,
    variable: str | None = None,
    crs: Any = None,
    nodata: Number | Literal["default"] | None = "default",
    bands: Iterable[BandLike] | None = None,
    mask: xr.DataArray | str | None = None,
    coverage: xr.DataArray | str | None = None,
    nan_to_mask: bool = False,
) -> Cube:
    """Check and normalise an input; reads coordinates and attributes only.

    Parameters
    ----------
    cube : DataArray or Dataset
        (time, band, y, x) or (time, y, x) in any order, under any of the usual names; the variables of a Dataset are
        its bands when they share dtype and grid. uint8, uint16, int16 or float32.
    variable : str, optional
        The variable of a Dataset to take.
    crs : optional
        Anything that pyproj takes and that has an EPSG code; by default what the input says.
    nodata : number, None or "default"
        ``"default"`` is what the input declares, else the default of its dtype (2.3); None is null.
    bands : list of names, Band or mappings, optional
        In place of what the input says.
    mask, coverage : DataArray (time, y, x) or name of a variable, optional
        bool or integers. The mask of files that have one (``cube.encoding["mask"]``, see `open_source`) when left out,
        unless `variable` names what to take of them.
    nan_to_mask : bool
        Whether the caller makes a mask of NaN, which leaves no room for another.

    Raises
    ------
    InputError
        With what is wrong, where, and how to mend it.
    """
    if mask is not None and nan_to_mask:
        raise InputError(
            "mask and nan_to_mask are both given: a store has one mask; combine them first and give mask only"
        )
    if mask is None and variable is None and isinstance(cube, xr.Dataset):
        mask = _own_mask(cube, nan_to_mask)
    arrays = pick_arrays(cube, variable, {p for p in (mask, coverage) if isinstance(p, str)})
    planes = {"mask": pick_plane(cube, mask, "mask"), "coverage": pick_plane(cube, coverage, "coverage")}
    dataset = cube if isinstance(cube, xr.Dataset) else xr.Dataset(coords=cube.coords)
    called = [_what(a) for a in arrays]
    axes = [_checked_axes(a, what) for a, what in zip(arrays, called, strict=True)]
    first, first_axes = arrays[0], axes[0]
    dtype = _checked_dtype(arrays, called)
    times = decode_times(coordinate_along(first, "time", first_axes["time"]), first.sizes[first_axes["time"]])
    found_crs = find_crs(first, dataset, crs, is_geographic(first, first_axes))
    georef = Georeference(f"EPSG:{found_crs.to_epsg()}", find_transform(first, first_axes, dataset, called[0]))
    parts = tuple(view(a, ax, DATA_DIMS, np.dtype(dtype)) for a, ax in zip(arrays, axes, strict=True))
    shape = (parts[0].shape[0], *parts[0].shape[2:])
    return Cube(
        parts=parts,
        mask=_plane(planes["mask"], "mask", first_axes, shape, times, georef),
        coverage=_plane(planes["coverage"], "coverage", first_axes, shape, times, georef),
        times=times,
        bands=resolve_bands([b for a, ax in zip(arrays, axes, strict=True) for b in bands_of(a, ax)], bands),
        georef=georef,
        dtype=dtype,
        nodata=_resolved_nodata(nodata, arrays, axes, called, dtype),
        warnings=crs_warnings(found_crs) + check_extent(found_crs, georef.transform, (shape[1], shape[2])),
    )


def _own_mask(cube: xr.Dataset, nan_to_mask: bool) -> str | None:
    """Name of the mask that the files of the cube have, None if they have none."""
    name: str | None = cube.encoding.get("mask")
    if name is None or name not in cube.variables:
        return None
    if nan_to_mask:
        raise InputError(
            f"the input has a mask of its own, and nan_to_mask makes another, and a store has one: leave out "
            f"nan_to_mask to take the input's, or name the data with variable= (there are "
            f"{', '.join(str(v) for v in cube.data_vars if v != name)}) to leave the input's"
        )
    return name


def _what(array: xr.DataArray) -> str:
    return "the input" if array.name is None else f"variable {str(array.name)!r}"


def _checked_axes(array: xr.DataArray, what: str) -> Axes:
    axes = find_axes(array, what)
    require_axes(axes, array, what)
    empty = [str(axes[a]) for a in axes if array.sizes[axes[a]] == 0]
    if empty:
        raise InputError(f"{what} has no element along {', '.join(empty)} (shape {array.shape}): give at least one")
    if any(n != n for n in array.shape):  # NaN
        raise InputError(
            f"{what} is a dask array of unknown shape {array.shape}: call compute_chunk_sizes() on it first"
        )
    return axes


def _checked_dtype(arrays: list[xr.DataArray], called: list[str]) -> str:
    for array, what in zip(arrays, called, strict=True):
        check_stored(array, what)
        try:
            name = profile(stored_dtype(array)).name
        except InputError as error:
            raise InputError(f"{what}: {error}") from error
    return name


def _plane(
    array: xr.DataArray | None,
    plane: Literal["mask", "coverage"],
    axes: Axes,
    shape: tuple[int, ...],
    times: tuple[int, ...],
    georef: Georeference,
) -> xr.DataArray | None:
    n_time, height, width = shape
    return None if array is None else as_plane(array, plane, axes, (n_time, height, width), times, georef)


def _resolved_nodata(
    nodata: Any, arrays: list[xr.DataArray], axes: list[Axes], called: list[str], dtype: str
) -> Number | None:
    if not isinstance(nodata, str):
        return check_nodata(nodata, dtype)
    if nodata != "default":
        raise InputError(f"nodata is {nodata!r}: give a number, None for null, or 'default'")
    found: list[tuple[str, Number | None]] = []
    for array, ax, what in zip(arrays, axes, called, strict=True):
        n_band = array.sizes[ax["band"]] if "band" in ax else 1
        found.append((what, declared_nodata(array, n_band, what)))
    declared = [(what, value) for what, value in found if value is not None]
    if not declared:
        return profile(dtype).default_nodata
    for what, value in declared[1:]:
        if value != declared[0][1]:
            raise InputError(
                f"{declared[0][0]} declares nodata {declared[0][1]} and {what} declares {value}, and a store has one: "
                f"pass nodata= with the right one after bringing the bands to it, or nodata=None and a mask"
            )
    return declared[0][1]

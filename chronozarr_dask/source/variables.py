"""Which arrays of an input are its bands."""

from __future__ import annotations

from collections.abc import Collection

import xarray as xr

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.axes import find_axes
from chronozarr_dask.source.packing import stored_dtype


def pick_arrays(cube: xr.DataArray | xr.Dataset, variable: str | None, left_out: Collection[str]) -> list[xr.DataArray]:
    """The arrays whose bands, in order, are the cube's.

    Parameters
    ----------
    cube : DataArray or Dataset
    variable : str or None
        The one variable of a Dataset to take; by default all that are rasters.
    left_out : names
        Variables that are the mask or the coverage.

    Raises
    ------
    InputError
        If there is no such variable, or the variables are not of one dtype and grid.
    """
    if isinstance(cube, xr.DataArray):
        if variable is not None and variable != cube.name:
            raise InputError(
                f"variable is {variable!r}, and the input is one array, named {cube.name!r}: leave variable out, or "
                f"give the Dataset"
            )
        return [cube]
    if not isinstance(cube, xr.Dataset):
        raise InputError(f"the input is a {type(cube).__name__}: give an xarray DataArray or Dataset")
    if variable is not None:
        if variable not in cube.data_vars:
            raise InputError(f"the dataset has no variable {variable!r}: it has {_listed(cube)}")
        return [cube[variable]]
    rasters = [cube[name] for name in cube.data_vars if name not in left_out and _is_raster(cube, str(name))]
    if not rasters:
        raise InputError(f"the dataset has no raster variable: it has {_listed(cube)}, none with at least y and x")
    _check_one_kind(rasters)
    return rasters


def _listed(cube: xr.Dataset) -> str:
    return ", ".join(f"{name!s} ({', '.join(map(str, v.dims))})" for name, v in cube.data_vars.items()) or "none"


def _is_raster(cube: xr.Dataset, name: str) -> bool:
    """Not a scalar (grid mappings are), a series, text, or the bounds of a coordinate."""
    array = cube[name]
    bounds = {c.attrs.get("bounds", c.encoding.get("bounds")) for c in cube.variables.values()}
    mappings = {v.attrs.get("grid_mapping", v.encoding.get("grid_mapping")) for v in cube.variables.values()}
    return array.ndim >= 2 and array.dtype.kind not in "SUOT" and name not in bounds | mappings


def _check_one_kind(rasters: list[xr.DataArray]) -> None:
    """Raise InputError unless all are (time, y, x) of one dtype and grid, or there is only one."""
    first = rasters[0]
    for other in rasters[1:]:
        for what, a, b in (
            ("dimensions", set(map(str, first.dims)), set(map(str, other.dims))),
            ("dtype", stored_dtype(first), stored_dtype(other)),
            ("grid mapping", *(r.encoding.get("grid_mapping", r.attrs.get("grid_mapping")) for r in (first, other))),
        ):
            if a != b:
                shown = [", ".join(sorted(v)) if isinstance(v, set) else str(v) for v in (a, b)]
                raise InputError(
                    f"variables {str(first.name)!r} and {str(other.name)!r} differ in {what} ({shown[0]} and "
                    f"{shown[1]}), and the bands of a store share it: name one with variable=, or give only those "
                    f"that belong together, cube[[...]]"
                )
    if len(rasters) > 1 and "band" in find_axes(first, f"variable {str(first.name)!r}"):
        raise InputError(
            f"several variables have a band axis ({', '.join(repr(str(r.name)) for r in rasters)}): name one with "
            f"variable="
        )

"""Sections 2.4 and 2.5: mask and coverage as an input gives them: on the cube's grid, lazy, values not looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.georef import Georeference
from chronozarr_dask.format.layout import PLANE_DIMS
from chronozarr_dask.format.planes import PLANE_DTYPE, Plane
from chronozarr_dask.format.times import render_time
from chronozarr_dask.source.axes import Axes, coordinate_along, find_axes
from chronozarr_dask.source.grid import TOLERANCE
from chronozarr_dask.source.packing import unpacked
from chronozarr_dask.source.times import decode_times, first_difference
from chronozarr_dask.source.view import view


def pick_plane(cube: xr.DataArray | xr.Dataset, given: xr.DataArray | str | None, plane: Plane) -> xr.DataArray | None:
    """The array that the caller gives, or the variable of the input that they name."""
    if given is None or isinstance(given, xr.DataArray):
        return given
    if not isinstance(given, str):
        raise InputError(
            f"{plane} is a {type(given).__name__}: give an xarray DataArray (time, y, x), or a variable's name"
        )
    held: Any = cube.variables if isinstance(cube, xr.Dataset) else cube.coords
    if given not in held:
        raise InputError(
            f"{plane} is {given!r}, and the input has no variable of that name: it has {', '.join(map(str, held))}"
        )
    return cube[given]


def as_plane(
    array: xr.DataArray,
    plane: Plane,
    known: Axes,
    shape: tuple[int, int, int],
    times: tuple[int, ...],
    grid: Georeference,
) -> xr.DataArray:
    """The plane as (time, y, x), lazy: bool becomes uint8, other integers stay as they are.

    Parameters
    ----------
    array : DataArray
        bool or integers, dimensions in any order.
    plane : 'mask' or 'coverage'
    known : mapping
        Dimensions of the cube's axes.
    shape : (n_time, height, width)
        Of the cube.
    times : tuple of int, ms
    grid : Georeference
        Of the cube.

    Raises
    ------
    InputError
        If dtype or shape are others, or its coordinates are not the cube's.
    """
    if array.dtype.kind not in "biu":
        raise InputError(f"{plane} has dtype {array.dtype}: give bool or integers, for example {plane}.astype('uint8')")
    axes = find_axes(array, plane, known)
    if set(axes) != set(PLANE_DIMS):
        raise InputError(
            f"{plane} has dimensions {tuple(map(str, array.dims))} and shape {array.shape}: it must be (time, y, x) = "
            f"{shape} (sections 2.4 and 2.5); select one band of it, or broadcast it along time"
        )
    native = np.dtype(PLANE_DTYPE) if array.dtype.kind == "b" else array.dtype.newbyteorder("=")
    out = view(array, axes, PLANE_DIMS, native)
    if out.shape != shape:
        raise InputError(f"{plane} has shape {out.shape} (time, y, x) and the cube has {shape}: they must be equal")
    _check_coordinates(array, plane, axes, times, grid)
    return out


def _check_coordinates(array: xr.DataArray, plane: str, axes: Axes, times: tuple[int, ...], grid: Georeference) -> None:
    moments = coordinate_along(array, "time", axes["time"])
    if moments is not None:
        own = decode_times(moments, len(times))
        i = first_difference(own, times)
        if i is not None:
            raise InputError(
                f"timestep {i} of {plane} is {render_time(own[i])} and that of the cube is {render_time(times[i])}: "
                f"select or reindex {plane} to the cube's times"
            )
    a, e = grid.transform[0], grid.transform[4]
    for axis, step, of_n in (("y", e, grid.y), ("x", a, grid.x)):
        coordinate = coordinate_along(array, axis, axes[axis])  # type: ignore[arg-type,index]
        if coordinate is None:
            continue
        own_centres, centres = unpacked(coordinate).astype(np.float64), np.array(of_n(0, coordinate.size))
        # A float32 coordinate is as near as its own precision allows.
        allowed = TOLERANCE * abs(step) + (
            np.spacing(np.abs(coordinate.values)) if coordinate.dtype == np.float32 else 0
        )
        off = ~(np.abs(own_centres - centres) <= allowed)
        if off.any():
            j = int(off.argmax())
            raise InputError(
                f"{axis} coordinate {j} of {plane} is {own_centres[j]} and that of the cube is {centres[j]}: bring "
                f"{plane} onto the cube's grid, for example with reindex_like"
            )

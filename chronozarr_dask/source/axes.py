"""Which dimension of an array is time, band, y and x: by its name, else by the CF attributes of its coordinate."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import xarray as xr

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.layout import COORDINATES, Coordinate

Axes = Mapping[Coordinate, Hashable]

# Compared in lower case.
NAMES: dict[Coordinate, frozenset[str]] = {
    "time": frozenset("time t date dates datetime times".split()),
    "band": frozenset("band bands channel channels wavelength spectral variable".split()),
    "y": frozenset("y lat latitude northing northings".split()),
    "x": frozenset("x lon long longitude easting eastings".split()),
}
_AXIS: dict[str, Coordinate] = {"T": "time", "Y": "y", "X": "x"}
_STANDARD_NAME: dict[str, Coordinate] = {
    "time": "time",
    "latitude": "y",
    "longitude": "x",
    "projection_y_coordinate": "y",
    "projection_x_coordinate": "x",
    "radiation_wavelength": "band",
    "sensor_band_identifier": "band",
}
_AXIS_TYPE: dict[str, Coordinate] = {"Time": "time", "Lat": "y", "Lon": "x", "GeoY": "y", "GeoX": "x"}
# The spellings that CF 1.11 lists for latitude and longitude (4.1 and 4.2 of that document).
NORTH = frozenset("degrees_north degree_north degree_N degrees_N degreeN degreesN".split())
EAST = frozenset("degrees_east degree_east degree_E degrees_E degreeE degreesE".split())  # codespell:ignore


def axis_of_attributes(coordinate: xr.DataArray) -> Coordinate | None:
    """The axis that a coordinate's CF attributes, or its datetime dtype, stand for; None if they say nothing."""
    attrs = coordinate.attrs
    for key, table in (("axis", _AXIS), ("standard_name", _STANDARD_NAME), ("_CoordinateAxisType", _AXIS_TYPE)):
        said = table.get(str(attrs.get(key, "")))
        if said is not None:
            return said
    units = str(attrs.get("units", ""))
    if units in NORTH:
        return "y"
    if units in EAST:
        return "x"
    if coordinate.dtype.kind == "M" or " since " in units:
        return "time"
    return None


def _axis_of(array: xr.DataArray, dim: Hashable) -> Coordinate | None:
    for axis, names in NAMES.items():
        if str(dim).lower() in names:
            return axis
    return axis_of_attributes(array.coords[dim]) if dim in array.coords else None


def find_axes(array: xr.DataArray, what: str, known: Axes | None = None) -> dict[Coordinate, Hashable]:
    """Dimension of each axis that the array has; nothing is read.

    Parameters
    ----------
    array : DataArray
        Of any dimensions, in any order.
    what : str
        What a message calls it, for example ``variable 'B04'``.
    known : mapping, optional
        Axes of the cube that a mask belongs to: a dimension of the same name is the same axis.

    Raises
    ------
    InputError
        If a dimension is not recognised, or two stand for one axis.
    """
    by_dim = {dim: axis for axis, dim in (known or {}).items()}
    found: dict[Coordinate, Hashable] = {}
    unknown = []
    for dim in array.dims:
        axis = by_dim.get(dim) or _axis_of(array, dim)
        if axis is None:
            unknown.append(dim)
        elif axis in found:
            raise InputError(
                f"dimensions {str(found[axis])!r} and {str(dim)!r} of {what} both look like {axis}: rename one, "
                f"for example cube.rename({{{str(dim)!r}: 'band'}}), or select one place along it with isel"
            )
        else:
            found[axis] = dim
    if unknown:
        raise InputError(_unknown_dimensions(array, what, unknown, [a for a in COORDINATES if a not in found]))
    return found


def _unknown_dimensions(array: xr.DataArray, what: str, unknown: list[Hashable], free: list[Coordinate]) -> str:
    names = ", ".join(repr(str(d)) for d in unknown)
    renamed = f"cube.rename({{{str(unknown[0])!r}: {(free or ['band'])[0]!r}}})"
    text = (
        f"{what} has dimensions {tuple(map(str, array.dims))}, of which {names} cannot be told to be time, band, y or "
        f"x: rename them, for example {renamed}"
    )
    single = [d for d in unknown if array.sizes[d] == 1]
    return f"{text}, or drop one of length 1 with cube.squeeze({str(single[0])!r})" if single else text


def require_axes(axes: Axes, array: xr.DataArray, what: str) -> None:
    """Raise InputError unless time, y and x are there; band may be missing, which is one band."""
    dims = tuple(map(str, array.dims))
    for axis in ("y", "x"):
        if axis not in axes:
            raise InputError(
                f"{what} has dimensions {dims} and no {axis} axis: a cube is (time, band, y, x) or (time, y, x); "
                f"rename the dimension that is {axis} to {axis!r}"
            )
    if "time" not in axes:
        scalar = [n for n, c in array.coords.items() if c.ndim == 0 and str(n).lower() in NAMES["time"]]
        one = repr(str(scalar[0])) if scalar else "time=[np.datetime64('2024-01-01')]"
        raise InputError(
            f"{what} has dimensions {dims} and no time axis: give it one, for one timestep cube.expand_dims({one}), "
            f"after cube.chunk() where it comes from a file, which expand_dims would load"
        )


def is_geographic(array: xr.DataArray, axes: Axes) -> bool:
    """Whether y and x look like latitude and longitude, by the names of dimensions or the units of coordinates."""
    for axis, names, units in (("y", ("lat", "latitude"), NORTH), ("x", ("lon", "long", "longitude"), EAST)):
        dim = axes[axis]  # type: ignore[index]
        coordinate = array.coords.get(dim)
        known = coordinate is not None and str(coordinate.attrs.get("units", "")) in units
        if str(dim).lower() not in names and not known:
            return False
    return True


def coordinate_along(array: xr.DataArray, axis: Coordinate, dim: Hashable) -> xr.DataArray | None:
    """The 1-d coordinate of an axis: the one named as its dimension, else the only other that CF tells to be it."""
    if dim in array.coords:
        own: xr.DataArray = array.coords[dim]
        return own
    others: list[xr.DataArray] = [c for c in array.coords.values() if c.dims == (dim,)]
    fitting: list[xr.DataArray] = [
        c for c in others if str(c.name).lower() in NAMES[axis] or axis_of_attributes(c) == axis
    ]
    return fitting[0] if len(fitting) == 1 else None

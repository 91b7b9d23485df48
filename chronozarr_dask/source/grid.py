"""Section 3.3: the transform of level 0, from what the input declares, else from the coordinates of pixel centres.

A declared transform (GeoTransform of the grid mapping, or an attribute) is taken as it is when it agrees with the
coordinates, since it has the exact floats that the coordinates were computed from. It may be stale, after a clip: then
the coordinates count.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import xarray as xr

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.georef import Transform, check_transform
from chronozarr_dask.source.axes import Axes, coordinate_along
from chronozarr_dask.source.crs import grid_mapping_names
from chronozarr_dask.source.packing import unpacked

TOLERANCE = 0.001  # pixels
YX: tuple[Literal["y"], Literal["x"]] = ("y", "x")
Floats = npt.NDArray[np.float64]

_OTHER_UNITS = frozenset("km kilometer kilometers kilometre kilometres rad radian radians feet ft".split())


def declared_transforms(array: xr.DataArray, dataset: xr.Dataset) -> Iterator[tuple[str, Transform]]:
    """(where, [a, b, c, d, e, f]) of every transform that the input declares."""
    for name in grid_mapping_names(array):
        text = dataset[name].attrs.get("GeoTransform") if name in dataset.variables else None
        if text is not None:
            where = f"GeoTransform of variable {name!r}"
            c, a, b, f, d, e = _six(text.split() if isinstance(text, str) else text, where)
            yield where, (a, b, c, d, e, f)
    for key in ("transform", "spatial:transform"):
        if array.attrs.get(key) is not None:
            where = f"attribute {key!r}"
            yield where, _six(array.attrs[key], where)


def _six(values: Sequence[Any], where: str) -> Transform:
    try:
        floats = [float(v) for v in values]
    except (TypeError, ValueError) as error:
        raise InputError(f"{where} is {values!r}: not six numbers; mend it or remove it") from error
    if len(floats) not in (6, 9) or not np.isfinite(floats).all():
        raise InputError(f"{where} is {values!r}: give six finite numbers, or remove it and let the coordinates count")
    return tuple(floats[:6])  # type: ignore[return-value]


def find_transform(array: xr.DataArray, axes: Axes, dataset: xr.Dataset, what: str) -> Transform:
    """Transform of the pixel corners, north-up.

    Parameters
    ----------
    array : DataArray
        With or without coordinates along y and x, of pixel centres.
    axes : mapping
        Its dimensions of y and x.
    dataset : Dataset
        Where grid-mapping variables are looked for.
    what : str
        What a message calls the array.

    Raises
    ------
    InputError
        If the grid is not regular, rotated, south-up, mirrored, or nothing tells where it lies.
    """
    for name in grid_mapping_names(array):
        if name in dataset.variables and "gcps" in dataset[name].attrs:
            raise InputError(
                f"{what} is placed by ground control points (of variable {name!r}), not by a regular grid: warp it "
                f"onto one first, for example with rioxarray's reproject"
            )
    declared = list(declared_transforms(array, dataset))
    for where, t in declared:
        if t[1] or t[3]:
            raise InputError(
                f"{where} of {what} is rotated or sheared (b = {t[1]}, d = {t[3]}): warp the raster onto a north-up "
                f"grid first, for example with rioxarray's reproject (section 3.3)"
            )
    centres = {axis: _coordinate(array, axes[axis], axis) for axis in YX}
    for _, t in declared:
        lines = {"x": (t[2], t[0]), "y": (t[5], t[4])}
        if all(c is None or _agrees(c, *lines[axis]) for axis, c in centres.items()):
            return check_transform(t)
    for axis, c in centres.items():
        if c is None:
            raise InputError(_no_coordinate(array, axes[axis], axis, what, [where for where, _ in declared]))
    x, y = centres["x"], centres["y"]
    assert x is not None
    assert y is not None
    check_line(x, "x", what)
    check_line(y, "y", what)
    a, e = _step(x), _step(y)
    if a is None and e is None:
        raise InputError(
            f"{what} is a single pixel, so its coordinates do not tell its size: give the array "
            f"attrs['transform'] = (a, b, c, d, e, f)"
        )
    # One row or column: the pixel is taken to be square, there is nothing else to go by.
    a = -e if a is None and e is not None else a
    e = -a if e is None and a is not None else e
    assert a is not None
    assert e is not None
    return check_transform((a, 0.0, _origin(x, a), 0.0, e, _origin(y, e)))


def _coordinate(array: xr.DataArray, dim: Hashable, axis: Literal["y", "x"]) -> Floats | None:
    """Pixel centres as float64; of a float32, the shortest decimal that it stands for (0.1, not 0.10000000149)."""
    coordinate = coordinate_along(array, axis, dim)
    if coordinate is None:
        return None
    units = str(coordinate.attrs.get("units", "")).lower()
    if units in _OTHER_UNITS:
        raise InputError(
            f"coordinate {str(coordinate.name)!r} is in {units}: coordinates must be in the unit of the CRS, metres or "
            f"degrees; convert them, for example cube.assign_coords({axis}=cube[{str(coordinate.name)!r}] * 1000)"
        )
    values = unpacked(coordinate)
    if values.dtype.kind not in "iuf":
        raise InputError(
            f"coordinate {str(coordinate.name)!r} has dtype {values.dtype}: give numbers, the pixel centres"
        )
    if values.dtype == np.float32:
        return np.array([float(str(v)) for v in values], np.float64)
    return values.astype(np.float64)


def _agrees(centres: Floats, edge: float, step: float) -> bool:
    line = edge + step * (np.arange(centres.size) + 0.5)
    return bool(step != 0 and (np.abs(centres - line) <= TOLERANCE * abs(step)).all())


def check_line(centres: Floats, axis: Literal["y", "x"], what: str) -> None:
    """Raise InputError unless every coordinate is on the line through the ends, and north is up and east right."""
    n = centres.size
    bad = ~np.isfinite(centres)
    if bad.any():
        raise InputError(
            f"{axis} coordinate {int(bad.argmax())} of {what} is {centres[bad.argmax()]}: give a finite number"
        )
    if n < 2:
        return
    step = (centres[-1] - centres[0]) / (n - 1)
    line = centres[0] + step * np.arange(n)
    off = np.abs(centres - line) > TOLERANCE * abs(step)
    if step == 0 or off.any():
        i = int(off.argmax())
        raise InputError(
            f"{axis} coordinates of {what} are not regular: number {i} is {centres[i]}, and {line[i]} is where the "
            f"line through the first ({centres[0]}) and the last ({centres[-1]}) of {n} has it, more than {TOLERANCE} "
            f"pixel away; resample the raster to a regular grid, for example with cube.interp or rioxarray's "
            f"reproject"
        )
    if axis == "y" and step > 0:
        raise InputError(
            f"{what} is south-up (y increases from {centres[0]} to {centres[-1]}): row 0 must be the north edge "
            f"(section 2.1); sort it first, for example cube.sortby('y', ascending=False) with the name of your y"
        )
    if axis == "x" and step < 0:
        raise InputError(
            f"x of {what} decreases (from {centres[0]} to {centres[-1]}): column 0 must be the west edge (section "
            f"2.2); sort it first, for example cube.sortby('x') with the name of your x"
        )


def _short(value: float, digits: int) -> float:
    """`value` rounded to `digits` digits when the last three of them are zeros then, else `value` itself.

    Coordinates are computed as ``origin + i * step`` and carry the noise of the last bits, which a step of
    10.000000000000002 would show in every level's transform. A step of 1/3 is not short, and stays.
    """
    decimal = f"{value:.{digits}g}"
    significant = decimal.split("e")[0].replace(".", "").replace("-", "").strip("0")
    return float(decimal) if len(significant) <= digits - 3 else value


def _step(centres: Floats) -> float | None:
    """Mean distance of the centres; over thousands of them even summed coordinates keep eleven digits of it."""
    return None if centres.size < 2 else _short(float((centres[-1] - centres[0]) / (centres.size - 1)), 11)


def _origin(centres: Floats, step: float) -> float:
    """Edge of the first pixel, shortened only by what is nothing against a pixel."""
    edge = float(centres[0] - step / 2)
    short = _short(edge, 12)
    return short if abs(short - edge) <= 1e-6 * abs(step) else edge


def _no_coordinate(array: xr.DataArray, dim: Hashable, axis: str, what: str, declared: list[str]) -> str:
    plane = [repr(str(c.name)) for c in array.coords.values() if c.ndim == 2 and dim in c.dims]
    if plane:
        return (
            f"{what} has 2-d coordinates ({', '.join(plane)}) in place of one along {str(dim)!r}: the grid is rotated "
            f"or curvilinear; warp the raster onto a north-up grid first (section 3.3)"
        )
    transform = f"{declared[0]} does not agree with the other axis" if declared else "there is no transform"
    return (
        f"nothing tells where {what} lies: dimension {str(dim)!r} has no coordinate, and {transform}; assign the "
        f"{array.sizes[dim]} {axis} of the pixel centres with assign_coords, or give the array "
        f"attrs['transform'] = (a, b, c, d, e, f)"
    )

"""The CRS of an input as ``EPSG:<code>`` (3.2): what the caller says, or what the input says in one of the usual ways.

The usual ways are a grid-mapping variable (CF, rioxarray, GDAL), a ``spatial_ref`` or ``crs`` coordinate, and
attributes of the array or the dataset. All that are there must agree.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import pyproj
import xarray as xr
from pyproj.exceptions import CRSError

from chronozarr_dask.errors import InputError

# Variables that hold a CRS when no attribute `grid_mapping` names one; and those whose value is a code (stackstac).
GRID_MAPPINGS = ("spatial_ref", "crs")
CODES = ("epsg", "proj:epsg", "proj:code")
# In the order in which they are read: the first one that is there speaks for a grid-mapping variable.
_OF_VARIABLE = ("crs_wkt", "spatial_ref", "proj4", "proj4text", "epsg_code", "epsg")
_OF_ARRAY = ("crs", "crs_wkt", "spatial_ref", "proj:code", "proj:epsg", "proj:wkt2", "proj:projjson", "_CRS")
# EPSG codes of Web Mercator in use and deprecated. Others are known by the name of their projection.
_WEB_MERCATOR = frozenset({3857, 3785, 900913})


def parse_crs(crs: Any, where: str) -> pyproj.CRS:
    """Anything that pyproj takes, an EPSG number in a text, or GDAL's ``_CRS`` object; InputError otherwise."""
    if isinstance(crs, Mapping) and {"wkt", "url", "projjson"} & set(crs):
        crs = (
            crs.get("wkt") or crs.get("projjson") or str(crs.get("url")).rstrip("/").replace("/0/", ":").split("/")[-1]
        )
    if hasattr(crs, "item"):
        crs = crs.item()
    with warnings.catch_warnings():
        # "+init=epsg:4326" is deprecated, and still what many files say.
        warnings.simplefilter("ignore")
        try:
            if isinstance(crs, Mapping) and "grid_mapping_name" in crs:
                found = pyproj.CRS.from_cf(dict(crs))
            else:
                found = pyproj.CRS.from_user_input(crs)
        except (CRSError, TypeError, ValueError, KeyError) as error:
            raise InputError(
                f"the CRS of {where} is {str(crs)[:200]!r}, which pyproj does not understand: {error}"
            ) from error
    # WKT of the first version carries a datum shift with the CRS; the CRS proper is inside.
    return found.source_crs if found.is_bound and found.source_crs is not None else found


def epsg_of(crs: pyproj.CRS) -> int | None:
    """EPSG code of a CRS: the one whose definition PROJ finds equivalent (its confidence 70), or None.

    WKT that writes its own code down is believed when the projection, its numbers and the ellipsoid are those of the
    code: what differs then is the order of axes or a name, which many writers get wrong and no raster depends on.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = crs.to_epsg(min_confidence=70)
        own = crs.to_json_dict().get("id", {})
        if code is not None or own.get("authority") != "EPSG":
            return code
        try:
            registered = pyproj.CRS.from_epsg(own["code"])
        except CRSError:
            return None
    return int(own["code"]) if _numbers(crs) == _numbers(registered) else None


def _numbers(crs: pyproj.CRS) -> tuple[Any, ...]:
    """Projection with its parameters, ellipsoid and units of a CRS, to nine digits."""
    operation, ellipsoid = crs.coordinate_operation, crs.ellipsoid
    values = {p.name: f"{float(p.value) * p.unit_conversion_factor:.9g}" for p in operation.params} if operation else {}
    shape = (ellipsoid.semi_major_metre, f"{ellipsoid.inverse_flattening:.9g}") if ellipsoid else None
    units = {axis.unit_conversion_factor for axis in crs.axis_info}
    return operation.method_name if operation else None, values, shape, units


def require_epsg(crs: pyproj.CRS, where: str) -> int:
    """EPSG code of a CRS; InputError, with the CRS's name, if it has none."""
    code = epsg_of(crs)
    if code is None:
        like = _resembled(crs)
        guess = (
            f"it resembles EPSG:{like}, so pass crs='EPSG:{like}' if its datum is that"
            if like
            else "pass crs= if you know one"
        )
        raise InputError(
            f"the CRS of {where} is {crs.name!r}, for which there is no EPSG code, and the format names a CRS by that "
            f"code (section 3.2): {guess}; otherwise warp the raster first, for example to the area's UTM zone"
        )
    return code


def _is_said(value: Any) -> bool:
    return value is not None and not (isinstance(value, (str, bytes)) and not value.strip())


def _resembled(crs: pyproj.CRS) -> int | None:
    """EPSG code of the same projection and ellipsoid, of which the datum may be another."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        like = crs.to_epsg(min_confidence=20)
        return like if like is not None and _numbers(pyproj.CRS.from_epsg(like)) == _numbers(crs) else None


def _of_grid_mapping(variable: xr.DataArray) -> Any:
    for key in _OF_VARIABLE:
        if _is_said(variable.attrs.get(key)):
            return variable.attrs[key]
    if "grid_mapping_name" in variable.attrs:
        return dict(variable.attrs)
    # Its value, if that is a code or a text: most writers leave a zero or nothing there.
    value = variable.values.item() if variable.ndim == 0 and variable.dtype.kind in "iuOUT" else None
    return value if _is_said(value) and value not in (0, "0") else None


def _named_mapping(array: xr.DataArray) -> list[str]:
    named = str(array.encoding.get("grid_mapping") or array.attrs.get("grid_mapping") or "")
    return [named.split(":")[0].split()[0]] if named.strip() else []  # "crs: x y" in the extended form of CF


def grid_mapping_names(array: xr.DataArray) -> list[str]:
    """Name of the variable that holds the array's CRS, if it names one, else those that usually do."""
    return _named_mapping(array) or list(GRID_MAPPINGS)


def declared_crs(array: xr.DataArray, dataset: xr.Dataset) -> Iterator[tuple[str, Any]]:
    """(where, CRS in any form) for every place of an array, and of the dataset that it comes from, that has one."""
    for name in grid_mapping_names(array):
        if name in dataset.variables:
            value = _of_grid_mapping(dataset[name])
            if value is not None:
                yield f"variable {name!r}", value
    for name in CODES:
        if name in dataset.coords and dataset[name].ndim == 0:
            yield f"coordinate {name!r}", dataset[name].values.item()
    for where, attrs in (("array", array.attrs), ("dataset", dataset.attrs)):
        for key in _OF_ARRAY:
            if _is_said(attrs.get(key)):
                yield f"attribute {key!r} of the {where}", attrs[key]


def find_crs(array: xr.DataArray, dataset: xr.Dataset, explicit: Any, geographic_axes: bool) -> pyproj.CRS:
    """The CRS, with an EPSG code.

    Parameters
    ----------
    array : DataArray
    dataset : Dataset
        Where grid-mapping variables are looked for: what the array was taken from, or its own coordinates.
    explicit : anything that pyproj takes, or None
        What the caller says.
    geographic_axes : bool
        Whether the coordinates are latitude and longitude, for the message.

    Raises
    ------
    InputError
        If there is none, it has no EPSG code, or two places name different ones.
    """
    found = [(where, parse_crs(value, where)) for where, value in declared_crs(array, dataset)]
    if explicit is not None:
        given = parse_crs(explicit, "the argument crs")
        # What the caller names stands in for a CRS without a code, which can only be compared by its kind.
        nameless = [(where, crs) for where, crs in found if epsg_of(crs) is None]
        for where, crs in nameless:
            if crs.is_geographic != given.is_geographic:
                raise InputError(
                    f"the argument crs is {given.name} and {where} is {crs.name!r}, of which only one is geographic: "
                    f"pass the CRS that the coordinates are in, or warp the raster first"
                )
        found = [("the argument crs", given), *(pair for pair in found if pair not in nameless)]
    if not found:
        lost = [n for n in _named_mapping(array) if n not in dataset.variables]
        raise InputError(_no_crs(lost, geographic_axes))
    where, crs = found[0]
    code = require_epsg(crs, where)
    for other_where, other in found[1:]:
        other_code = require_epsg(other, other_where)
        if other_code != code:
            raise InputError(
                f"two CRS: {where} is EPSG:{code} ({crs.name}) and {other_where} is EPSG:{other_code} ({other.name}); "
                f"remove the wrong one, with drop_vars or from attrs, or warp the raster if a new CRS is what you want"
            )
    return pyproj.CRS.from_epsg(code)


def _no_crs(lost: list[str], geographic_axes: bool) -> str:
    text = "the input has no CRS: there is neither a grid-mapping variable, nor spatial_ref, nor an attribute crs"
    if lost:
        text += f" (its grid mapping {lost[0]!r} did not come along: open the file with decode_coords='all')"
    if geographic_axes:
        return f"{text}; its coordinates are latitude and longitude, so pass crs='EPSG:4326' if they are of WGS 84"
    return f"{text}; pass crs=, for example crs='EPSG:32631'"


def crs_warnings(crs: pyproj.CRS) -> tuple[str, ...]:
    """Warn of Web Mercator, which a store should not use, and of geographic CRS (3.2)."""
    code, operation = crs.to_epsg(), crs.coordinate_operation
    if code in _WEB_MERCATOR or (operation is not None and "Pseudo Mercator" in operation.method_name):
        return (
            f"EPSG:{code} ({crs.name}) is Web Mercator: its pixels do not cover equal areas, and their ground size is "
            f"the nominal one at the equator only. Warp to a projected CRS of the area, such as its UTM zone (section "
            f"3.2).",
        )
    if crs.is_geographic:
        return (
            f"EPSG:{code} ({crs.name}) is geographic: pixels in degrees are narrower the further they are from the "
            f"equator, and the store's resolution is in degrees. Warp to a projected CRS of the area, such as its UTM "
            f"zone, unless the product is global (section 3.2).",
        )
    return ()

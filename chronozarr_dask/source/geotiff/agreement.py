"""What all files of a stack must have in common; the first difference is told with both files and both values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.georef import Transform
from chronozarr_dask.source.crs import epsg_of, parse_crs
from chronozarr_dask.source.geotiff.header import BandHeader, Header, same_number
from chronozarr_dask.source.grid import TOLERANCE

_MEND = {
    "size": "bring them onto one grid first, for example with gdalwarp",
    "transform": "bring them onto one grid first, for example with gdalwarp",
    "CRS": "warp them to one CRS first, or name it with crs= if the numbers are right and the files are not",
    "dtype": "convert them to one first, for example with gdal_translate -ot",
    "nodata": "pass nodata= with the right one, after bringing the pixels to it",
}


def check_agreement(headers: Sequence[Header], given: Collection[str]) -> None:
    """Raise InputError unless all files have one size, transform, CRS, dtype and nodata.

    Parameters
    ----------
    headers : sequence of Header
    given : names
        What the caller says in place of the files: "crs", "nodata".
    """
    first = headers[0]
    for other in headers[1:]:
        if first.shape != other.shape:
            raise _differ("size", first, other, _size(first), _size(other))
        if not _same_grid(first.transform, other.transform, first.shape):
            raise _differ("transform", first, other, list(first.transform), list(other.transform))
        if "crs" not in given and not _same_crs(first, other):
            raise _differ("CRS", first, other, _crs_name(first), _crs_name(other))
        if first.dtype != other.dtype:
            raise _differ("dtype", first, other, first.dtype, other.dtype)
        if "nodata" not in given and not same_number(first.nodata, other.nodata):
            raise _differ("nodata", first, other, first.nodata, other.nodata)


def check_mask_alone(headers: Iterable[Header], given: Collection[str]) -> None:
    """Raise InputError if files have both a mask and a nodata tag: where there is a mask, nodata is not looked at."""
    for header in headers:
        if header.mask is not None and header.nodata is not None and not {"nodata", "variable"} & set(given):
            raise InputError(
                f"{header.uri} has a mask or an alpha band, and a nodata tag ({header.nodata}) as well, and a store "
                f"with a mask does not look at nodata (section 2.3): take the mask alone with nodata=None (--nodata "
                f"null), or the tag alone with variable='data'"
            )


def check_band(name: str, a: tuple[Header, BandHeader], b: tuple[Header, BandHeader]) -> None:
    """Raise InputError unless one band has one scale, offset and unit in two files."""
    for what in ("scale", "offset", "units"):
        said = getattr(a[1], what), getattr(b[1], what)
        if said[0] != said[1]:
            raise InputError(
                f"{a[0].uri} and {b[0].uri} differ in the {what} of band {name}: {said[0]} and {said[1]}, and a band "
                f"of a store has one (section 3.6): rescale one of them, or correct its tag"
            )


def _differ(what: str, a: Header, b: Header, of_a: Any, of_b: Any) -> InputError:
    return InputError(f"{a.uri} and {b.uri} differ in {what}: {of_a} and {of_b}; {_MEND[what]}")


def _size(header: Header) -> str:
    return f"{header.shape[0]} rows x {header.shape[1]} columns"


def _same_grid(a: Transform, b: Transform, shape: tuple[int, int]) -> bool:
    """Whether no corner of the raster moves by more than the tolerance."""
    height, width = shape
    return all(
        abs((s[i] - t[i]) + n * (s[j] - t[j])) <= TOLERANCE * abs(s[j])
        for s, t in ((a, b),)
        for i, j, count in ((2, 0, width), (5, 4, height))
        for n in (0, count)
    )


def _same_crs(a: Header, b: Header) -> bool:
    if a.crs == b.crs or a.crs is None or b.crs is None:
        return a.crs == b.crs
    codes = [epsg_of(parse_crs(h.crs, h.uri)) for h in (a, b)]
    return codes[0] is not None and codes[0] == codes[1]


def _crs_name(header: Header) -> str:
    if header.crs is None:
        return "none"
    crs = parse_crs(header.crs, header.uri)
    code = epsg_of(crs)
    return repr(crs.name) if code is None else f"EPSG:{code}"

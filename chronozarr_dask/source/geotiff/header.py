"""What one GeoTIFF says of itself, read from its header alone, and what of it no store can hold."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.dtypes import profile
from chronozarr_dask.format.georef import Transform, check_transform
from chronozarr_dask.source.access import Access
from chronozarr_dask.source.geotiff.gdal import NO_ACCESS, is_remote, with_file

THREADS = 16
"""Headers of remote files that are read at a time: each waits for the network, hardly one computes."""

_NO_PLACE = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)


@dataclass(frozen=True)
class BandHeader:
    """One band: its place in the file, counted from 1, and what the file says of it."""

    index: int
    name: str | None
    scale: float
    offset: float
    units: str | None


@dataclass(frozen=True)
class Header:
    """One file.

    Attributes
    ----------
    uri : str
    dtype : str
    shape : (height, width)
    block : (height, width)
        Of the blocks that it is compressed in.
    transform : six floats
        Affine order, pixel corners, north-up.
    crs : str or None
        WKT.
    nodata : float or None
        May be NaN.
    bands : tuple of BandHeader
        All but alpha.
    mask : int, "internal" or None
        Index of the alpha band, or the mask that lies in the file beside its bands.
    """

    uri: str
    dtype: str
    shape: tuple[int, int]
    block: tuple[int, int]
    transform: Transform
    crs: str | None
    nodata: float | None
    bands: tuple[BandHeader, ...]
    mask: int | Literal["internal"] | None


def read_headers(uris: Sequence[str], access: Access = NO_ACCESS) -> dict[str, Header]:
    """Header of each file; remote ones several at a time.

    Raises
    ------
    InputError
        If a file is not a GeoTIFF, or has no regular, north-up grid or a dtype that the format does not have.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rasterio's, of files without a place: an error of ours says so
        if not any(is_remote(uri) for uri in uris):
            return {uri: read_header(uri, access) for uri in uris}
        with ThreadPoolExecutor(THREADS) as pool:
            return dict(zip(uris, pool.map(partial(read_header, access=access), uris), strict=True))


def read_header(uri: str, access: Access = NO_ACCESS) -> Header:
    """Header of one file, checked."""
    return with_file(uri, partial(_header, uri), lambda: "cannot be opened as a GeoTIFF", access=access)


def _header(uri: str, file: Any) -> Header:
    alpha = [i for i, c in enumerate(file.colorinterp, 1) if c.name == "alpha"]
    indexes = [i for i in file.indexes if i not in alpha]
    if not indexes:
        raise InputError(f"{uri} has an alpha band only: there is nothing to store")
    _check_dtypes(uri, [file.dtypes[i - 1] for i in indexes])
    bands = tuple(
        BandHeader(
            i, file.descriptions[i - 1] or None, file.scales[i - 1], file.offsets[i - 1], file.units[i - 1] or None
        )
        for i in indexes
    )
    flags = {flag.name for flag in file.mask_flag_enums[indexes[0] - 1]}
    return Header(
        uri=uri,
        dtype=file.dtypes[indexes[0] - 1],
        shape=file.shape,
        block=file.block_shapes[indexes[0] - 1],
        transform=_transform(uri, file),
        crs=file.crs.to_wkt() if file.crs else None,
        nodata=file.nodatavals[indexes[0] - 1],
        bands=bands,
        mask=alpha[0] if alpha else "internal" if "per_dataset" in flags else None,
    )


def _check_dtypes(uri: str, dtypes: Sequence[str]) -> None:
    for name in dict.fromkeys(dtypes):
        _told_of(uri, partial(profile, name))


def _transform(uri: str, file: Any) -> Transform:
    t: Any = tuple(float(v) for v in file.transform[:6])
    if t == _NO_PLACE and file.gcps[0]:
        raise InputError(
            f"{uri} is placed by {len(file.gcps[0])} ground control points, not by a regular grid: warp it onto one "
            f"first, for example with gdalwarp"
        )
    if t == _NO_PLACE and file.crs is None:
        raise InputError(
            f"{uri} has no place: there is no CRS and no transform in the file (files beside it are not looked at); "
            f"give it both first, for example with gdal_edit.py -a_srs EPSG:32631 -a_ullr"
        )
    checked: Transform = _told_of(uri, partial(check_transform, t))
    return checked


def _told_of(uri: str, check: Callable[[], Any]) -> Any:
    """The result of a check that does not know the file."""
    try:
        return check()
    except InputError as error:
        raise InputError(f"{uri}: {error}") from error


def same_number(a: float | None, b: float | None) -> bool:
    """Whether two nodata values are one; NaN is NaN."""
    if a is None or b is None:
        return a is b
    return a == b or (math.isnan(a) and math.isnan(b))

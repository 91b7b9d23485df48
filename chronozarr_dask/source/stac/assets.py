"""Assets of an item: one `SceneAsset` per band of a raster file, as STAC 1.0 with extensions or 1.1 describes it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyproj.exceptions import CRSError

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.crs import epsg_of, parse_crs
from chronozarr_dask.source.stac.hrefs import resolve, unsigned

Affine = tuple[float, float, float, float, float, float]

EXTENSION = re.compile(r"\.(tiff?|jp2|vrt)$", re.IGNORECASE)
_NOT_DATA = frozenset({"thumbnail", "overview", "metadata"})


@dataclass(frozen=True)
class SceneAsset:
    """One band of one file, as its item describes it; None where the item says nothing.

    Attributes
    ----------
    name : str
        Name of the band: as asked for when the scene was narrowed, else the band's own, else the key.
    key : str
        Key of the asset in its item.
    href : str
        Absolute, without a signature.
    band_index, band_count : int
        Which band of the file, from 1, of how many the item tells of.
    common_name, media_type : str or None
    crs : str or None
        ``EPSG:<code>``, or another authority's code as the item writes it.
    shape : (height, width) or None
    transform : six floats or None
        [a, b, c, d, e, f] in Affine order, of pixel corners.
    gsd : float or None
        Ground sample distance in metres.
    nodata, scale, offset : float or None
        As the item says. The offset is no proof of what the pixels hold (see `offsets`).
    dtype : str or None
    alternates : tuple of (name, href)
        Other places of the same file.
    """

    name: str
    key: str
    href: str
    band_index: int = 1
    band_count: int = 1
    common_name: str | None = None
    media_type: str | None = None
    crs: str | None = None
    shape: tuple[int, int] | None = None
    transform: Affine | None = None
    gsd: float | None = None
    nodata: float | None = None
    scale: float | None = None
    offset: float | None = None
    dtype: str | None = None
    alternates: tuple[tuple[str, str], ...] = ()

    @property
    def pixel_size(self) -> float:
        """Width of a pixel by the transform, else the ground sample distance, else infinity."""
        return abs(self.transform[0]) if self.transform else self.gsd if self.gsd is not None else math.inf

    @property
    def is_jpeg2000(self) -> bool:
        """Whether it is a JPEG 2000 file."""
        return "jp2" in (self.media_type or "") or self.href.lower().endswith(".jp2")


# ---- out of an item ------------------------------------------------------------------------------------------------


def parse_assets(item: Mapping[str, Any], base: str | None, where: str) -> Iterator[SceneAsset]:
    """Every band of every raster file of `item`; thumbnails, overviews and metadata are left out."""
    properties = item.get("properties") or {}
    for key, asset in (item.get("assets") or {}).items():
        href = asset.get("href")
        if not isinstance(href, str) or not _is_raster(asset, href) or _NOT_DATA & set(asset.get("roles") or ()):
            continue
        what = f"asset {key!r} of {where}"
        bands = _bands(asset, properties)
        alternate = asset.get("alternate")
        pairs = alternate.items() if isinstance(alternate, Mapping) else ()
        alternates = {n: str(a["href"]) for n, a in pairs if isinstance(a, Mapping) and a.get("href")}
        common = {
            "key": key,
            "href": unsigned(resolve(href, base)),
            "band_count": len(bands),
            "media_type": asset.get("type"),
            "gsd": _number(asset.get("gsd", properties.get("gsd"))),
            "alternates": tuple((n, unsigned(resolve(h, base))) for n, h in sorted(alternates.items())),
            **_projection(asset, properties, what),
        }
        for index, band in enumerate(bands, 1):
            yield SceneAsset(
                name=str(band.get("name") or (key if len(bands) == 1 else f"{key}:{index}")),
                band_index=index,
                common_name=band.get("common_name") or band.get("eo:common_name"),
                nodata=_number(band.get("nodata")),
                scale=_number(band.get("raster:scale", band.get("scale"))),
                offset=_number(band.get("raster:offset", band.get("offset"))),
                dtype=band.get("data_type"),
                **common,
            )


def _is_raster(asset: Mapping[str, Any], href: str) -> bool:
    kind = str(asset.get("type") or "").lower()
    if kind.startswith("image/"):
        return any(word in kind for word in ("tiff", "jp2", "geotiff"))
    return EXTENSION.search(href.split("?")[0]) is not None


def _bands(asset: Mapping[str, Any], properties: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Bands of a file, at least one: STAC 1.1's own, else those of the eo and raster extensions side by side."""
    own = [asset.get(field) for field in ("bands", "eo:bands", "raster:bands")]
    lists = [[_band(b, properties) for b in bands] for bands in own if isinstance(bands, list) and bands]
    count = max((len(bands) for bands in lists), default=1)
    shared = {k: asset[k] for k in ("nodata", "data_type", "raster:scale", "raster:offset") if k in asset}
    merged = []
    for i in range(count):
        band = dict(shared)
        for bands in reversed(lists):
            if i < len(bands):
                band.update({k: v for k, v in bands[i].items() if v is not None})
        merged.append(band)
    return merged


def _band(band: Any, properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """A band; before STAC 1.0 a number, the place in the list of the item."""
    if isinstance(band, int):
        listed = properties.get("eo:bands") or []
        band = listed[band] if 0 <= band < len(listed) else {}
    return band if isinstance(band, Mapping) else {}


def _number(value: object) -> float | None:
    """A number, also as the text that JSON needs for nan and the infinities."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _projection(asset: Mapping[str, Any], properties: Mapping[str, Any], what: str) -> dict[str, Any]:
    """CRS, shape and transform: the asset's, else the item's.

    The item's transform is not taken for an asset of another shape than the item's: it is of another resolution.
    """
    own = next((m for m in (asset, properties) if any(m.get(k) is not None for k in _CRS)), {})
    shape, item_shape = _shape(asset.get("proj:shape"), what), _shape(properties.get("proj:shape"), what)
    transform = _transform(asset.get("proj:transform"), what)
    if transform is None and (shape is None or item_shape is None or shape == item_shape):
        transform = _transform(properties.get("proj:transform"), what)
        shape = shape or item_shape
    return {"crs": _crs(own, what), "shape": shape, "transform": transform}


_CRS = ("proj:code", "proj:epsg", "proj:wkt2", "proj:projjson")


def _crs(fields: Mapping[str, Any], what: str) -> str | None:
    code, epsg = fields.get("proj:code"), fields.get("proj:epsg")
    if code is not None:
        return str(code).upper() if str(code).lower().startswith("epsg:") else str(code)
    if epsg is not None:
        return f"EPSG:{int(epsg)}" if str(epsg).isdigit() else str(epsg)
    for key in ("proj:wkt2", "proj:projjson"):
        if fields.get(key):
            crs = parse_crs(fields[key], f"{key} of {what}")
            # The vertical part of a compound CRS does not place pixels.
            crs = crs.sub_crs_list[0] if crs.is_compound else crs
            try:
                found = epsg_of(crs)
            except CRSError as error:
                raise InputError(f"{key} of {what} cannot be read: {error}") from error
            return f"EPSG:{found}" if found else None
    return None


def _shape(values: Any, what: str) -> tuple[int, int] | None:
    if values is None:
        return None
    if not isinstance(values, Sequence) or len(values) != 2 or not all(_number(v) for v in values):
        raise InputError(f"proj:shape of {what} is {values!r}: give [height, width], or leave it out")
    return int(values[0]), int(values[1])


def _transform(values: Any, what: str) -> Affine | None:
    if values is None:
        return None
    numbers = [_number(v) for v in values] if isinstance(values, Sequence) else []
    if len(numbers) not in (6, 9) or any(v is None or not math.isfinite(v) for v in numbers):
        raise InputError(f"proj:transform of {what} is {values!r}: give six or nine finite numbers, or leave it out")
    return tuple(numbers[:6])  # type: ignore[return-value]

"""Sentinel-2 as catalogues tell it: tile, platform, processing baseline, datastrip, band names.

============================  ======================================================================================
what                          where it is looked for, in this order
============================  ======================================================================================
processing baseline           ``s2:processing_baseline`` (Earth Search v1 and c1, Planetary Computer),
                              ``sentinel:processing_baseline`` (Earth Search v0), any other ``*processing_baseline``,
                              ``processing:version`` where it reads like 05.10 (Copernicus Data Space)
offset already applied        ``earthsearch:boa_offset_applied``, ``sentinel:boa_offset_applied``, any other such
datastrip's sensing start     the ``_S<time>`` part of ``s2:datastrip_id``, ``eopf:datastrip_id``, any ``*datastrip_id``
processing time               ``s2:generation_time``, ``processing:datetime``, the last time in the product's name
tile                          ``grid:code``, ``s2:mgrs_tile``, ``mgrs:*`` or ``sentinel:*`` parts, the tile's
                              id, the item's id
============================  ======================================================================================

A product name carries a baseline too (``_N0510_``). It is not taken for one: catalogues that leave the property out
have also rewritten pixels, and a guess that is wrong is a step of 1000 in the data. A message quotes it as a hint.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from chronozarr_dask.source.stac.moments import parse_moment

# Names by which Earth Search v1 knows the bands of the product; both ways, for Sentinel-2 alone.
COMMON = {
    "B01": "coastal",
    "B02": "blue",
    "B03": "green",
    "B04": "red",
    "B05": "rededge1",
    "B06": "rededge2",
    "B07": "rededge3",
    "B08": "nir",
    "B8A": "nir08",
    "B09": "nir09",
    "B11": "swir16",
    "B12": "swir22",
    "SCL": "scl",
}
_ALIASES = {**COMMON, **{common: band for band, common in COMMON.items()}}

_BASELINE = re.compile(r"N?(\d{1,2}\.\d{1,2}|\d{1,2}|\d{4})", re.ASCII)
_SENSING = re.compile(r"_S(\d{8}T\d{6})(?=_|$)", re.ASCII)
_NAME_TIME = re.compile(r"_(\d{8}T\d{6})", re.ASCII)
_TILE = re.compile(r"(?:^|_)T?(\d{1,2}[C-HJ-NP-X][A-HJ-NP-Z][A-HJ-NP-V])(?=_|$)", re.ASCII)
_PLATFORM = re.compile(r"S(2[A-D])(?=_)", re.ASCII)
_PRODUCT = re.compile(r"S2[A-D]_MSIL(1C|2A)_\d{8}T\d{6}_", re.ASCII)


def alias(name: str) -> str | None:
    """The other name of a band: ``blue`` of ``B02`` and ``B02`` of ``blue``."""
    return _ALIASES.get(name) or _ALIASES.get(name.upper()) or _ALIASES.get(name.lower())


def local(properties: Mapping[str, Any], name: str, first: tuple[str, ...]) -> Any:
    """Value of property `name` under the prefixes of `first`, then under any other; None where there is none."""
    keys = [f"{prefix}:{name}" for prefix in first]
    keys += sorted(k for k in properties if k.split(":")[-1] == name and k not in keys)
    return next((properties[k] for k in keys if properties.get(k) is not None), None)


def parse_baseline(value: object) -> float | None:
    """Numeric baseline of "02.12", "5.10", "N0510", 4 and the like; None of what does not read as one."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) and 0 <= value < 100 else None
    match = _BASELINE.fullmatch(str(value).strip())
    if match is None:
        return None
    number = match[1]
    return float(f"{number[:2]}.{number[2:]}" if len(number) == 4 and number.isdigit() else number)


def baseline(properties: Mapping[str, Any], is_sentinel2: bool) -> float | None:
    """Processing baseline of an item, or None."""
    said = local(properties, "processing_baseline", ("s2", "sentinel"))
    if said is None and is_sentinel2:
        version = properties.get("processing:version")
        said = version if isinstance(version, str) and re.fullmatch(r"\d\d\.\d\d", version) else None
    return parse_baseline(said)


def offset_applied(properties: Mapping[str, Any]) -> bool:
    """Whether the catalogue says that it has subtracted the offset from the pixels."""
    return str(local(properties, "boa_offset_applied", ("earthsearch", "sentinel"))).strip().lower() in ("true", "1")


def datastrip_start(properties: Mapping[str, Any]) -> str | None:
    """``20200203T105911`` of a datastrip id; the rest of the id carries processing time and baseline."""
    found = _SENSING.search(str(local(properties, "datastrip_id", ("s2", "eopf", "sentinel")) or ""))
    return found[1] if found else None


def product_name(item_id: str, properties: Mapping[str, Any]) -> str | None:
    """Name of ESA's product, where the item has it."""
    said = (properties.get("s2:product_uri"), properties.get("sentinel:product_id"), item_id)
    return next((str(p).removesuffix(".SAFE") for p in said if p and _PRODUCT.match(str(p))), None)


def processing_time(properties: Mapping[str, Any], product: str | None, where: str) -> int | None:
    """Milliseconds since 1970, or None."""
    for key in ("s2:generation_time", "processing:datetime", "sentinel:generation_time", "odc:processing_datetime"):
        if properties.get(key) is not None:
            return parse_moment(properties[key], f"{key} of {where}")
    times = _NAME_TIME.findall(product or "")
    if len(times) < 2:  # one alone is the sensing time
        return None
    t = times[-1]
    return parse_moment(f"{t[:4]}-{t[4:6]}-{t[6:8]}T{t[9:11]}:{t[11:13]}:{t[13:15]}Z", f"the product name of {where}")


def tile(item_id: str, properties: Mapping[str, Any]) -> str | None:
    """MGRS tile as ``31UDQ``, with two digits of zone."""
    p = properties
    code = str(p.get("grid:code") or "")
    said = code.removeprefix("MGRS-") if code.startswith("MGRS-") else p.get("s2:mgrs_tile")
    for prefix in ("mgrs", "sentinel"):
        parts = [p.get(f"{prefix}:{part}") for part in ("utm_zone", "latitude_band", "grid_square")]
        if not said and all(parts):
            said = "".join(str(part) for part in parts)
    if not said:
        found = _TILE.search(
            str(local(p, "tile_id", ("s2",)) or local(p, "sentinel_tile_id", ("sentinel",)) or item_id)
        )
        said = found[1] if found else None
    return str(said).upper().removeprefix("T").zfill(5) if said else None


def platform(item_id: str) -> str | None:
    """``sentinel-2a`` of an id that begins with ``S2A_``."""
    found = _PLATFORM.match(item_id)
    return f"sentinel-{found[1].lower()}" if found else None

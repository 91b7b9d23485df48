"""A scene: what a run needs to know of a STAC item, and the JSON by which it is frozen into the journal.

Nothing is guessed that an item does not say; the few places where a property is looked for under several names are
listed in `sentinel2`. The time of an item without ``datetime`` is its ``start_datetime``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.stac import naming, sentinel2
from chronozarr_dask.source.stac.assets import SceneAsset, parse_assets
from chronozarr_dask.source.stac.moments import parse_moment


@dataclass(frozen=True)
class Scene:
    """One source item at one time.

    Attributes
    ----------
    id : str
    datetime : int
        Milliseconds since 1970 in UTC, cut to whole ones.
    assets : tuple of SceneAsset
    collection, constellation, product_type : str or None
    platform : str or None
        In lower case with hyphens: ``sentinel-2b``, ``landsat-8``.
    tile : str or None
        MGRS tile of Sentinel-2, ``path/row`` of Landsat.
    bbox : (west, south, east, north) or None
        Degrees; west is larger than east across the antimeridian.
    cloud_cover : float or None
        Per cent.
    baseline : float or None
        Processing baseline as a number: 5.1 of "05.10".
    offset_applied : bool
        The catalogue says that it has applied the offset of the baseline.
    processing_time : int or None
        Milliseconds since 1970.
    datastrip_start : str or None
        Sensing start of the datastrip, as in its id: ``20200203T105911``.
    product : str or None
        Name of ESA's product.
    """

    id: str
    datetime: int
    assets: tuple[SceneAsset, ...]
    collection: str | None = None
    platform: str | None = None
    constellation: str | None = None
    product_type: str | None = None
    tile: str | None = None
    bbox: tuple[float, float, float, float] | None = None
    cloud_cover: float | None = None
    baseline: float | None = None
    offset_applied: bool = False
    processing_time: int | None = None
    datastrip_start: str | None = None
    product: str | None = None

    @property
    def where(self) -> str:
        """How a message calls it."""
        return f"item {self.id!r}" + (f" of collection {self.collection!r}" if self.collection else "")

    @property
    def order(self) -> tuple[int, str]:
        """Observations are ordered by time, then id, everywhere."""
        return self.datetime, self.id

    @property
    def is_sentinel2(self) -> bool:
        """Whether constellation, platform or collection says Sentinel-2."""
        names = (self.constellation, self.platform, self.collection)
        return any(_says_sentinel2(name) for name in names if name)

    def asset(self, band: str) -> SceneAsset:
        """The asset that `band` means (see `naming`); InputError names the item, the band and what there is."""
        return naming.choose(self.assets, band, self.is_sentinel2, self.where)

    def narrowed(self, bands: Sequence[str]) -> Scene:
        """The scene with the assets of `bands` alone, in their order and under their names: what a run freezes."""
        return replace(self, assets=tuple(replace(self.asset(band), name=band) for band in bands))

    # ---- JSON ----

    def to_json(self) -> dict[str, Any]:
        """Fields as strict JSON: nan and the infinities are texts; fields of None are left out."""
        fields = _without_none(asdict(self))
        fields["assets"] = [_without_none(asset) for asset in fields["assets"]]
        return fields

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Scene:
        """The scene that `to_json` wrote.

        Raises
        ------
        InputError
            If it is something else.
        """
        try:
            assets = tuple(_asset_from_json(asset) for asset in fields["assets"])
            bbox = fields.get("bbox")
            return cls(**{**fields, "assets": assets, "bbox": tuple(bbox) if bbox else None})
        except (KeyError, TypeError, ValueError) as error:
            text = json.dumps(fields, default=str)[:200]
            raise InputError(f"this is no scene of a frozen item list: {text} ({error!r}); was it edited?") from error


def _without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {k: _finite(v) for k, v in fields.items() if v is not None}


def _finite(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _asset_from_json(fields: Mapping[str, Any]) -> SceneAsset:
    changed: dict[str, Any] = {}
    for key, kind in (("shape", int), ("transform", float)):
        if fields.get(key) is not None:
            changed[key] = tuple(kind(v) for v in fields[key])
    if fields.get("nodata") is not None:
        changed["nodata"] = float(fields["nodata"])
    changed["alternates"] = tuple((n, h) for n, h in fields.get("alternates", ()))
    return SceneAsset(**{**fields, **changed})


# ---- out of an item ------------------------------------------------------------------------------------------------


def parse_item(item: Mapping[str, Any], base: str | None = None) -> Scene:
    """Read one STAC item.

    Parameters
    ----------
    item : mapping
        The JSON of a Feature, STAC 1.0.0-beta.2 to 1.1.
    base : str, optional
        Path or URL of the file that holds it, for relative hrefs.

    Raises
    ------
    InputError
        If it is no item, or a time, shape, transform or CRS in it cannot be read.
    """
    if item.get("type") != "Feature" or not isinstance(item.get("id"), str) or "assets" not in item:
        raise InputError(
            f"{str(item)[:120]} in {base or 'the search result'} is no STAC item: a Feature with id, assets"
        )
    p: Mapping[str, Any] = item.get("properties") or {}
    collection = item.get("collection")
    where = f"item {item['id']!r}" + (f" of collection {collection!r}" if collection else "")
    key = "datetime" if p.get("datetime") is not None else "start_datetime"
    scene = Scene(
        id=item["id"],
        datetime=parse_moment(p.get(key), f"{key} of {where}"),
        assets=tuple(parse_assets(item, base, where)),
        collection=collection,
        platform=_hyphens(p.get("platform") or p.get("eo:platform")) or sentinel2.platform(item["id"]),
        constellation=_hyphens(p.get("constellation") or p.get("eo:constellation")),
        product_type=p.get("s2:product_type") or p.get("product:type") or p.get("sentinel:product_type"),
        bbox=_bbox(item.get("bbox"), where),
        cloud_cover=_cloud_cover(p.get("eo:cloud_cover")),
    )
    return _with_sentinel2(scene, p, where) if scene.is_sentinel2 else replace(scene, tile=_path_row(p))


def _with_sentinel2(scene: Scene, p: Mapping[str, Any], where: str) -> Scene:
    product = sentinel2.product_name(scene.id, p)
    return replace(
        scene,
        tile=sentinel2.tile(scene.id, p),
        baseline=sentinel2.baseline(p, is_sentinel2=True),
        offset_applied=sentinel2.offset_applied(p),
        processing_time=sentinel2.processing_time(p, product, where),
        datastrip_start=sentinel2.datastrip_start(p),
        product=product,
    )


def _says_sentinel2(name: str) -> bool:
    plain = name.lower().replace("-", "").replace("_", "").replace(" ", "")
    exact = plain in ("s2", "s2a", "s2b", "s2c")
    return exact or "sentinel2" in plain or "sentinels2" in plain or plain.startswith(("s2l2a", "s2l1c", "s2msi"))


def _hyphens(name: object) -> str | None:
    return str(name).lower().replace("_", "-").replace(" ", "-") if name else None


def _path_row(p: Mapping[str, Any]) -> str | None:
    path, row = p.get("landsat:wrs_path"), p.get("landsat:wrs_row")
    if path is None or row is None:
        return None
    try:
        return f"{int(path):03d}/{int(row):03d}"
    except (TypeError, ValueError) as error:
        raise InputError(f"landsat:wrs_path and wrs_row are {path!r} and {row!r}: give whole numbers") from error


def _bbox(values: Any, where: str) -> tuple[float, float, float, float] | None:
    if not isinstance(values, Sequence) or len(values) not in (4, 6):
        return None
    try:
        west, south, east, north = (float(v) for v in (values if len(values) == 4 else (*values[:2], *values[3:5])))
    except (TypeError, ValueError) as error:
        raise InputError(f"bbox of {where} is {list(values)!r}: give four or six numbers, or leave it out") from error
    if not all(map(math.isfinite, (west, south, east, north))):
        raise InputError(f"bbox of {where} is {list(values)!r}: give finite numbers, or leave it out")
    return west, south, east, north


def _cloud_cover(value: object) -> float | None:
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    return number if math.isfinite(number) else None

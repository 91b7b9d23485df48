"""STAC items made for tests: 64 x 64 pixels of 10 m in EPSG:32631, the classification 32 x 32 of 20 m."""

from collections.abc import Mapping, Sequence
from typing import Any

from chronozarr_dask.source.stac.items import Scene, parse_item

CORNER = (500000.0, 5000000.0)
BBOX = [3.0, 45.1, 3.01, 45.2]


def asset(href: str, size: int, step: float, corner: Sequence[float] = CORNER, **fields: Any) -> dict[str, Any]:
    return {
        "href": href,
        "type": "image/tiff; application=geotiff",
        "roles": ["data"],
        "proj:shape": [size, size],
        "proj:transform": [step, 0.0, corner[0], 0.0, -step, corner[1]],
        **fields,
    }


def item(
    item_id: str = "S2A_31UDQ_20200203_0",
    moment: str = "2020-02-03T10:59:11.024Z",
    *,
    epsg: int = 32631,
    corner: Sequence[float] = CORNER,
    bands: Sequence[str] = ("B04", "B08"),
    assets: Mapping[str, Any] | None = None,
    collection: str | None = "sentinel-2-l2a",
    **properties: Any,
) -> dict[str, Any]:
    """An item; `properties` with ``__`` for the colon of a prefix, as in ``s2__processing_baseline="05.00"``."""
    made = {band: asset(f"./{item_id}/{band}.tif", 64, 10.0, corner) for band in bands}
    made["SCL"] = asset(f"./{item_id}/SCL.tif", 32, 20.0, corner)
    return {
        "type": "Feature",
        "stac_version": "1.0.0",
        "id": item_id,
        "collection": collection,
        "bbox": BBOX,
        "geometry": None,
        "links": [],
        "properties": {
            "datetime": moment,
            "proj:code": f"EPSG:{epsg}",
            **{k.replace("__", ":"): v for k, v in properties.items()},
        },
        "assets": dict(assets if assets is not None else made),
    }


def scene(*args: Any, **fields: Any) -> Scene:
    return parse_item(item(*args, **fields), "/data/items.json")

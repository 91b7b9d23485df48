"""The scenes of the world as a catalogue has them: GeoTIFFs, and their STAC items.

Like `world`, without anything of the package that is to be proven.
"""

from __future__ import annotations

import datetime as dt
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyproj
import rasterio

from scripts.demo.land import BANDS, Land
from scripts.demo.passes import Pass, Scene, Tile, look, scenes_of
from scripts.demo.world import CORNER, CRS, PIXEL, World

COLLECTION = "sentinel-2-l2a"


def write_scenes(world: World, folder: Path) -> None:
    """Write the GeoTIFFs of every scene: four bands of 10 m, and the classification of 20 m."""
    land = world.land
    land.reflectance(0)  # what is worked out once is so before the threads begin
    with ThreadPoolExecutor(2) as pool:
        for _ in pool.map(lambda a: _write_pass(world, land, a, folder), world.passes):
            pass


def _write_pass(world: World, land: Land, a: Pass, folder: Path) -> None:
    view = look(land, a)
    for scene in scenes_of(a, world.tiles):
        (folder / scene.id).mkdir(parents=True)
        for name, plane in zip(BANDS, view.numbers(scene), strict=True):
            _write_tif(folder / scene.id / f"{name}.tif", plane, PIXEL, scene.tile)
        _write_tif(folder / scene.id / "SCL.tif", view.classes(scene.tile), 2 * PIXEL, scene.tile)


def _transform(tile: Tile, pixel: float) -> list[float]:
    return [pixel, 0.0, CORNER[0] + tile.column * PIXEL, 0.0, -pixel, CORNER[1]]


def _write_tif(path: Path, plane: npt.NDArray[Any], pixel: float, tile: Tile) -> None:
    height, width = plane.shape
    block = min(512, width // 2)
    with rasterio.open(
        path, "w", driver="GTiff", width=width, height=height, count=1, dtype=plane.dtype.name, crs=CRS,
        transform=rasterio.Affine(*_transform(tile, pixel)), tiled=True, blockxsize=block, blockysize=block,
        compress="deflate", predictor=2, zlevel=1,
    ) as file:  # fmt: skip
        file.write(plane, 1)


# ---- catalogue ------------------------------------------------------------------------------------------------------


def write_catalogue(world: World, folder: Path, url: str) -> None:
    """Write collection.json and items.json, of scenes that are served below `url`."""
    items = [_item(scene, url) for scene in world.scenes]
    boxes = np.array([item["bbox"] for item in items])
    box = [*boxes[:, :2].min(axis=0).tolist(), *boxes[:, 2:].max(axis=0).tolist()]
    times = [item["properties"]["datetime"] for item in items]
    collection = {
        "type": "Collection", "stac_version": "1.0.0", "id": COLLECTION, "links": [], "license": "proprietary",
        "description": "Level-2A of a small world that never was",
        "extent": {"spatial": {"bbox": [box]}, "temporal": {"interval": [[min(times), max(times)]]}},
    }  # fmt: skip
    (folder / "collection.json").write_text(json.dumps(collection))
    (folder / "items.json").write_text(json.dumps({"type": "FeatureCollection", "features": items}))


def _item(scene: Scene, url: str) -> dict[str, Any]:
    size, sensed = scene.tile.size, scene.of.moment
    x, y = _transform(scene.tile, PIXEL)[2], CORNER[1]
    to_degrees = pyproj.Transformer.from_crs(CRS, "OGC:CRS84", always_xy=True)
    far = size * PIXEL
    ring = [to_degrees.transform(x + i * far, y - j * far) for i, j in ((0, 0), (0, 1), (1, 1), (1, 0), (0, 0))]
    lon, lat = zip(*ring, strict=True)
    processed = sensed + dt.timedelta(hours=2) if not scene.version else dt.datetime(2023, 4, 1, tzinfo=dt.UTC)
    strip = f"S2{scene.of.platform[-1].upper()}_OPER_MSI_L2A_DS_VGS4_{processed:%Y%m%dT%H%M%S}_S{sensed:%Y%m%dT%H%M%S}"
    return {
        "type": "Feature", "stac_version": "1.0.0", "id": scene.id, "collection": COLLECTION, "links": [],
        "stac_extensions": ["https://stac-extensions.github.io/projection/v2.0.0/schema.json"],
        "bbox": [min(lon), min(lat), max(lon), max(lat)],
        "geometry": {"type": "Polygon", "coordinates": [[list(p) for p in ring]]},
        "properties": {
            "datetime": _utc(scene.moment), "platform": scene.of.platform, "constellation": "sentinel-2",
            "eo:cloud_cover": round(100 * scene.of.cover, 2), "proj:code": CRS, "grid:code": f"MGRS-{scene.tile.name}",
            "s2:processing_baseline": scene.baseline, "s2:generation_time": _utc(processed),
            "s2:datastrip_id": f"{strip}_N{scene.baseline}",
        },
        "assets": {
            name: {
                "href": f"{url}/{scene.id}/{name}.tif", "type": "image/tiff; application=geotiff", "roles": ["data"],
                "proj:shape": [size // k, size // k], "proj:transform": _transform(scene.tile, k * PIXEL),
            }
            for name, k in ((*((band, 1) for band in BANDS), ("SCL", 2)))
        },
    }  # fmt: skip


def _utc(moment: dt.datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"

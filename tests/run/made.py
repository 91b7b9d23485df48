"""The fixture of the field's cases: local GeoTIFFs of 64 x 64 pixels, their STAC items, and recipes over them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
import yaml
from rasterio import Affine

from chronozarr_dask.run.encode import ChronozarrWarning
from chronozarr_dask.run.produce import run_document
from chronozarr_dask.run.recipes import Document
from chronozarr_dask.run.report import RunReport
from chronozarr_dask.store.reader import Store, open_store

CORNER = (500000.0, 5000000.0)
SIZE = 64
STAMP = "2020-02-03T10:59:11.024Z"


def write_tif(
    path: Path, pixels: Any, *, step: float = 10.0, corner: Sequence[float] = CORNER, epsg: int = 32631,
    nodata: float | None = None, tile: int = 32,
) -> Path:  # fmt: skip
    """A tiled GeoTIFF of one band (y, x) or of several (band, y, x)."""
    pixels = np.asarray(pixels)
    bands = pixels if pixels.ndim == 3 else pixels[None]
    path.parent.mkdir(parents=True, exist_ok=True)
    transform = Affine(step, 0.0, corner[0], 0.0, -step, corner[1])
    profile: dict[str, Any] = {
        "driver": "GTiff", "count": len(bands), "height": bands.shape[1], "width": bands.shape[2],
        "dtype": bands.dtype.name, "crs": f"EPSG:{epsg}", "transform": transform,
        "tiled": True, "blockxsize": tile, "blockysize": tile, "compress": "deflate",
    }  # fmt: skip
    if nodata is not None:
        profile["nodata"] = nodata
    with rasterio.open(path, "w", **profile) as file:
        file.write(bands)
    return path


def full(value: Any, size: int = SIZE, dtype: str = "uint16") -> Any:
    return np.full((size, size), value, dtype) if np.isscalar(value) else np.asarray(value, dtype)


@dataclass
class World:
    """Scenes in a folder."""

    folder: Path
    items: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self, name: str, moment: str, bands: Mapping[str, Any], scl: Any = 4, *, epsg: int = 32631,
        corner: Sequence[float] = CORNER, size: int = SIZE, dtype: str = "uint16", nodata: float | None = None,
        fields: Mapping[str, Any] | None = None, **properties: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """A scene: files and item. `properties` have ``__`` for a colon; `fields` go into every band's asset."""
        assets = {}
        for band, value in bands.items():
            path = write_tif(
                self.folder / name / f"{band}.tif", full(value, size, dtype), corner=corner, epsg=epsg, nodata=nodata
            )
            assets[band] = self._asset(path, size, 10.0, corner, fields)
        if scl is not None:
            half = size // 2
            pixels = full(scl, half, "uint8")
            path = write_tif(self.folder / name / "SCL.tif", pixels, step=20.0, corner=corner, epsg=epsg)
            assets["SCL"] = self._asset(path, half, 20.0, corner, None)
        item = {
            "type": "Feature", "stac_version": "1.0.0", "id": name, "collection": "sentinel-2-l2a", "geometry": None,
            "bbox": [3.0, 45.1, 3.01, 45.2], "links": [], "assets": assets,
            "properties": {"datetime": moment, "proj:code": f"EPSG:{epsg}",
                           **{k.replace("__", ":"): v for k, v in properties.items()}},
        }  # fmt: skip
        self.items.append(item)
        return item

    def _asset(self, path: Path, size: int, step: float, corner: Sequence[float], fields: Any) -> dict[str, Any]:
        return {
            "href": f"./{path.relative_to(self.folder)}", "type": "image/tiff; application=geotiff", "roles": ["data"],
            "proj:shape": [size, size], "proj:transform": [step, 0.0, corner[0], 0.0, -step, corner[1]],
            **(fields or {}),
        }  # fmt: skip

    def recipe(self, **changes: Any) -> dict[str, Any]:
        """A recipe over the items; `changes` are dotted fields with ``__`` for the dot."""
        (self.folder / "items.json").write_text(json.dumps({"type": "FeatureCollection", "features": self.items}))
        bands = [b for b in self.items[0]["assets"] if b != "SCL"]
        values: dict[str, Any] = {
            "version": 1,
            "source": {"items": str(self.folder / "items.json"), "bands": bands, "classes": {"asset": "SCL"}},
            "encode": {"chunk_size": 32},
            "target": str(self.folder / "store"),
        }
        for name, value in changes.items():
            at = values
            *path, last = name.split("__")
            for part in path:
                at = at.setdefault(part, {})
            if value is None:
                at.pop(last, None)
            else:
                at[last] = value
        return values

    def run(self, *, resume: bool = False, client: Any = None, progress: Any = None, **changes: Any) -> RunReport:
        """Run the recipe."""
        document = Document.parse(yaml.safe_dump(self.recipe(**changes)), "recipe.yaml")
        with warnings.catch_warnings():  # they are in the report too
            warnings.simplefilter("ignore", ChronozarrWarning)
            return run_document(document, document.recipe(), resume=resume, client=client, progress=progress)

    def store(self, **changes: Any) -> Store:
        """Run the recipe and open what it made."""
        return open_store(self.run(**changes).target)


def level0(store: Store) -> Any:
    """(time, band, y, x)."""
    return np.stack([store.read(t) for t in range(len(store.times))])


def counts(store: Store) -> Any:
    """(time, y, x)."""
    return np.stack([store.read_coverage(t) for t in range(len(store.times))])


def objects(target: str | Path) -> dict[str, bytes]:
    """Every object of a store."""
    root = Path(target)
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}

"""Bytes of the scenes' pixels that lie in a grid, by what the items say: no file is opened."""

from __future__ import annotations

import math

import numpy as np

from chronozarr_dask.format.georef import Georeference
from chronozarr_dask.format.layout import Window
from chronozarr_dask.options.recipe import Recipe
from chronozarr_dask.plan.estimate import Reading
from chronozarr_dask.run.composites import Composites
from chronozarr_dask.source.stac.assets import SceneAsset


def scene_reading(recipe: Recipe, composites: Composites) -> Reading:
    """What is read of scenes, class planes included: all of it, as if no scene were without a clear pixel anywhere."""
    raster = composites.raster
    whole = Window(0, raster.height, 0, raster.width)
    itemsize = np.dtype(raster.dtype).itemsize
    sizes = [itemsize] * raster.n_band
    sizes += [1 if recipe.source.bits is None else 2]  # of a class plane: SCL is uint8, QA_PIXEL uint16
    total = 0
    for step in composites.frames.timesteps:
        for use in (use for tiles in step.observations for use in tiles):
            reach = use.reach or whole
            inside = _n_pixels(_common(reach, whole))
            for asset, size in zip(use.scene.assets, sizes, strict=False):
                total += int(_of_asset(asset, inside, inside / max(_n_pixels(reach), 1), raster.georef) * size)
    return Reading(total, itemsize, is_composite=True)


def _of_asset(asset: SceneAsset, inside: int, share: float, georef: Georeference) -> float:
    """Pixels of an asset that lie in the grid: by its pixel size, or on another CRS by its share of the grid."""
    if asset.transform is None:
        return inside
    if asset.crs == georef.crs:
        return inside * (georef.transform[0] / asset.transform[0]) ** 2
    return inside if asset.shape is None else math.prod(asset.shape) * share


def _common(a: Window, b: Window) -> Window:
    y0, x0 = max(a.y0, b.y0), max(a.x0, b.x0)
    return Window(y0, max(min(a.y1, b.y1), y0), x0, max(min(a.x1, b.x1), x0))


def _n_pixels(window: Window) -> int:
    return math.prod(window.shape)

"""How far scenes reach on a grid: never less than they do, and not much more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronozarr_dask.format.layout import Window
from chronozarr_dask.source.placement import Raster, Warped, in_pixels_of
from chronozarr_dask.source.stac.grid import Grid
from chronozarr_dask.source.stac.items import Scene, parse_item
from chronozarr_dask.source.stac.reach import MARGIN, reach_of
from tests.source.stac import made

GRID = Grid("EPSG:32631", (10.0, 0.0, 500000.0, 0.0, -10.0, 5000000.0), 70, 50)


def test_a_scene_on_the_grid():
    scene = made.scene(corner=(500000.0 + 120, 5000000.0 - 70))
    assert reach_of(scene, ["B04"], GRID) == Window(7 - MARGIN, 71 + MARGIN, 12 - MARGIN, 76 + MARGIN)


def test_a_scene_far_away_reaches_beyond_the_grid_alone():
    reach = reach_of(made.scene(corner=(400000.0, 5000000.0)), ["B04"], GRID)
    assert reach == Window(-MARGIN, 64 + MARGIN, -10000 - MARGIN, -9936 + MARGIN)


def test_the_finest_band_speaks():
    assets = {
        "B04": made.asset("./B04.tif", 64, 10.0),
        "B11": made.asset("./B11.tif", 8, 20.0),
    }
    scene = made.scene(assets=assets)
    assert reach_of(scene, ["B11", "B04"], GRID) == reach_of(scene, ["B04"], GRID)


def without_projection(bbox: list[float] | None) -> Scene:
    item = made.item(assets={"B04": {"href": "./B04.tif", "type": "image/tiff; application=geotiff"}})
    del item["properties"]["proj:code"]
    item["bbox"] = bbox
    if bbox is None:
        del item["bbox"]
    return parse_item(item, "/data/items.json")


@pytest.mark.parametrize(
    "bbox", [None, [3.0, 45.1, 3.01, 45.2], [179.0, 45.0, -179.0, 46.0], [-180.0, -90.0, 180.0, 90.0]]
)
def test_an_item_that_does_not_tell(bbox: list[float] | None):
    assert reach_of(without_projection(bbox), ["B04"], GRID) is None


def test_a_crs_that_is_none_of_ours_does_not_tell():
    item = made.item()
    item["properties"]["proj:code"] = "IAU_2015:30100"
    assert reach_of(parse_item(item, "/data/items.json"), ["B04"], GRID) is None


# ---- against every pixel ---------------------------------------------------------------------------------------------


def covered(raster: Raster, grid: Grid) -> Window | None:
    """Around the pixels of the grid whose centres lie in the raster."""
    rows, cols = Warped(raster, grid).positions(Window(0, grid.height, 0, grid.width))
    inside = (rows >= 0) & (rows < raster.height) & (cols >= 0) & (cols < raster.width)
    y, x = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
    return Window(int(y[0]), int(y[-1]) + 1, int(x[0]), int(x[-1]) + 1) if y.size else None


def scene_of(raster: Raster) -> Scene:
    step = raster.transform[0]
    asset = made.asset("./B04.tif", 1, step)
    asset |= {"proj:shape": [raster.height, raster.width], "proj:transform": list(raster.transform)}
    item = made.item(assets={"B04": asset})
    item["properties"]["proj:code"] = raster.crs
    return parse_item(item, "/data/items.json")


def contains(outer: Window, inner: Window) -> bool:
    return outer.y0 <= inner.y0 and inner.y1 <= outer.y1 and outer.x0 <= inner.x0 and inner.x1 <= outer.x1


def wider(window: Window, by: int) -> Window:
    return Window(window.y0 - by, window.y1 + by, window.x0 - by, window.x1 + by)


@settings(max_examples=20)
@given(
    st.sampled_from([10.0, 20.0, 60.0]), st.integers(5, 40), st.integers(5, 40),
    st.floats(-1000, 1000), st.floats(-1000, 1000),
)  # fmt: skip
def test_a_scene_of_the_next_zone(step: float, height: int, width: int, dx: float, dy: float):
    grid = Grid("EPSG:32631", (10.0, 0.0, 735000.0, 0.0, -10.0, 5100000.0), 600, 700)
    raster = Raster("EPSG:32632", (step, 0.0, 271500.0 + dx, 0.0, -step, 5096000.0 + dy), height, width)
    reach, inner = reach_of(scene_of(raster), ["B04"], grid), covered(raster, grid)
    assert reach is not None
    if inner is None:
        return
    assert contains(reach, inner)
    if contains(Window(1, grid.height - 1, 1, grid.width - 1), inner):
        assert contains(wider(inner, MARGIN + 3), reach)


CONTINENTS = {
    "degrees": Raster("EPSG:4326", (0.05, 0.0, -7.3, 0.0, -0.05, 58.0), 300, 401),
    "wide": Raster("EPSG:4326", (0.1, 0.0, -26.2, 0.0, -0.1, 62.0), 270, 655),
    "Europe": Raster("EPSG:3035", (5000.0, 0.0, 3500000.0, 0.0, -5000.0, 3400000.0), 240, 301),
}


@pytest.mark.parametrize("name", CONTINENTS)
@pytest.mark.parametrize("crs", ["EPSG:32631", "EPSG:32632", "EPSG:3857"])
def test_a_scene_as_wide_as_a_continent(name: str, crs: str):
    """Its edges are curved on the grid: what lies between any points along them counts too."""
    raster = CONTINENTS[name]
    grid = Grid(crs, (10.0, 0.0, -400000.0, 0.0, -10.0, 6600000.0), 180000, 180000)
    along = np.linspace(0, 1, 20001)
    low, high = np.zeros_like(along), np.ones_like(along)
    y, x = np.concatenate([low, high, along, along]), np.concatenate([along, along, low, high])
    rows, cols = in_pixels_of(grid, y * raster.height, x * raster.width, raster)
    reach = reach_of(scene_of(raster), ["B04"], grid)
    assert reach is not None
    assert reach.y0 <= rows.min()
    assert rows.max() <= reach.y1
    assert reach.x0 <= cols.min()
    assert cols.max() <= reach.x1
    assert (reach.y1 - reach.y0) * (reach.x1 - reach.x0) < 1.01 * np.ptp(rows) * np.ptp(cols)

"""A small world for Sentinel-2 whose truth is known: what each composite must be, and the scenes to make it of.

::

    land + passes -> truth.npz                    first: medians of the ground where it was seen, in plain numpy
                  -> scenes/<id>/<band>.tif       then: the same ground under clouds, with offsets, cut into tiles
                  -> collection.json, items.json  when it is known where the scenes are served (scenes.py)

Nothing of the package that is to be proven is imported here, nor in the modules beside it that this one imports.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyproj

from scripts.demo.land import BANDS, Land
from scripts.demo.passes import Pass, Scene, Tile, look, make_passes, scenes_of

CRS = "EPSG:32631"
CORNER = 600_000.0, 5_700_000.0
PIXEL = 10.0


@dataclass(frozen=True)
class World:
    """Size and time of the world.

    Attributes
    ----------
    tile : int
        Pixels of a tile.
    overlap : int
        Pixels that the two tiles share.
    first : (year, month)
    n_month, empty : int
        Months, and which of them has no clear pixel.
    chunk_size : int
        Of the store: small enough that it has a pyramid.
    """

    tile: int = 768
    overlap: int = 76
    first: tuple[int, int] = (2021, 7)
    n_month: int = 12
    empty: int = 4
    chunk_size: int = 256

    @property
    def land(self) -> Land:
        """What is below the sky."""
        return Land(self.tile, 2 * self.tile - self.overlap)

    @property
    def tiles(self) -> tuple[Tile, Tile]:
        """West and east."""
        return Tile("31UFT", 0, self.tile, 0), Tile("31UGT", self.tile - self.overlap, self.tile, 6)

    @property
    def passes(self) -> list[Pass]:
        """In the order of time."""
        return make_passes(self.first, self.n_month, self.empty)

    @property
    def scenes(self) -> list[Scene]:
        """Everything that the catalogue holds, twins included."""
        return [scene for a in self.passes for scene in scenes_of(a, self.tiles)]

    @property
    def months(self) -> list[str]:
        """As in 2021-07."""
        return [month for month, _ in groupby(self.passes, key=lambda a: a.month)]

    @property
    def area(self) -> tuple[float, float, float, float]:
        """West, south, east, north in degrees, inside of the land: what a recipe asks for."""
        land, edge = self.land, 0.013 * self.tile * PIXEL
        x0, y1 = CORNER[0] + edge, CORNER[1] - edge
        x1, y0 = CORNER[0] + land.width * PIXEL - edge, CORNER[1] - land.height * PIXEL + edge
        to_degrees = pyproj.Transformer.from_crs(CRS, "OGC:CRS84", always_xy=True).transform
        (nw, n1), (ne, n2), (sw, s1), (se, s2) = (to_degrees(x, y) for y in (y1, y0) for x in (x0, x1))
        return round(max(nw, sw), 5), round(max(s1, s2), 5), round(min(ne, se), 5), round(min(n1, n2), 5)

    @property
    def window(self) -> tuple[slice, slice]:
        """Rows and columns of the land that the area covers, snapped outward to whole pixels."""
        to_metres = pyproj.Transformer.from_crs("OGC:CRS84", CRS, always_xy=True)
        left, bottom, right, top = to_metres.transform_bounds(*self.area, densify_pts=500)
        x, y = CORNER
        rows = slice(math.floor((y - top) / PIXEL), math.ceil((y - bottom) / PIXEL))
        return rows, slice(math.floor((left - x) / PIXEL), math.ceil((right - x) / PIXEL))


def write_truth(world: World, file: Path) -> None:
    """Compute what the store must hold, and write it down.

    The file has `data` (time, band, y, x), uint16, 0 where nothing was seen; `coverage` (time, y, x), uint8; `months`;
    `bands`; `crs`; `corner` (x, y) of the upper-left pixel's outer corner; `pixel`, (row, column) of a field of maize.
    """
    land, (rows, columns) = world.land, world.window
    land.reflectance(0)  # what is worked out once is so before the threads begin
    months = [list(passes) for _, passes in groupby(world.passes, key=lambda a: a.month)]
    with ThreadPoolExecutor(2) as pool:
        made = pool.map(lambda passes: _composite(world, land, passes), months)
        data, coverage = (np.stack(planes) for planes in zip(*made, strict=True))
    np.savez(
        file,
        data=data,
        coverage=coverage,
        months=np.array(world.months),
        bands=np.array(BANDS),
        crs=np.array(CRS),
        corner=np.array([CORNER[0] + columns.start * PIXEL, CORNER[1] - rows.start * PIXEL]),
        pixel=_telling_pixel(coverage, land.parcels_of("maize")[rows, columns]),
    )


def _composite(world: World, land: Land, passes: list[Pass]) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint8]]:
    """Median (band, y, x) and number (y, x) of the observations of a month, within the window."""
    rows, columns = world.window
    values, seen = zip(*(_observation(world, land, a) for a in passes), strict=True)
    there = np.stack(seen)[:, rows, columns]
    return _median(np.stack(values)[..., rows, columns], there), there.sum(axis=0, dtype=np.uint8)


def _observation(world: World, land: Land, a: Pass) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.bool_]]:
    """Ground (band, y, x) and where it was seen (y, x) in one pass: the tile that was sensed first has the word."""
    seen, values = np.zeros(land.shape, np.bool_), np.zeros((len(BANDS), *land.shape), np.uint16)
    view = look(land, a)
    for scene in scenes_of(a, world.tiles):
        if not scene.is_superseded:
            at = scene.tile.columns
            new = view.clear(scene.tile) & ~seen[:, at]
            values[:, :, at][:, new] = view.reflectance(scene)[:, new]
            seen[:, at] |= new
    return values, seen


def _median(values: npt.NDArray[np.uint16], seen: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint16]:
    """Median (band, y, x) of the observations (n, band, y, x) that were seen (n, y, x), cut to a whole number."""
    ordered = np.where(seen[:, None], values, 65535)
    ordered.sort(axis=0)
    n = seen.sum(axis=0)
    middle = (np.maximum(n - 1, 0) // 2, n // 2)
    pick = [np.take_along_axis(ordered, i[None, None], axis=0)[0].astype(np.uint32) for i in middle]
    return np.where(n > 0, (pick[0] + pick[1]) // 2, 0).astype(np.uint16)


def _telling_pixel(coverage: npt.NDArray[np.uint8], wanted: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Row and column of the wanted pixel that was seen in most months, the nearest to the middle."""
    months = np.where(wanted, (coverage > 0).sum(axis=0), -1)
    rows, columns = np.nonzero(months == months.max())
    middle = np.array(wanted.shape) / 2
    best = np.argmin(np.hypot(rows - middle[0], columns - middle[1]))
    return np.array([rows[best], columns[best]])

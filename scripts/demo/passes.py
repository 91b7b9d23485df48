"""The passes: when which satellite saw which part of the land, under which sky, and what its scenes hold."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from scripts.demo.land import Land
from scripts.demo.sky import NOTHING, Sky, ground_classes, is_clear, make_sky

BASELINE, LATER_BASELINE, REPROCESSED = "03.01", "04.00", "05.00"
LATER_SINCE = dt.datetime(2022, 1, 25, tzinfo=dt.UTC)
OFFSET = 1000  # of baseline 04.00 and later

Classes = npt.NDArray[np.uint8]
Pixels = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Tile:
    """A tile: name, first column on the land, size in pixels, and what its processing adds to the numbers."""

    name: str
    column: int
    size: int
    bias: int

    @property
    def columns(self) -> slice:
        """Of the land, at 10 m."""
        return slice(self.column, self.column + self.size)


@dataclass(frozen=True)
class Pass:
    """One overflight.

    Attributes
    ----------
    moment : datetime
        Of the first tile; the next follows three seconds later.
    platform : str
    cover : float
        Part of the sky that is cloud.
    is_edge : bool
        Whether the land lies at the edge of the swath, so that its west is not seen.
    twin : bool
        Whether the first tile was processed again, later.
    """

    moment: dt.datetime
    platform: str
    cover: float
    is_edge: bool = False
    twin: bool = False

    @property
    def day(self) -> float:
        """Day of the year."""
        return float(self.moment.timetuple().tm_yday)

    @property
    def seed(self) -> int:
        """Of all that is random in it."""
        return self.moment.toordinal()

    @property
    def month(self) -> str:
        """As in 2021-07."""
        return f"{self.moment:%Y-%m}"


@dataclass(frozen=True)
class Scene:
    """One item of the catalogue: a tile of a pass in one processing."""

    of: Pass
    tile: Tile
    moment: dt.datetime
    baseline: str
    version: int = 0

    @property
    def offset(self) -> int:
        """What its numbers carry on top."""
        return OFFSET if self.baseline >= LATER_BASELINE else 0

    @property
    def is_superseded(self) -> bool:
        """Whether a later processing of the same acquisition is in the catalogue too."""
        return self.of.twin and self.tile.column == 0 and self.version == 0

    @property
    def id(self) -> str:
        """As in S2A_31UFT_20210703_0_L2A."""
        return f"S2{self.of.platform[-1].upper()}_{self.tile.name}_{self.moment:%Y%m%d}_{self.version}_L2A"


def scenes_of(a: Pass, tiles: tuple[Tile, ...]) -> Iterator[Scene]:
    """Scenes of a pass in the order of their times, twins included."""
    for i, tile in enumerate(tiles):
        scene = Scene(a, tile, a.moment + dt.timedelta(seconds=3 * i), _baseline(a))
        yield scene
        if scene.is_superseded:  # catalogues give twins times that are a millisecond apart
            yield replace(scene, moment=scene.moment + dt.timedelta(milliseconds=1), baseline=REPROCESSED, version=1)


def _baseline(a: Pass) -> str:
    return LATER_BASELINE if a.moment >= LATER_SINCE else BASELINE


def make_passes(first: tuple[int, int], n_month: int, empty: int) -> list[Pass]:
    """Two or three passes a month from `first` (year, month) on; month number `empty` has not one clear pixel."""
    rng = np.random.default_rng(31)
    passes = []
    for i in range(n_month):
        year, month = first[0] + (first[1] - 1 + i) // 12, (first[1] - 1 + i) % 12 + 1
        days = (4, 14, 24) if i % 3 != 1 else (9, 22)
        for k, day in enumerate(days):
            moment = dt.datetime(year, month, day, 10, 56, 19, 24000, dt.UTC)
            cover = 1.0 if i == empty else float(rng.choice((0.0, 0.1, 0.2, 0.35, 0.6)))
            platform = "sentinel-2a" if (i + k) % 2 else "sentinel-2b"
            passes.append(Pass(moment, platform, cover, is_edge=k == 1 and i % 2 == 0, twin=i == 2 and k == 0))
    return passes


@dataclass(frozen=True)
class Look:
    """What a pass saw.

    Attributes
    ----------
    ground : ndarray (band, y, x), int32
        Reflectance x 10000 of the ground, with the noise of the sensor: below 0 here and there over water.
    ground_classes : ndarray (y, x), uint8
        At 20 m.
    is_seen : ndarray (y, x), bool
        At 20 m: within the swath.
    sky : Sky
    """

    ground: Pixels
    ground_classes: Classes
    is_seen: npt.NDArray[np.bool_]
    sky: Sky

    def classes(self, tile: Tile) -> Classes:
        """Scene classification of a tile, at 20 m."""
        at = slice(tile.columns.start // 2, tile.columns.stop // 2)
        sky = self.sky.classes[:, at]
        if tile.column:  # each tile is classified by itself: in the overlap they do not agree everywhere
            sky = np.where(np.roll(sky, 2, axis=0) != NOTHING, np.maximum(sky, np.roll(sky, 2, axis=0)), sky)
        classes: Classes = np.where(sky == NOTHING, self.ground_classes[:, at], sky)
        return np.where(self.is_seen[:, at], classes, NOTHING).astype(np.uint8)

    def clear(self, tile: Tile) -> npt.NDArray[np.bool_]:
        """Where a tile shows the ground, at 10 m."""
        return is_clear(self.classes(tile))

    def reflectance(self, scene: Scene) -> Pixels:
        """The ground as the processing of a scene has it, where it is clear: (band, y, x), 1 at least."""
        return np.maximum(self._processed(scene), 1)

    def _processed(self, scene: Scene) -> Pixels:
        return self.ground[:, :, scene.tile.columns] + (scene.tile.bias + (17 if scene.version else 0))

    def numbers(self, scene: Scene) -> npt.NDArray[np.uint16]:
        """What the files of a scene hold: (band, y, x), 0 outside of the swath.

        Numbers below 0 are cut to 1 by the products without an offset, and are kept by those with one.
        """
        at = scene.tile.columns
        half = slice(at.start // 2, at.stop // 2)
        sky = Sky(self.sky.thickness[:, half], self.sky.classes[:, half])
        clear = self.clear(scene.tile)
        pixels = np.where(clear, self._processed(scene), sky.above(self.ground[:, :, at])) + scene.offset
        np.maximum(pixels, 1, out=pixels)
        pixels[:, ~self.is_seen[:, half].repeat(2, axis=0).repeat(2, axis=1)] = 0
        return pixels.astype(np.uint16)


def look(land: Land, a: Pass) -> Look:
    """What a pass sees of the land."""
    rng = np.random.default_rng((32, a.seed))
    ground = land.reflectance(a.day)
    ground += rng.integers(-14, 15, ground.shape, np.int8)
    y, x = np.ogrid[: land.height // 2, : land.width // 2]
    is_seen = np.broadcast_to((x > 0.06 * land.width + 0.24 * y) if a.is_edge else (x >= 0), (y.size, x.size))
    sky = make_sky(a.seed, land.shape, a.cover)
    return Look(ground, ground_classes(ground, land.snow(a.day)), is_seen, sky)

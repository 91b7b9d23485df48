"""The land: relief, river, forest, town and fields, and what a satellite would measure of it on any day.

Everything is a function of the size alone, so that the same land is seen again whenever it is asked for. Lengths are in
pixels of 10 m; what is large goes with the height of the land, what people make (fields, streets) does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]

BANDS = ("B02", "B03", "B04", "B08")
"""Blue, green, red, near infrared."""

# Reflectance x 10000 in the order of BANDS.
LEAF, SOIL, BLOOM = (260, 560, 290, 4300), (720, 960, 1230, 2150), (620, 1500, 1380, 4300)
WATER, ROAD, HEDGE, SNOW = (420, 520, 330, 9), (880, 930, 980, 1500), (230, 390, 260, 2600), (7900, 8000, 8000, 7200)
CONIFER, BARE_WOOD, SUMMER_WOOD = (170, 300, 190, 2300), (430, 520, 600, 1650), (220, 430, 240, 3700)
ROOFS = ((980, 1040, 1500, 2000), (1250, 1290, 1350, 1900), (820, 860, 930, 1400), (1900, 1950, 2000, 2500))

# Part of the ground that is green in the middle of each month, from January to December.
CROPS = {
    "wheat": (0.30, 0.35, 0.55, 0.85, 0.95, 0.70, 0.15, 0.10, 0.08, 0.12, 0.20, 0.26),
    "maize": (0.05, 0.05, 0.06, 0.08, 0.15, 0.50, 0.92, 0.95, 0.70, 0.20, 0.06, 0.05),
    "rape": (0.40, 0.42, 0.60, 0.80, 0.90, 0.75, 0.20, 0.15, 0.40, 0.50, 0.48, 0.42),
    "meadow": (0.55, 0.55, 0.62, 0.75, 0.85, 0.80, 0.70, 0.65, 0.68, 0.65, 0.60, 0.56),
    "beet": (0.05, 0.05, 0.05, 0.10, 0.35, 0.75, 0.90, 0.90, 0.85, 0.60, 0.15, 0.05),
    "idle": (0.12, 0.12, 0.15, 0.20, 0.25, 0.28, 0.25, 0.22, 0.22, 0.20, 0.15, 0.12),
}
N_PARCEL = 997
"""Kinds of parcels: each has a crop, a soil and a sowing time of its own."""
_WATER, _ROAD, _HEDGE, _CONIFER, _WOOD, _MEADOW, _ROOF = range(N_PARCEL, N_PARCEL + 7)


def smooth_noise(rng: np.random.Generator, shape: tuple[int, int], cell: float) -> F32:
    """Noise (y, x) from 0 to 1 without edges, whose hills are `cell` pixels apart."""
    h, w = shape
    lattice = rng.random((int(h / cell) + 2, int(w / cell) + 2), np.float32)
    iy, ty = _steps(h, cell)
    ix, tx = _steps(w, cell)
    rows = lattice[iy] * (1 - ty[:, None]) + lattice[iy + 1] * ty[:, None]
    return _f32(rows[:, ix] * (1 - tx) + rows[:, ix + 1] * tx)


def _f32(plane: npt.ArrayLike) -> F32:
    return np.asarray(plane, np.float32)


def _steps(n: int, cell: float) -> tuple[npt.NDArray[np.intp], F32]:
    at = np.arange(n) / cell
    i = at.astype(np.intp)
    t = (at - i).astype(np.float32)
    return i, t * t * (3 - 2 * t)


def fractal(rng: np.random.Generator, shape: tuple[int, int], cell: float, octaves: int = 5) -> F32:
    """Noise (y, x) from 0 to 1 of many scales: of half the height at half the length."""
    parts = [smooth_noise(rng, shape, max(cell / 2**k, 1.0)) / 2**k for k in range(octaves)]
    return _f32(sum(parts[1:], parts[0]) / (2 - 0.5 ** (octaves - 1)))


@dataclass(frozen=True)
class Land:
    """Land of (height, width) pixels."""

    height: int
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        """(height, width)."""
        return self.height, self.width

    def reflectance(self, day: float) -> npt.NDArray[np.int32]:
        """What the ground reflects on a day of the year: (band, y, x), x 10000, never below 1."""
        table = self._table(day)
        light = np.minimum(1 + min(1 / math.tan(math.radians(_sun(day))), 2.2) * self._slope, 1.4) * self._texture
        snow = self.snow(day)
        out = np.empty((len(BANDS), *self.shape), np.int32)
        for i in range(len(BANDS)):
            out[i] = np.where(snow, np.float32(SNOW[i]), table[:, i][self._cover]) * light
        return np.maximum(out, 1, out=out)

    def snow(self, day: float) -> npt.NDArray[np.bool_]:
        """Where snow lies (y, x): down to a height that depends on the day."""
        lowest = np.interp(day, (0, 15, 45, 62, 330, 350, 366), (400, 330, 400, 900, 900, 480, 400))
        out: npt.NDArray[np.bool_] = self.relief + 200 * (self._texture - 1) > lowest
        return out

    def parcels_of(self, crop: str) -> npt.NDArray[np.bool_]:
        """Where a crop grows (y, x)."""
        kinds = np.flatnonzero(self._crop == list(CROPS).index(crop))
        return np.isin(self._cover, kinds)

    # ---- shape of the land ----

    @cached_property
    def _yx(self) -> tuple[F32, F32]:
        y, x = np.ogrid[: self.height, : self.width]
        return y.astype(np.float32), x.astype(np.float32)

    @cached_property
    def _river(self) -> F32:
        """Pixels to the middle of the river."""
        y, x = self._yx
        h = self.height
        course = 0.60 + 0.09 * np.sin(6.9 * x / h + 0.6) + 0.035 * np.sin(17.0 * x / h + 2) + 0.012 * np.sin(41 * x / h)
        slope = 0.62 * np.cos(6.9 * x / h + 0.6) + 0.6 * np.cos(17.0 * x / h + 2)
        return _f32(np.abs(y - h * course) / np.sqrt(1 + slope**2))

    @cached_property
    def relief(self) -> F32:
        """Height in metres (y, x): hills in the north and the far south, a plain along the river."""
        h = self.height
        hills = fractal(np.random.default_rng(11), self.shape, h / 3, 6)
        valley = np.clip((self._river / h - 0.05) / 0.45, 0, 1)
        return _f32(20 + 700 * hills * valley * valley * (3 - 2 * valley) + 12 * hills)

    @cached_property
    def _slope(self) -> F32:
        """Slope towards the sun, which stands in the south-south-east when the satellite passes."""
        dy, dx = np.gradient(self.relief, 10.0 * 1024 / self.height)
        return _f32(np.clip(-0.94 * dy - 0.34 * dx, -0.35, 0.35))

    @cached_property
    def _texture(self) -> F32:
        rng = np.random.default_rng(12)
        grain = rng.standard_normal(self.shape, np.float32) * 0.035
        return _f32(1 + grain * np.where(np.isin(self._cover, (_CONIFER, _WOOD)), 2.6, 1))

    # ---- what is where ----

    @cached_property
    def _cover(self) -> npt.NDArray[np.int16]:
        """Index into the table of reflectances (y, x)."""
        rng = np.random.default_rng(13)
        y, x = self._yx
        h = self.height
        cover, hedge = self._fields(rng)
        cover[hedge] = _HEDGE
        patch = fractal(rng, self.shape, h / 7, 5)
        wood = (patch + self.relief / 1100 > 0.72) & (self._river > 0.05 * h)
        cover[wood] = np.where(patch + self.relief / 800 > 0.98, _CONIFER, _WOOD)[wood]
        cover[(self._river < 0.035 * h + 14 * patch) & (patch > 0.45)] = _MEADOW
        self._build_town(cover, rng)
        for slope, start in ((0.21, 0.30), (-0.45, 0.93), (2.6, -1.6)):
            line = np.abs(y - h * start - slope * x) / math.hypot(1, slope)
            cover[(line < 1.3) & (cover < _ROOF)] = _ROAD
        cover[(self._river < 0.009 * h + 2 + 2 * patch) & (cover != _ROAD)] = _WATER
        lake = np.hypot((x - 1.33 * h) / 1.6, y - 0.83 * h) + 0.05 * h * patch
        cover[lake < 0.065 * h] = _WATER
        return cover

    def _fields(self, rng: np.random.Generator) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.bool_]]:
        """Kind of parcel, and where the hedges between them are: strips that turn from one commune to the next."""
        y, x = self._yx
        h, w = self.shape
        seeds = _f32(rng.random((9, 2)) * (h, w))
        bend = 30 * smooth_noise(rng, self.shape, 90)
        commune = np.argmin([np.hypot(y + bend - a, x - bend - b) for a, b in seeds], axis=0)
        angle = rng.uniform(0, math.pi, len(seeds)).astype(np.float32)[commune]
        u, v = x * np.cos(angle) + y * np.sin(angle) + 4e3, y * np.cos(angle) - x * np.sin(angle) + 4e3
        strip = (v / 38).astype(np.int32)
        long = (40 + 17 * (strip * 7 % 5)).astype(np.float32)
        along = (u + strip * 23 % 61) / long
        key = (commune * 7919 + strip) * 104729 + along.astype(np.int32) * 1299709
        hedge = ((v % 38 < 1.4) & (strip % 3 == 0)) | ((along % 1 * long < 1.3) & (key % 4 == 0))
        return (key % N_PARCEL).astype(np.int16), hedge

    def _build_town(self, cover: npt.NDArray[np.int16], rng: np.random.Generator) -> None:
        """Houses in blocks of 9 x 7 pixels between streets, dense in the middle."""
        y, x = self._yx
        h = self.height
        far = np.hypot(x - 0.72 * h, (y - 0.60 * h) * 1.25) / (0.15 * h) + 0.7 * fractal(rng, self.shape, h / 12, 4)
        u, v = 0.9 * x + 0.436 * y, 0.9 * y - 0.436 * x + 4e3
        house = rng.random(self.shape, np.float32)
        built = (far < 1.0) & (house > 0.55 * far)
        cover[built] = (_ROOF + (house * 97).astype(np.int16) % len(ROOFS))[built]
        cover[(far < 1.0) & ~built] = _MEADOW
        cover[(far < 1.0) & ((u % 18 < 1.3) | (v % 14 < 1.1))] = _ROAD

    # ---- what it reflects ----

    @cached_property
    def _crop(self) -> npt.NDArray[np.intp]:
        return np.random.default_rng(14).choice(len(CROPS), N_PARCEL, p=(0.28, 0.24, 0.12, 0.18, 0.12, 0.06))

    def _table(self, day: float) -> F32:
        """(kind, band)."""
        rng = np.random.default_rng(15)
        curves = np.array([(*c[-1:], *c, *c[:1]) for c in CROPS.values()])
        middles = np.arange(-0.5, 13) * 30.5
        days = day + rng.uniform(-9, 9, N_PARCEL)
        vigour = rng.uniform(0.82, 1.0, N_PARCEL)
        green = np.array([np.interp(d, middles, curves[c]) for d, c in zip(days, self._crop, strict=True)]) * vigour
        soil = np.array(SOIL) * rng.uniform(0.75, 1.2, (N_PARCEL, 1))
        fields = green[:, None] * np.array(LEAF) + (1 - green[:, None]) * soil
        blooms = (self._crop == list(CROPS).index("rape")) & (np.abs(days - 122) < 16)
        fields[blooms] = np.array(BLOOM) * vigour[blooms, None]
        leaves = float(np.interp(day, (0, 95, 135, 270, 320, 366), (0, 0, 1, 1, 0, 0)))
        wood = leaves * np.array(SUMMER_WOOD) + (1 - leaves) * np.array(BARE_WOOD)
        grass = float(np.interp(day, middles, curves[3])) * (np.array(LEAF) - SOIL) + SOIL
        others: list[Any] = [WATER, ROAD, HEDGE, CONIFER, wood, grass, *ROOFS]
        return np.vstack([fields, *others]).astype(np.float32)


def _sun(day: float) -> float:
    """Height of the sun in degrees at half past ten, at 51 degrees north."""
    return 38 - 23 * math.cos(2 * math.pi * (day + 10) / 365)

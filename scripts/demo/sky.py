"""The sky: clouds and the shadows that they cast, as classes of 20 m and as what they do to the numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scripts.demo.land import F32, fractal

NOTHING, SHADOW, GREEN, BARE, WATER, LIKELY, CLOUD, CIRRUS, SNOW = 0, 3, 4, 5, 6, 8, 9, 10, 11
"""Classes of Sentinel-2's scene classification that occur here."""

CLEAR = (4, 5, 6, 7, 11)
"""Those whose pixels show the ground: vegetation, bare, water, unclassified, snow."""

CLOUD_NUMBERS = (6900, 6700, 6800, 7100)
"""Reflectance x 10000 of a thick cloud, by band."""


@dataclass(frozen=True)
class Sky:
    """The sky over the whole land at one time; planes (y, x) have pixels of 20 m.

    Attributes
    ----------
    thickness : ndarray, float32
        0 without a cloud, 1 under a thick one.
    classes : ndarray, uint8
        Of clouds and shadows; `NOTHING` where the ground is seen.
    """

    thickness: F32
    classes: npt.NDArray[np.uint8]

    def above(self, ground: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """What is seen of the ground (band, y, x; 10 m) where it is not clear."""
        alpha = _twice(self.thickness)
        light = np.where(_twice(self.classes) == SHADOW, np.float32(0.4), np.float32(1))
        out = np.empty_like(ground)
        for i, cloud in enumerate(CLOUD_NUMBERS):
            out[i] = ground[i] * light * (1 - alpha) + cloud * alpha
        return np.maximum(out, 1, out=out)


def make_sky(seed: int, shape: tuple[int, int], cover: float) -> Sky:
    """A sky of which about `cover` (0 to 1) is cloud; `shape` is that of the land, in pixels of 10 m."""
    half = shape[0] // 2, shape[1] // 2
    rng = np.random.default_rng((21, seed))
    if cover >= 1:
        thickness = 0.75 + 0.25 * fractal(rng, half, half[0] / 3, 5)
        return Sky(thickness, np.where(thickness > 0.84, CLOUD, LIKELY).astype(np.uint8))
    if cover <= 0:
        return Sky(np.zeros(half, np.float32), np.zeros(half, np.uint8))
    heap = fractal(rng, half, half[0] / 2.5, 6)
    level = float(np.quantile(heap, 1 - cover))
    thickness = np.clip((heap - level) / 0.05 + 0.35, 0, 1) * (heap > level)
    veil = (heap > level - 0.012) & (heap <= level)  # thin edges, which the classification sees too
    classes = np.zeros(half, np.uint8)
    drop = round(rng.uniform(0.02, 0.05) * shape[0] / 2)  # clouds at 1 to 2 km; the sun stands in the south-south-east
    shadow = np.zeros(half, np.bool_)
    shadow[:-drop, : -(drop // 3 + 1)] = (heap > level)[drop:, drop // 3 + 1 :]
    classes[shadow] = SHADOW
    classes[veil] = CIRRUS
    classes[heap > level] = LIKELY
    classes[heap > level + 0.02] = CLOUD
    return Sky(thickness.astype(np.float32), classes)


def ground_classes(ground: npt.NDArray[np.int32], snow: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    """Classes of 20 m of the ground (band, y, x; 10 m) as a classification would have them."""
    _, _, red, nir = (band[::2, ::2].astype(np.float32) for band in ground)
    green = (nir - red) / (nir + red) > 0.45
    out = np.where(green, GREEN, BARE).astype(np.uint8)
    out[nir < 0.8 * red] = WATER
    out[snow[::2, ::2]] = SNOW
    return out


def _twice(plane: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The plane of 20 m at 10 m."""
    return plane.repeat(2, axis=0).repeat(2, axis=1)


def is_clear(classes: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Where the ground is seen, at 10 m, of classes at 20 m."""
    out: npt.NDArray[np.bool_] = _twice(np.isin(classes, CLEAR))
    return out

"""Composites of scenes as a source of frames: each region is one task (`compose`), which gives values and coverage.

Both come out of the same task, so that no pixel is read twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from typing import Any

import dask.array as da
import numpy as np
import numpy.typing as npt
from dask.delayed import Delayed

from chronozarr_dask.format.layout import COVERAGE, Window
from chronozarr_dask.graph.compose import compose
from chronozarr_dask.graph.composition import Composed, Composition, Timestep
from chronozarr_dask.graph.frames import DATA, Taken, Unit
from chronozarr_dask.graph.lazy import array_of, call
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.source.bandfile import KEPT_POSITIONS

MADE_POSITIONS = 4
"""Planes of centres in hand while a set of them is transformed, beside those that are kept."""


@dataclass(frozen=True)
class SourcePixels:
    """What the files hold for one pixel of the grid.

    Attributes
    ----------
    itemsize : int
        Bytes of a value in the files.
    in_a_pixel : float
        Pixels of a file in a pixel of the grid, at least 1.
    is_resampled : bool
        Whether any scene has to be.
    """

    itemsize: int
    in_a_pixel: float
    is_resampled: bool


@dataclass(frozen=True)
class SceneFrames:
    """The `FrameSource` of composites: "data" and "coverage".

    Attributes
    ----------
    composition : Composition
    timesteps : tuple of Timestep
        Of the whole store.
    """

    composition: Composition
    timesteps: tuple[Timestep, ...]

    names = (DATA, COVERAGE)

    def dtype(self, name: str) -> np.dtype[Any]:
        """Of "data" or "coverage"."""
        return np.dtype(self.composition.dtype if name == DATA else np.uint8)

    def is_lazy(self, name: str) -> bool:
        """Always: pixels are read when a region is computed."""
        return True

    def frames(self, name: str, region: Region, times: tuple[int, ...], window: Window, unit: Unit) -> da.Array:
        """(times, band, y, x) of "data", or (times, 1, y, x) of "coverage", as one block."""
        n_band, take = (self.composition.n_band, _values) if name == DATA else (1, _coverage)
        shape, dtype = (len(times), n_band, *window.shape), self.dtype(name)
        if not times:
            nothing: da.Array = da.zeros(shape, dtype=dtype, chunks=-1)
            return nothing
        return array_of(take, self._composed(times, window, unit), shape=shape, dtype=dtype, name=f"{name}-{unit.name}")

    def notes(self, times: tuple[int, ...], window: Window, unit: Unit) -> Delayed | None:
        """What the composites of the same call of `frames` tell of their scenes."""
        if not times:
            return None
        return call(Composed.notes, self._composed(times, window, unit), times, name=f"notes-{unit.name}")

    def taken(
        self, names: Iterable[str], region: Region, times: tuple[int, ...], window: Window, unit: Unit
    ) -> Taken | Delayed:
        """What the composites of the same call of `frames` decoded, and which scenes they lost."""
        if not times or not list(names):
            return Taken()
        return call(_taken, self._composed(times, window, unit), name=f"taken-{unit.name}")

    def _composed(self, times: tuple[int, ...], window: Window, unit: Unit) -> Delayed:
        steps = [self.timesteps[t].within(window) for t in times]
        return call(_Compose(self.composition, steps, window), name=f"composite-{unit.name}")


def _values(composed: Composed) -> npt.NDArray[Any]:
    return composed.values


def _taken(composed: Composed) -> Taken:
    return Taken(composed.nbytes, tuple(sorted({scene["id"] for scene in composed.lost})))


def _coverage(composed: Composed) -> npt.NDArray[np.uint8]:
    return composed.coverage[:, None]


@dataclass(frozen=True)
class _Compose:
    composition: Composition
    steps: list[Timestep]
    window: Window

    def __call__(self) -> Composed:
        return compose(self.composition, self.steps, self.window)


def making_bytes(timesteps: Iterable[Timestep], composition: Composition, source: SourcePixels) -> int:
    """Bytes of one pixel that the fullest timestep takes while it is composited (`PixelBytes.making`).

    The stack and its validity; the class validity of every tile; of each read in flight a tile and what is taken out of
    a file; the transformed centres.
    """
    n_observations, n_tiles = 0, 0
    for t in timesteps:
        n_observations = max(n_observations, len(t.observations))
        n_tiles = max(n_tiles, sum(map(len, t.observations)))
    stored = composition.n_band * np.dtype(composition.dtype).itemsize
    one_read = stored + 2 * source.itemsize * source.in_a_pixel
    positions = 16 * (KEPT_POSITIONS + MADE_POSITIONS) if source.is_resampled else 0
    return ceil(n_observations * (stored + 1) + n_tiles + min(n_tiles, composition.reads) * one_read + positions)

"""The source, or the part of it that `auto` samples, kept in the journal until its regions are stored.

Each source block is computed once and cut along the regions; each piece is one object that exactly one region reads::

    source blocks        pieces              regions
    ┌─────┬─────┐        ┌──┬──┬──┬──┐       ┌──┬─────┬──┐
    │  A  │  B  │   ->   │A1│A2│B2│B3│  ->   │1 │  2  │3 │
    └─────┴─────┘        └──┴──┴──┴──┘       └──┴─────┴──┘

Against one intermediate array with chunks of its own: no chunk is written in parts, none is read twice, and the blocks
may be as irregular as they like.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.layout import Window
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.store.frames import pack, unpack
from chronozarr_dask.store.journal import staging_key
from chronozarr_dask.store.target import Objects


@dataclass(frozen=True)
class StagedPart:
    """One piece: the frames of some timesteps in a window of level 0.

    Attributes
    ----------
    objects : Objects
        The journal's.
    key : str
    times : tuple of int
        Timestep of each frame.
    window : Window
        Pixels of level 0.
    """

    objects: Objects
    key: str
    times: tuple[int, ...]
    window: Window

    def write(self, frames: npt.NDArray[Any]) -> int:
        """Keep `frames`, ndarray (times, band, y, x); returns the bytes written."""
        blob = pack(frames)
        self.objects.put(self.key, blob)
        return len(blob)

    def read(self) -> npt.NDArray[Any]:
        """The frames."""
        where = f"{self.objects.url}/{self.key}"
        blob = self.objects.get(self.key)
        if blob is None:
            raise StoreError(
                f"{where} is gone: something removed it from the journal, as another owner of the run may do; go on "
                f"with resume, and where that says the same, begin again with another target"
            )
        return unpack(blob, where)


def read_parts(
    parts: Sequence[StagedPart], times: tuple[int, ...], window: Window, n_band: int, dtype: str
) -> npt.NDArray[Any]:
    """Frames of `times` in `window` out of the pieces that meet it: ndarray (times, n_band, y, x)."""
    out = np.empty((len(times), n_band, *window.shape), dtype)
    at = {t: i for i, t in enumerate(times)}
    n_missing = out.size
    for part in parts:
        both = meet(part.window, window)
        wanted = [(i, at[t]) for i, t in enumerate(part.times) if t in at]
        if both is None or not wanted:
            continue
        frames = part.read()
        source, into = (within(both, w) for w in (part.window, window))
        for i, j in wanted:
            out[j][(slice(None), *into)] = frames[i][(slice(None), *source)]
        n_missing -= len(wanted) * n_band * both.shape[0] * both.shape[1]
    assert n_missing == 0, f"{n_missing} staged pixels are missing"
    return out


def meet(a: Window, b: Window) -> Window | None:
    """The window that two windows share, or None."""
    y0, y1, x0, x1 = max(a.y0, b.y0), min(a.y1, b.y1), max(a.x0, b.x0), min(a.x1, b.x1)
    return Window(y0, y1, x0, x1) if y0 < y1 and x0 < x1 else None


def within(inner: Window, outer: Window) -> tuple[slice, slice]:
    """Slices of `inner` in an array that begins at `outer`'s corner."""
    return (
        slice(inner.y0 - outer.y0, inner.y1 - outer.y0),
        slice(inner.x0 - outer.x0, inner.x1 - outer.x0),
    )


@dataclass(frozen=True)
class StagingMap:
    """Which pieces there are, as a function of the plan and of the source's blocks.

    Attributes
    ----------
    objects : Objects
        The journal's.
    plan : Plan
    time_cuts, y_cuts, x_cuts : tuple of int
        Boundaries of what is staged at once: the source's blocks, or the cells.
    """

    objects: Objects
    plan: Plan
    time_cuts: tuple[int, ...]
    y_cuts: tuple[int, ...]
    x_cuts: tuple[int, ...]

    def pieces(self, name: str, region: Region) -> Iterator[StagedPart]:
        """The pieces that a region of pass 0 reads."""
        window = self.plan.passes[0].pixels(region, self.plan.layout)
        reads = self.plan.slabs.reads(region.slab)
        for t0, t1 in _spans(self.time_cuts, reads[0], reads[-1] + 1) if reads else ():
            times = tuple(t for t in reads if t0 <= t < t1)
            if not times:
                continue
            for y0, y1 in _spans(self.y_cuts, window.y0, window.y1):
                for x0, x1 in _spans(self.x_cuts, window.x0, window.x1):
                    both = meet(window, Window(y0, y1, x0, x1))
                    assert both is not None
                    yield self._piece(name, region, times, both)

    def pieces_of_block(self, name: str, block: tuple[int, int, int]) -> Iterator[StagedPart]:
        """The pieces that a block (its index along time, y and x) is cut into."""
        t0, t1 = self.time_cuts[block[0]], self.time_cuts[block[0] + 1]
        window = Window(*self.y_cuts[block[1] : block[1] + 2], *self.x_cuts[block[2] : block[2] + 2])
        p = self.plan.passes[0]
        cs = self.plan.layout.chunk_size
        cells = Window(window.y0 // cs, -(-window.y1 // cs), window.x0 // cs, -(-window.x1 // cs))
        for region in p.covering(cells, range(self.plan.layout.n_time), 0):
            times = tuple(t for t in self.plan.slabs.reads(region.slab) if t0 <= t < t1)
            both = meet(window, p.pixels(region, self.plan.layout))
            if times and both is not None:
                yield self._piece(name, region, times, both)

    def _piece(self, name: str, region: Region, times: tuple[int, ...], window: Window) -> StagedPart:
        key = staging_key(region, name, f"{times[0]}-{window.y0}-{window.x0}")
        return StagedPart(self.objects, key, times, window)


def _spans(cuts: tuple[int, ...], start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The intervals between `cuts` that meet [start, stop)."""
    for a, b in pairwise(cuts):
        if a < stop and b > start:
            yield a, b


def write_block(parts: Sequence[StagedPart], frames: npt.NDArray[Any], times: Sequence[int], y0: int, x0: int) -> int:
    """Cut one block into its pieces; returns the bytes written.

    Parameters
    ----------
    frames : ndarray (times, band, y, x)
    times : sequence of int
        Timestep of each frame.
    y0, x0 : int
        Row and column of the first pixel.
    """
    at = {t: i for i, t in enumerate(times)}
    total = 0
    for part in parts:
        rows, w = [at[t] for t in part.times], part.window
        total += part.write(frames[:, :, w.y0 - y0 : w.y1 - y0, w.x0 - x0 : w.x1 - x0][rows])
    return total

"""Composites of scenes as a source of frames: each region is one task, which reads its scenes and composites them.

::

    scenes of a timestep -> classes, all at once -> where some pixel is valid: bands, all at once -> stack -> composite

A region is made strip after strip of rows, cut where the blocks of the files are, so that the stack in hand is of one
strip and one timestep and no block is decoded twice for it. A bounded number of reads is in flight.

Values and coverage come out of the same task, so that no pixel is read twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

import dask.array as da
import numpy as np
import numpy.typing as npt
from dask.delayed import Delayed

from chronozarr_dask.composite.mosaic import merge_tile
from chronozarr_dask.composite.reduce import Method, reduce_observations
from chronozarr_dask.composite.validity import Rule, apply_offset, count_least, drop_missing
from chronozarr_dask.errors import InputError
from chronozarr_dask.format.dtypes import Number
from chronozarr_dask.format.layout import COVERAGE, Window
from chronozarr_dask.graph.frames import DATA, Unit
from chronozarr_dask.graph.lazy import array_of, call
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.source.bandfile import Centres
from chronozarr_dask.source.observe import Observer
from chronozarr_dask.source.stac.items import Scene
from chronozarr_dask.store.heap import give_back

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class SceneUse:
    """A scene of a run.

    Attributes
    ----------
    scene : Scene
        Narrowed to the bands, and behind them the class asset where there is one.
    offset : int
        What is added to its pixels (see `source.stac.offsets`).
    reach : Window or None
        Pixels of the grid beyond which it has none; None where its item does not tell.
    """

    scene: Scene
    offset: int = 0
    reach: Window | None = None

    def reaches(self, window: Window) -> bool:
        """Whether it may have pixels in a window."""
        r = self.reach
        return r is None or (r.y0 < window.y1 and window.y0 < r.y1 and r.x0 < window.x1 and window.x0 < r.x1)


@dataclass(frozen=True)
class Timestep:
    """Observations of one timestep in the order of (datetime, id), each of one scene or of the tiles of a pass.

    Attributes
    ----------
    observations : tuple of tuples of SceneUse
    preference : tuple of int or None
        Indices of the observations, the best first: for the method "best".
    """

    observations: tuple[tuple[SceneUse, ...], ...]
    preference: tuple[int, ...] | None = None

    def within(self, window: Window) -> Timestep:
        """The observations that may have pixels in a window."""
        found = [tuple(s for s in tiles if s.reaches(window)) for tiles in self.observations]
        kept = [i for i, tiles in enumerate(found) if tiles]
        order = None
        if self.preference is not None:
            order = tuple(kept.index(i) for i in self.preference if i in kept)
        return Timestep(tuple(found[i] for i in kept), order)


@dataclass(frozen=True)
class Strips:
    """Where a window is cut into strips of rows: at `first`, and every `height` rows above and below it."""

    first: int = 0
    height: int = 512

    def of(self, window: Window) -> list[Window]:
        """The strips of a window, from top to bottom."""
        begin = window.y0 + (self.first - window.y0) % self.height
        cuts = [window.y0, *range(begin, window.y1, self.height), window.y1]
        return [replace(window, y0=a, y1=b) for a, b in pairwise(cuts) if a < b]


@dataclass(frozen=True)
class Composition:
    """How scenes become composites.

    Attributes
    ----------
    observer : Observer
    n_band : int
    rule : ClassRule, BitRule or None
        What of the class plane counts; None where there is no class plane.
    method : Method
    dtype : str
        Of the store.
    nodata : number or None
        Of the store: a pixel that has it in any band is not valid.
    fill : number
        What a pixel without a valid observation holds.
    cast : bool
        Whether sources of another dtype are taken where every value fits.
    keep_going : bool
        Whether a scene that cannot be read is left out and told of, instead of ending the run.
    reads : int
        Reads in flight at a time in one process.
    strips : Strips
    """

    observer: Observer
    n_band: int
    rule: Rule | None
    method: Method
    dtype: str
    nodata: Number | None
    fill: Number
    cast: bool = False
    keep_going: bool = False
    reads: int = 8
    strips: Strips = Strips()


@dataclass
class Composed:
    """Composites of one region, and what is told of them.

    Attributes
    ----------
    values : ndarray (time, band, y, x)
    coverage : ndarray (time, y, x), uint8
    valid : mapping of scene id to [valid pixels, of them those that an offset took to the least number]
    lost : list of {"id", "error"}
        Scenes that could not be read.
    """

    values: npt.NDArray[Any]
    coverage: npt.NDArray[np.uint8]
    valid: dict[str, list[int]] = field(default_factory=dict)
    lost: list[dict[str, str]] = field(default_factory=list)

    def notes(self, times: tuple[int, ...]) -> dict[str, Any]:
        """What the journal keeps of it; `times` are its timesteps."""
        covered = [int(np.count_nonzero(frame)) for frame in self.coverage]
        return {"times": list(times), "covered": covered, "valid": self.valid, "lost": self.lost}


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

    def _composed(self, times: tuple[int, ...], window: Window, unit: Unit) -> Delayed:
        steps = [self.timesteps[t].within(window) for t in times]
        return call(_Compose(self.composition, steps, window), name=f"composite-{unit.name}")


def _values(composed: Composed) -> npt.NDArray[Any]:
    return composed.values


def _coverage(composed: Composed) -> npt.NDArray[np.uint8]:
    return composed.coverage[:, None]


@dataclass(frozen=True)
class _Compose:
    composition: Composition
    steps: list[Timestep]
    window: Window

    def __call__(self) -> Composed:
        return compose(self.composition, self.steps, self.window)


def compose(composition: Composition, steps: Sequence[Timestep], window: Window) -> Composed:
    """Composites of a window of the grid, timestep after timestep.

    Raises
    ------
    InputError
        If a scene cannot be read, or does not hold what it should; not with `keep_going`.
    """
    shape = (len(steps), composition.n_band, *window.shape)
    out = Composed(np.full(shape, composition.fill, composition.dtype), np.zeros((len(steps), *window.shape), np.uint8))
    for strip in composition.strips.of(window):
        centres = Centres(composition.observer.grid, strip)
        rows = slice(strip.y0 - window.y0, strip.y1 - window.y0)
        for i, step in enumerate(steps):
            stack, valid, order = _Stack(composition, centres, out).read(step.within(strip))
            if len(stack):
                out.values[i][:, rows], out.coverage[i, rows] = reduce_observations(
                    stack, valid, composition.method, composition.fill, order
                )
            del stack, valid  # before the next one is read
    give_back()
    return out


@dataclass
class _Tile:
    """One scene in a window: its part of the grid and which pixels count so far."""

    use: SceneUse
    part: Window | None
    valid: npt.NDArray[np.uint8] | None


@dataclass(frozen=True)
class _Stack:
    """Reads the observations of one timestep into a stack."""

    composition: Composition
    centres: Centres
    out: Composed

    def read(self, step: Timestep) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint8], list[int] | None]:
        """(observation, band, y, x), (observation, y, x) and the order of preference, of those with a valid pixel."""
        pool = _pool(self.composition.reads)
        uses = [use for tiles in step.observations for use in tiles]
        told = dict(zip(map(id, uses), _bounded(pool, self._classes, uses, self.composition.reads), strict=True))
        seen = [[t for use in tiles if (t := told[id(use)]) is not None] for tiles in step.observations]
        kept = [i for i, tiles in enumerate(seen) if tiles]
        shape = self.centres.window.shape
        stack = np.empty((len(kept), self.composition.n_band, *shape), self.composition.dtype)
        valid = np.zeros((len(kept), *shape), np.uint8)

        def fill(slot: int) -> None:
            for i, tile in enumerate(seen[kept[slot]]):
                self._merge(tile, stack[slot], valid[slot], is_first=i == 0)

        for _ in _bounded(pool, fill, range(len(kept)), self.composition.reads):
            pass
        order = None if step.preference is None else [kept.index(i) for i in step.preference if i in kept]
        return stack, valid, order

    def _classes(self, use: SceneUse) -> _Tile | None:
        """Which pixels of a scene count by their class; None where none does."""
        rule = self.composition.rule
        if rule is None:
            return _Tile(use, None, None)
        try:
            plane = self.composition.observer.classes(use.scene, use.scene.assets[-1], self.centres, rule.nothing)
        except InputError as error:
            self._lose(use, error)
            return None
        if plane is None:
            return None
        valid = rule.valid(plane.pixels)
        if plane.present is not None:
            valid &= plane.present
        if valid.any():
            return _Tile(use, plane.part, valid)
        self._tell(use, 0, 0)
        return None

    def _merge(self, tile: _Tile, bands: npt.NDArray[Any], valid: npt.NDArray[np.uint8], *, is_first: bool) -> None:
        """Read the bands of a scene and put its valid pixels where the observation has none yet.

        The first of the tiles, when it covers all, is read into the observation itself.
        """
        try:
            read = self._bands(tile, bands if is_first else None)
        except InputError as error:
            self._lose(tile.use, error)
            return
        if read is None:
            return
        part, pixels, ok = read
        if pixels is bands:
            valid[...] = ok
            return
        o = self.centres.window
        at = slice(part.y0 - o.y0, part.y1 - o.y0), slice(part.x0 - o.x0, part.x1 - o.x0)
        merge_tile(bands[:, *at], valid[at], pixels, ok)

    def _bands(
        self, tile: _Tile, room: npt.NDArray[Any] | None
    ) -> tuple[Window, npt.NDArray[Any], npt.NDArray[np.uint8]] | None:
        """Part, (band, y, x) in the store's dtype, and validity; None where no pixel counts."""
        composition, use, part, valid = self.composition, tile.use, tile.part, tile.valid
        pixels: npt.NDArray[Any] | None = None
        for i, asset in enumerate(use.scene.assets[: composition.n_band]):
            plane = composition.observer.band(use.scene, asset, self.centres, part, composition.nodata)
            if plane is None:
                return None
            if pixels is None or valid is None:
                part = plane.part
                valid = np.ones(part.shape, np.uint8) if valid is None else valid
                shape = (composition.n_band, *part.shape)
                pixels = room if room is not None and room.shape == shape else np.empty(shape, composition.dtype)
            drop_missing(valid, plane.pixels[None], plane.missing)
            if plane.present is not None:
                valid &= plane.present
            pixels[i] = self._as_stored(plane.pixels, valid, f"band {asset.name!r} of {use.scene.where}")
            if not valid.any():
                self._tell(use, 0, 0)
                return None
        assert part is not None
        assert pixels is not None
        assert valid is not None
        drop_missing(valid, pixels, composition.nodata)
        if use.offset:
            apply_offset(pixels, use.offset, int(composition.nodata or 0))
            least, n_valid = count_least(pixels, valid)
        else:
            least, n_valid = 0, int(np.count_nonzero(valid))
        self._tell(use, n_valid, least)
        return part, pixels, valid

    def _as_stored(self, pixels: npt.NDArray[Any], valid: npt.NDArray[np.uint8], what: str) -> npt.NDArray[Any]:
        """Pixels in the store's dtype."""
        stored = np.dtype(self.composition.dtype)
        if pixels.dtype == stored:
            return pixels
        if not self.composition.cast:
            raise InputError(
                f"{what} is {pixels.dtype}, and the store is {stored}: name the dtype that all values fit in with "
                f"composite.dtype"
            )
        with np.errstate(invalid="ignore"):
            cast = pixels.astype(stored)
        wrong = (cast != pixels) & (valid != 0)
        if wrong.any():
            raise InputError(
                f"{what} has the value {pixels[wrong].flat[0]}, which {stored} cannot hold (composite.dtype); take a "
                f"dtype that holds every value"
            )
        return cast

    def _tell(self, use: SceneUse, n_valid: int, least: int) -> None:
        told = self.out.valid.setdefault(use.scene.id, [0, 0])
        told[0] += n_valid
        told[1] += least

    def _lose(self, use: SceneUse, error: InputError) -> None:
        if not self.composition.keep_going:
            raise error
        self.out.lost.append({"id": use.scene.id, "error": str(error)})


@cache
def _pool(n: int) -> ThreadPoolExecutor:
    """Threads that read, shared by the regions of a process: so many reads are in flight in it at most."""
    return ThreadPoolExecutor(n, thread_name_prefix="read")


def _bounded(pool: ThreadPoolExecutor, work: Callable[[T], U], items: Iterable[T], ahead: int) -> Iterator[U]:
    """Results in the order of the items; after an error nothing more begins, and what runs is waited for."""
    waiting: deque[Any] = deque()
    source = iter(items)
    try:
        for item in source:
            waiting.append(pool.submit(work, item))
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
        for future in waiting:
            if not future.cancelled():
                future.exception()


def making_bytes(timesteps: Iterable[Timestep], n_band: int, dtype: str, *, resampled: bool) -> int:
    """Bytes of one pixel that the fullest timestep takes while it is composited (`PixelBytes.making`)."""
    most = max((len(t.observations) for t in timesteps), default=0)
    one = n_band * np.dtype(dtype).itemsize + 1
    positions = 16 * 2 if resampled else 0
    return most * one + min(most, Composition.reads) * one + positions

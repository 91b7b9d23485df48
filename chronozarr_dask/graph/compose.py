"""Read the scenes of a window and composite them: what one task of a region does.

::

    scenes of a timestep -> classes, all at once -> where some pixel is valid: bands, all at once -> stack -> composite

A window is made strip after strip of rows, cut where the blocks of the files are, so that the stack in hand is of one
strip and one timestep and no block is decoded twice for it. A bounded number of reads is in flight.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from chronozarr_dask.composite.mosaic import merge_tile
from chronozarr_dask.composite.reduce import reduce_observations
from chronozarr_dask.composite.validity import apply_offset, count_least, drop_missing
from chronozarr_dask.errors import InputError, ReadError
from chronozarr_dask.format.layout import Window
from chronozarr_dask.graph.composition import Composed, Composition, SceneUse, Timestep
from chronozarr_dask.source.bandfile import Centres
from chronozarr_dask.store.heap import give_back

T = TypeVar("T")
U = TypeVar("U")


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
            reads = _Stack(composition, centres, out)
            stack, valid, order = reads.read(step.within(strip))
            out.nbytes += sum(reads.decoded)
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
    """Reads the observations of one timestep into a stack; `decoded` is told the bytes of each read, by any thread."""

    composition: Composition
    centres: Centres
    out: Composed
    decoded: list[int] = field(default_factory=list)

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
        except ReadError as error:
            self._lose(use, error)
            return None
        if plane is None:
            return None
        self.decoded.append(plane.nbytes)
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
        except ReadError as error:
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
            self.decoded.append(plane.nbytes)
            if pixels is None or valid is None:
                part = plane.part
                valid = np.ones(part.shape, np.uint8) if valid is None else valid
                shape = (composition.n_band, *part.shape)
                pixels = room if room is not None and room.shape == shape else np.empty(shape, composition.dtype)
            drop_missing(valid, plane.pixels[None], plane.missing)
            if plane.present is not None:
                valid &= plane.present
            is_dn = plane.pixels.dtype.kind == "u"
            if is_dn and (use.offset or use.scene.is_sentinel2):
                drop_missing(valid, plane.pixels[None], 0)  # DN 0 is no value, whatever the store's nodata is
            if use.offset:  # before the cast: the sum may fit where the pixel does not
                nodata = None if composition.nodata is None else int(composition.nodata)
                apply_offset(plane.pixels[None], use.offset, 0 if is_dn else nodata)
            pixels[i] = self._as_stored(plane.pixels, valid, f"band {asset.name!r} of {use.scene.where}")
            if not valid.any():
                self._tell(use, 0, 0)
                return None
        assert part is not None
        assert pixels is not None
        assert valid is not None
        drop_missing(valid, pixels, composition.nodata)
        least, n_valid = count_least(pixels, valid) if use.offset else (0, int(np.count_nonzero(valid)))
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
        told = self.out.valid.setdefault((use.scene.collection, use.scene.id), [0, 0])
        told[0] += n_valid
        told[1] += least

    def _lose(self, use: SceneUse, error: ReadError) -> None:
        if not self.composition.keep_going:
            raise error
        self.out.lost.append({"collection": use.scene.collection, "id": use.scene.id, "error": str(error)})


_pools: dict[int, ThreadPoolExecutor] = {}
_pools_lock = threading.Lock()


def _pool(n: int) -> ThreadPoolExecutor:
    """Threads that read, shared by the regions of a process: so many reads are in flight in it at most."""
    with _pools_lock:
        if n not in _pools:
            _pools[n] = ThreadPoolExecutor(n, thread_name_prefix="read")
        return _pools[n]


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

"""Sections 4.2 and 10 (rules 4 to 6): one read at work: what must be fetched, all at once, and where it goes.

Every stored chunk that the read needs is known before the first request, so all are asked for together::

    cells x timesteps   -> chunks     the residual of each timestep, and each anchor once unless it is held
    shards              -> indexes    of all cells at once, then ranges of chunks that lie together
    chunks, as they come -> anchor:   held for its star, and for later reads; residuals that came before it are freed
                           residual:  added to its anchor, or kept until that comes

No task waits for another, so a pool of any size does it. Anchors that another read is just fetching are waited for at
the end, when nothing of this read is left to do.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.format.temporal import Temporal
from chronozarr_dask.store.cache import Cache
from chronozarr_dask.store.chunks import Chunks
from chronozarr_dask.store.cost import carried
from chronozarr_dask.store.ranges import Range

IN_FLIGHT = 64
"""Tasks of one read that are handed to the pool at a time: a small read beside a large one waits for these only."""

Array = npt.NDArray[Any]
Key = tuple[str, int, int, int]
"""(path of the array, anchor, row, col) in the cache of anchors."""


@dataclass
class Star:
    """An anchor of one cell, and the residuals of this read that refer to it.

    Attributes
    ----------
    left : int
        Residuals that are not placed yet.
    value : ndarray or None
        The decoded anchor, from when it comes until nothing is left.
    waiting : list of (int, ndarray)
        Timesteps and residuals that came first.
    claim : Future or None
        To be settled in the cache when the anchor was fetched.
    """

    left: int = 0
    value: Array | None = None
    waiting: list[tuple[int, Array]] = field(default_factory=list)
    claim: Future[Array] | None = None


Place = Callable[[int, int, int, Array, Array | None], None]
"""Takes (t, row, col, stored chunk, the anchor to be added to it)."""


class Assembly:
    """One read.

    Parameters
    ----------
    chunks : Chunks
    temporal : Temporal
    anchors : Cache
        Decoded anchors, shared by the reads of a store.
    place : callable
        Gets each timestep of each cell that was asked for once, from any thread.
    """

    def __init__(self, chunks: Chunks, temporal: Temporal, anchors: Cache[Array], place: Place) -> None:
        self.chunks = chunks
        self.temporal = temporal
        self.anchors = anchors
        self.place = place
        self.stars: dict[Key, Star] = {}
        self.wanted: frozenset[int] = frozenset()
        self.theirs: list[tuple[Key, Future[Array]]] = []
        self.lock = threading.Lock()
        self.decoders = threading.BoundedSemaphore(os.cpu_count() or 1)
        self.buffers: list[npt.NDArray[np.uint8]] = []

    def run(self, times: Iterable[int], cells: Iterable[tuple[int, int]], pool: Callable[[], Executor]) -> None:
        """Read the given timesteps of the given cells (row, col)."""
        self.wanted = frozenset(times)
        try:
            needs = [(t, row, col) for row, col in cells for t in self._needs(row, col)]
            if self.chunks.meta.sharding is None:
                _each(self._one, needs, pool)
            else:
                _each(self._range, self._located(needs, pool), pool)
            for key, future in self.theirs:
                self._deliver(*key[1:], future.result())
        except BaseException as error:
            for key, star in self.stars.items():
                if star.claim is not None:
                    self.anchors.fail(key, star.claim, error)
            raise

    # ---- what is needed ---------------------------------------------------------------------------------------------

    def _needs(self, row: int, col: int) -> list[int]:
        """Timesteps whose stored chunks must be fetched for one cell, each anchor before its residuals."""
        if self.temporal.encoding == "none":
            return sorted(self.wanted)
        by_anchor: dict[int, list[int]] = defaultdict(list)
        for t in sorted(self.wanted):
            by_anchor[self.temporal.reference(t)].append(t)
        out = []
        for a, times in sorted(by_anchor.items()):
            residuals = [t for t in times if t != a]
            if self._claim(a, row, col, len(residuals)):
                out.append(a)
            out += residuals
        return out

    def _claim(self, a: int, row: int, col: int, left: int) -> bool:
        """Look for an anchor; whether it must be fetched."""
        key = (self.chunks.path, a, row, col)
        future, mine = self.anchors.claim(key)
        self.stars[key] = Star(left, claim=future if mine else None)
        if mine:
            return True
        if future.done():
            self._deliver(a, row, col, future.result())
        else:
            self.theirs.append((key, future))
        return False

    def _located(self, needs: list[tuple[int, int, int]], pool: Callable[[], Executor]) -> list[tuple[Range, int, int]]:
        """The ranges to read; chunks that are not stored are delivered."""
        shards: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        for t, row, col in needs:
            shards[t // self.chunks.shard_time, row, col].append(t)
        ranges: list[tuple[Range, int, int]] = []

        def locate(row: int, col: int, times: list[int]) -> None:
            parts, empty = self.chunks.locate(times, row, col)
            with self.lock:
                ranges.extend((part, row, col) for part in parts)
            for t in empty:
                self._deliver(t, row, col, self.chunks.fill())

        _each(locate, [(row, col, times) for (_, row, col), times in shards.items()], pool)
        return sorted(ranges, key=lambda r: (r[1], r[2], r[0].entries[0].t))

    # ---- as it comes ------------------------------------------------------------------------------------------------

    def _one(self, t: int, row: int, col: int) -> None:
        blob = self.chunks.fetch(t, row, col)
        if blob is None:
            self._deliver(t, row, col, self.chunks.fill())
        else:
            self._decode(t, row, col, blob)

    def _range(self, part: Range, row: int, col: int) -> None:
        for t, blob in self.chunks.fetch_range(part, row, col):
            self._decode(t, row, col, blob)

    def _decode(self, t: int, row: int, col: int, blob: bytes) -> None:
        """Decode and deliver a chunk: into new memory where it is kept, else into a buffer that is used again.

        There are many more threads than processors: they take turns, and the first touch of new memory, which costs a
        third of decoding, is paid once for each processor instead of once for each chunk.
        """
        with self.decoders:
            if self.temporal.encoding != "none" and self.temporal.reference(t) == t:
                self._deliver(t, row, col, self.chunks.decoded(blob, t, row, col))
                return
            with self.lock:
                buffer = self.buffers.pop() if self.buffers else np.empty(self.chunks.meta.chunk_bytes, np.uint8)
            if self._deliver(t, row, col, self.chunks.decoded(blob, t, row, col, buffer)):
                with self.lock:
                    self.buffers.append(buffer)

    def _deliver(self, t: int, row: int, col: int, chunk: Array) -> bool:
        """A stored chunk is there: place what it makes complete. Whether a residual or true value is done with."""
        if self.temporal.encoding == "none":
            self.place(t, row, col, chunk, None)
            return True
        a = self.temporal.reference(t)
        key = (self.chunks.path, a, row, col)
        star = self.stars[key]
        if t != a:
            with self.lock:
                anchor = star.value
                if anchor is None:
                    star.waiting.append((t, chunk))
                    return False
            self._restore(star, [(t, chunk)], row, col, anchor)
            return True
        if star.claim is not None:
            self.anchors.settle(key, star.claim, chunk)
        if t in self.wanted:
            self.place(t, row, col, chunk, None)
        with self.lock:
            star.value = chunk if star.left else None
            waiting, star.waiting = star.waiting, []
        self._restore(star, waiting, row, col, chunk)
        return False

    def _restore(self, star: Star, residuals: list[tuple[int, Array]], row: int, col: int, anchor: Array) -> None:
        for t, residual in residuals:
            self.place(t, row, col, residual, anchor)
        with self.lock:
            star.left -= len(residuals)
            if not star.left:
                star.value = None


def _each(function: Callable[..., None], tasks: list[Any], pool: Callable[[], Executor]) -> None:
    """Call a function with each tuple of arguments, in the pool where there are several; the first error is raised.

    Nothing is at work any more when this returns or raises.
    """
    if len(tasks) == 1:
        function(*tasks[0])
        return
    if not tasks:
        return
    executor, at_work = pool(), deque[Future[None]]()
    try:
        for task in tasks:
            if len(at_work) == IN_FLIGHT:
                at_work.popleft().result()
            at_work.append(executor.submit(carried(function, *task)))
        while at_work:
            at_work.popleft().result()
    finally:
        _stop(at_work)


def _stop(at_work: Iterable[Future[None]]) -> None:
    for future in [f for f in at_work if not f.cancel()]:
        future.exception()  # waits

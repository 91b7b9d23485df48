"""A Dask cluster behind a client, whose workers come and go: each region prefers the worker that has the fewest.

Workers are looked for again and again. Those that join are given regions at once; what a worker held that leaves is
done again by others; and while there is none, the run waits and says so.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

import dask
import numpy.typing as npt

from chronozarr_dask.errors import ChronozarrWarning, InputError, RunError
from chronozarr_dask.graph.frames import Unit
from chronozarr_dask.run.agreement import check_versions
from chronozarr_dask.run.clients import dashboard_link
from chronozarr_dask.run.history import History
from chronozarr_dask.run.machine import DEFAULT_SHARE, memory_limit
from chronozarr_dask.run.workers import CHECK_SECONDS, Build, Finished, ended, nothing

REFRESH_SECONDS = 2.0
"""How often a cluster is asked for its workers."""

FIRST_WORKER_SECONDS = 60.0
"""How long a cluster may take to have its first worker: its workers may be starting."""

SILENT_SECONDS = 60.0
"""How long a scheduler may not answer."""

TOLD_SECONDS = 10.0
"""How long there may be no worker before it is told."""

DRAIN_POLL_SECONDS = 0.1

SCATTER_SECONDS = 2.0
"""How long the scheduler may look for a worker to send pixels to."""

SCATTER_PAUSES = (0.0, 0.2, 1.0, 5.0, 20.0, 60.0)
"""Seconds before each try to send pixels: the worker that they were sent to may be gone, or take nothing."""


class Cluster:
    """A `distributed.Client`: the tasks of a region prefer one worker, the one with the fewest regions.

    Raises
    ------
    InputError
        If the cluster has no worker, or one that does not agree with this process (`agreement`).
    """

    check: Callable[[], None] = staticmethod(nothing)

    def __init__(self, client: Any, memory: int | None) -> None:
        self._client = client
        self._history = History(client)
        self._workers: dict[str, int] = {}
        self._answered = self._asked = self._had_workers = time.monotonic()
        self._is_told = False
        self._pending: dict[Any, tuple[Any, str]] = {}
        self._refresh()
        if not self._workers:
            self._await_first()
        info = client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [w["memory_limit"] for w in info if w.get("memory_limit")]
        self.process_threads = max(self._workers.values(), default=1)
        self.memory = memory or int(min(limits, default=memory_limit() // max(1, len(self._workers))) * DEFAULT_SHARE)
        self._in_flight = self.process_threads
        self._busy: Counter[str] = Counter()
        self._completed: SimpleQueue[Any] = SimpleQueue()
        self.dashboard = dashboard_link(client)

    def _await_first(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=FIRST_WORKER_SECONDS)
        except TimeoutError as error:
            raise InputError(
                f"the client's cluster has no worker, and none came in {FIRST_WORKER_SECONDS:.0f} s: start at least one"
            ) from error
        self._refresh()

    def _refresh(self) -> bool:
        """Ask for the workers; whether one has joined. A scheduler may be silent for a while."""
        self._asked = time.monotonic()
        try:
            if self._client.status != "running":
                raise OSError(f"the connection is {self._client.status}")
            found = dict(self._client.nthreads())
            self._history.trim()
            joined = found.keys() - self._workers.keys()
            if joined:
                check_versions(self._client, joined)
        except OSError as error:
            silent = self._asked - self._answered
            if silent > SILENT_SECONDS or self._client.status in ("closing", "closed"):
                raise RunError(
                    f"the Dask scheduler has not answered for {silent:.0f} s ({error}): what is finished is kept in "
                    f"the journal; start a cluster and go on with resume=True, or with --resume"
                ) from error
            return False
        self._answered = self._asked
        lost_all = bool(joined) and not found.keys() & self._workers.keys()
        self._workers = found
        self._note_workers()
        if lost_all:
            self._give_up()
        return bool(joined)

    def _give_up(self) -> None:
        """Cancel what was sent to workers that are gone, when all were: their regions are tried again.

        A task may run elsewhere than where it was sent; but one that was waiting while there was no worker at all is
        kept by the scheduler (2026.8.0) for the very worker that it was sent to, which does not come back.
        """
        stuck = [f for f, (_, place) in self._pending.items() if place not in self._workers and not f.done()]
        if stuck:
            self._client.cancel(stuck, force=True)

    def _note_workers(self) -> None:
        if self._workers:
            self._had_workers, self._is_told = self._asked, False
        elif not self._is_told and self._asked - self._had_workers > TOLD_SECONDS:
            self._is_told = True
            warnings.warn(
                "the cluster has no worker any more: waiting for one; to end the run, interrupt it (Ctrl-C)",
                ChronozarrWarning,
                stacklevel=2,
            )

    @property
    def threads(self) -> int:
        """Threads of all workers."""
        return sum(self._workers.values())

    def limit(self, in_flight: int) -> None:
        """Take at most so many regions at once for each worker, and one more that waits."""
        self._in_flight = in_flight

    @property
    def capacity(self) -> int:
        """Units of work that can be taken now: one more than the workers take, so that scaling sees what waits."""
        return max(1, len(self._workers)) * self._in_flight + 1 - len(self._pending)

    def submit(self, item: Any, build: Build) -> None:
        """Begin a unit of work on the least busy worker; wait for one where there is none."""
        if time.monotonic() - self._asked > REFRESH_SECONDS:
            self._refresh()
        self._await_worker()
        place = min(sorted(self._workers), key=lambda w: self._busy[w] / self._workers[w])

        def hold(pixels: npt.NDArray[Any]) -> Any:
            return self._scatter(pixels, place)

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}), self._history.noted():
            future = self._client.compute(
                build(Unit(uuid4().hex[:16], hold)), retries=0, workers=[place], allow_other_workers=True
            )
        self._busy[place] += 1
        self._pending[future] = (item, place)
        future.add_done_callback(self._completed.put)

    def _await_worker(self) -> None:
        while not self._workers or self._client.status != "running":
            time.sleep(CHECK_SECONDS)
            self.check()
            self._refresh()

    def _scatter(self, pixels: npt.NDArray[Any], place: str) -> Any:
        """Send pixels to a worker; to any other when it has died, of which the scheduler may not know, or is paused."""
        failed: Exception | None = None
        for pause in SCATTER_PAUSES:
            if failed:
                time.sleep(pause)
                self._refresh()
            self._await_worker()
            workers = [place] if failed is None and place in self._workers else None
            try:
                return self._client.scatter(pixels, workers=workers, hash=False, timeout=SCATTER_SECONDS)
            except (OSError, KeyError) as error:  # the worker is silent or paused, or unknown to the scheduler by now
                failed = error
        raise RunError(
            f"no worker takes pixels ({failed}; are they paused, for want of memory?): what is finished is kept in the "
            f"journal; go on with resume=True, or with --resume"
        ) from failed

    def finished(self) -> list[Finished]:
        """Wait until something has ended and give all that has; nothing where workers have joined instead."""
        self.check()
        while (first := self._next()) is None:
            self.check()
            if time.monotonic() - self._asked > REFRESH_SECONDS and self._refresh() and self.capacity > 0:
                return []
        out = []
        while first is not None:
            item, place = self._pending.pop(first)
            self._busy[place] -= 1
            out.append(ended(item, first))
            first.release()
            first = None if self._completed.empty() else self._completed.get()
        return out

    def _next(self) -> Any:
        try:
            return self._completed.get(timeout=CHECK_SECONDS)
        except Empty:
            return None

    def drain(self, seconds: float) -> None:
        """Let what is in flight finish, for at most so long."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not all(future.done() for future in self._pending):
            time.sleep(DRAIN_POLL_SECONDS)

    def close(self, *, cancel: bool, wait: bool = True) -> tuple[()]:
        """Drop what is in flight; the cluster is the caller's. What was cancelled is not waited for."""
        if cancel and self._pending and self._client.status == "running":
            with suppress(OSError):  # the scheduler is gone, and all that it had
                self._client.cancel(list(self._pending), force=True)
        self._pending.clear()
        self._completed = SimpleQueue()
        return ()

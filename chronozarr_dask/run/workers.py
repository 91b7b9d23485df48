"""Who does the work: threads of this process, or a Dask cluster behind a client. Both take one region at a time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import uuid4

import dask
import numpy.typing as npt
from dask.delayed import Delayed

from chronozarr_dask.errors import InputError
from chronozarr_dask.graph.frames import Unit
from chronozarr_dask.run.clients import dashboard_link
from chronozarr_dask.run.machine import DEFAULT_SHARE, memory_limit, n_cores

Build = Callable[[Unit], Delayed]
"""Makes the collection of one unit of work."""

REFRESH_SECONDS = 2.0
"""How often a cluster is asked for its workers."""

SCATTER_PAUSES = (0.2, 1.0, 5.0)
"""Seconds before pixels are sent again, when the worker that they were sent to is gone."""


@dataclass(frozen=True)
class Finished:
    """A unit of work that ended: its result, or the error."""

    item: Any
    result: Any = None
    error: BaseException | None = None


class Workers(Protocol):
    """Takes units of work and tells which have ended.

    Attributes
    ----------
    process_threads : int
        Threads of one process.
    memory : int
        Bytes for the regions in flight in one process.
    dashboard : str or None
        Link to the dashboard of a cluster.
    """

    process_threads: int
    memory: int
    dashboard: str | None

    @property
    def threads(self) -> int:
        """Threads of all processes."""

    def limit(self, in_flight: int) -> None:
        """Take at most so many units of work at once in each process."""

    @property
    def capacity(self) -> int:
        """Units of work that can be taken now."""

    def submit(self, item: Any, build: Build) -> None:
        """Begin a unit of work; `item` comes back with its end."""

    def finished(self) -> list[Finished]:
        """Wait until something has ended and give all that has."""

    def close(self, *, cancel: bool) -> None:
        """Take nothing more; with `cancel`, drop what has not begun."""


class Threads:
    """Threads of this process: one region each, computed within its thread."""

    dashboard: str | None = None

    def __init__(self, memory: int | None, threads: int | None = None) -> None:
        self.process_threads = self.threads = threads or dask.config.get("num_workers", None) or n_cores()
        self.memory = memory or int(memory_limit() * DEFAULT_SHARE)
        self._in_flight = self.threads
        self._pool: ThreadPoolExecutor | None = None
        self._pending: dict[Future[Any], Any] = {}

    def limit(self, in_flight: int) -> None:
        """Take at most so many regions at once; each is given the threads that this leaves over."""
        self._in_flight = in_flight
        self.close(cancel=False)

    @property
    def capacity(self) -> int:
        """Units of work that can be taken now."""
        return self._in_flight - len(self._pending)

    def submit(self, item: Any, build: Build) -> None:
        """Begin a unit of work."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._in_flight, thread_name_prefix="region")
        self._pending[self._pool.submit(self._compute, build)] = item

    def _compute(self, build: Build) -> Any:
        each = self.threads // self._in_flight
        scheduler = {"scheduler": "synchronous"} if each == 1 else {"scheduler": "threads", "num_workers": each}
        return build(Unit(_fresh_name(), _itself)).compute(optimize_graph=True, **scheduler)

    def finished(self) -> list[Finished]:
        """Wait until something has ended and give all that has."""
        done, _ = wait(self._pending, return_when=FIRST_COMPLETED)
        return [_ended(self._pending.pop(f), f) for f in done]

    def close(self, *, cancel: bool) -> None:
        """Let what runs come to its end, drop what waits."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=cancel)
            self._pool = None
        self._pending.clear()


def _fresh_name() -> str:
    return uuid4().hex[:16]


def _itself(pixels: npt.NDArray[Any]) -> Any:
    return pixels


def _ended(item: Any, future: Any) -> Finished:
    """What a future that is done says. One whose inputs, or whose result, went with a worker has no exception."""
    error = future.exception()
    if error is not None:
        return Finished(item, error=error)
    try:
        return Finished(item, future.result())
    except (CancelledError, OSError) as lost:
        return Finished(item, error=lost)


class Cluster:
    """A `distributed.Client`: the tasks of a region prefer one worker, the one with the fewest regions."""

    def __init__(self, client: Any, memory: int | None) -> None:
        from distributed import as_completed

        self._client = client
        self._workers: dict[str, int] = {}
        self._asked = 0.0
        self._refresh()
        if not self._workers:
            raise InputError(
                "the client's cluster has no worker: start at least one, or wait for it (client.wait_for_workers)"
            )
        info = client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [w["memory_limit"] for w in info if w.get("memory_limit")]
        self.process_threads = max(self._workers.values())
        self.memory = memory or int(min(limits, default=memory_limit() // len(self._workers)) * DEFAULT_SHARE)
        self._in_flight = self.process_threads
        self._busy: Counter[str] = Counter()
        self._pending: dict[Any, tuple[Any, str]] = {}
        self.dashboard = dashboard_link(client)
        self._completed = as_completed([], loop=client.loop, with_results=False)

    def _refresh(self) -> None:
        self._workers = dict(self._client.nthreads())
        self._asked = time.monotonic()

    @property
    def threads(self) -> int:
        """Threads of all workers."""
        return sum(self._workers.values())

    def limit(self, in_flight: int) -> None:
        """Take at most so many regions at once for each worker, and one for each more that waits there."""
        self._in_flight = in_flight

    @property
    def capacity(self) -> int:
        """Units of work that can be taken now."""
        return max(1, len(self._workers)) * self._in_flight - len(self._pending)

    def submit(self, item: Any, build: Build) -> None:
        """Begin a unit of work on the least busy worker."""
        if time.monotonic() - self._asked > REFRESH_SECONDS:
            self._refresh()
        place = min(sorted(self._workers), key=lambda w: self._busy[w] / self._workers[w], default=None)
        where = {} if place is None else {"workers": [place], "allow_other_workers": True}

        def hold(pixels: npt.NDArray[Any]) -> Any:
            return self._scatter(pixels, place)

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
            future = self._client.compute(build(Unit(_fresh_name(), hold)), retries=0, **where)
        self._busy[place or ""] += 1
        self._pending[future] = (item, place or "")
        self._completed.add(future)

    def _scatter(self, pixels: npt.NDArray[Any], place: str | None) -> Any:
        """Send pixels to a worker; to any other when it dies, of which the scheduler may not know yet."""
        for pause in SCATTER_PAUSES:
            workers = [place] if place in self._workers else None
            try:
                return self._client.scatter(pixels, workers=workers, hash=False)
            except (OSError, KeyError):  # the worker is silent, or the scheduler does not know it any more
                time.sleep(pause)
                self._refresh()
        return self._client.scatter(pixels, hash=False)

    def finished(self) -> list[Finished]:
        """Wait until something has ended and give all that has."""
        first = next(self._completed)
        out = []
        for future in [first, *self._completed.next_batch(block=False)]:
            item, place = self._pending.pop(future)
            self._busy[place] -= 1
            out.append(_ended(item, future))
            future.release()
        return out

    def close(self, *, cancel: bool) -> None:
        """Drop what is in flight; the cluster is the caller's."""
        if cancel and self._pending:
            self._client.cancel(list(self._pending), force=True)
        self._pending.clear()


def make_workers(client: Any, memory: int | None) -> Workers:
    """Threads of this process when `client` is None, else its cluster."""
    return Threads(memory) if client is None else Cluster(client, memory)

"""Who does the work: threads of this process, or a Dask cluster behind a client. Both take one region at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import uuid4

import dask
import numpy.typing as npt
from dask.delayed import Delayed
from dask.local import get_sync
from dask.threaded import get as get_threaded

from chronozarr_dask.errors import InputError
from chronozarr_dask.graph.frames import Unit
from chronozarr_dask.run.machine import DEFAULT_SHARE, memory_limit, n_cores
from chronozarr_dask.store.heap import share
from chronozarr_dask.store.target import secret_options

Build = Callable[[Unit], Delayed]
"""Makes the collection of one unit of work."""

CHECK_SECONDS = 0.5
"""How often it is checked, while nothing ends, whether the run may go on."""


@dataclass(frozen=True)
class Finished:
    """A unit of work that ended: its result, or the error."""

    item: Any
    result: Any = None
    error: BaseException | None = None


def nothing() -> None:
    """Check nothing."""


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
    check : callable
        Called again and again while nothing ends; an error that it raises comes out of `finished`.
    """

    process_threads: int
    memory: int
    dashboard: str | None
    check: Callable[[], None]

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
        """Wait until something has ended and give all that has; nothing where more can be taken instead."""

    def drain(self, seconds: float) -> None:
        """Let what is in flight finish, for at most so long; nothing more begins."""

    def close(self, *, cancel: bool, wait: bool = True) -> Sequence[Future[Any]]:
        """Take nothing more; with `cancel`, drop what has not begun. Without `wait`, leave what runs to itself.

        Gives what still runs in threads of this process.
        """


class Threads:
    """Threads of this process: one region each, computed within its thread."""

    dashboard: str | None = None
    check: Callable[[], None] = staticmethod(nothing)

    def __init__(self, memory: int | None, threads: int | None = None) -> None:
        self.process_threads = self.threads = threads or dask.config.get("num_workers", None) or n_cores()
        self.memory = memory or int(memory_limit() * DEFAULT_SHARE)
        share(self.threads)
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
        # By name they would be looked up, and distributed imported for that: half a second, and 21 MiB.
        how: dict[str, Any] = {"scheduler": get_sync} if each == 1 else {"scheduler": get_threaded, "num_workers": each}
        return build(Unit(_fresh_name(), _itself)).compute(optimize_graph=True, **how)

    def finished(self) -> list[Finished]:
        """Wait until something has ended and give all that has."""
        self.check()
        while not (done := wait(self._pending, CHECK_SECONDS, return_when=FIRST_COMPLETED).done):
            self.check()
        return [ended(self._pending.pop(f), f) for f in done]

    def drain(self, seconds: float) -> None:
        """Let what has begun finish, for at most so long; the rest is dropped."""
        wait([future for future in self._pending if not future.cancel()], seconds)

    def close(self, *, cancel: bool, wait: bool = True) -> Sequence[Future[Any]]:
        """Let what runs come to its end, drop what waits."""
        if self._pool is not None:
            self._pool.shutdown(wait=wait, cancel_futures=cancel)
            self._pool = None
        left = [future for future in self._pending if not future.done()]
        self._pending.clear()
        return left


def _fresh_name() -> str:
    return uuid4().hex[:16]


def _itself(pixels: npt.NDArray[Any]) -> Any:
    return pixels


def ended(item: Any, future: Any) -> Finished:
    """What a future that is done says. One whose inputs, or whose result, went with a worker has no exception."""
    error = future.exception()
    if error is not None:
        return Finished(item, error=error)
    try:
        return Finished(item, future.result())
    except (CancelledError, OSError) as lost:
        return Finished(item, error=lost)


def check_no_secrets_travel(client: Any, options: Mapping[str, Any]) -> None:
    """Raise InputError where there is a cluster, and options of a file system hold what its tasks must not."""
    if client is not None and (secrets := secret_options(options)):
        raise InputError(
            f"storage_options has {', '.join(secrets)}: secrets do not travel to the workers; let them find "
            f"credentials by themselves (environment, profile or role) and leave these out"
        )


def make_workers(client: Any, memory: int | None) -> Workers:
    """Threads of this process when `client` is None, else its cluster."""
    if client is None:
        return Threads(memory)
    from chronozarr_dask.run.cluster import Cluster  # a cluster is imported by those who use one

    return Cluster(client, memory)

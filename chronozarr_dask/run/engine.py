"""Drive units of work through the workers in a sliding window: few are in flight, whatever the store's size."""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from chronozarr_dask.errors import ChronozarrError, InputError, RunError, StoreError, TargetError, TargetFullError
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.run.order import Order
from chronozarr_dask.run.progress import Meter
from chronozarr_dask.run.workers import Build, Finished, Workers
from chronozarr_dask.store.journal import FAILURES, Journal
from chronozarr_dask.store.secrets import redacted_urls

TRIES = 3

KEEP_SECONDS = 10.0
"""Between two times that the regions that were set aside are kept."""

LOSSES = 20
"""Times that a region may be lost with its worker, before it is set aside: that a worker left is no fault of it."""


@dataclass(frozen=True)
class Failure:
    """A unit of work that is set aside.

    Attributes
    ----------
    region : str
    error : str
        Type and text of the last error.
    tries : int
    """

    region: str
    error: str
    tries: int

    def to_json(self) -> dict[str, Any]:
        """As in the journal."""
        return {"region": self.region, "error": self.error, "tries": self.tries}


def read_failures(journal: Journal) -> list[Failure]:
    """The failures that a journal records."""
    lines = (journal.objects.get(FAILURES) or b"").decode(errors="replace").splitlines()
    out = []
    for line in lines:
        try:
            doc = json.loads(line)
        except ValueError:  # it was cut while it was written
            continue
        out.append(Failure(doc["region"], doc["error"], doc["tries"]))
    return out


@dataclass
class Outcome:
    """The regions that were set aside.

    Attributes
    ----------
    failures : list of Failure
    keep : callable
        Keeps them somewhere: called from time to time.
    """

    failures: list[Failure] = field(default_factory=list)
    keep: Callable[[Sequence[Failure]], None] = lambda failures: None
    _n_kept: int = 0
    _tried: float = float("-inf")

    def keep_now_and_then(self) -> None:
        """Keep those that are not kept yet, unless that was tried just now; where it fails it is tried again later."""
        if time.monotonic() - self._tried > KEEP_SECONDS:
            with suppress(TargetError):
                self.keep_all()

    def keep_all(self) -> None:
        """Keep those that are not kept yet."""
        if len(self.failures) > self._n_kept:
            self._tried = time.monotonic()
            self.keep(self.failures)
            self._n_kept = len(self.failures)


def run_all(
    workers: Workers, items: Iterable[Any], build: Callable[[Any], Build], meter: Meter
) -> Iterator[tuple[Any, Any]]:
    """Run independent units of work; yields (item, result) as they end, which the caller tells the meter.

    What fails by fault of a worker or of the target is tried three times. Any other error ends it all.
    """
    waiting = ((item, 1) for item in items)
    again: deque[tuple[Any, int]] = deque()
    in_flight = 0
    while True:
        n_before = in_flight
        while workers.capacity > 0 and (one := again.popleft() if again else next(waiting, None)) is not None:
            workers.submit(one, build(one[0]))
            in_flight += 1
        meter.began(in_flight - n_before)
        if not in_flight:
            return
        for finished in workers.finished():
            in_flight -= 1
            meter.ended()
            item, n_tries = finished.item
            if finished.error is None:
                yield item, finished.result
            else:
                _check_may_pass(item, n_tries, finished.error)
                again.append((item, n_tries + 1))
                meter.again()


def _check_may_pass(item: Any, n_tries: int, error: BaseException) -> None:
    """Raise the error, unless another try can succeed."""
    if _may_pass(error) and n_tries < TRIES:
        return
    if isinstance(error, ChronozarrError) or not _may_pass(error):
        raise error
    raise RunError(f"{item} failed {n_tries} times by fault of a worker: {type(error).__name__}: {error}") from error


def run_regions(
    workers: Workers,
    order: Order,
    build: Callable[[Region], Build],
    on_stored: Callable[[Region, Any], None],
    meter: Meter,
    outcome: Outcome,
    *,
    fail_fast: bool = False,
) -> None:
    """Run all regions that are left, each when what it needs is there.

    A region that fails by fault of a worker or of the target is set aside after three tries, and the rest goes on, or
    with `fail_fast` nothing more begins; what is lost with a worker that left counts as no try. An error of the input,
    or a target that is full or closed, lets what is in flight finish and ends the run. `outcome` is told of each.

    Raises
    ------
    The error that ended the run.
    """
    tries, in_flight = Counter[tuple[Region, bool]](), 0
    fatal: BaseException | None = None
    while True:
        stopped = fatal is not None or (fail_fast and bool(outcome.failures))
        n_before = in_flight
        while not stopped and workers.capacity > 0 and (region := order.next()) is not None:
            workers.submit(region, build(region))
            in_flight += 1
        meter.began(in_flight - n_before)
        if not in_flight:
            break
        for finished in workers.finished():
            in_flight -= 1
            meter.ended()
            if finished.error is None:
                order.finish(finished.item)
                on_stored(finished.item, finished.result)
            else:
                fatal = _failed(outcome, order, finished, tries, meter) or fatal
        outcome.keep_now_and_then()
    if fatal is not None:
        raise fatal


def _failed(
    outcome: Outcome, order: Order, finished: Finished, tries: Counter[tuple[Region, bool]], meter: Meter
) -> BaseException | None:
    """Try the region again, set it aside, or say that the run must end."""
    region, error = finished.item, finished.error
    assert error is not None
    if not _may_pass(error):
        return error
    lost = _is_lost(error)
    tries[region, lost] += 1
    if tries[region, lost] < (LOSSES if lost else TRIES):
        order.again(region)
        meter.again()
    else:
        told = redacted_urls(f"{type(error).__name__}: {error}")
        outcome.failures.append(Failure(region.name, told, tries[region, lost]))
        meter.failed()
    return None


def _is_lost(error: BaseException) -> bool:
    """Whether a worker that left has taken a result, or pixels that were sent to it, along."""
    return type(error).__name__ in ("FutureCancelledError", "CancelledError")


def _may_pass(error: BaseException) -> bool:
    """Whether another try can succeed: the fault is a worker's or the target's, not the input's."""
    if isinstance(error, (InputError, StoreError, TargetFullError)):
        return False
    worker_faults = ("KilledWorker", "CommClosedError", "FutureCancelledError", "CancelledError", "TimeoutError")
    return isinstance(error, (TargetError, ConnectionError)) or type(error).__name__ in worker_faults

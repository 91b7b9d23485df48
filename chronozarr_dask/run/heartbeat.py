"""The sign of life of a run's owner, renewed by a thread of its own; and the news that the run is no longer its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future
from types import TracebackType
from typing import Any

from chronozarr_dask.errors import RunError, TargetError
from chronozarr_dask.run import claims
from chronozarr_dask.run.clock import now
from chronozarr_dask.run.owners import AT_WORK, Beat, Claim, State, heartbeat_key
from chronozarr_dask.store.journal import Journal

LOST_SECONDS = 8 * claims.BEAT_SECONDS
"""Without a renewal that went well for so long, the run stops: longer than a resume would watch, which then has taken
it over. In between both may work; they write the same bytes to the same keys, and only the last owner commits."""


class Heartbeat:
    """Renews the heartbeat of a claim while it is entered, and says at the end that its owner has ended.

    What is still being stored then (`outlived_by`) is waited for by the thread, and the end is said after it.

    Parameters
    ----------
    journal : Journal
    claim : Claim
        The claim of this process.
    """

    def __init__(self, journal: Journal, claim: Claim) -> None:
        self._journal = journal
        self._claim = claim
        self._counter = 0
        self._renewed = time.monotonic()
        self._fault = "it has just begun"
        self._lost: str | None = None
        self._left: set[Future[Any]] = set()
        self._lock = threading.Lock()
        self._is_outlived = self._is_silent = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def __enter__(self) -> Heartbeat:
        self._beat("running")
        AT_WORK.add(self._claim.owner.token)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        with self._lock:
            self._is_outlived = bool(self._left)
        if not self._is_outlived:
            self._halt()
            self._say_ended()

    def outlived_by(self, left: Iterable[Future[Any]]) -> None:
        """These go on when the run stops, and store their regions: until they are done it lives, and its heartbeat."""
        self._left = set(left)

        def done(future: Future[Any]) -> None:
            with self._lock:
                self._left.discard(future)
                if not self._left:
                    self._stop.set()

        for future in tuple(self._left):
            future.add_done_callback(done)

    def leave(self) -> None:
        """Renew nothing more, and say nothing at the end: what follows removes the claim itself."""
        self._halt()
        self._is_silent = True

    def _halt(self) -> None:
        self._stop.set()
        self._thread.join(max(claims.BEAT_SECONDS, 5.0))

    def _say_ended(self) -> None:
        AT_WORK.discard(self._claim.owner.token)
        if self._is_silent:
            return
        try:
            self._look()
            if self._lost is None:
                self._beat("ended")
        except TargetError as last:  # a resume will watch, and find that nothing changes
            self._fault = str(last)

    def check(self) -> None:
        """Raise RunError when the run is no longer this process's own, or may not be. Makes no request."""
        silent = time.monotonic() - self._renewed
        if self._lost is None and silent > LOST_SECONDS:
            self._lost = (
                f"its heartbeat in {self._journal.url} could not be renewed for {silent:.0f} s ({self._fault}), and a "
                f"resume elsewhere may have taken it over"
            )
        if self._lost is not None:
            raise RunError(
                f"this run has stopped: {self._lost}. What is finished is kept; go on with `chronozarr-dask resume "
                f"{self._journal.url}`, or, where it was begun from Python, with the same call and resume=True, when "
                f"nobody else does"
            )

    def confirm(self) -> None:
        """Ask whether the run is still this process's own, before the commit; RunError when it is not."""
        self._look()
        self.check()

    def _run(self) -> None:
        try:
            while not self._stop.wait(claims.BEAT_SECONDS) and self._lost is None:
                try:
                    self._look()  # first: where a clean has removed the run, nothing may be put again
                    if self._lost is None:
                        self._beat("running")
                except TargetError as error:
                    self._fault = str(error)
        finally:
            if not self._stop.is_set() and self._lost is None:
                self._lost = "its heartbeat has broken down"
            with self._lock:
                is_outlived = self._is_outlived
            if is_outlived:
                self._say_ended()

    def _beat(self, state: State) -> None:
        begun = time.monotonic()
        owner = self._claim.owner
        beat = Beat(
            generation=self._claim.generation,
            token=owner.token,
            counter=self._counter,
            state=state,
            host=owner.host,
            process=owner.process,
            since=owner.since,
            time=now(),
            period=claims.BEAT_SECONDS,
        )
        self._journal.objects.put(heartbeat_key(self._claim.generation), beat.pack())
        self._counter += 1
        self._renewed = begun

    def _look(self) -> None:
        if (why := claims.lost(self._journal, self._claim)) is not None:
            self._lost = why

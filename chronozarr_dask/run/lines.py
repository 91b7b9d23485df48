"""Progress as plain lines, for logs: where a stage begins and ends, and at most one a minute in between."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping

from chronozarr_dask.run.pace import Pace
from chronozarr_dask.run.progress import Step
from chronozarr_dask.run.text import seconds

EVERY_SECONDS = 60.0


def to_stderr(text: str) -> None:
    """Print a line behind the date and the time."""
    print(time.strftime("%Y-%m-%d %H:%M:%S"), text, file=sys.stderr, flush=True)


class Lines:
    """The `progress` of a run whose standard error is a file or a pipe.

    Parameters
    ----------
    write : callable
        Takes a line.
    names : mapping, optional
        How a stage is shown, where not by its own name.
    clock : callable
        Seconds.
    """

    def __init__(
        self,
        write: Callable[[str], None],
        names: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write, self._names, self._clock = write, dict(names or {}), clock
        self._pace: Pace | None = None
        self._last = 0.0
        self._dashboard: str | None = None

    def __call__(self, step: Step) -> None:
        """Write a line where one is due."""
        now = self._clock()
        if step.dashboard and step.dashboard != self._dashboard:
            self._dashboard = step.dashboard
            self._write(f"dashboard {step.dashboard}")
        pace = self._pace
        if pace is None or pace.step.stage != step.stage:
            self.stop()
            self._pace = Pace(step, now)
            self._tell(now)
            return
        was_done = pace.is_done
        pace.add(step, now)
        if (pace.is_done and not was_done) or (not pace.is_done and now - self._last >= EVERY_SECONDS):
            self._tell(now)

    def stop(self) -> None:
        """Write how far a stage came that did not reach its end."""
        if self._pace is not None and not self._pace.is_done and self._pace.step.done:
            self._tell(self._clock())

    def _tell(self, now: float) -> None:
        pace = self._pace
        assert pace is not None
        step, parts = pace.step, []
        if step.total > 1:
            parts.append(f"{step.done} of {step.total}")
        if pace.is_done:
            parts += [f"in {seconds(now - pace.begin)}", *pace.sizes()]
        else:
            parts += [*pace.words(now), pace.left(now)]
        told = ", ".join(p for p in (*parts, *pace.troubles()) if p)
        name = self._names.get(step.stage, step.stage)
        self._write(f"{name}: {told}" if told else name)
        self._last = now

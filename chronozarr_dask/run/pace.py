"""How fast a stage goes and how long it will take, by the steps of the last ten minutes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from chronozarr_dask.run.progress import Step

WINDOW_SECONDS = 600.0
"""Regions may take minutes each, and a machine's speed changes over a night."""

SAMPLES = 60
"""Steps that are kept of a window."""


@dataclass(frozen=True)
class Speed:
    """Of a stage: bytes in and out in a second, seconds left; None where nothing is known yet."""

    bytes_in: float | None = None
    bytes_out: float | None = None
    seconds_left: float | None = None


class Pace:
    """Follows the steps of one stage.

    What was done before the first step, by an earlier run, took no time of this one and counts for nothing.

    Parameters
    ----------
    step : Step
        The first of the stage.
    now : float
        Seconds of a monotonic clock.
    """

    def __init__(self, step: Step, now: float) -> None:
        self.begin, self.first = now, step
        self._samples: deque[tuple[float, Step]] = deque([(now, step)])
        self._last = (now, step)

    def add(self, step: Step, now: float) -> None:
        """Take note of a step."""
        self._last = (now, step)
        if now - self._samples[-1][0] >= WINDOW_SECONDS / SAMPLES:
            self._samples.append(self._last)
        while len(self._samples) > 1 and self._samples[1][0] <= now - WINDOW_SECONDS:
            self._samples.popleft()

    def speed(self, now: float) -> Speed:
        """As of now: a stage of which nothing ends slows down."""
        then, old = self._samples[0]
        last = self._last[1]
        seconds, n = now - then, last.done - old.done
        if seconds <= 0 or n <= 0:
            return Speed()
        left = (last.total - last.done) * seconds / n
        return Speed((last.bytes_in - old.bytes_in) / seconds, (last.bytes_out - old.bytes_out) / seconds, left)

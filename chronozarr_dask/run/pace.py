"""How fast a stage goes and how long it will take, by the steps of the last ten minutes; in words too."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from chronozarr_dask.run.progress import Step
from chronozarr_dask.run.text import nbytes, plural, seconds

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

    Attributes
    ----------
    step : Step
        The last.
    """

    def __init__(self, step: Step, now: float) -> None:
        self.begin = self._ended = now
        self.step = step
        self._samples: deque[tuple[float, Step]] = deque([(now, step)])

    @property
    def is_done(self) -> bool:
        """Whether nothing is left."""
        return self.step.done >= self.step.total

    def add(self, step: Step, now: float) -> None:
        """Take note of a step."""
        if step.done != self.step.done:
            self._ended = now
            if now - self._samples[-1][0] >= WINDOW_SECONDS / SAMPLES:
                self._samples.append((now, step))
        self.step = step
        while len(self._samples) > 2 and self._samples[1][0] <= now - WINDOW_SECONDS:
            self._samples.popleft()

    def speed(self, now: float) -> Speed:
        """Up to the last end of a unit of work; from then on as of now, once the next is overdue."""
        then, old = self._samples[0]
        n = self.step.done - old.done
        if n <= 0 or self._ended <= then:
            return Speed()
        each, silent = (self._ended - then) / n, now - self._ended
        spent = self._ended - then + max(0.0, silent - each)
        left = (self.step.total - self.step.done) * spent / n - min(silent, each)
        took, gave = self.step.bytes_in - old.bytes_in, self.step.bytes_out - old.bytes_out
        return Speed(took / spent, gave / spent, max(0.0, left))

    def words(self, now: float) -> list[str]:
        """What goes on in the stage: speeds, units in flight."""
        speed = self.speed(now)
        out = [f"{nbytes(round(n))}/s {way}" for n, way in ((speed.bytes_in, "in"), (speed.bytes_out, "out")) if n]
        return [*out, f"{self.step.in_flight} in flight"] if self.step.in_flight else out

    def sizes(self) -> list[str]:
        """Bytes in and out so far."""
        return [f"{nbytes(n)} {way}" for n, way in ((self.step.bytes_in, "in"), (self.step.bytes_out, "out")) if n]

    def left(self, now: float) -> str:
        """The time that is left, or nothing where that is not known or the stage is over."""
        left = self.speed(now).seconds_left
        return "" if left is None or self.is_done else f"{seconds(left)} left"

    def troubles(self) -> list[str]:
        """What went wrong."""
        s = self.step
        out = [f"{s.tried_again:,} tried again"] if s.tried_again else []
        out += [f"{s.failed:,} failed"] if s.failed else []
        return [*out, f"{plural(s.lost_scenes, 'scene')} lost"] if s.lost_scenes else out

"""What a run tells while it works: a `Step` for each change, to whoever asked for it.

A `Meter` counts one stage and tells; how it is shown is up to the one who is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol


@dataclass(frozen=True)
class Step:
    """How far a stage is. Bytes and counts are of this run and this stage: what an earlier run did is in `done` alone.

    Attributes
    ----------
    stage : str
        Of a run "search", "plan", "cluster", "stage", "select", "run" or "commit"; of `validate_deep` "check" or
        "audit".
    done, total : int
        Units of work: regions in "run" and "audit", blocks or regions in "stage", parts of cells in "select", places
        in "check"; else one for all.
    bytes_in : int
        Bytes of pixels, decoded: of the source, where units of work read it themselves (the windows decoded of scenes,
        the frames taken of a cube; what was staged is not counted again), or of the store that is checked.
    bytes_out : int
        Bytes written, compressed: into the store, or in "stage" into the journal.
    in_flight : int
        Units of work that workers have now.
    tried_again : int
        Times that a unit of work was tried once more.
    failed : int
        Regions that are set aside: all their tries failed.
    lost_scenes : int
        Scenes that could not be read somewhere, and were left out there (`keep_going`).
    dashboard : str or None
        Link to the dashboard of the Dask cluster, without anything secret.
    """

    stage: str
    done: int
    total: int
    bytes_in: int = 0
    bytes_out: int = 0
    in_flight: int = 0
    tried_again: int = 0
    failed: int = 0
    lost_scenes: int = 0
    dashboard: str | None = None


class Progress(Protocol):
    """Told of each change, in the thread that runs the job; an error that it raises ends the run."""

    def __call__(self, step: Step, /) -> None:
        """Take note."""


class NoProgress:
    """Tells nobody."""

    def __call__(self, step: Step, /) -> None:
        """Do nothing."""


class Meter:
    """Counts one stage and tells of it, from its begin on.

    Attributes
    ----------
    step : Step
        As it was told last, but for units of work that came back since.
    """

    def __init__(
        self, progress: Progress, stage: str, total: int, *, done: int = 0, dashboard: str | None = None
    ) -> None:
        self._progress, self._lost = progress, set[str]()
        self.step = Step(stage, done, total, dashboard=dashboard)
        progress(self.step)

    def began(self, n: int) -> None:
        """`n` units of work went to workers."""
        if n:
            self._tell(replace(self.step, in_flight=self.step.in_flight + n))

    def ended(self) -> None:
        """One came back; how it ended is told next."""
        self.step = replace(self.step, in_flight=self.step.in_flight - 1)

    def done(self, *, bytes_in: int = 0, bytes_out: int = 0, lost: Iterable[str] = ()) -> None:
        """One is done; `lost` are the ids of scenes that it had to leave out."""
        self._lost.update(lost)
        s = self.step
        self._tell(
            replace(
                s,
                done=s.done + 1,
                bytes_in=s.bytes_in + bytes_in,
                bytes_out=s.bytes_out + bytes_out,
                lost_scenes=len(self._lost),
            )
        )

    def again(self) -> None:
        """One is tried once more."""
        self._tell(replace(self.step, tried_again=self.step.tried_again + 1))

    def failed(self) -> None:
        """One is set aside."""
        self._tell(replace(self.step, failed=self.step.failed + 1))

    def _tell(self, step: Step) -> None:
        self.step = step
        self._progress(step)

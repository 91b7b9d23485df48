"""Memory of client and scheduler over the regions done."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any

import psutil

from chronozarr_dask.run.progress import Step

MIB = 2**20
SAMPLES = 200


@dataclass(frozen=True)
class Sample:
    """One look.

    Attributes
    ----------
    done : int
        Regions that have a receipt.
    seconds : float
        Since the first look.
    client, scheduler : float
        MiB resident.
    scheduler_cpu : float
        Processor seconds of the scheduler since the first look.
    """

    done: int
    seconds: float
    client: float
    scheduler: float
    scheduler_cpu: float

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


@dataclass
class Watch:
    """A progress that looks about `SAMPLES` times in a run."""

    scheduler_pid: int
    samples: list[Sample] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin the clock."""
        self._client, self._scheduler = psutil.Process(), psutil.Process(self.scheduler_pid)
        self._begun, self._cpu = time.monotonic(), self._used()

    def __call__(self, step: Step) -> None:
        """As `run.progress.Progress`."""
        last = self.samples[-1].done if self.samples else -1
        is_due = step.done == step.total or step.done % max(step.total // SAMPLES, 1) == 0
        if step.stage == "run" and is_due and step.done > last:
            self.look(step.done)

    def look(self, done: int) -> None:
        """One look."""
        client, scheduler = (p.memory_info().rss / MIB for p in (self._client, self._scheduler))
        spent = time.monotonic() - self._begun
        self.samples.append(Sample(done, spent, client, scheduler, self._used() - self._cpu))

    def _used(self) -> float:
        times = self._scheduler.cpu_times()
        return times.user + times.system


def growth(samples: list[Sample], who: str, *, start: float = 0.2) -> float:
    """MiB by which the most of the last fifth exceeds the most of the fifth that follows `start` of the regions."""
    total = samples[-1].done
    early = [getattr(s, who) for s in samples if start <= s.done / total <= start + 0.2]
    late = [getattr(s, who) for s in samples if s.done / total >= 0.8]
    return float(max(late) - max(early))

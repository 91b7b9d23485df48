"""Drive empty regions through submit, receipt and commit on a cluster of processes, and watch the memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from chronozarr_dask.run.report import RunReport
from tests.scale.empty import OPTIONS, empty_cube
from tests.scale.processes import cluster
from tests.scale.watch import Sample, Watch

WORKERS = 2


@dataclass(frozen=True)
class Driven:
    """What was seen of a run."""

    report: RunReport
    samples: list[Sample]
    tasks: int

    @property
    def seconds(self) -> float:
        """From the first region to the last, the start of the workers apart."""
        return self.samples[-1].seconds - self.samples[1].seconds

    @property
    def scheduler_ms(self) -> float:
        """Processor milliseconds of the scheduler for each task."""
        first, last = self.samples[1], self.samples[-1]
        share = (last.done - first.done) / last.done
        return 1000 * (last.scheduler_cpu - first.scheduler_cpu) / (self.tasks * share)


def drive(folder: Path, regions: int) -> Driven:
    """Encode at least so many regions; the store and its journal are left in `folder`."""
    from distributed import Client

    from chronozarr_dask.run.encode import encode
    from chronozarr_dask.store.journal import ESTIMATE, Journal
    from chronozarr_dask.store.target import open_target

    with cluster(folder, WORKERS) as (address, pid), Client(address, set_as_default=False) as client:
        watch = Watch(pid)
        report = encode(empty_cube(regions), folder / "store", client=client, progress=watch, **OPTIONS)
    kept = Journal(open_target(report.journal)).read(ESTIMATE)
    assert kept is not None
    return Driven(report, watch.samples, kept["tasks"])

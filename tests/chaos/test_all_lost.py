"""All workers go at once while work waits, and others come: spot machines, or a cluster that scales to nothing."""

from __future__ import annotations

from typing import Any

import dask
import distributed
import pytest

from chronozarr_dask.graph.frames import Unit
from chronozarr_dask.run.cluster import Cluster
from chronozarr_dask.run.workers import Finished


def add(_: Any, n: int) -> int:
    return n + 1


def wait(event: str) -> str:
    distributed.Event(event).wait(60)
    return event


def chain(n: int, event: str | None) -> Any:
    """A unit of two tasks; the first waits for an event, where there is one."""

    def build(unit: Unit) -> Any:
        first = dask.delayed(wait if event else str)(event or "", dask_key_name=f"first-{unit.name}")
        return dask.delayed(add)(first, n, dask_key_name=f"second-{unit.name}")

    return build


@pytest.mark.cluster
@pytest.mark.timeout(120)
def test_what_waited_for_workers_that_are_gone_is_given_to_those_that_come() -> None:
    how: dict[str, Any] = {"processes": False, "dashboard_address": ":0", "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **how) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        workers = Cluster(client, None)
        event = distributed.Event("go", client=client)
        for n in range(3):
            workers.submit(n, chain(n, "go"))
        local.scale(0)
        while client.nthreads():
            pass
        event.set()
        local.scale(1)
        found: list[Finished] = []
        while len(found) < 3:
            for one in workers.finished():
                if one.error is None:
                    found.append(one)
                else:  # as the engine does
                    assert type(one.error).__name__ in ("CancelledError", "FutureCancelledError")
                    workers.submit(one.item, chain(one.item, None))
        assert sorted(one.result for one in found) == [1, 2, 3]
        workers.close(cancel=True)

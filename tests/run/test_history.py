"""What a scheduler remembers of a run does not grow with its regions."""

from __future__ import annotations

import time
from typing import Any

import dask.array as da
import pytest
from dask.base import annotate, get_annotations
from distributed import Client, LocalCluster

from chronozarr_dask.run.history import NAME, History


@pytest.fixture(scope="module")
def client() -> Any:
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as made,
    ):
        yield made


def work(client: Any, n: int) -> None:
    """So many submissions, done and forgotten: the scheduler hears that a result is no longer held only after it."""
    for i in range(n):
        key = f"work-{i}"
        client.compute(da.ones((2, 2), chunks=1).map_blocks(lambda a: a + 1, name=key)).result()
        deadline = time.monotonic() + 60
        while client.run_on_scheduler(lambda dask_scheduler, key=key: key in dask_scheduler.task_groups):
            assert time.monotonic() < deadline, f"{key} is still held"
            time.sleep(0.01)


def spans(client: Any) -> dict[str, int]:
    """Groups that each span holds, by its name."""

    def look(dask_scheduler: Any) -> dict[str, int]:
        out: dict[str, int] = {}
        for one in dask_scheduler.extensions["spans"].spans.values():
            out[one.name[-1]] = out.get(one.name[-1], 0) + len(one.groups)
            _ = one.start, one.stop, one.done  # what the dashboard asks of a span
        return out

    found: dict[str, int] = client.run_on_scheduler(look)
    return found


def test_what_is_over_is_dropped_and_what_others_did_is_kept(client: Any) -> None:
    work(client, 3)
    before = spans(client)
    assert before["default"] > 0
    history = History(client)
    with history.noted():
        work(client, 5)
    assert spans(client)[NAME] >= 5
    assert history.trim(0) >= 4
    assert spans(client) == before | {NAME: 1}
    assert history.trim(0) == 0


def test_what_is_not_over_is_kept(client: Any) -> None:
    history = History(client)
    with history.noted():
        held = client.compute(da.ones((2, 2), chunks=1).map_blocks(lambda a: a + 1, name="held"))
        held.result()
        n = spans(client)[NAME]
    history.trim(0)
    assert 0 < spans(client)[NAME] <= n
    assert held.result().sum() == 8
    history.trim(0)


def test_the_scheduler_is_asked_after_so_many_submissions(client: Any) -> None:
    history = History(client)
    for _ in range(3):
        with history.noted():
            work(client, 1)
    assert history.trim(4) == 0
    assert history.trim(3) > 0
    with history.noted():
        work(client, 1)
    assert history.trim(3) == 0
    assert history.trim(1) > 0


def test_before_the_first_task_there_is_nothing_to_drop(client: Any) -> None:
    assert History(client).trim(0) == 0


def test_the_callers_own_annotations_are_left_alone(client: Any) -> None:
    with annotate(priority=3):
        history = History(client)
        with history.noted():
            assert get_annotations()["priority"] == 3
    assert get_annotations() == {}

"""When memory that is free goes back to the system."""

from collections.abc import Iterator
from typing import Any

import pytest

from chronozarr_dask.store import heap


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Calls of functions of the C library, which are not made."""
    made: list[Any] = []
    monkeypatch.setattr(heap, "_function", lambda name: lambda *given: made.append((name, *given)))
    heap.keep.cache_clear()
    yield made
    heap.keep.cache_clear()


def test_a_worker_of_dask_keeps_what_is_freed_once_for_each_process(
    calls: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    heap.keep()
    heap.keep()
    assert calls == [("mallopt", -1, heap.KEPT_BYTES), ("mallopt", -3, heap.MAPPED_BYTES)]


def test_other_processes_are_left_as_they_are(calls: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    heap.keep()
    assert calls == []


def test_all_of_it_is_given_back_when_asked(calls: list[Any]) -> None:
    heap.give_back()
    assert calls == [("malloc_trim", 0)]


def test_where_there_is_no_such_function_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    monkeypatch.setattr(heap, "_function", lambda name: None)
    heap.keep.cache_clear()
    heap.keep()
    heap.give_back()
    heap.keep.cache_clear()

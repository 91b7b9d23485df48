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


def test_what_is_freed_is_kept_once_for_each_process(calls: list[Any]) -> None:
    heap.keep()
    heap.keep()
    assert calls == [("mallopt", -1, heap.KEPT_BYTES), ("mallopt", -3, heap.MAPPED_BYTES)]


@pytest.mark.parametrize(("threads", "arenas"), [(1, 2), (2, 2), (16, 16)])
def test_threads_share_as_many_heaps(
    calls: list[Any], monkeypatch: pytest.MonkeyPatch, threads: int, arenas: int
) -> None:
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    heap.share(threads)
    assert calls == [("mallopt", -8, arenas)]


def test_a_number_of_heaps_in_the_environment_holds(calls: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_ARENA_MAX", "3")
    heap.share(8)
    assert calls == []


def test_all_of_it_is_given_back_when_asked(calls: list[Any]) -> None:
    heap.give_back()
    assert calls == [("malloc_trim", 0)]


def test_where_there_is_no_such_function_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    monkeypatch.setattr(heap, "_function", lambda name: None)
    heap.keep.cache_clear()
    heap.keep()
    heap.share(2)
    heap.give_back()
    heap.keep.cache_clear()

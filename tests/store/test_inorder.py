"""Many small reads at once: order kept, few in hand, several at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from chronozarr_dask.store.inorder import AHEAD, in_order


def test_results_are_in_order_whatever_ends_first() -> None:
    def slow_first(i: int) -> int:
        time.sleep(0.02 if i % 5 == 0 else 0)
        return i * i

    assert list(in_order(slow_first, range(50), threads=4)) == [i * i for i in range(50)]


def test_few_are_taken_before_their_results_are() -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        for i in range(10_000):
            taken = i + 1
            yield i

    results = in_order(lambda i: i, items(), threads=3)
    for n in range(100):
        assert next(results) == n
        assert taken <= n + 3 * AHEAD
    results.close()


def test_several_run_at_once() -> None:
    """Four calls wait for each other: one at a time, none of them would end."""
    together = threading.Barrier(4, timeout=10)

    def meet(i: int) -> int:
        together.wait()
        return i

    assert list(in_order(meet, range(8), threads=4)) == list(range(8))


def test_an_error_is_raised_at_its_place() -> None:
    def fail(i: int) -> int:
        if i == 3:
            raise ValueError("three")
        return i

    results = in_order(fail, range(10), threads=2)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="three"):
        next(results)


def test_nothing_of_nothing() -> None:
    assert list(in_order(str, [])) == []

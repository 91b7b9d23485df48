"""Many small reads at once, their results in order, and never more in hand than a few for each thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

THREADS = 16
"""A receipt takes a request of some 20 ms from a bucket: a hundred thousand, one after the other, are half an hour."""
AHEAD = 4
"""Results in hand for each thread: one that is slow does not stop the others at once."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(
    function: Callable[[Item], Result], items: Iterable[Item], *, threads: int = THREADS, ahead: int = AHEAD
) -> Generator[Result, None, None]:
    """``map(function, items)`` with several calls at once: items are taken, and results are given, in their order.

    At most `ahead` items for each thread are begun before their results are taken, so memory does not grow with the
    number of items. An error of the function is raised where its result would be.
    """
    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="read") as pool:
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) == threads * ahead:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

"""What a scheduler remembers of a run, kept from growing with the store.

Dask's scheduler keeps the groups of finished tasks in spans, and spans for ever (dask/distributed#7977): some 18 KB of
every region, gigabytes of a large store. So the tasks of a run are given a span of their own, and what is over in it is
dropped there from time to time. Spans of others are left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from dask.base import annotate, get_annotations
from distributed import span

NAME = "chronozarr-dask"
TRIM_AFTER = 250
"""Submissions after which the scheduler is asked to forget: some 4 MB; each request leaves 2 KB in its log."""


class History:
    """The span of one run on one cluster."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._submitted = 0
        with span(NAME) as self.id:
            self._annotation = get_annotations()["span"]

    def noted(self) -> AbstractContextManager[Any]:
        """One unit of work that is submitted meanwhile belongs to the span."""
        self._submitted += 1
        context: AbstractContextManager[Any] = annotate(span=self._annotation)
        return context

    def trim(self, after: int = TRIM_AFTER) -> int:
        """Have the scheduler drop what is over, where enough was submitted; gives the groups that it dropped."""
        if self._submitted < after:
            return 0
        self._submitted = 0
        dropped: int = self._client.run_on_scheduler(_trim(self.id))
        return dropped


def _trim(span_id: str) -> Callable[..., int]:
    """The function that the scheduler runs; within another, so that it travels whole and not as a name to import."""

    def trim(dask_scheduler: Any = None) -> int:
        spans = dask_scheduler.extensions.get("spans")
        found = None if spans is None else spans.spans.get(span_id)
        if found is None:
            return 0
        over = {g for g in found.groups if dask_scheduler.task_groups.get(g.name) is not g}
        if len(over) == len(found.groups):  # a span's end is that of its groups: one has to be left
            over -= {max(over, key=lambda g: g.stop)} if over else set()
        found.groups.difference_update(over)
        if found.metadata:
            found.metadata["collections"].clear()
        return len(over)

    return trim

"""What reads cost: chunks touched, requests, bytes fetched and decoded, read amplification.

A block counts the reads of one store that its own thread asks for, whichever thread of the reader's pool does them: the
costs that a read is charged to travel in a context variable, which each task of the pool takes along::

    with store.measure() as cost:      ->  costs open in this thread, for this store
        store.read(0)                  ->  charging(): they are what `spent` adds to, here and in the pool's threads
    cost.requests
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any


@dataclass
class Cost:
    """What the reads of a block cost. Each number grows while the block is open; any thread may look.

    Attributes
    ----------
    chunks : int
        Stored chunks that were looked for, absent ones included. A chunk that a shard's index says is empty is not
        looked for, and an anchor that is in the cache is not either.
    requests : int
        Requests sent: GETs, ranges and HEADs, redirects and each further try of a failed one included. Of a folder:
        files opened, and looked at for their length.
    bytes_fetched : int
        Bytes of the bodies that came, shard indexes and gaps between coalesced chunks included.
    bytes_decoded : int
        Bytes of the decoded chunks.
    cells_decoded : int
        Array values decoded (a cell here is one value of one band at one pixel and time): padding, bands, pixels and
        anchors that were not asked for included.
    cells_wanted : int
        Array values handed out. What a ``none`` array hands out was decoded once; of star-delta, its anchors as well.
    """

    chunks: int = 0
    requests: int = 0
    bytes_fetched: int = 0
    bytes_decoded: int = 0
    cells_decoded: int = 0
    cells_wanted: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @property
    def amplification(self) -> float:
        """Read amplification: values decoded over values wanted; 0 where nothing was wanted."""
        with self._lock:
            return self.cells_decoded / self.cells_wanted if self.cells_wanted else 0.0

    def add(self, amounts: dict[str, int]) -> None:
        """Add to the numbers, all at once."""
        with self._lock:
            for name, amount in amounts.items():
                setattr(self, name, getattr(self, name) + amount)

    def as_dict(self) -> dict[str, float]:
        """The numbers by name, `amplification` among them."""
        with self._lock:
            counts: dict[str, float] = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "_lock"}
        return counts | {"amplification": self.amplification}


_charged: ContextVar[tuple[Cost, ...]] = ContextVar("chronozarr_charged", default=())
"""The costs that the read at work is charged to."""

_blocks: ContextVar[tuple[tuple[Account, Cost], ...]] = ContextVar("chronozarr_blocks", default=())
"""Blocks that are open in this thread (or task of asyncio)."""


def spent(**amounts: int) -> None:
    """Charge the read at work: amounts by field of `Cost`. Nothing happens where nobody measures."""
    for cost in _charged.get():
        cost.add(amounts)


def carried(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """A call for another thread that charges what this one charges."""
    return partial(copy_context().run, function, *arguments)


class Account:
    """The measuring blocks of one store."""

    def __init__(self) -> None:
        self._everyone: tuple[Cost, ...] = ()
        self._lock = threading.Lock()

    @contextmanager
    def measure(self, every_thread: bool) -> Iterator[Cost]:
        """Count within the block (see `Store.measure`)."""
        cost = Cost()
        if every_thread:
            with self._lock:
                self._everyone += (cost,)
        else:
            _blocks.set((*_blocks.get(), (self, cost)))
        try:
            yield cost
        finally:
            if every_thread:
                with self._lock:
                    self._everyone = tuple(c for c in self._everyone if c is not cost)
            else:  # blocks may close in another order than they opened
                _blocks.set(tuple(b for b in _blocks.get() if b[1] is not cost))

    @contextmanager
    def charging(self) -> Iterator[None]:
        """Charge what is read within the block to the costs that are open for this store."""
        token = _charged.set((*self._everyone, *(cost for account, cost in _blocks.get() if account is self)))
        try:
            yield
        finally:
            _charged.reset(token)

"""A bytes-bounded cache that makes each value once, however many threads ask for it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

V = TypeVar("V")


class Cache(Generic[V]):
    """The values used last, up to a number of bytes.

    Whoever asks first for a key makes its value, in its own thread; others who ask meanwhile wait for it. An error
    reaches all of them and is not kept.

    Parameters
    ----------
    limit : int
        Bytes. A value that is larger by itself is handed out and not kept.
    size : callable
        Bytes of a value.
    """

    def __init__(self, limit: int, size: Callable[[V], int]) -> None:
        self.limit = limit
        self._size = size
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, V] = OrderedDict()
        self._pending: dict[Hashable, Future[V]] = {}
        self._bytes = 0

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._bytes

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """The value of `key`, made by `make` where it is not held."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
            future = self._pending.get(key)
            first = future is None
            if future is None:
                future = self._pending[key] = Future()
        if first:
            self._make(key, make, future)
        return future.result()

    def _make(self, key: Hashable, make: Callable[[], V], future: Future[V]) -> None:
        try:
            value = make()
        except BaseException as error:  # also an interrupt: those who wait must not wait forever
            with self._lock:
                del self._pending[key]
            future.set_exception(error)
            return
        with self._lock:
            del self._pending[key]
            self._keep(key, value)
        future.set_result(value)

    def _keep(self, key: Hashable, value: V) -> None:
        nbytes = self._size(value)
        if nbytes > self.limit:
            return
        self._values[key] = value
        self._bytes += nbytes
        while self._bytes > self.limit:
            _, oldest = self._values.popitem(last=False)
            self._bytes -= self._size(oldest)

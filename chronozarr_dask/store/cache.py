"""A bytes-bounded cache that makes each value once, however many threads ask for it."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

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
        _caches.add(self)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._bytes

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """The value of `key`, made by `make` where it is not held."""
        future, mine = self.claim(key)
        if mine:
            try:
                value = make()
            except BaseException as error:  # also an interrupt: those who wait must not wait forever
                self.fail(key, future, error)
                raise
            self.settle(key, future, value)
        return future.result()

    def claim(self, key: Hashable) -> tuple[Future[V], bool]:
        """Ask for a value without waiting.

        Returns
        -------
        future : Future
            Done where the value is held.
        mine : bool
            Whether the caller has to make the value, and to `settle` or `fail` the future, whatever happens.
        """
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                held: Future[V] = Future()
                held.set_result(self._values[key])
                return held, False
            if key in self._pending:
                return self._pending[key], False
            future = self._pending[key] = Future()
            return future, True

    def settle(self, key: Hashable, future: Future[V], value: V) -> None:
        """Hand a claimed value to all who wait, and keep it; nothing happens where the claim has been given up."""
        with self._lock:  # in one step, or a third would make the value again
            mine = self._give_up(key, future)
            if mine:
                self._keep(key, value)
        if mine:
            future.set_result(value)

    def fail(self, key: Hashable, future: Future[V], error: BaseException) -> None:
        """Hand an error to all who wait for a claimed value; nothing happens where the value is there."""
        with self._lock:
            mine = self._give_up(key, future)
        if mine:
            future.set_exception(error)

    def _give_up(self, key: Hashable, future: Future[V]) -> bool:
        if self._pending.get(key) is not future:
            return False
        del self._pending[key]
        return True

    def _keep(self, key: Hashable, value: V) -> None:
        nbytes = self._size(value)
        if nbytes > self.limit:
            return
        self._values[key] = value
        self._bytes += nbytes
        while self._bytes > self.limit:
            _, oldest = self._values.popitem(last=False)
            self._bytes -= self._size(oldest)

    def _after_fork(self) -> None:
        """The threads that held the lock, or were making values, are not in this process."""
        self._lock = threading.Lock()
        self._pending = {}


_caches: weakref.WeakSet[Cache[Any]] = weakref.WeakSet()


def _renew() -> None:
    for cache in list(_caches):
        cache._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)

"""Counts from every process: what was computed and what was asked of the target, one short line each, in order."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from distributed import WorkerPlugin

from chronozarr_dask.store.folder import Folder

OPERATIONS = ("put", "get", "get_range", "size", "create")


def note(log: str, *words: object) -> None:
    """Append a line; a short write to a file opened for appending is never mixed with another."""
    fd = os.open(log, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    try:
        os.write(fd, (" ".join(map(str, (os.getpid(), *words))) + "\n").encode())
    finally:
        os.close(fd)


def notes(log: Path) -> list[list[str]]:
    """The lines of a log, split into words; the first is the process."""
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


def counted(array: np.ndarray[Any, Any], chunks: Any, log: Path) -> da.Array:
    """A Dask array whose blocks note that they are computed."""

    def block(block_info: Any = None) -> np.ndarray[Any, Any]:
        where = block_info[None]["array-location"]
        note(str(log), "block", "-".join(str(a) for a, _ in where))
        return array[tuple(slice(a, b) for a, b in where)]

    normal = da.core.normalize_chunks(chunks, array.shape, dtype=array.dtype)
    return da.map_blocks(block, chunks=normal, dtype=array.dtype, meta=np.empty((0,) * array.ndim, array.dtype))


class CountTarget(WorkerPlugin):
    """Notes every call that a worker makes to an object of the store, not of the journal."""

    idempotent = True
    name = "count-target"

    def __init__(self, log: str, root: str) -> None:
        self.log, self.root = log, root

    def setup(self, worker: Any = None) -> None:
        """Begin to count in this process."""
        self.saved = {name: getattr(Folder, name) for name in OPERATIONS}
        for name, method in self.saved.items():
            setattr(Folder, name, self._counted(name, method))

    def teardown(self, worker: Any = None) -> None:
        """Stop counting."""
        for name, method in self.saved.items():
            setattr(Folder, name, method)

    def _counted(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        log, root = self.log, self.root

        def call(self: Folder, key: str, *args: Any) -> Any:
            if self.root == root:
                note(log, name, key)
            return method(self, key, *args)

        return call

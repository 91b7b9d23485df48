"""Everything that a run says, to any place: messages of Dask, logs of all libraries, standard output and error."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import distributed.comm.tcp as tcp
import pytest
from distributed import WorkerPlugin


class LogToFile(WorkerPlugin):  # type: ignore[misc]
    """All libraries of a worker log at DEBUG into a file of its own."""

    name = "log-to-file"

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def setup(self, worker: Any) -> None:
        """Begin."""
        log_to(Path(self.folder) / f"worker-{worker.name}.log")


def log_to(path: Path) -> logging.Handler:
    """All libraries of this process log at DEBUG, whatever levels they have set for themselves."""
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s %(args)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    for name in list(logging.root.manager.loggerDict):
        logging.getLogger(name).setLevel(logging.DEBUG)
    return handler


@contextmanager
def logged(path: Path) -> Iterator[None]:
    """All libraries of this process log into a file, within."""
    root = logging.getLogger()
    before = {name: logging.getLogger(name).level for name in logging.root.manager.loggerDict}
    level, handler = root.level, log_to(path)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        for name, old in before.items():
            logging.getLogger(name).setLevel(old)
        handler.close()


@contextmanager
def messages(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every message that this process sends or gets goes into a file too: of the client and of the scheduler."""
    folder.mkdir()
    number = itertools.count()

    def keep(frames: Any) -> None:
        (folder / f"{next(number)}.bin").write_bytes(b"".join(bytes(f) for f in frames))

    to_frames, from_frames = tcp.to_frames, tcp.from_frames

    async def sent(*args: Any, **how: Any) -> Any:
        frames = await to_frames(*args, **how)
        keep(frames)
        return frames

    async def got(frames: Any, *args: Any, **how: Any) -> Any:
        frames = list(frames) if isinstance(frames, list | tuple) else frames
        keep(frames if isinstance(frames, list) else [frames])
        return await from_frames(frames, *args, **how)

    with patch.context() as inner:
        inner.setattr(tcp, "to_frames", sent)
        inner.setattr(tcp, "from_frames", got)
        yield

"""Ctrl-C and SIGTERM: the first lets what is in flight finish, the second ends at once. Both leave the journal."""

from __future__ import annotations

import logging
import os
import shlex
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from chronozarr_dask.cli.output import read_storage_options

PROGRAM = "chronozarr-dask"
HANDLED = (signal.SIGINT, signal.SIGTERM)
STOPS = 2
"""Signals that stop something: the first lets what is in flight finish, the second does not wait for it."""

DEAF_SECONDS = 5.0
"""After the second signal, before one more ends the process as it is."""

STORAGE_FLAGS = ("--storage-option", "--source-option")


class Interrupts:
    """Counts the signals, and tells of the first.

    Attributes
    ----------
    count : int
        Signals so far.
    on_first : callable
        Called from the signal handler: it must not print through a buffer.
    """

    def __init__(self, on_first: Callable[[], None]) -> None:
        self.count = 0
        self._stopping = 0.0
        self._on_first = on_first
        self._is_telling = False

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        self.count += 1
        if self.count > STOPS and time.monotonic() - self._stopping > DEAF_SECONDS:
            os.write(2, b"\nstopped at once; what is finished is kept in the journal\n")
            os._exit(1)  # a place that does not answer may hold up the end for minutes
        if self._is_telling or self.count > STOPS:
            return  # what the second one has begun is short: cut short itself, it would leave a library's traceback
        if self.count == 1:
            self._on_first()
        self._stopping = time.monotonic()
        raise KeyboardInterrupt

    def tell(self) -> None:
        """The work has stopped, and what comes is told whole: one more signal is counted, and cuts nothing short."""
        self._is_telling = True
        self._stopping = time.monotonic()

    def end(self) -> NoReturn:
        """All is told: end the process with exit code 1, at once.

        Threads may still work on their regions, and a journal can be left at any moment. An interpreter that is taken
        down in order gives signals their default action first: one more would end it by the signal.
        """
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)


def _is_worth_telling(record: logging.LogRecord) -> bool:
    """Whether it is not a traceback of Dask's own clean-up (`distributed.utils.sync`, 2026.8.0).

    A call to the scheduler that is interrupted before its coroutine has begun is cancelled by a name that has no value
    yet. Nothing is lost by it: the call never began.
    """
    error = record.exc_info[1] if record.exc_info else None
    if not isinstance(error, NameError) or error.__traceback__ is None:
        return True
    *_, innermost = traceback.extract_tb(error.__traceback__)
    return not (innermost.name == "cancel" and innermost.filename.endswith(os.path.join("distributed", "utils.py")))


@contextmanager
def interrupts(on_first: Callable[[], None]) -> Iterator[Interrupts]:
    """Turn SIGINT and SIGTERM into KeyboardInterrupt within; one that the parent ignores stays ignored.

    After a signal nothing is put back: the process is about to end, and one more must not end it with a traceback.
    """
    loops = logging.getLogger("tornado.application")
    handler = Interrupts(on_first)
    before = {s: signal.getsignal(s) for s in HANDLED}
    for signum, old in before.items():
        if old is not signal.SIG_IGN:
            signal.signal(signum, handler)
    loops.addFilter(_is_worth_telling)
    try:
        yield handler
    finally:
        if not handler.count:
            loops.removeFilter(_is_worth_telling)
            for signum, old in before.items():
                signal.signal(signum, old)


def command_line(arguments: Sequence[str], *, resume: bool) -> str:
    """The command to type to go on (or begin again), with secrets of file systems left out."""
    words = [PROGRAM, *_without_secrets(arguments)]
    if resume and "--resume" not in words and words[1] in ("encode", "run"):
        words.append("--resume")
    return shlex.join(words)


def own_arguments() -> list[str]:
    """Arguments of this process."""
    return sys.argv[1:]


def _without_secrets(arguments: Sequence[str]) -> Iterator[str]:
    from chronozarr_dask.store.secrets import redacted_url

    before = ""
    for word in arguments:
        flag, equals, pair = word.partition("=")
        if before in STORAGE_FLAGS:
            yield blanked(word)
        elif flag in STORAGE_FLAGS and equals:
            yield f"{flag}={blanked(pair)}"
        else:
            yield redacted_url(word)
        before = word


def blanked(pair: str) -> str:
    """KEY=VALUE of a file system, without the value where that is a secret."""
    from chronozarr_dask.store.target import secret_options  # with fsspec: not for every command

    key = pair.partition("=")[0]
    return f"{key}=..." if secret_options(read_storage_options([pair])) else pair

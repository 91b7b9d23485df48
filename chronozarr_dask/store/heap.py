"""When memory that is free goes back to the system: once a region has been read or stored, and not before.

The C library keeps what many threads have freed in pieces of one or two MiB, tens of MiB for each of them, and a
process that has read one region looks as if it still held it. Asking for it costs a few milliseconds. In between it
gives back what lies at the end of a heap, by itself a few MiB at a time, and under Dask's nannies every piece at once
(MALLOC_TRIM_THRESHOLD_ of 64 KiB). Each 4 KiB that a codec then takes anew is a page fault: a fifteenth of an encode's
processor time, and under a nanny a third.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any

ARENAS_VARIABLE = "MALLOC_ARENA_MAX"
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
"""Numbers of mallopt's parameters, of malloc.h."""
KEPT_BYTES, MAPPED_BYTES = 256 * 2**20, 32 * 2**20
"""Free bytes that are kept between two calls of `give_back`, and the piece from which the system is asked each time."""


@cache
def keep() -> None:
    """Keep what is freed for the next chunk; once for each process."""
    mallopt = _function("mallopt")
    if mallopt is not None:
        mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
        mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES)


def share(threads: int) -> None:
    """Let threads that begin from now on take turns with so many heaps, where the environment names no other number.

    Each keeps what it has freed: with more heaps than threads that work, the codecs' threads have some of their own.
    """
    mallopt = _function("mallopt")
    if mallopt is not None and ARENAS_VARIABLE not in os.environ:
        mallopt(M_ARENA_MAX, max(2, threads))


def give_back() -> None:
    """Return free pages to the system, where the C library can (glibc); elsewhere it returns them by itself."""
    trim = _function("malloc_trim")
    if trim is not None:
        trim(0)


@cache
def _function(name: str) -> Any:
    """A function of glibc; None where the C library has no such thing."""
    try:
        return getattr(ctypes.CDLL(None), name, None)
    except OSError:  # no C library to load functions from
        return None

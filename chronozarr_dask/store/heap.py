"""When memory that is free goes back to the system: once a region has been read or stored, and not before.

The C library keeps what many threads have freed in pieces of one or two MiB, tens of MiB for each of them, and a
process that has read one region looks as if it still held it. Asking for it costs a few milliseconds. Dask's nannies
ask the C library to give back every piece at once (MALLOC_TRIM_THRESHOLD_ of 64 KiB), which costs a page fault for each
4 KiB of every chunk: a third of an encode's processor time.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any

TRIM_VARIABLE = "MALLOC_TRIM_THRESHOLD_"
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Numbers of mallopt's parameters, of malloc.h."""
KEPT_BYTES, MAPPED_BYTES = 256 * 2**20, 32 * 2**20
"""Free bytes that are kept between two calls of `give_back`, and the piece from which the system is asked each time."""


@cache
def keep() -> None:
    """Keep what is freed for the next chunk, where the environment says otherwise; once for each process."""
    mallopt = _function("mallopt")
    if mallopt is not None and TRIM_VARIABLE in os.environ:
        mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
        mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES)


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

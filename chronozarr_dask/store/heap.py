"""Give memory that is free back to the system.

The C library keeps what many threads have freed in pieces of one or two MiB, tens of MiB for each of them, and a
process that has read one region looks as if it still held it. Asking for it costs a few milliseconds.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any


def give_back() -> None:
    """Return free pages to the system, where the C library can (glibc); elsewhere it returns them by itself."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Any:
    try:
        return getattr(ctypes.CDLL(None), "malloc_trim", None)
    except OSError:  # no C library to load functions from
        return None

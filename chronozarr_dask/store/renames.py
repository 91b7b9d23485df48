"""A rename that replaces nothing, as Linux and macOS have it beside the one of POSIX, which replaces what is there."""

from __future__ import annotations

import ctypes
import errno
import os
import sys

AT_FDCWD = -100
"""Paths are as they are everywhere (``fcntl.h`` of Linux)."""

RENAME_NOREPLACE = 1
"""Of `renameat2` (``linux/fs.h``)."""

RENAME_EXCL = 4
"""Of `renamex_np` (``sys/stdio.h`` of macOS)."""

UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})
"""What a file system, or a system, answers that does not know it."""


class CannotTellError(OSError):
    """A file system has nothing by which the first of two writers could be told."""


def rename_new(source: str, path: str) -> None:
    """Give a file another name that none has yet.

    The kernel looks and renames as one step, so of several processes of one machine one succeeds. Of several machines
    on one network file system one does as far as its server takes both as one step.

    Raises
    ------
    FileExistsError
        If there is a file of this name.
    CannotTellError
        If the system or the file system has no such rename.
    OSError
        What else the system refuses.
    """
    number = _renamed(os.fsencode(source), os.fsencode(path))
    if number in UNSUPPORTED:
        raise CannotTellError(number, "no hard links, and no rename that replaces nothing", path)
    if number:
        raise OSError(number, os.strerror(number), path)


def _renamed(source: bytes, path: bytes) -> int:
    """The number of the error, 0 for none."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        if sys.platform == "darwin":
            failed = libc.renamex_np(source, path, ctypes.c_uint(RENAME_EXCL))
        else:
            failed = libc.renameat2(AT_FDCWD, source, AT_FDCWD, path, ctypes.c_uint(RENAME_NOREPLACE))
    except AttributeError:  # a C library that is older, or of another system
        return errno.ENOSYS
    return ctypes.get_errno() if failed else 0

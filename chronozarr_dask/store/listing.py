"""What lies below a prefix, and the removal of many objects: for journals, and for what an unfinished run has left.

No run rests on a listing: keys are derived. Here a listing tells how far a run is, and what there is to clean up.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress

from chronozarr_dask.errors import TargetError
from chronozarr_dask.store.below import Entry
from chronozarr_dask.store.bucket import Bucket
from chronozarr_dask.store.failures import explained
from chronozarr_dask.store.folder import Folder
from chronozarr_dask.store.target import Objects

__all__ = ["Entry", "delete_all", "entries", "has_folder", "names", "remove_empty"]


def entries(objects: Objects, prefix: str = "") -> Iterator[Entry]:
    """What lies below a prefix, in any order: on S3 a thousand with a request, elsewhere folder by folder.

    Raises
    ------
    TargetError
        If the place does not answer, or cannot be listed.
    """
    with explained(objects.url, prefix):
        if isinstance(objects, Folder):
            yield from _of_folder(objects, prefix)
            return
        if not isinstance(objects, Bucket):
            raise TargetError(f"{objects.url} cannot be listed: give a folder, or a URL of a bucket")
        yield from objects.entries(prefix)


def names(objects: Objects, prefix: str = "") -> Iterator[str]:
    """Keys below a prefix, as of `entries`."""
    return (entry.key for entry in entries(objects, prefix))


def delete_all(objects: Objects, keys: Collection[str]) -> None:
    """Remove objects: on S3 a thousand with a request.

    Raises
    ------
    TargetError
        If one of them was not removed. One that is not there is no error.
    """
    if isinstance(objects, Bucket):
        objects.delete_all(keys)
        return
    for key in keys:
        objects.delete(key)


# ---- a folder --------------------------------------------------------------------------------------------------------


def _of_folder(objects: Folder, prefix: str) -> Iterator[Entry]:
    top = os.path.join(objects.root, prefix) if prefix else objects.root
    for folder, _, files in os.walk(top, onerror=_unless_absent):
        for name in files:
            path = os.path.join(folder, name)
            try:
                found = os.stat(path, follow_symlinks=False)
            except FileNotFoundError:  # a run that goes on removes what it needs no more
                continue
            key = os.path.relpath(path, objects.root).replace(os.sep, "/")
            yield Entry(key, found.st_size, found.st_mtime)


def _unless_absent(error: OSError) -> None:
    """What a walk meets: a folder that is not there has no files."""
    if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
        raise error


def has_folder(objects: Objects) -> bool:
    """Whether a place on disk has its folder already, with something in it or not; no other place has one."""
    return isinstance(objects, Folder) and os.path.isdir(objects.root)


def remove_empty(objects: Objects, is_own: Callable[[str], bool], *, root: bool = True) -> None:
    """On disk: remove the folders that are empty and, by their path, one's own, from the innermost outwards.

    Parameters
    ----------
    objects : Objects
    is_own : callable
        Whether a folder is, by its path below the root, which it is not asked for.
    root : bool
        Whether the root is.
    """
    if not isinstance(objects, Folder):
        return
    top = objects.root
    for folder, _, _ in os.walk(top, topdown=False):
        if root if folder == top else is_own(os.path.relpath(folder, top).replace(os.sep, "/")):
            with suppress(OSError):  # it holds something, or may not be removed: what was asked for is the files
                os.rmdir(folder)

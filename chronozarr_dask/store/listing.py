"""What lies below a prefix, and the removal of many objects: for journals, and for what an unfinished run has left.

No run rests on a listing: keys are derived. Here a listing tells how far a run is, and what there is to clean up.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any

from fsspec.core import strip_protocol

from chronozarr_dask.errors import TargetError
from chronozarr_dask.store.bucket import Bucket
from chronozarr_dask.store.failures import explained
from chronozarr_dask.store.filesystems import file_system
from chronozarr_dask.store.folder import Folder
from chronozarr_dask.store.retries import WRITING, retried, sorted_out
from chronozarr_dask.store.target import Objects

DELETED_AT_ONCE = 1000
"""The most that S3 takes with a request."""

_TIMES = ("LastModified", "mtime", "updated", "last_modified", "created")
"""What file systems call the time of the last change."""


@dataclass(frozen=True)
class Entry:
    """An object that was listed.

    Attributes
    ----------
    key : str
    nbytes : int
    modified : float or None
        Seconds since 1970 by the clock of the store; None where it does not tell.
    """

    key: str
    nbytes: int
    modified: float | None


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
        fs, url = _file_system(objects)
        if hasattr(fs, "call_s3"):
            yield from _of_s3(fs, url, prefix)
            return
        yield from _of_others(fs, url, prefix)


def names(objects: Objects, prefix: str = "") -> Iterator[str]:
    """Keys below a prefix, as of `entries`."""
    return (entry.key for entry in entries(objects, prefix))


def delete_all(objects: Objects, keys: Collection[str]) -> None:
    """Remove objects: on S3 up to `DELETED_AT_ONCE` with a request.

    Raises
    ------
    TargetError
        If one of them was not removed. One that is not there is no error.
    """
    if isinstance(objects, Bucket):
        with explained(objects.url, ""):
            fs, url = _file_system(objects)
        if hasattr(fs, "call_s3"):
            rest = iter(keys)
            while batch := tuple(islice(rest, DELETED_AT_ONCE)):
                with explained(url, ""):
                    _delete_from_s3(fs, url, batch)
            return
    for key in keys:
        objects.delete(key)


def _file_system(objects: Objects) -> tuple[Any, str]:
    if not isinstance(objects, Bucket):
        raise TargetError(f"{objects.url} cannot be listed: give a folder, or a URL of a bucket")
    return file_system(objects.url, objects.storage_options), objects.url


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


def remove_empty(objects: Objects, is_own: Callable[[str], bool]) -> None:
    """On disk: remove the folders that are empty and, by their path, one's own, from the innermost to the root."""
    if not isinstance(objects, Folder):
        return
    root = objects.root
    for folder, _, _ in os.walk(root, topdown=False):
        if folder == root or is_own(os.path.relpath(folder, root).replace(os.sep, "/")):
            with suppress(OSError):  # it holds something, or may not be removed: what was asked for is the files
                os.rmdir(folder)


# ---- a bucket --------------------------------------------------------------------------------------------------------


def _of_s3(fs: Any, url: str, prefix: str) -> Iterator[Entry]:
    bucket, here = _place(fs, url)
    asked: dict[str, str] = {"Bucket": bucket, "Prefix": here + (f"{prefix}/" if prefix else "")}
    while True:
        page = _asked(fs, url, "list_objects_v2", **asked)
        for found in page.get("Contents") or ():
            yield Entry(found["Key"].removeprefix(here), found["Size"], _seconds(found))
        if not page.get("IsTruncated"):
            return
        asked["ContinuationToken"] = page["NextContinuationToken"]


def _of_others(fs: Any, url: str, prefix: str) -> Iterator[Entry]:
    """Folder by folder. fsspec's own walk takes a folder that could not be listed for an empty one."""
    here = strip_protocol(url).rstrip("/") + "/"
    folders = [here + prefix if prefix else here.rstrip("/")]
    while folders:
        folder = folders.pop()
        for found in retried(url, partial(sorted_out, partial(_listed, fs, folder)), WRITING):
            name = found["name"].rstrip("/")
            if found["type"] != "directory":
                yield Entry(found["name"].removeprefix(here), found["size"] or 0, _seconds(found))
            elif name != folder.rstrip("/"):
                folders.append(name)


def _listed(fs: Any, folder: str) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = fs.ls(folder, detail=True)
    except FileNotFoundError:
        return []
    return found


def _delete_from_s3(fs: Any, url: str, keys: Collection[str]) -> None:
    """One request. It succeeds as a whole even where an object was not removed, and says so in its answer."""
    bucket, here = _place(fs, url)
    doc = {"Objects": [{"Key": here + key} for key in keys], "Quiet": True}
    refused = _asked(fs, url, "delete_objects", Bucket=bucket, Delete=doc).get("Errors")
    if refused:
        first = refused[0]
        raise TargetError(
            f"{url}: {len(refused)} of {len(keys)} objects were not removed, the first is {first.get('Key')}: "
            f"{first.get('Code')} {first.get('Message')}; check the policy of the bucket"
        )


def _asked(fs: Any, url: str, method: str, **how: Any) -> Any:
    """The answer of S3 to a request, tried again where that may help."""
    return retried(url, partial(sorted_out, partial(fs.call_s3, method, **how)), WRITING)


def _place(fs: Any, url: str) -> tuple[str, str]:
    """Bucket, and the prefix of all keys with a slash at its end."""
    bucket, key, _ = fs.split_path(url)
    return bucket, f"{key}/" if key else ""


def _seconds(found: dict[str, Any]) -> float | None:
    """When an object was changed, as its file system tells it: a moment, seconds, or a text of RFC 3339."""
    value = next((found[name] for name in _TIMES if found.get(name) is not None), None)
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        return value.timestamp()
    return float(value) if isinstance(value, (int, float)) else None

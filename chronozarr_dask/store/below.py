"""What lies below a prefix behind an fsspec URL, and the removal of it, by names that are taken as they are.

fsspec's `find`, `rm` and `cat` of several take a name with ``*``, ``?`` or ``[`` in it for a pattern, and a bucket's
keys may hold these: `rm` of ``cube[1].run/staging`` would remove what another run has in ``cube1.run/staging``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from glob import has_magic
from itertools import islice
from typing import Any, TypeVar

from fsspec.core import strip_protocol

from chronozarr_dask.errors import TargetError
from chronozarr_dask.store.retries import WRITING, Patience, retried, sorted_out

T = TypeVar("T")

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


def entries_of(fs: Any, url: str, prefix: str) -> Iterator[Entry]:
    """What lies below a prefix, in any order: on S3 a thousand with a request, elsewhere folder by folder."""
    yield from (_of_s3 if hasattr(fs, "call_s3") else _of_others)(fs, url, prefix)


def delete_from(fs: Any, url: str, keys: Iterable[str], patience: Patience = WRITING) -> None:
    """Remove objects: on S3 up to `DELETED_AT_ONCE` with a request, of Google as many as gcsfs puts into one."""
    rest = iter(keys)
    while batch := tuple(islice(rest, DELETED_AT_ONCE)):
        if hasattr(fs, "call_s3"):
            _delete_from_s3(fs, url, batch, patience)
            continue
        paths = [f"{url}/{key}" for key in batch]
        if fs.protocol[0] in ("gs", "gcs"):
            _tried(url, partial(_unless_gone, fs.rm, [path for path in paths if not has_magic(path)]), patience)
            paths = [path for path in paths if has_magic(path)]
        for path in paths:
            _tried(url, partial(_unless_gone, fs.rm_file, path), patience)


def _tried(url: str, ask: Callable[[], T], patience: Patience = WRITING) -> T:
    """The answer to a request, tried again where that may help."""
    return retried(url, partial(sorted_out, ask), patience)


def _unless_gone(remove: Callable[[Any], Any], what: Any) -> None:
    try:
        if what:
            remove(what)
    except FileNotFoundError:
        return


def _of_s3(fs: Any, url: str, prefix: str) -> Iterator[Entry]:
    bucket, here = _place(fs, url)
    asked: dict[str, str] = {"Bucket": bucket, "Prefix": here + (f"{prefix}/" if prefix else "")}
    while True:
        page = _tried(url, partial(fs.call_s3, "list_objects_v2", **asked))
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
        for found in _tried(url, partial(_listed, fs, folder)):
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


def _delete_from_s3(fs: Any, url: str, keys: Collection[str], patience: Patience) -> None:
    """One request. It succeeds as a whole even where an object was not removed, and says so in its answer."""
    bucket, here = _place(fs, url)
    doc = {"Objects": [{"Key": here + key} for key in keys], "Quiet": True}
    ask = partial(fs.call_s3, "delete_objects", Bucket=bucket, Delete=doc)
    refused = _tried(url, ask, patience).get("Errors")
    if refused:
        first = refused[0]
        raise TargetError(
            f"{url}: {len(refused)} of {len(keys)} objects were not removed, the first is {first.get('Key')}: "
            f"{first.get('Code')} {first.get('Message')}; check the policy of the bucket"
        )


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

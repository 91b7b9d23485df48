"""Objects under a prefix of a bucket, or of any other file system that fsspec knows."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from fsspec.asyn import sync

from chronozarr_dask.errors import ConditionalCreateError, TargetError, TargetFullError
from chronozarr_dask.store.answers import FORBIDDEN, IGNORES_RANGES, NO_CONDITIONAL_CREATE, NO_LENGTH
from chronozarr_dask.store.below import Entry, delete_from, entries_of
from chronozarr_dask.store.cost import spent
from chronozarr_dask.store.failures import explained
from chronozarr_dask.store.filesystems import file_system, is_s3, upload
from chronozarr_dask.store.outcomes import (
    is_beyond_the_end,
    is_other_failure,
    is_there_already,
    is_unknown_condition,
)
from chronozarr_dask.store.refusals import code_of, is_final
from chronozarr_dask.store.retries import WRITING, Patience, may_pass, passing, retried, sorted_out, status_of

T = TypeVar("T")

PUTS = 16
"""PUTs of one process in flight; more threads than that wait for their turn."""

PROBE = "zz-probe-"
"""Keys that `probe` tries a place with begin so: behind all others there, in the order of a LIST."""

_puts = threading.BoundedSemaphore(PUTS)


def _after_fork() -> None:
    """The turns are the parent's."""
    global _puts
    _puts = threading.BoundedSemaphore(PUTS)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@dataclass(frozen=True)
class Bucket:
    """A prefix behind an fsspec URL. The file system is made in each process and never travels."""

    url: str
    storage_options: dict[str, Any] = field(default_factory=dict, repr=False)
    patience: Patience = field(default=WRITING, repr=False)
    """With what is written; what is read has its own."""

    def __hash__(self) -> int:
        return hash(self.url)

    @property
    def _fs(self) -> Any:
        with explained(self.url, ""):
            return file_system(self.url, self.storage_options)

    def _path(self, key: str) -> str:
        return f"{self.url}/{key}" if key else self.url

    def _read(self, key: str, ask: Callable[[Any, str], T]) -> T | None:
        """What `ask` gives for a file system and a path, None where there is no object; tried again (`retries`)."""

        def once() -> T | None:
            try:
                return ask(self._fs, self._path(key))
            except FileNotFoundError as error:
                if not is_other_failure(error.__cause__):
                    return None
                self._sort(key, error.__cause__ or error)
                raise TargetError(f"{self.url}/{key}: {error.__cause__}") from error
            except Exception as error:  # each client library has its own; what is not known goes on
                self._sort(key, error)
                raise

        with explained(self.url, key):
            return retried(f"{self.url}/{key}", once)

    def _sort(self, key: str, error: BaseException) -> None:
        """Raise PassingError, or TargetFullError where it is forbidden; other errors are left to the caller."""
        if may_pass(error):
            raise passing(error) from error
        if is_final(error) and code_of(error) != "AccessDenied":
            return
        if isinstance(error, PermissionError) or status_of(error) in (401, 403):
            raise TargetFullError(f"{self.url}/{key}: {FORBIDDEN} ({status_of(error)}: {error})") from error

    def _write(self, key: str, ask: Callable[[Any, str], T]) -> T:
        """What `ask` gives for a file system and a path, tried again (`retries`): it may come twice."""
        with explained(self.url, key):
            once = partial(sorted_out, lambda: ask(self._fs, self._path(key)))
            return retried(f"{self.url}/{key}" if key else self.url, once, self.patience)

    def get(self, key: str) -> bytes | None:
        """The object's bytes, None where there is none."""

        def ask(fs: Any, path: str) -> bytes:
            # Told that it may send several ranges, s3fs asks for the length first: two requests for each object.
            return bytes(fs.cat_file(path, **({"max_concurrency": 1} if hasattr(fs, "call_s3") else {})))

        return self._read(key, ask)

    def get_range(self, key: str, start: int, stop: int) -> bytes | None:
        """Bytes `start` to `stop` (exclusive); fewer where the object ends."""

        def ask(fs: Any, path: str) -> bytes:
            try:
                return bytes(fs.cat_file(path, start=start, end=stop))
            except Exception as error:  # each client library has its own; all others go on
                if not is_beyond_the_end(error):
                    raise
                return b""

        data = self._read(key, ask)
        if data is not None and len(data) > stop - start:
            raise TargetError(
                f"{self.url}/{key}: {stop - start} bytes were asked for and {len(data)} came: {IGNORES_RANGES}"
            )
        return data

    def tail(self, key: str, nbytes: int) -> tuple[bytes, int] | None:
        """The last `nbytes` bytes, all where the object is shorter, and the object's length; one request on S3."""
        if is_s3(self.url):
            return self._read(key, partial(_s3_tail, nbytes=nbytes))
        return self._tail_by_length(key, nbytes)

    def _tail_by_length(self, key: str, nbytes: int) -> tuple[bytes, int] | None:
        """`tail` of a host without suffix ranges: its length, then a range."""
        size = self.size(key)
        if not size:
            return None if size is None else (b"", 0)
        spent(requests=1)
        data = self.get_range(key, max(size - nbytes, 0), size)
        return None if data is None else (data, size)

    def size(self, key: str) -> int | None:
        """Length of the object, None where there is none."""
        found = self._read(key, lambda fs, path: (fs.info(path)["size"],))
        if found is None:
            return None
        if not isinstance(found[0], int):
            raise TargetError(f"{self.url}/{key}: {NO_LENGTH}")
        return found[0]

    def put(self, key: str, data: bytes | memoryview) -> None:
        """Store an object, in place of any that is there."""

        def ask(fs: Any, path: str) -> None:
            with _puts:
                upload(fs, path, bytes(data))  # of bytes no copy

        self._write(key, ask)

    def create(self, key: str, data: bytes) -> bool:
        """Store an object only if there is none. False if there is one of other bytes.

        The same bytes are taken for our own: the answer to an earlier try may have been lost. aiohttp too sends a PUT
        again, unseen, when a connection that it kept is closed, so a refusal never says by itself whose object it is.

        Raises
        ------
        ConditionalCreateError
            If the store does not know If-None-Match.
        """

        def ask(fs: Any, path: str) -> bool:
            try:
                with _puts:
                    upload(fs, path, data, mode="create")
            except Exception as error:  # each client library has its own; all others go on
                if is_there_already(error):
                    return self.get(key) == data
                if is_unknown_condition(error):
                    raise ConditionalCreateError(f"{self.url}/{key}: {NO_CONDITIONAL_CREATE} ({error})") from error
                raise
            return True

        return self._write(key, ask)

    def delete(self, key: str) -> None:
        """Remove an object; nothing happens where there is none."""

        def ask(fs: Any, path: str) -> None:
            try:
                fs.rm_file(path)
            except FileNotFoundError:
                return

        self._write(key, ask)

    def delete_prefix(self, prefix: str) -> None:
        """Remove all that is below a prefix; folders that a file system has of its own stay."""
        with explained(self.url, prefix):
            fs = self._fs
            delete_from(fs, self.url, (entry.key for entry in entries_of(fs, self.url, prefix)), self.patience)

    def entries(self, prefix: str) -> Iterator[Entry]:
        """What lies below a prefix, in any order."""
        with explained(self.url, prefix):
            yield from entries_of(self._fs, self.url, prefix)

    def delete_all(self, keys: Collection[str]) -> None:
        """Remove objects, on S3 a thousand with a request; one that is not there is no error."""
        with explained(self.url, ""):
            delete_from(self._fs, self.url, keys, self.patience)

    def is_empty(self) -> bool:
        """Whether nothing is there, or no more than a probe left; on S3 one LIST with a limit of 1."""
        return self._write("", _is_empty)

    def child(self, name: str) -> Bucket:
        """The prefix `name` below this one."""
        return Bucket(f"{self.url}/{name}", self.storage_options)


def _is_empty(fs: Any, url: str) -> bool:
    if hasattr(fs, "call_s3"):
        bucket, key, _ = fs.split_path(url)
        prefix = f"{key}/" if key else ""
        found = fs.call_s3("list_objects_v2", Bucket=bucket, Prefix=prefix, MaxKeys=1).get("Contents") or []
        return all(entry["Key"].startswith(prefix + PROBE) for entry in found)
    try:
        here = fs.unstrip_protocol(url)
        names = [fs.unstrip_protocol(entry["name"].rstrip("/")) for entry in fs.ls(url, detail=True)]
    except FileNotFoundError:
        return True
    return all(name == here or name.startswith(f"{here}/{PROBE}") for name in names)


def _s3_tail(fs: Any, path: str, nbytes: int) -> tuple[bytes, int]:
    """A suffix range, and the length that its answer names: `cat_file` would drop it."""
    bucket, key, _ = fs.split_path(path)
    try:
        answer = fs.call_s3("get_object", Bucket=bucket, Key=key, Range=f"bytes=-{nbytes}")
    except OSError as error:
        if not is_beyond_the_end(error):
            raise
        return b"", 0  # only an object without bytes has no last byte
    data = bytes(sync(fs.loop, answer["Body"].read))
    length = answer.get("ContentRange", "").rpartition("/")[2]
    return data[-nbytes:], int(length) if length.isdecimal() else len(data)

"""Objects under a prefix of a bucket, or of any other file system that fsspec knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import fsspec
from fsspec.asyn import sync

from chronozarr_dask.errors import TargetError, TargetFullError
from chronozarr_dask.store.answers import FORBIDDEN, IGNORES_RANGES, NO_LENGTH
from chronozarr_dask.store.cost import spent
from chronozarr_dask.store.failures import explained
from chronozarr_dask.store.retries import PassingError, may_pass, retried, status_of

T = TypeVar("T")

CONNECTIONS = 32
"""Connections to a host that are kept open: one for each thread of a store's reader."""

EXTRAS = {"s3": "s3", "gs": "gcs", "gcs": "gcs", "az": "azure", "abfs": "azure", "http": "http", "https": "http"}
"""URL scheme -> the extra of this package that brings its file system."""


@dataclass(frozen=True)
class Bucket:
    """A prefix behind an fsspec URL. The file system is made in each process and never travels."""

    url: str
    storage_options: dict[str, Any] = field(default_factory=dict, repr=False)

    def __hash__(self) -> int:
        return hash(self.url)

    @property
    def _fs(self) -> Any:
        return self._file_system({})

    def _file_system(self, options: dict[str, Any]) -> Any:
        protocol = self.url.split("://", 1)[0]
        with explained(self.url, ""):
            try:
                return fsspec.filesystem(protocol, **{"use_listings_cache": False, **self.storage_options, **options})
            except (ImportError, ValueError) as error:
                extra = EXTRAS.get(protocol)
                remedy = f"install chronozarr-dask[{extra}]" if extra else f"{', '.join(EXTRAS)} are known"
                raise TargetError(f"{self.url}: {error}; {remedy}") from error

    @property
    def _reading(self) -> Any:
        """The file system for reads: on S3 with a connection for each thread that reads, and without own retries."""
        if self.url.split("://", 1)[0] not in ("s3", "s3a"):
            return self._fs
        own = {"retries": {"total_max_attempts": 1, "mode": "standard"}, "max_pool_connections": CONNECTIONS}
        fs = self._file_system({"config_kwargs": own | dict(self.storage_options.get("config_kwargs") or {})})
        fs.retries = 1
        return fs

    def _path(self, key: str) -> str:
        return f"{self.url}/{key}" if key else self.url

    def _read(self, key: str, ask: Callable[[Any, str], T]) -> T | None:
        """What `ask` gives for a file system and a path, None where there is no object; tried again (`retries`)."""

        def once() -> T | None:
            try:
                return ask(self._reading, self._path(key))
            except FileNotFoundError as error:
                if not _is_other_failure(error.__cause__):
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
            status = status_of(error)
            said = str(error) or type(error).__name__
            raise PassingError(said if status is None or str(status) in said else f"{status} {said}") from error
        if isinstance(error, PermissionError) or status_of(error) in (401, 403):
            raise TargetFullError(f"{self.url}/{key}: {FORBIDDEN} ({status_of(error)}: {error})") from error

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
                if not _is_beyond_the_end(error):
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
        if self.url.startswith(("s3://", "s3a://")):
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
        with explained(self.url, key):
            self._fs.pipe_file(self._path(key), bytes(data))  # of bytes no copy

    def create(self, key: str, data: bytes) -> bool:
        """Store an object only if there is none. False if there is one."""
        with explained(self.url, key):
            try:
                self._fs.pipe_file(self._path(key), data, mode="create")
            except FileExistsError:
                return False
            except OSError as error:
                if _is_precondition_failure(error):
                    return False
                raise
        return True

    def delete(self, key: str) -> None:
        """Remove an object; nothing happens where there is none."""
        with explained(self.url, key):
            try:
                self._fs.rm_file(self._path(key))
            except FileNotFoundError:
                return

    def delete_prefix(self, prefix: str) -> None:
        """Remove all that is below a prefix."""
        with explained(self.url, prefix):
            try:
                self._fs.rm(self._path(prefix), recursive=True)
            except FileNotFoundError:
                return

    def is_empty(self) -> bool:
        """Whether nothing is there; on S3 one LIST with a limit of 1."""
        with explained(self.url, ""):
            fs = self._fs
            if hasattr(fs, "call_s3"):
                bucket, key, _ = fs.split_path(self.url)
                prefix = f"{key}/" if key else ""
                return not fs.call_s3("list_objects_v2", Bucket=bucket, Prefix=prefix, MaxKeys=1).get("KeyCount", 0)
            try:
                here = fs.unstrip_protocol(self.url)
                return all(fs.unstrip_protocol(e["name"].rstrip("/")) == here for e in fs.ls(self.url))
            except FileNotFoundError:
                return True

    def child(self, name: str) -> Bucket:
        """The prefix `name` below this one."""
        return Bucket(f"{self.url}/{name}", self.storage_options)


def _s3_tail(fs: Any, path: str, nbytes: int) -> tuple[bytes, int]:
    """A suffix range, and the length that its answer names: `cat_file` would drop it."""
    bucket, key, _ = fs.split_path(path)
    try:
        answer = fs.call_s3("get_object", Bucket=bucket, Key=key, Range=f"bytes=-{nbytes}")
    except OSError as error:
        if not _is_beyond_the_end(error):
            raise
        return b"", 0  # only an object without bytes has no last byte
    data = bytes(sync(fs.loop, answer["Body"].read))
    length = answer.get("ContentRange", "").rpartition("/")[2]
    return data[-nbytes:], int(length) if length.isdecimal() else len(data)


def _is_beyond_the_end(error: Exception) -> bool:
    """Whether a host refused a range because the object is shorter (416)."""
    return getattr(error, "status", None) == 416 or (isinstance(error, OSError) and "not satisfiable" in str(error))


def _is_other_failure(cause: BaseException | None) -> bool:
    """Whether what fsspec's HTTP calls a missing file was another answer than 404: it calls every failure one."""
    if type(cause).__module__.startswith("aiohttp"):
        return getattr(cause, "status", None) != 404
    return isinstance(cause, TimeoutError)


def _is_precondition_failure(error: OSError) -> bool:
    """Whether an object store refused a conditional create because the object exists (412, 409)."""
    return any(word in str(error) for word in ("PreconditionFailed", "At least one of the pre-conditions", "412"))

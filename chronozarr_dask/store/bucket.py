"""Objects under a prefix of a bucket, or of any other file system that fsspec knows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import fsspec

from chronozarr_dask.errors import TargetError
from chronozarr_dask.store.failures import explained

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
        protocol = self.url.split("://", 1)[0]
        with explained(self.url, ""):
            try:
                return fsspec.filesystem(protocol, **{"use_listings_cache": False, **self.storage_options})
            except (ImportError, ValueError) as error:
                extra = EXTRAS.get(protocol)
                remedy = f"install chronozarr-dask[{extra}]" if extra else f"{', '.join(EXTRAS)} are known"
                raise TargetError(f"{self.url}: {error}; {remedy}") from error

    def _path(self, key: str) -> str:
        return f"{self.url}/{key}" if key else self.url

    def get(self, key: str) -> bytes | None:
        """The object's bytes, None where there is none."""
        with explained(self.url, key):
            fs = self._fs
            # Told that it may send several ranges, s3fs asks for the length first: two requests for each object.
            once = {"max_concurrency": 1} if hasattr(fs, "call_s3") else {}
            try:
                return bytes(fs.cat_file(self._path(key), **once))
            except FileNotFoundError:
                return None

    def get_range(self, key: str, start: int, stop: int) -> bytes | None:
        """Bytes `start` to `stop` (exclusive); fewer where the object ends."""
        with explained(self.url, key):
            try:
                data = bytes(self._fs.cat_file(self._path(key), start=start, end=stop))
            except FileNotFoundError:
                return None
            except Exception as error:  # each client library has its own; all others go on
                if not _is_beyond_the_end(error):
                    raise
                return b""
        if len(data) > stop - start:
            raise TargetError(
                f"{self.url}/{key}: {stop - start} bytes were asked for and {len(data)} came: this host ignores range "
                f"requests, which a sharded store needs (section 9)"
            )
        return data

    def tail(self, key: str, nbytes: int) -> tuple[bytes, int] | None:
        """The last `nbytes` bytes, all where the object is shorter, and the object's length."""
        size = self.size(key)
        if size is None:
            return None
        data = self.get_range(key, max(size - nbytes, 0), size)
        return None if data is None else (data, size)

    def size(self, key: str) -> int | None:
        """Length of the object, None where there is none."""
        with explained(self.url, key):
            try:
                size = self._fs.info(self._path(key))["size"]
            except FileNotFoundError as error:
                if _is_other_failure(error.__cause__):
                    raise TargetError(f"{self.url}/{key}: {error.__cause__}") from error
                return None
        if not isinstance(size, int):
            raise TargetError(f"{self.url}/{key}: the host does not say how long the object is (Content-Length)")
        return size

    def put(self, key: str, data: bytes) -> None:
        """Store an object, in place of any that is there."""
        with explained(self.url, key):
            self._fs.pipe_file(self._path(key), data)

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

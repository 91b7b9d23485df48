"""Where objects go and come from: a folder, or a prefix of a bucket behind any fsspec URL. Keys to bytes.

Nothing here lists a store: every key is derived. The one listing is `Target.is_empty`, which looks for one key.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import fsspec

from chronozarr_dask.errors import TargetError

SECRET_WORDS = ("key", "secret", "token", "password", "passwd", "credential", "sas", "connection_string")


class Objects(Protocol):
    """Keys to bytes under one prefix."""

    @property
    def url(self) -> str: ...
    def get(self, key: str) -> bytes | None: ...
    def get_range(self, key: str, start: int, stop: int) -> bytes | None: ...
    def get_tail(self, key: str, nbytes: int) -> bytes | None: ...
    def size(self, key: str) -> int | None: ...
    def put(self, key: str, data: bytes) -> None: ...
    def create(self, key: str, data: bytes) -> bool: ...
    def delete(self, key: str) -> None: ...
    def is_empty(self) -> bool: ...
    def child(self, name: str) -> Objects: ...


def open_target(url: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None) -> Objects:
    """The objects under a path or an fsspec URL; nothing is touched yet.

    Parameters
    ----------
    url : str or path
    storage_options : mapping, optional
        For fsspec; not for a path.
    """
    text = os.fspath(url)
    if "://" not in text or text.startswith("file://"):
        if storage_options:
            raise TargetError(f"storage_options are for remote URLs; {text} is a path on this machine")
        return Folder(os.path.abspath(os.path.expanduser(text.removeprefix("file://"))))
    return Bucket(text.rstrip("/"), dict(storage_options or {}))


def secret_options(storage_options: Mapping[str, Any]) -> list[str]:
    """Dotted names of the options that may hold a secret, at any depth; their values are never looked at."""
    out = []
    for name, value in storage_options.items():
        if isinstance(value, Mapping):
            out += [f"{name}.{inner}" for inner in secret_options(value)]
        elif value is not None and any(word in name.lower() for word in SECRET_WORDS):
            out.append(name)
    return out


@dataclass(frozen=True)
class Folder:
    """A folder on disk. `put` writes in place: what is torn by a crash has no receipt and is written again."""

    root: str

    @property
    def url(self) -> str:
        """The absolute path."""
        return self.root

    def _path(self, key: str) -> str:
        return os.path.join(self.root, key)

    def get(self, key: str) -> bytes | None:
        """The object's bytes, None where there is none."""
        with _explained(self.url, key):
            try:
                return Path(self._path(key)).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def get_range(self, key: str, start: int, stop: int) -> bytes | None:
        """Bytes `start` to `stop` (exclusive); fewer where the object ends."""
        with _explained(self.url, key):
            try:
                with open(self._path(key), "rb") as f:
                    f.seek(start)
                    return f.read(stop - start)
            except (FileNotFoundError, NotADirectoryError):
                return None

    def get_tail(self, key: str, nbytes: int) -> bytes | None:
        """The last `nbytes` bytes; all where the object is shorter."""
        size = self.size(key)
        return None if size is None else self.get_range(key, max(size - nbytes, 0), size)

    def size(self, key: str) -> int | None:
        """Length of the object, None where there is none."""
        with _explained(self.url, key):
            try:
                return os.stat(self._path(key)).st_size
            except (FileNotFoundError, NotADirectoryError):
                return None

    def put(self, key: str, data: bytes) -> None:
        """Store an object, in place of any that is there."""
        path = self._path(key)
        with _explained(self.url, key):
            try:
                f = open(path, "wb", buffering=0)  # noqa: SIM115
            except FileNotFoundError:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                f = open(path, "wb", buffering=0)  # noqa: SIM115
            with f:
                view = memoryview(data)
                while view:
                    view = view[f.write(view) :]

    def create(self, key: str, data: bytes) -> bool:
        """Store a whole object only if there is none: a hard link to a finished file. False if there is one."""
        path = self._path(key)
        temporary = f"{path}.{os.getpid()}.{os.urandom(4).hex()}.part"
        with _explained(self.url, key):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            try:
                Path(temporary).write_bytes(data)
                os.link(temporary, path)
            except FileExistsError:
                return False
            finally:
                Path(temporary).unlink(missing_ok=True)
        return True

    def delete(self, key: str) -> None:
        """Remove an object; nothing happens where there is none. Folders left empty go too."""
        path = Path(self._path(key))
        with _explained(self.url, key):
            path.unlink(missing_ok=True)
            for parent in path.parents:
                if parent == Path(self.root).parent:
                    break
                try:
                    parent.rmdir()
                except OSError as error:
                    if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                        break
                    if error.errno != errno.ENOENT:
                        raise

    def is_empty(self) -> bool:
        """Whether nothing is there."""
        with _explained(self.url, ""):
            try:
                with os.scandir(self.root) as entries:
                    return next(entries, None) is None
            except FileNotFoundError:
                return True

    def child(self, name: str) -> Folder:
        """The folder `name` below this one."""
        return Folder(os.path.join(self.root, name))


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
        with _explained(self.url, ""):
            try:
                return fsspec.filesystem(protocol, **self.storage_options)
            except (ImportError, ValueError) as error:
                raise TargetError(f"{self.url}: {error}; install the extra for it, as in chronozarr-dask[s3]") from error

    def _path(self, key: str) -> str:
        return f"{self.url}/{key}" if key else self.url

    def get(self, key: str) -> bytes | None:
        """The object's bytes, None where there is none."""
        with _explained(self.url, key):
            try:
                return bytes(self._fs.cat_file(self._path(key)))
            except FileNotFoundError:
                return None

    def get_range(self, key: str, start: int, stop: int) -> bytes | None:
        """Bytes `start` to `stop` (exclusive); fewer where the object ends."""
        with _explained(self.url, key):
            try:
                return bytes(self._fs.cat_file(self._path(key), start=start, end=stop))
            except FileNotFoundError:
                return None

    def get_tail(self, key: str, nbytes: int) -> bytes | None:
        """The last `nbytes` bytes; all where the object is shorter."""
        with _explained(self.url, key):
            try:
                return bytes(self._fs.cat_file(self._path(key), start=-nbytes))
            except FileNotFoundError:
                return None

    def size(self, key: str) -> int | None:
        """Length of the object, None where there is none."""
        with _explained(self.url, key):
            try:
                return int(self._fs.info(self._path(key), refresh=True)["size"])
            except FileNotFoundError:
                return None

    def put(self, key: str, data: bytes) -> None:
        """Store an object, in place of any that is there."""
        with _explained(self.url, key):
            self._fs.pipe_file(self._path(key), data)

    def create(self, key: str, data: bytes) -> bool:
        """Store an object only if there is none. False if there is one."""
        with _explained(self.url, key):
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
        with _explained(self.url, key):
            try:
                self._fs.rm_file(self._path(key))
            except FileNotFoundError:
                return

    def is_empty(self) -> bool:
        """Whether nothing is there; on S3 one LIST with a limit of 1."""
        with _explained(self.url, ""):
            fs = self._fs
            if hasattr(fs, "call_s3"):
                bucket, key, _ = fs.split_path(self.url)
                prefix = f"{key}/" if key else ""
                return not fs.call_s3("list_objects_v2", Bucket=bucket, Prefix=prefix, MaxKeys=1).get("KeyCount", 0)
            try:
                return not any(e["name"].rstrip("/") != fs._strip_protocol(self.url) for e in fs.ls(self.url, refresh=True))
            except FileNotFoundError:
                return True

    def child(self, name: str) -> Bucket:
        """The prefix `name` below this one."""
        return Bucket(f"{self.url}/{name}", self.storage_options)


def _is_precondition_failure(error: OSError) -> bool:
    """Whether an object store refused a conditional create because the object exists (412, 409)."""
    return any(word in str(error) for word in ("PreconditionFailed", "At least one of the pre-conditions", "412"))


@contextmanager
def _explained(url: str, key: str) -> Iterator[None]:
    """Turn what the operating system or an object store says into one TargetError with place and remedy."""
    where = f"{url}/{key}" if key else url
    try:
        yield
    except (TargetError, FileNotFoundError, FileExistsError):
        raise
    except PermissionError as error:
        raise TargetError(
            f"{where}: permission denied ({error}); check the rights of this user, or the credentials and policy of the "
            f"bucket"
        ) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise TargetError(
                f"{where}: no space left; make room, then go on with resume: what is finished is kept"
            ) from error
        raise TargetError(f"{where}: {error}") from error

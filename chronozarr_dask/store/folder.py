"""Objects in a folder on disk."""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from chronozarr_dask.store.failures import explained


@dataclass(frozen=True)
class Folder:
    """A folder on disk. An object is there whole or not at all, whoever reads it and whenever its writer is killed.

    Two workers may store the same object: one whose run was killed or taken over works on for a while. What it stores
    is the same, and must not be seen half written, by the others or at its death.
    """

    root: str

    @property
    def url(self) -> str:
        """The absolute path."""
        return self.root

    def _path(self, key: str) -> str:
        return os.path.join(self.root, key)

    def get(self, key: str) -> bytes | None:
        """The object's bytes, None where there is none."""
        with explained(self.url, key):
            try:
                return Path(self._path(key)).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def get_range(self, key: str, start: int, stop: int) -> bytes | None:
        """Bytes `start` to `stop` (exclusive); fewer where the object ends."""
        with explained(self.url, key):
            try:
                with open(self._path(key), "rb") as f:
                    end = min(stop, os.fstat(f.fileno()).st_size)  # read() allocates what it is asked for
                    f.seek(min(start, end))
                    return f.read(end - f.tell())
            except (FileNotFoundError, NotADirectoryError):
                return None

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
                return os.stat(self._path(key)).st_size
            except (FileNotFoundError, NotADirectoryError):
                return None

    def put(self, key: str, data: bytes | memoryview) -> None:
        """Store an object, in place of any that is there."""
        path = self._path(key)
        with explained(self.url, key):
            if not _create(path, data) and not _holds(path, data):
                _replace(path, data)

    def create(self, key: str, data: bytes | memoryview) -> bool:
        """Store a whole object only if there is none, at once and never in part. False if there is one."""
        path = self._path(key)
        with explained(self.url, key):
            return _create(path, data)

    def delete(self, key: str) -> None:
        """Remove an object; nothing happens where there is none."""
        with explained(self.url, key):
            Path(self._path(key)).unlink(missing_ok=True)

    def delete_prefix(self, prefix: str) -> None:
        """Remove all that is below a prefix."""
        with explained(self.url, prefix):
            try:
                shutil.rmtree(self._path(prefix))
            except FileNotFoundError:
                return

    def is_empty(self) -> bool:
        """Whether nothing is there."""
        with explained(self.url, ""):
            try:
                with os.scandir(self.root) as entries:
                    return next(entries, None) is None
            except FileNotFoundError:
                return True

    def child(self, name: str) -> Folder:
        """The folder `name` below this one."""
        return Folder(os.path.join(self.root, name))


def _make_parents(path: str) -> None:
    """Make the folders that `path` lies in; NotADirectoryError where one of them is a file."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), error.filename) from error


def _create(path: str, data: bytes | memoryview) -> bool:
    """Store a whole file, and the folders that it lies in; False if there is one."""
    try:
        _create_whole(path, data)
    except FileExistsError:
        return False
    except FileNotFoundError:
        _make_parents(path)
        try:
            _create_whole(path, data)
        except FileExistsError:
            return False
    return True


def _holds(path: str, data: bytes | memoryview) -> bool:
    """Whether a file is there that holds this already: what was done twice is the same."""
    try:
        with open(path, "rb") as f:
            return os.fstat(f.fileno()).st_size == memoryview(data).nbytes and f.read() == data
    except FileNotFoundError:
        return False


def _replace(path: str, data: bytes | memoryview) -> None:
    """Put a finished file in place of one that is there."""
    finished = _part_of(path)
    try:
        _create_whole(finished, data)
        os.replace(finished, path)
    finally:
        Path(finished).unlink(missing_ok=True)


def _part_of(path: str) -> str:
    """A name beside `path` that nobody else takes."""
    return f"{path}.{os.getpid()}.{os.urandom(4).hex()}.part"


def _create_whole(path: str, data: bytes | memoryview) -> None:
    """Link a finished file to `path`; FileExistsError if there is one.

    On Linux the file has no name until then, so a process that is killed leaves nothing. Elsewhere, and on file systems
    without such files, it has one beside `path`.
    """
    try:
        fd = os.open(os.path.dirname(path), os.O_TMPFILE | os.O_WRONLY, 0o666)
    except (AttributeError, OSError):
        temporary = Path(_part_of(path))
        try:
            temporary.write_bytes(data)
            os.link(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        return
    with open(fd, "wb") as f:
        f.write(data)
        f.flush()
        # With a directory named, Python follows the link to the file itself (linkat); an absolute path ignores it.
        os.link(f"/proc/self/fd/{fd}", path, src_dir_fd=fd)

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
            try:
                f = open(path, "wb", buffering=0)  # noqa: SIM115
            except FileNotFoundError:
                _make_parents(path)
                f = open(path, "wb", buffering=0)  # noqa: SIM115
            with f:
                view = memoryview(data)
                while view:
                    view = view[f.write(view) :]

    def create(self, key: str, data: bytes) -> bool:
        """Store a whole object only if there is none, at once and never in part. False if there is one."""
        path = self._path(key)
        with explained(self.url, key):
            _make_parents(path)
            try:
                _create_whole(path, data)
            except FileExistsError:
                return False
        return True

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


def _create_whole(path: str, data: bytes) -> None:
    """Link a finished file to `path`; FileExistsError if there is one.

    On Linux the file has no name until then, so a process that is killed leaves nothing. Elsewhere, and on file systems
    without such files, it has one beside `path`.
    """
    try:
        fd = os.open(os.path.dirname(path), os.O_TMPFILE | os.O_WRONLY, 0o666)
    except (AttributeError, OSError):
        temporary = Path(f"{path}.{os.getpid()}.{os.urandom(4).hex()}.part")
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

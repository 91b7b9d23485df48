"""Objects in a folder on disk."""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from chronozarr_dask.errors import ConditionalCreateError
from chronozarr_dask.store.answers import NO_LINKS
from chronozarr_dask.store.failures import explained
from chronozarr_dask.store.renames import CannotTellError, rename_new

WITHOUT_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
"""What a file system without hard links answers."""


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
            try:
                is_new = _create(path, data)
            except CannotTellError:
                is_new = False
            if not is_new and not _holds(path, data):
                _replace(path, data)

    def create(self, key: str, data: bytes | memoryview) -> bool:
        """Store a whole object only if there is none, at once and never in part. False if there is one.

        Raises
        ------
        ConditionalCreateError
            If the file system has neither hard links nor a rename that replaces nothing.
        """
        path = self._path(key)
        with explained(self.url, key):
            try:
                return _create(path, data)
            except CannotTellError as error:
                raise ConditionalCreateError(f"{self.url}/{key}: {NO_LINKS}") from error

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
    finished = Path(_part_of(path))
    try:
        if not _create_nameless(str(finished), data):
            finished.write_bytes(data)
        os.replace(finished, path)
    finally:
        finished.unlink(missing_ok=True)


def _part_of(path: str) -> str:
    """A name beside `path` that nobody else takes."""
    return f"{path}.{os.getpid()}.{os.urandom(4).hex()}.part"


def _create_whole(path: str, data: bytes | memoryview) -> None:
    """Give a finished file the name `path`; FileExistsError if there is one."""
    if not _create_nameless(path, data):
        _create_by_name(path, data)


def _create_nameless(path: str, data: bytes | memoryview) -> bool:
    """`_create_whole` of a file that has no name until it is finished: a process that is killed leaves nothing.

    False where the system (all but Linux), or the file system, has no such files or cannot name them afterwards.
    """
    try:
        fd = os.open(os.path.dirname(path), os.O_TMPFILE | os.O_WRONLY, 0o666)
    except (AttributeError, OSError):
        return False
    with open(fd, "wb") as f:
        f.write(data)
        f.flush()
        try:
            # With a directory named, Python follows the link to the file itself (linkat); an absolute path ignores it.
            os.link(f"/proc/self/fd/{fd}", path, src_dir_fd=fd)
        except OSError as error:
            if error.errno not in WITHOUT_LINKS:
                raise
            return False
    return True


def _create_by_name(path: str, data: bytes | memoryview) -> None:
    """`_create_whole` of a file that has a name beside `path` before.

    Without hard links (exFAT, some FUSE and SMB mounts) it is renamed, and `rename_new` says how far that can be
    trusted; CannotTellError where there is no such rename.
    """
    temporary = Path(_part_of(path))
    try:
        temporary.write_bytes(data)
        try:
            os.link(temporary, path)
        except OSError as error:
            if error.errno not in WITHOUT_LINKS:
                raise
            rename_new(str(temporary), path)
    finally:
        temporary.unlink(missing_ok=True)

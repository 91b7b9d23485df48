"""What an operating system or an object store says when it refuses, as one TargetError with the place and a remedy."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from chronozarr_dask.errors import TargetError, TargetFullError
from chronozarr_dask.store.refusals import code_of, meaning

CLIENT_LIBRARIES = frozenset({"aiobotocore", "aiohttp", "azure", "botocore", "gcsfs", "google"})
"""Their errors are no OSError: a wrong answer, no credentials, a host that cannot be reached."""


NO_CREDENTIALS = frozenset(
    {"CredentialRetrievalError", "NoCredentialsError", "PartialCredentialsError", "ProfileNotFound"}
)


def is_client_failure(error: BaseException | None) -> bool:
    """Whether a client library of an object store or a host raised it."""
    return type(error).__module__.split(".")[0] in CLIENT_LIBRARIES


def remedy(error: BaseException) -> str:
    """How to mend a failure of a client library, to go on a message with; nothing where its own words say all."""
    if type(error).__name__ not in NO_CREDENTIALS:
        return ""
    return (
        "; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, in the environment, or read a public "
        "bucket without any: anon=True in storage_options (--storage-option anon=true, of a source "
        "--source-option anon=true)"
    )


def _in_the_way(path: str) -> str:
    """The part of a path that should be a folder, and what it is."""
    while "://" not in path and not os.path.lexists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    broken = os.path.islink(path) and not os.path.exists(path)
    return f"{path} is a link to nowhere" if broken else f"{path} is a file"


@contextmanager
def explained(url: str, key: str) -> Iterator[None]:
    """Turn what the operating system or an object store says into one TargetError with place and remedy."""
    try:
        yield
    except TargetError:
        raise
    except Exception as error:
        if (told := as_target_error(url, key, error)) is None:
            raise
        raise told from error


def as_target_error(url: str, key: str, error: Exception) -> TargetError | None:
    """One TargetError with place and remedy; None for an error that neither a system nor a store raised."""
    where = f"{url}/{key}" if key else url
    if (refused := meaning(error)) is not None:
        return TargetFullError(f"{where}: {refused} ({_said(error)})")
    # An absent object is none: what is absent here is what objects are put into.
    if isinstance(error, FileNotFoundError) or code_of(error) == "ContainerNotFound":
        if "://" not in url:
            return TargetError(f"{where}: {error}")
        return TargetError(
            f"{where}: no such bucket ({_in_a_line(error)}); create it first, or mend its name or the endpoint in "
            f"storage_options"
        )
    if isinstance(error, NotADirectoryError):
        return TargetError(
            f"{_in_the_way(where)}, and the path of a store or journal is made of folders; name another target, or "
            f"move that away"
        )
    if isinstance(error, PermissionError):
        bucket = ", or the credentials and policy of the bucket" if "://" in url else ""
        return TargetFullError(f"{where}: permission denied ({error}); check the rights of this user{bucket}")
    if isinstance(error, OSError):
        return _of_the_system(where, error)
    if isinstance(error, NotImplementedError):
        return TargetError(f"{where}: this kind of URL cannot be written or removed; name a folder or a bucket")
    if is_client_failure(error):
        return TargetError(f"{where}: {_in_a_line(error)}{remedy(error)}")
    return None


def _of_the_system(where: str, error: OSError) -> TargetError:
    if error.errno == errno.EROFS:
        return TargetFullError(f"{where}: the file system is mounted read-only; name a target on another")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return TargetFullError(f"{where}: no space left; make room, then go on with resume: what is finished is kept")
    return TargetError(f"{where}: {error}")


def _said(error: BaseException) -> str:
    """The store's code and words, in one line."""
    text = _in_a_line(error)
    code = code_of(error)
    return text if code is None or code in text else f"{code}: {text}"


def _in_a_line(error: BaseException) -> str:
    """An error's words; of Azure without the answer itself, which it repeats below them."""
    return " ".join(str(error).split("\nRequestId:")[0].split()) or type(error).__name__

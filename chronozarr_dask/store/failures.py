"""What an operating system or an object store says when it refuses, as one TargetError with the place and a remedy."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from chronozarr_dask.errors import TargetError, TargetFullError

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
    where = f"{url}/{key}" if key else url
    try:
        yield
    except TargetError:
        raise
    except FileNotFoundError as error:  # an absent object is none: what is absent here is what objects are put into
        if "://" not in url:
            raise TargetError(f"{where}: {error}") from error
        raise TargetError(
            f"{where}: no such bucket ({error}); create it first, or mend its name or the endpoint in storage_options"
        ) from error
    except NotADirectoryError as error:
        raise TargetError(
            f"{_in_the_way(where)}, and the path of a store or journal is made of folders; name another target, or "
            f"move that away"
        ) from error
    except PermissionError as error:
        raise TargetFullError(
            f"{where}: permission denied ({error}); check the rights of this user, or the credentials and policy of "
            f"the bucket"
        ) from error
    except OSError as error:
        if error.errno == errno.EROFS:
            raise TargetFullError(f"{where}: the file system is mounted read-only; name a target on another") from error
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise TargetFullError(
                f"{where}: no space left; make room, then go on with resume: what is finished is kept"
            ) from error
        raise TargetError(f"{where}: {error}") from error
    except Exception as error:
        if not is_client_failure(error):
            raise
        raise TargetError(f"{where}: {error}{remedy(error)}") from error

"""What an operating system or an object store says when it refuses, as one TargetError with the place and a remedy."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from chronozarr_dask.errors import TargetError, TargetFullError

CLIENT_LIBRARIES = frozenset({"aiobotocore", "aiohttp", "azure", "botocore", "gcsfs", "google"})
"""Their errors are no OSError: a wrong answer, no credentials, a host that cannot be reached."""


def _is_client_failure(error: BaseException | None) -> bool:
    return type(error).__module__.split(".")[0] in CLIENT_LIBRARIES


@contextmanager
def explained(url: str, key: str) -> Iterator[None]:
    """Turn what the operating system or an object store says into one TargetError with place and remedy."""
    where = f"{url}/{key}" if key else url
    try:
        yield
    except (TargetError, FileNotFoundError, FileExistsError):
        raise
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
        if not _is_client_failure(error):
            raise
        raise TargetError(f"{where}: {error}") from error

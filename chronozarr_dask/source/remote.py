"""What a file system or a host says when a source is asked for, as one InputError with the place and a remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from chronozarr_dask.errors import InputError
from chronozarr_dask.store.failures import is_client_failure, remedy


@contextmanager
def told_of(what: str) -> Iterator[None]:
    """Turn what fsspec and the client libraries below it raise into one InputError.

    Parameters
    ----------
    what : str
        Begins the message, as in ``s3://bucket/a.nc cannot be read``.
    """
    try:
        yield
    except InputError:
        raise
    except ImportError as error:
        raise InputError(f"{what}: {error}; install the extra for it, such as chronozarr-dask[s3]") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{what}: {type(error).__name__}: {error}{remedy(error)}") from error
    except Exception as error:  # of client libraries: no credentials, a host that cannot be reached
        if not is_client_failure(error):
            raise
        raise InputError(f"{what}: {error}{remedy(error)}") from error

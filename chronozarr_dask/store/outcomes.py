"""Which outcome of a request an error of a client library stands for: each library, and each store, has its own way."""

from __future__ import annotations

from chronozarr_dask.store.refusals import code_of
from chronozarr_dask.store.retries import status_of


def is_beyond_the_end(error: Exception) -> bool:
    """Whether a host refused a range because the object is shorter (416)."""
    return status_of(error) == 416 or (isinstance(error, OSError) and "not satisfiable" in str(error))


def is_other_failure(cause: BaseException | None) -> bool:
    """Whether what fsspec's HTTP calls a missing file was another answer than 404: it calls every failure one."""
    if type(cause).__module__.startswith("aiohttp"):
        return getattr(cause, "status", None) != 404
    return isinstance(cause, TimeoutError)


def is_there_already(error: Exception) -> bool:
    """Whether an object store refused a conditional create because the object exists (412)."""
    return isinstance(error, FileExistsError) or status_of(error) == 412


def is_unknown_condition(error: Exception) -> bool:
    """Whether an object store does not know conditional creates: 501, or 400 with a word of the header."""
    status, code = status_of(error), code_of(error)
    words = f"{error} {error.__cause__}".lower()
    return (
        status == 501
        or code == "NotImplemented"
        or (status == 400 and ("if-none-match" in words or "conditional" in words or "x-goog-if" in words))
    )

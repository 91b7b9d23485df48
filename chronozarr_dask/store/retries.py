"""Requests are tried again when what went wrong may pass: 429, 5xx, a timeout, a connection or a body that was torn.

The longest wait doubles from `WAIT` seconds; each is a random part of it (full jitter), so that many workers do not
come back at once, unless the host names its own (Retry-After). Tries and total time are bounded. The client libraries'
own retries are switched off where that is possible, so that each request is counted once and the waits are these.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from chronozarr_dask.errors import TargetError
from chronozarr_dask.store.cost import spent
from chronozarr_dask.store.refusals import code_of, is_final


@dataclass(frozen=True)
class Patience:
    """Most tries of one request, and most seconds from the first until no other is begun."""

    tries: int
    seconds: float


READING = Patience(6, 60.0)
WRITING = Patience(10, 180.0)
"""A region that cannot be stored costs its work: writes outlast longer storms than reads."""

WAIT = 0.2
LONGEST_WAIT = 20.0

PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Status codes of what may pass."""

_PASSING_CODES = frozenset(
    """
    BadDigest ConditionalRequestConflict IncompleteBody InternalError OperationAborted RequestTimeout
    ServiceUnavailable SlowDown XAmzContentSHA256Mismatch
    """.split()
)
"""Codes of S3 whose status (400, 409) alone does not say that they may pass: a body torn on its way, a race."""

_NAMES = frozenset(
    """
    ClientPayloadError ClientConnectionError ConnectionError ConnectTimeoutError ReadTimeoutError ConnectionClosedError
    EndpointConnectionError HTTPClientError IncompleteReadError ResponseStreamingError ServiceRequestError
    ServiceResponseError TimeoutError
    """.split()
)
"""Errors of client libraries (aiohttp, botocore, azure) and of Python without a status: no answer, or a torn one."""

_TORN = frozenset({"ClientPayloadError", "IncompleteReadError", "ResponseStreamingError"})
"""Of those, a body that ended too early. aiohttp gives its own cause of it the code 400, which no host has sent."""

T = TypeVar("T")


class PassingError(Exception):
    """What may go well the next time; `after` is the number of seconds that the host asked for."""

    def __init__(self, why: str, after: float | None = None) -> None:
        super().__init__(why)
        self.after = after


def retried(where: str, ask: Callable[[], T], patience: Patience = READING) -> T:
    """What `ask` gives, asked again while it raises PassingError; then one TargetError."""
    begun = time.monotonic()
    for i in range(patience.tries):
        try:
            return ask()
        except PassingError as error:
            last = error
        wait = pause(i, last.after)
        if i + 1 == patience.tries or time.monotonic() - begun + wait > patience.seconds:
            break
        time.sleep(wait)
        spent(requests=1)
    took = time.monotonic() - begun
    raise TargetError(
        f"{where}: {last}, in {i + 1} tries over {took:.1f} s; the host, or the way to it, is down or overloaded: "
        f"check the address of the host, or try again later"
    ) from last


def pause(i: int, after: float | None) -> float:
    """Seconds to wait after try `i`."""
    if after is not None:
        return min(max(after, 0.0), LONGEST_WAIT)
    longest: float = min(WAIT * 2.0**i, LONGEST_WAIT)
    return random.uniform(0.0, longest)


def status_of(error: BaseException | None) -> int | None:
    """The HTTP status behind an error of a client library, or behind its cause; None where there was no answer."""
    while error is not None:
        response: Any = getattr(error, "response", None)
        if isinstance(response, dict):  # botocore
            response = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        for value in (response, *(getattr(error, name, None) for name in ("status", "status_code", "code"))):
            if isinstance(value, int) and 100 <= value < 600:
                return value
        error = error.__cause__
    return None


def may_pass(error: BaseException) -> bool:
    """Whether what a client library raised may go well the next time."""
    if is_final(error):
        return False
    kinds = {kind.__name__ for e in (error, error.__cause__) if e is not None for kind in type(e).__mro__}
    status = None if kinds & _TORN else status_of(error)
    if status is not None:
        return status in PASSING or code_of(error) in _PASSING_CODES
    return bool(kinds & _NAMES)


def sorted_out(ask: Callable[[], T]) -> T:
    """What `ask` gives; PassingError where a client library raised what may pass, all else as it came."""
    try:
        return ask()
    except Exception as error:  # each client library has its own; what is not known goes on
        if may_pass(error):
            raise passing(error) from error
        raise


def passing(error: BaseException) -> PassingError:
    """A failure that may pass, in its own words and with its status."""
    status = status_of(error)
    said = " ".join(str(error).split()) or type(error).__name__
    if type(error).__name__ in _TORN:
        return PassingError(f"torn: {said}")
    return PassingError(said if status is None or str(status) in said else f"{status} {said}")

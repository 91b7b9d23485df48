"""Reads of a remote object are tried again when what went wrong may pass: 429, 5xx, a timeout, a body that was torn.

Waits double from `WAIT` seconds, each shortened by a random part so that many readers do not come back at once, unless
the host names its own (Retry-After). The client libraries' own retries are switched off where that is possible, so that
each request is counted once and the waits are these.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any, TypeVar

from chronozarr_dask.errors import TargetError
from chronozarr_dask.store.cost import spent

TRIES = 6
WAIT = 0.2
LONGEST_WAIT = 20.0

PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Status codes of what may pass."""

_NAMES = frozenset(
    """
    ClientPayloadError ClientConnectionError ConnectionError ConnectTimeoutError ReadTimeoutError ConnectionClosedError
    EndpointConnectionError HTTPClientError IncompleteReadError ResponseStreamingError ServiceRequestError
    ServiceResponseError TimeoutError
    """.split()
)
"""Errors of client libraries (aiohttp, botocore, azure) and of Python without a status: no answer, or a torn one."""

T = TypeVar("T")


class PassingError(Exception):
    """What may go well the next time; `after` is the number of seconds that the host asked for."""

    def __init__(self, why: str, after: float | None = None) -> None:
        super().__init__(why)
        self.after = after


def retried(where: str, ask: Callable[[], T]) -> T:
    """What `ask` gives, asked again while it raises PassingError; then one TargetError."""
    begun = time.monotonic()
    for i in range(TRIES):
        try:
            return ask()
        except PassingError as error:
            last = error
            if i + 1 < TRIES:
                time.sleep(pause(i, error.after))
                spent(requests=1)
    took = time.monotonic() - begun
    raise TargetError(
        f"{where}: {last}, in {TRIES} tries over {took:.1f} s; the host, or the way to it, is down or overloaded: try "
        f"again later"
    ) from last


def pause(i: int, after: float | None) -> float:
    """Seconds to wait after try `i`."""
    if after is not None:
        return min(max(after, 0.0), LONGEST_WAIT)
    longest: float = min(WAIT * 2.0**i, LONGEST_WAIT)
    return longest * random.uniform(0.5, 1.0)


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
    status = status_of(error)
    if status is not None:
        return status in PASSING
    return any(kind.__name__ in _NAMES for e in (error, error.__cause__) if e is not None for kind in type(e).__mro__)

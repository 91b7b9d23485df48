"""HTTP/1.1 for reads: connections that are kept open and used again by any thread, whole answers, ranges."""

from __future__ import annotations

import atexit
import os
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from chronozarr_dask.errors import TargetError
from chronozarr_dask.store.cost import spent
from chronozarr_dask.store.retries import PASSING, PassingError

TIMEOUT = 60.0
"""Seconds without a byte before a try is given up."""

IDLE = 64
"""Idle connections that are kept, to all hosts together; those used last. A store's reader has 32 threads."""

MAX_REDIRECTS = 5
ERROR_BODY = 2**20
"""Most bytes that are read of an answer that is no object, to keep the connection."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_STALE = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError)  # RemoteDisconnected is one


@dataclass(frozen=True)
class Answer:
    """What a host answered. `body` is None where it was longer than allowed, and not read."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes | None


@dataclass(frozen=True)
class Limits:
    """Most bytes that are read of an answer of 200 (None: all) and of one of 206; a longer body is left unread."""

    whole: int | None = None
    part: int = 0


Host = tuple[str, str]
"""(scheme, host and port)."""

_idle: list[tuple[Host, HTTPConnection]] = []
_lock = threading.Lock()


def close_idle() -> None:
    """Close the connections that nobody uses."""
    with _lock:
        idle, _idle[:] = list(_idle), []
    for _, connection in idle:
        connection.close()


def _after_fork() -> None:
    """The connections are the parent's: closed here, they stay open there."""
    global _lock
    _lock = threading.Lock()
    close_idle()


atexit.register(close_idle)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def ask(method: str, url: str, headers: Mapping[str, str], limits: Limits) -> Answer:
    """Send a request and read its answer, after any redirects.

    Parameters
    ----------
    method : "GET" or "HEAD"
    url : str
    headers : mapping
    limits : Limits

    Raises
    ------
    PassingError
        If there is no answer, a torn one, or one that may be another the next time.
    TargetError
        If the host is not who it says (TLS), or redirects without end.
    """
    for _ in range(MAX_REDIRECTS + 1):
        answer = _ask(method, urlsplit(url), headers, limits)
        if answer.status not in _REDIRECTS or not answer.headers.get("location"):
            return answer
        following = urljoin(url, answer.headers["location"])
        if urlsplit(following).netloc != urlsplit(url).netloc:  # secrets are for the host that they were given for
            headers = {k: v for k, v in headers.items() if k.lower() in ("range", "user-agent", "accept-encoding")}
        url = following
        spent(requests=1)
    raise TargetError(f"{url}: redirected more than {MAX_REDIRECTS} times")


def _ask(method: str, url: SplitResult, headers: Mapping[str, str], limits: Limits) -> Answer:
    target = quote(url.path or "/", safe="/%:=&~+!$,;'@()*[]") + (f"?{url.query}" if url.query else "")
    host = (url.scheme, url.netloc)
    try:
        connection, response = _sent(host, method, target, headers)
        try:
            answer, whole = _read(response, limits)
        except BaseException:
            connection.close()
            raise
    except ssl.SSLCertVerificationError as error:
        raise TargetError(f"{url.geturl()}: {error}") from error
    except (HTTPException, OSError) as error:
        why = f"torn: {error}" if isinstance(error, IncompleteRead) else f"{type(error).__name__}: {error}"
        raise PassingError(f"{url.netloc}: {why}") from error
    _give_back(host, connection, keep=whole and not response.will_close)
    if answer.status in PASSING:
        after = answer.headers.get("retry-after", "")
        raise PassingError(f"{answer.status} {answer.reason}", float(after) if after.isdecimal() else None)
    return answer


def _sent(host: Host, method: str, target: str, headers: Mapping[str, str]) -> tuple[HTTPConnection, HTTPResponse]:
    """Send a request over an idle connection, or over a new one where the host has closed those."""
    while True:
        kept = _take(host)
        connection = kept or _new(host)
        try:
            connection.request(method, target, headers=dict(headers))
            return connection, connection.getresponse()
        except _STALE:
            connection.close()
            if kept is None:
                raise
        except BaseException:
            connection.close()
            raise


def _new(host: Host) -> HTTPConnection:
    scheme, netloc = host
    if scheme == "https":
        return HTTPSConnection(netloc, timeout=TIMEOUT, context=_tls())
    return HTTPConnection(netloc, timeout=TIMEOUT)


def _take(host: Host) -> HTTPConnection | None:
    """The idle connection to a host that was used last: the host is the least likely to have closed it."""
    with _lock:
        for i in reversed(range(len(_idle))):
            if _idle[i][0] == host:
                return _idle.pop(i)[1]
    return None


def _give_back(host: Host, connection: HTTPConnection, *, keep: bool) -> None:
    if not keep:
        connection.close()
        return
    with _lock:
        _idle.append((host, connection))
        oldest = _idle.pop(0)[1] if len(_idle) > IDLE else None
    if oldest is not None:
        oldest.close()


def _read(response: HTTPResponse, limits: Limits) -> tuple[Answer, bool]:
    """The answer, and whether all of it was read."""
    headers = {name.lower(): value for name, value in response.getheaders()}
    limit = {200: limits.whole, 206: limits.part}.get(response.status, ERROR_BODY)
    length = response.length
    body: bytes | None
    if limit is None:
        body = response.read()
    elif length is not None:
        body = response.read() if length <= limit else None
    else:
        body = response.read(limit + 1)
        body = body if len(body) <= limit else None
    return Answer(response.status, response.reason, headers, body), response.isclosed()

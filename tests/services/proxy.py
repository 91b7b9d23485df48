"""A reverse proxy that makes trouble on its way to an S3 server, or to any other server of HTTP/1.1.

What it lets pass is passed byte for byte, the Host header too: a client that is given the proxy as its endpoint signs
for the proxy's address, and the server behind verifies the signature against that header.

    client  --->  Proxy(upstream, trouble)  --->  server
                  trouble(asked) -> Trouble or None; `troubles.Storm` is one
"""

from __future__ import annotations

import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.services.loopback import Loopback
from tests.services.troubles import Asked, Trouble

HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "expect", "trailer", "upgrade"})


class Proxy(Loopback):
    """A proxy on a free loopback port, in threads of this process.

    Parameters
    ----------
    upstream : str
        As in ``http://127.0.0.1:8333``.
    trouble : callable, optional
        (Asked) to a Trouble, or None; may be set anew at any time.

    Attributes
    ----------
    requests : list of Asked
    troubles : Counter
        Names of what befell requests.
    most_at_once : Counter
        By method: the most requests that were in its hands together.
    """

    def __init__(self, upstream: str, trouble: Callable[[Asked], Trouble | None] = lambda asked: None) -> None:
        self.upstream = urlsplit(upstream).netloc
        self.trouble = trouble
        self.requests: list[Asked] = []
        self.troubles: Counter[str] = Counter()
        self.at_once: Counter[str] = Counter()
        self.most_at_once: Counter[str] = Counter()
        self.counts: Counter[tuple[str, str]] = Counter()
        super().__init__(_handler(self))
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.host}"

    def calm(self) -> None:
        """No more trouble, and nothing counted."""
        with self.lock:
            self.trouble = lambda asked: None
            self.requests = []
            for counter in (self.troubles, self.at_once, self.most_at_once, self.counts):
                counter.clear()

    def options(self, server: Any) -> dict[str, Any]:
        """Storage options of an S3 server (`tests.services.seaweedfs`), by way of this proxy."""
        return {**server.storage_options, "client_kwargs": {"endpoint_url": self.url}}

    def asked(self, method: str, part: str = "") -> list[Asked]:
        """Requests of a method whose path or query holds `part`."""
        with self.lock:
            return [a for a in self.requests if a.method == method and part in f"{a.key}?{a.query}"]

    def note(self, method: str, path: str, headers: Mapping[str, str]) -> Asked:
        """Count a request."""
        parts = urlsplit(path)
        key = unquote(parts.path)
        with self.lock:
            asked = Asked(
                method, key, self.counts[method, key], parts.query, {k.lower(): v for k, v in headers.items()}
            )
            self.counts[method, key] += 1
            self.requests.append(asked)
        return asked

    def busy(self, method: str, by: int) -> None:
        """Count what is in its hands."""
        with self.lock:
            self.at_once[method] += by
            self.most_at_once[method] = max(self.most_at_once[method], self.at_once[method])


@dataclass(frozen=True)
class _Answer:
    status: int
    reason: str
    headers: list[tuple[str, str]]
    body: bytes


def _error(trouble: Trouble) -> _Answer:
    if trouble.status == 200:
        return _Answer(200, "OK", [("ETag", '"none"')], b"")
    body = (
        f'<?xml version="1.0" encoding="UTF-8"?><Error><Code>{trouble.code}</Code><Message>{trouble.name}</Message>'
        f"</Error>"
    ).encode()
    return _Answer(trouble.status or 500, trouble.code, [("Content-Type", "application/xml")], body)


def _handler(proxy: Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def setup(self) -> None:
            super().setup()
            self.behind = HTTPConnection(proxy.upstream, timeout=60)
            with proxy.lock:
                proxy.sockets.append(self.connection)

        def finish(self) -> None:
            self.behind.close()
            with suppress(OSError):
                super().finish()

        def handle_expect_100(self) -> bool:
            answered = super().handle_expect_100()
            self.wfile.flush()
            return answered

        def do_GET(self) -> None:
            body = self._body()
            asked = proxy.note(self.command, self.path, dict(self.headers.items()))
            trouble = proxy.trouble(asked)
            proxy.busy(self.command, 1)
            try:
                self._answer(trouble, body)
            finally:
                proxy.busy(self.command, -1)

        do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

        def _answer(self, trouble: Trouble | None, body: bytes) -> None:
            if trouble is None:
                self._send(self._forward(body))
                return
            with proxy.lock:
                proxy.troubles[trouble.name] += 1
            time.sleep(trouble.delay)
            ask = trouble.stored or (trouble.status is None and not trouble.reset)
            answer = self._forward(body) if ask else None
            if trouble.reset:
                self._reset()
            elif trouble.status is not None:
                self._send(_error(trouble))
            else:
                assert answer is not None
                self._send(answer, cut=trouble.cut)

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            while self.rfile.readline().strip():
                continue
            return b"".join(parts)

        def _forward(self, body: bytes) -> _Answer:
            for last in (False, True):
                try:
                    self.behind.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                    for name, value in self.headers.items():
                        if name.lower() not in HOP_BY_HOP:
                            self.behind.putheader(name, value)
                    self.behind.endheaders(body or None)
                    got = self.behind.getresponse()
                    return _Answer(got.status, got.reason, got.getheaders(), got.read())
                except (HTTPException, OSError):  # the server has closed an idle connection
                    self.behind.close()
                    if last:
                        raise
            raise AssertionError

        def _send(self, answer: _Answer, *, cut: bool = False) -> None:
            self.send_response_only(answer.status, answer.reason)
            named = {name.lower(): value for name, value in answer.headers}
            length = named.get("content-length", "0") if self.command == "HEAD" else str(len(answer.body))
            for name, value in answer.headers:
                if name.lower() not in HOP_BY_HOP | {"content-length"}:
                    self.send_header(name, value)
            self.send_header("Content-Length", length)
            self.end_headers()
            if self.command == "HEAD":
                return
            self.wfile.write(answer.body[: len(answer.body) // 2] if cut else answer.body)
            if cut:
                self.wfile.flush()
                self.close_connection = True

        def _reset(self) -> None:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()

        def log_message(self, *args: Any) -> None:
            """Quiet."""

    return Handler

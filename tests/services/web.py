"""A static web server that counts, takes its time, and misbehaves where it is told to.

In this process: `Server` (objects in a dict or files of a folder). In a process of its own, so that it takes no time of
the reader's threads: ``served(folder, latency)``; ``python -m tests.services.web FOLDER 0.02`` starts one by hand.
"""

from __future__ import annotations

import json
import re
import select
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from tests.services.loopback import Loopback

LOG = "/-/log"
"""Answers with the requests since it was asked last, as [method, key, Range], and forgets them."""


@dataclass(frozen=True)
class Fault:
    """What to answer in place of an object.

    Attributes
    ----------
    status : int
    body : bytes
    headers : mapping
        Further headers; Content-Length is set, and may be set wrong here.
    close : bool
        Close the connection without an answer.
    torn : int or None
        Answer as always, and close the connection after this many bytes of the body.
    short : int or None
        Answer a range with this many bytes, and say so.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    close: bool = False
    torn: int | None = None
    short: int | None = None


class Server(Loopback):
    """A web server on a free loopback port: `url` is the prefix of the objects.

    Parameters
    ----------
    objects : mapping or Path
        Key to bytes (looked up at each request), or a folder.
    latency : float
        Seconds that each request takes at least.
    fault : callable, optional
        (method, key, how often this was asked before) to a Fault, or None.
    ranges, suffixes : bool
        Whether ranges are honoured, and those without a first byte.

    Attributes
    ----------
    requests, headers : list
        (method, key, Range) of each request, and its headers.
    connections, most_at_once : int
        Connections that were made, and the most requests that were in its hands together.
    """

    def __init__(
        self,
        objects: Mapping[str, bytes] | Path,
        latency: float = 0.0,
        fault: Callable[[str, str, int], Fault | None] = lambda method, key, n: None,
        *,
        ranges: bool = True,
        suffixes: bool = True,
    ) -> None:
        self.objects, self.latency, self.fault = objects, latency, fault
        self.ranges, self.suffixes = ranges, suffixes
        self.requests: list[tuple[str, str, str | None]] = []
        self.connections = self.at_once = self.most_at_once = 0
        self.headers: list[Mapping[str, str]] = []
        self.asked: Counter[tuple[str, str]] = Counter()
        super().__init__(_handler(self))
        self.host = f"http://127.0.0.1:{self.port}"
        self.url = f"{self.host}/cube"

    def length(self, key: str) -> int | None:
        """Of an object, None where there is none."""
        if isinstance(self.objects, Path):
            path = self.objects / key
            return path.stat().st_size if path.is_file() else None
        return len(self.objects[key]) if key in self.objects else None

    def forget(self) -> list[tuple[str, str, str | None]]:
        """The requests since the last call."""
        with self.lock:
            out, self.requests = self.requests, []
        return out


def _part(length: int, ranges: str | None, server: Server) -> tuple[int, range, dict[str, str]]:
    """Status, bytes of the object and headers of an answer."""
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", ranges or "")
    if match is None or not server.ranges or (not match[1] and not server.suffixes):
        return 200, range(length), {}
    start = int(match[1]) if match[1] else max(length - int(match[2]), 0)
    stop = min(int(match[2]) + 1, length) if match[1] and match[2] else length
    if start >= length:
        return 416, range(0), {"Content-Range": f"bytes */{length}"}
    return 206, range(start, stop), {"Content-Range": f"bytes {start}-{stop - 1}/{length}"}


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # headers and body in one packet

        def setup(self) -> None:
            super().setup()
            with server.lock:
                server.connections += 1
                server.sockets.append(self.connection)

        def do_GET(self) -> None:
            if self.path == LOG:
                self._send(200, json.dumps(server.forget()).encode(), {})
                return
            key, ranges = self.path.removeprefix("/cube/"), self.headers.get("Range")
            with server.lock:
                server.requests.append((self.command, key, ranges))
                server.headers.append(dict(self.headers))
                n = server.asked[self.command, key]
                server.asked[self.command, key] += 1
                server.at_once += 1
                server.most_at_once = max(server.most_at_once, server.at_once)
            time.sleep(server.latency)
            with server.lock:
                server.at_once -= 1
            fault, length = server.fault(self.command, key, n), server.length(key)
            if fault is not None and (fault.close or (fault.torn is None and fault.short is None)):
                self._fail(fault)
                return
            status, part, headers = (404, range(0), {}) if length is None else _part(length, ranges, server)
            if fault is not None and fault.short is not None:
                part = part[: fault.short]
                headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{length}"
            self._head(status, len(part), headers)
            if fault is not None and fault.torn is not None:
                part, self.close_connection = part[: fault.torn], True
            if self.command == "GET" and part:
                self._body(key, part)

        do_HEAD = do_GET

        def _fail(self, fault: Fault) -> None:
            if fault.close:
                self.close_connection = True
            else:
                self._send(fault.status, fault.body, fault.headers)

        def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
            self._head(status, len(body), headers)
            if self.command == "GET":
                self.wfile.write(body)

        def _head(self, status: int, length: int, headers: Mapping[str, str]) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(length), **headers}.items():
                self.send_header(name, value)
            self.end_headers()

        def _body(self, key: str, part: range) -> None:
            if not isinstance(server.objects, Path):
                self.wfile.write(server.objects[key][part.start : part.stop])
                return
            self.wfile.flush()
            with (server.objects / key).open("rb") as file:
                self.connection.sendfile(file, part.start, len(part))

        def log_message(self, *args: Any) -> None:
            """Quiet."""

    return Handler


# ---- in a process of its own --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Served:
    """A server in another process."""

    host: str

    @property
    def url(self) -> str:
        """Of the folder."""
        return f"{self.host}/cube"

    def forget(self) -> list[list[str | None]]:
        """The requests since the last call."""
        with urllib.request.urlopen(self.host + LOG) as answer:
            log: list[list[str | None]] = json.load(answer)
        return log


@contextmanager
def served(folder: Path, latency: float) -> Iterator[Served]:
    """Serve a folder from a process of its own, which ends with the block, or with this process."""
    command = [sys.executable, "-m", "tests.services.web", str(folder), str(latency)]
    top = Path(__file__).resolve().parents[2]
    with subprocess.Popen(command, cwd=top, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Served(process.stdout.readline().strip())
        finally:
            process.stdin.close()
            process.wait(10)


def main(folder: str, latency: str) -> None:
    """Serve until standard input ends."""
    with Server(Path(folder), float(latency)) as server:
        print(server.host, flush=True)
        while not select.select([sys.stdin], [], [])[0] or sys.stdin.readline():
            continue


if __name__ == "__main__":
    main(*sys.argv[1:])

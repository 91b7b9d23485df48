"""A web server of a folder that knows ranges, with the standard library alone; it ends when its standard input does.

``python -m scripts.demo.web FOLDER`` prints its address, on a port that the system chose.
"""

from __future__ import annotations

import re
import shutil
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

RANGE = re.compile(r"bytes=(\d*)-(\d*)", re.ASCII)


class Server(ThreadingHTTPServer):
    """Serves the files of a folder on a free port of loopback."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        super().__init__(("127.0.0.1", 0), Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients may go away."""


class Handler(BaseHTTPRequestHandler):
    """GET and HEAD, whole or one range."""

    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave in one packet

    def do_GET(self) -> None:
        """Answer with 200, 206, 404 or 416."""
        path = (self.server.folder / unquote(urlsplit(self.path).path).lstrip("/")).resolve()
        if not (path.is_relative_to(self.server.folder) and path.is_file()):
            self._head(404, 0, {})
            return
        size = path.stat().st_size
        status, part = _part(self.headers.get("Range"), size)
        headers = {"Accept-Ranges": "bytes", "Content-Type": "image/tiff"}
        if status == 206:
            headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
        elif status == 416:
            headers["Content-Range"] = f"bytes */{size}"
        self._head(status, len(part), headers)
        if self.command == "GET" and part:
            with path.open("rb") as file:
                file.seek(part.start)
                if len(part) < size:
                    self.wfile.write(file.read(len(part)))
                else:
                    shutil.copyfileobj(file, self.wfile)

    do_HEAD = do_GET

    def _head(self, status: int, length: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(length), **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


def _part(asked: str | None, size: int) -> tuple[int, range]:
    """Status, and bytes of the file, for a Range header."""
    match = RANGE.fullmatch((asked or "").strip())
    if match is None or not (match[1] or match[2]):
        return 200, range(size)
    start = int(match[1]) if match[1] else max(size - int(match[2]), 0)
    stop = min(int(match[2]) + 1, size) if match[1] and match[2] else size
    return (206, range(start, stop)) if start < stop else (416, range(0))


def main(folder: str) -> None:
    """Serve until standard input ends, which it does with the process that started this one."""
    with Server(Path(folder)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
        thread.start()
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])

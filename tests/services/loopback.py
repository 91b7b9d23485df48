"""What servers in threads of this process have in common: a free loopback port, and an end that closes connections."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class _Listening(ThreadingHTTPServer):
    request_queue_size = 128  # a client opens dozens of connections at once
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients may go away."""


class Loopback:
    """A server on a free port, from now until the end of the block.

    Attributes
    ----------
    port : int
    sockets : list of socket
        Connections that were made: handlers add them, under the `lock`.
    """

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self.sockets: list[socket.socket] = []
        self.lock = threading.Lock()
        self._server = _Listening(("127.0.0.1", 0), handler)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        with self.lock:
            for connection in self.sockets:  # as a server that ends: the next one may be given the same port
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

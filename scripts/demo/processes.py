"""What the demo starts: two servers, and the program. All of it ends with the demo, however that ends."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

HOST = "127.0.0.1"
READY_WITHIN = 30.0  # seconds; half a second on an idle machine
STOP_WITHIN = 5.0
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class DemoError(Exception):
    """What went wrong, in one line."""


def tool(name: str) -> str:
    """Path of a program of this environment."""
    path = Path(sys.executable).with_name(name)
    if not path.is_file():
        raise DemoError(f"the program {name} is not in {path.parent}: run make env")
    return str(path)


def without_proxy() -> dict[str, str]:
    """The environment, in which loopback is never asked for through a proxy."""
    hosts = ",".join(filter(None, (os.environ.get("no_proxy") or os.environ.get("NO_PROXY"), HOST, "localhost")))
    return os.environ | {"no_proxy": hosts, "NO_PROXY": hosts}


def _die_with_parent(signum: int) -> None:
    """On Linux: also when this process is killed and can end nobody; elsewhere the servers end with their input."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signum)


@contextlib.contextmanager
def web_server(folder: Path) -> Iterator[str]:
    """Serve a folder over HTTP, from a process of its own; the address."""
    command = [sys.executable, "-m", "scripts.demo.web", str(folder)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: _die_with_parent(signal.SIGTERM),
    )  # fmt: skip
    with _ended(process):
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address:
            raise DemoError(f"the web server of {folder} did not start")
        yield address


@contextlib.contextmanager
def stac_server(folder: Path) -> Iterator[str]:
    """Serve collection.json and items.json of a folder as a STAC API; the address of its landing page."""
    program = tool("rustac")
    for _ in range(5):  # another program may take the port in between
        port = _free_port()
        with (folder / "stac-server.log").open("wb") as log:
            process = subprocess.Popen(
                [program, "serve", "--addr", f"{HOST}:{port}", "collection.json", "items.json"], cwd=folder,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                preexec_fn=lambda: _die_with_parent(signal.SIGTERM),
            )  # fmt: skip
        with _ended(process):
            if _answers(f"http://{HOST}:{port}/collections", process):
                yield f"http://{HOST}:{port}"
                return
    raise DemoError(f"the STAC server did not start; see {folder / 'stac-server.log'}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(url: str, process: subprocess.Popen[bytes]) -> bool:
    """Wait until a server answers; False when it ends before, as it does when its port was taken."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    until = time.monotonic() + READY_WITHIN
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError), opener.open(url, timeout=5) as answer:
            return bool(answer.status == 200) and process.poll() is None
        time.sleep(0.05)
    return False


@contextlib.contextmanager
def _ended(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> Iterator[None]:
    try:
        yield
    finally:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        process.terminate()
        try:
            process.wait(STOP_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def run_program(*arguments: str) -> None:
    """Run ``chronozarr-dask`` on this terminal, as if it had been typed.

    Ctrl-C reaches it from the terminal as it reaches this process, which waits for it to end in order.
    """
    process = subprocess.Popen(
        [tool("chronozarr-dask"), *arguments], env=without_proxy(),
        preexec_fn=lambda: _die_with_parent(signal.SIGTERM),
    )  # fmt: skip
    interrupted = False
    try:
        while process.poll() is None:
            try:
                process.wait()
            except KeyboardInterrupt:
                interrupted = True
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    if interrupted:
        raise KeyboardInterrupt
    if process.returncode:
        raise DemoError(f"chronozarr-dask {shlex.join(arguments)} ended with exit code {process.returncode}")

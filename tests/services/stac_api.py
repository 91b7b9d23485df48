"""A real STAC API for tests: PostgreSQL with PostGIS, pgstac and stac-fastapi, on loopback only.

PostgreSQL and PostGIS come from the system (Debian: postgresql-15-postgis-3), pgstac and the API from PyPI. Everything
lives in a temporary folder; PostgreSQL refuses to run as root, so root hands it to the user `postgres`.

From a shell, to look around by hand (Ctrl-C stops it)::

    python -m tests.services.stac_api collection.json items.json
"""

import contextlib
import importlib.util
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.services.seaweedfs import HOST, NotInstalledError, die_with_parent

READY_WITHIN = 90.0  # seconds; 8 on an idle machine
USER = "postgres"
_POSTGRES = "STAC API: PostgreSQL with PostGIS is not installed (Debian: postgresql-15-postgis-3)"


@dataclass(frozen=True)
class StacApi:
    """A running server: its landing page, and how to fill it."""

    url: str
    environment: dict[str, str] = field(repr=False)
    folder: Path

    def load(self, collection: dict[str, Any], items: Sequence[dict[str, Any]]) -> None:
        """Put a collection and its items into the database; what is there already is replaced."""
        for kind, documents in (("collections", [collection]), ("items", items)):
            file = self.folder / f"{kind}.ndjson"
            file.write_text("".join(json.dumps(d) + "\n" for d in documents))
            command = [sys.executable, "-m", "pypgstac.pypgstac", "load", kind, str(file), "--method", "upsert"]
            _run(command, self.environment)


def programs() -> Path:
    """Folder of PostgreSQL's programs; NotInstalledError names what is missing."""
    found = shutil.which("initdb")
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    folders += [Path(found).resolve().parent] if found else []
    for folder in folders:
        if (folder / "initdb").is_file() and (folder / "pg_config").is_file():
            share = subprocess.run([folder / "pg_config", "--sharedir"], capture_output=True, text=True, check=True)
            if (Path(share.stdout.strip()) / "extension" / "postgis.control").is_file():
                break
    else:
        raise NotInstalledError(_POSTGRES)
    for module in ("pypgstac", "stac_fastapi.pgstac", "uvicorn", "psycopg"):
        if not _is_installed(module):
            raise NotInstalledError(f"STAC API: the Python package {module} is not installed")
    if os.geteuid() == 0:
        try:
            pwd.getpwnam(USER)
        except KeyError as error:
            raise NotInstalledError(f"STAC API: there is no user {USER!r}, and root may not run PostgreSQL") from error
    return folder


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _free_port() -> int:
    """A free port below the range that the system gives to outgoing connections."""
    for port in range(20_000 + os.getpid() % 8000, 32_000):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((HOST, port))
            return port
    raise RuntimeError(f"STAC API: no free port on {HOST}")


def _run(command: Sequence[str | Path], environment: dict[str, str], user: str | None = None) -> None:
    done = subprocess.run(command, env=environment, user=user, cwd="/", capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"STAC API: {command[0]} failed:\n{(done.stdout + done.stderr)[-2000:]}")


@contextlib.contextmanager
def _postgres(programs: Path, folder: Path) -> Iterator[dict[str, str]]:
    """A fresh database with pgstac in it; the environment by which to reach it."""
    user = USER if os.geteuid() == 0 else None
    data, port = folder / "data", _free_port()
    if user:
        shutil.chown(folder, user)
    base = os.environ | {"LC_ALL": "C.UTF-8"}
    _run([programs / "initdb", "-D", data, "-A", "trust", "-U", USER, "-E", "UTF8", "--no-sync"], base, user)
    options = {
        "listen_addresses": HOST,
        "unix_socket_directories": str(folder),
        "fsync": "off",
        "shared_buffers": "64MB",
    }
    command = [str(programs / "postgres"), "-D", str(data), "-p", str(port)]
    for name, value in options.items():
        command += ["-c", f"{name}={value}"]
    with (folder / "postgres.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd="/",
            env=base,
            user=user,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            preexec_fn=die_with_parent,
        )
    environment = base | {"PGHOST": HOST, "PGPORT": str(port), "PGUSER": USER, "PGPASSWORD": "x", "PGDATABASE": "stac"}
    try:
        _wait(lambda: _answers([programs / "pg_isready", "-q"], environment), process, folder / "postgres.log")
        _run([programs / "createdb", "stac"], environment | {"PGDATABASE": USER})
        _run([sys.executable, "-m", "pypgstac.pypgstac", "migrate"], environment)
        sql = "update pgstac.pgstac_settings set value = 'on' where name = 'context'"
        _run([programs / "psql", "-qc", sql], environment)
        yield environment
    finally:
        process.send_signal(signal.SIGINT)  # fast shutdown: connections are cut, shared memory is given back
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(command: Sequence[str | Path], environment: dict[str, str]) -> bool:
    return subprocess.run(command, env=environment, cwd="/").returncode == 0


def _wait(is_ready: Any, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + READY_WITHIN
    while time.monotonic() < until and process.poll() is None:
        if is_ready():
            return
        time.sleep(0.1)
    raise RuntimeError(f"STAC API: not ready; the end of {log.name}:\n{log.read_text(errors='replace')[-2000:]}")


def _serves(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@contextlib.contextmanager
def running() -> Iterator[StacApi]:
    """Start database and API; on leaving, stop both and throw the folder away."""
    folder_of_programs = programs()
    with contextlib.ExitStack() as stack:
        # The database's own user must be able to walk to its folder, whatever TMPDIR is.
        name = stack.enter_context(tempfile.TemporaryDirectory(prefix="stac-", dir="/tmp"))
        own = stack.enter_context(tempfile.TemporaryDirectory(prefix="stac-"))
        environment = stack.enter_context(_postgres(folder_of_programs, Path(name)))
        port, log = _free_port(), Path(own) / "api.log"
        app = "stac_fastapi.pgstac.app:create_app"
        command = [sys.executable, "-m", "uvicorn", app, "--factory", "--host", HOST, "--port", str(port)]
        with log.open("wb") as file:
            process = subprocess.Popen(
                [*command, "--log-level", "warning"],
                cwd=own,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent,
            )
        try:
            url = f"http://{HOST}:{port}"
            _wait(lambda: _serves(url), process, log)
            yield StacApi(url, environment, Path(own))
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


if __name__ == "__main__":
    with running() as started, contextlib.suppress(KeyboardInterrupt):
        if len(sys.argv) == 3:
            features = json.loads(Path(sys.argv[2]).read_text())["features"]
            started.load(json.loads(Path(sys.argv[1]).read_text()), features)
        print(f"{started.url}; Ctrl-C stops it", flush=True)
        signal.pause()

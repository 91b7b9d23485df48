"""Several hosts on one machine: each a network namespace with an address of its own, all on one switch.

    switch (a bridge in a namespace of its own)
      ├── 10.77.0.2   s3         SeaweedFS
      ├── 10.77.0.10  scheduler
      ├── 10.77.0.11  client, and 10.77.0.12 client2
      └── 10.77.0.21  w1, w2 .. workers, each with its nanny

Nothing touches the network of the machine itself: the bridge is in a namespace too, so two runs have the same addresses
and do not meet. Namespaces are named by the process id of the run; what a killed run left is swept by the next.

`Host.cut` takes the cable out: no packet comes or goes, and nobody is told. `Host.kill` is a host that is switched off
hard: kill -9 of every process on it. Needs Linux, root and `ip` (Debian: iproute2).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tests.services import seaweedfs
from tests.services.seaweedfs import NotInstalledError, S3Server, die_with_parent

T = TypeVar("T")

REPO = Path(__file__).resolve().parents[2]
MARK = "czh"
NAMESPACES = Path("/run/netns")
NET = "10.77.0"
PORT = 8786
CLONE_NEWNET = 0x40000000

TUNED = {
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "40s",
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "3",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "44s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s",
}
"""What makes a silent worker known after 40 seconds instead of 5 minutes. For scheduler, workers and client.

Ten seconds do on an idle machine; where many processes share its cores, a worker that compiles a kernel is silent for
as long, is given up, comes back, and is given up again.
"""


def check_installed() -> None:
    """Raise NotInstalledError where there can be no namespaces; it names what is missing."""
    if sys.platform != "linux" or not shutil.which("ip"):
        raise NotInstalledError("several hosts: there is no `ip` (Linux, Debian: iproute2)")
    if os.geteuid():
        raise NotInstalledError("several hosts: network namespaces need root")
    probe = f"{MARK}{os.getpid():x}-probe"
    if subprocess.run(["ip", "netns", "add", probe], capture_output=True, check=False).returncode:
        raise NotInstalledError("several hosts: this machine lets nobody make a network namespace")
    ip("netns", "del", probe)
    seaweedfs.program()


def ip(*words: str) -> str:
    """Run `ip`; RuntimeError with what it says where it fails."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"ip {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


@dataclass(frozen=True)
class Host:
    """A network namespace with one address.

    Attributes
    ----------
    name, namespace, switch : str
        Its own name, that of its namespace, and the namespace that its cable goes to.
    address : str
    folder : Path
        Logs of what runs on it.
    """

    name: str
    namespace: str
    switch: str
    address: str
    folder: Path

    def start(self, name: str, words: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start a program on this host; what it says goes to `log(name)`. It ends with this process."""
        with self.log(name).open("wb") as log:
            return subprocess.Popen(
                ["ip", "netns", "exec", self.namespace, *words],
                cwd=REPO,
                env=os.environ | dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent,
            )

    def log(self, name: str) -> Path:
        """The log of a program."""
        return self.folder / f"{self.name}-{name}.log"

    def call(self, do: Callable[[], T]) -> T:
        """Call a function in a thread that sees the network of this host; sockets that it opens are this host's."""
        with ThreadPoolExecutor(1, initializer=self._enter) as pool:
            return pool.submit(do).result()

    def _enter(self) -> None:
        fd = os.open(NAMESPACES / self.namespace, os.O_RDONLY)
        try:
            if ctypes.CDLL(None, use_errno=True).setns(fd, CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), f"setns to {self.namespace}")
        finally:
            os.close(fd)

    def cut(self) -> None:
        """Take the cable out of the switch: connections stay open at both ends, and nothing comes through."""
        ip("-n", self.switch, "link", "set", "dev", self.name, "down")

    def mend(self) -> None:
        """Put the cable back."""
        ip("-n", self.switch, "link", "set", "dev", self.name, "up")

    def pids(self) -> list[int]:
        """Processes that run here."""
        return [int(pid) for pid in ip("netns", "pids", self.namespace).split()]

    def kill(self) -> None:
        """Switch the host off hard: kill -9 of all that runs here."""
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@dataclass
class Hosts:
    """A rack: hosts on one switch.

    Attributes
    ----------
    folder : Path
        Logs, and the folders of services.
    mark : str
        Beginning of the names of all namespaces: with the id of this process, and a dot and more for a second rack.
    """

    folder: Path
    mark: str = field(default_factory=lambda: f"{MARK}{os.getpid():x}")
    hosts: dict[str, Host] = field(default_factory=dict)
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def switch(self) -> str:
        """The namespace of the bridge."""
        return f"{self.mark}-switch"

    def __enter__(self) -> Hosts:
        sweep()
        ip("netns", "add", self.switch)
        try:
            ip("-n", self.switch, "link", "add", "name", "bridge", "type", "bridge")
            ip("-n", self.switch, "link", "set", "dev", "bridge", "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for host in self.hosts.values():
            host.kill()
        for process in self.started:
            process.wait()
        remove(self.mark)

    def add(self, name: str, address: str) -> Host:
        """A further host."""
        namespace = f"{self.mark}-{name}"
        ip("netns", "add", namespace)
        ip("-n", self.switch, "link", "add", "name", name, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        ip("-n", self.switch, "link", "set", "dev", name, "master", "bridge", "up")
        ip("-n", namespace, "addr", "add", f"{address}/24", "dev", "eth0")
        ip("-n", namespace, "link", "set", "dev", "lo", "up")
        ip("-n", namespace, "link", "set", "dev", "eth0", "up")
        self.hosts[name] = Host(name, namespace, self.switch, address, self.folder)
        return self.hosts[name]

    def run(self, host: str, name: str, words: Sequence[str], environment: Mapping[str, str]) -> Any:
        """Start a program on a host; it is ended with the rack."""
        process = self.hosts[host].start(name, words, environment)
        self.started.append(process)
        return process


def sweep() -> None:
    """Remove what runs left that were killed."""
    for path in NAMESPACES.glob(f"{MARK}*-*"):
        mark = path.name.split("-")[0]
        if not Path(f"/proc/{int(mark.removeprefix(MARK).split('.')[0], 16)}").exists():
            remove(mark)


def remove(mark: str) -> None:
    """Remove namespaces by the beginning of their names, the switch last."""
    names = sorted((p.name for p in NAMESPACES.glob(f"{mark}-*")), key=lambda n: n.endswith("-switch"))
    for name in names:
        if not name.endswith("-switch"):  # else the kernel takes its time, and the next host of the name is refused
            with contextlib.suppress(RuntimeError):  # there is none where the run ended before it had one
                ip("-n", f"{mark}-switch", "link", "del", "dev", name.removeprefix(f"{mark}-"))
        try:
            ip("netns", "del", name)
        except RuntimeError:
            if (NAMESPACES / name).exists():  # else another process has just swept it
                raise


# ---- a cluster on such hosts ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rack:
    """S3, a scheduler, workers and a client, each on its own host.

    Attributes
    ----------
    hosts : Hosts
    s3 : S3Server
        To be talked to by `call` of a host.
    workers : tuple of Host
    environment : dict
        Of workers and client: credentials and settings.
    """

    hosts: Hosts
    s3: S3Server
    workers: tuple[Host, ...]
    environment: Mapping[str, str]

    @property
    def scheduler(self) -> str:
        """Its address."""
        return f"tcp://{NET}.10:{PORT}"

    def client(self, name: str, *words: str, host: str = "client") -> subprocess.Popen[bytes]:
        """Start ``chronozarr-dask`` on the client's host."""
        program = [sys.executable, "-m", "chronozarr_dask", *words]
        process: subprocess.Popen[bytes] = self.hosts.run(host, name, program, self.environment)
        return process

    def dask(self, host: str, *words: str) -> None:
        """Start a scheduler or a worker."""
        self.hosts.run(host, words[0], [sys.executable, "-m", "dask", *words], self.environment)


@contextlib.contextmanager
def rack(n_workers: int = 3, settings: Mapping[str, str] = TUNED) -> Iterator[Rack]:
    """Start all of it; `settings` go to scheduler, workers and client."""
    with tempfile.TemporaryDirectory(prefix="hosts-") as name, Hosts(Path(name)) as hosts:
        names = [f"w{i + 1}" for i in range(n_workers)]
        addresses = {"s3": 2, "scheduler": 10, "client": 11, "client2": 12, **{w: 21 + i for i, w in enumerate(names)}}
        for host, last in addresses.items():
            hosts.add(host, f"{NET}.{last}")
        with _s3(hosts) as s3:
            keys = {"AWS_ACCESS_KEY_ID": s3.key, "AWS_SECRET_ACCESS_KEY": s3.secret, "AWS_REGION": "us-east-1"}
            out = Rack(hosts, s3, tuple(hosts.hosts[w] for w in names), keys | dict(settings))
            where = ("--host", f"{NET}.10", "--port", str(PORT), "--dashboard-address", ":0", "--no-show")
            out.dask("scheduler", "scheduler", *where)
            for host in out.workers:
                folder = str(hosts.folder / host.name)
                shape = ("--nworkers", "1", "--nthreads", "1", "--memory-limit", "1GiB", "--no-dashboard")
                own = ("--host", host.address, "--name", host.name, "--local-directory", folder)
                out.dask(host.name, "worker", out.scheduler, *own, *shape)
            yield out


@contextlib.contextmanager
def _s3(hosts: Hosts) -> Iterator[S3Server]:
    host, port = hosts.hosts["s3"], seaweedfs.free_ports()  # its unix sockets in /tmp are named by port
    folder, config = hosts.folder / "s3", hosts.folder / "s3.json"
    folder.mkdir()
    credentials = [{"accessKey": seaweedfs.KEY, "secretKey": seaweedfs.SECRET}]
    actions = ["Admin", "Read", "Write", "List", "Tagging"]
    config.write_text(json.dumps({"identities": [{"name": "test", "credentials": credentials, "actions": actions}]}))
    words = seaweedfs.command(seaweedfs.program(), folder, config, port)
    words = [word.replace(seaweedfs.HOST, host.address) for word in words]
    environment = {"WEED_MASTER_VOLUME_GROWTH_COPY_1": "1", "TMPDIR": str(hosts.folder)}
    process = hosts.run("s3", "weed", words, environment)
    server = S3Server(f"http://{host.address}:{port}", seaweedfs.KEY, seaweedfs.SECRET, process.pid)
    try:
        if not host.call(lambda: seaweedfs.wait_until_ready(server, process, host.log("weed"))):
            raise RuntimeError(f"S3 server: ended by itself; its log:\n{host.log('weed').read_text()[-2000:]}")
        yield server
    finally:
        process.kill()
        process.wait()
        seaweedfs.remove_sockets(port)


def wait_for(what: str, is_there: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something holds; RuntimeError names it when it takes too long."""
    until = time.monotonic() + seconds
    while not is_there():
        if time.monotonic() > until:
            raise RuntimeError(f"several hosts: {what} did not come within {seconds:.0f} s")
        time.sleep(0.05)

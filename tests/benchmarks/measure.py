"""Run a job in a process of its own and measure its tree: processor time, wall time, peak resident memory.

A job is a module of this folder with a function of the same name as it is called by; arguments and result are JSON::

    run("encoding:ours", source=...)  ->  python -m tests.benchmarks.measure encoding:ours {...}
                                            imports, opens the input,
                                            `started()`                    net of imports from here on
                                            works, returns a dict
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil

MIB = 2**20
EVERY = 0.05
"""Seconds between two looks at the memory of the tree."""

JOB_ENV = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Set to 1 in a job: no thread pools but those that the encoders make."""

_REPO = Path(__file__).resolve().parents[2]


class JobError(RuntimeError):
    """A job that ended with an error: its output is the text."""


@dataclass(frozen=True)
class Measured:
    """What one job cost.

    Attributes
    ----------
    cpu : float
        Processor seconds, user and system, of the whole tree from start to exit.
    net : float
        The same, from `started` to the job's end.
    wall : float
        Seconds from start to exit.
    peak : int
        Bytes: the most that the processes of the tree had resident at one time, shared pages counted in each.
    result : dict
        What the job returned.
    """

    cpu: float
    net: float
    wall: float
    peak: int
    result: dict[str, Any] = field(default_factory=dict)


def keep_compiled_code(folder: Path) -> None:
    """Have the jobs keep byte code and compiled kernels in `folder`, whatever this shell or an earlier run has set."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "byte code")
    os.environ["NUMBA_CACHE_DIR"] = str(folder / "kernels")


def run(job: str, **arguments: Any) -> Measured:
    """Run ``module:function`` of this folder in a fresh process; JobError when it fails."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.benchmarks.measure", job, json.dumps(arguments)]
    begun = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=_REPO, env=os.environ | dict.fromkeys(JOB_ENV, "1"), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process.stdout, _watched(process.pid) as peak:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - begun
    if process.returncode:
        raise JobError(f"{job} {arguments} ended with {process.returncode}: {output}")
    last = json.loads(output.splitlines()[-1])
    cpu = usage.ru_utime + usage.ru_stime
    return Measured(cpu, last["net"], wall, max(peak[0], last["high_water"]), last["result"])


@contextmanager
def _watched(pid: int) -> Iterator[list[int]]:
    """Look at the memory of a tree until the end; the one element is the most that was seen."""
    peak, stop = [0], threading.Event()

    def watch() -> None:
        while not stop.wait(EVERY):
            peak[0] = max(peak[0], resident(pid))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        stop.set()
        watcher.join()


def tree(pid: int) -> list[psutil.Process]:
    """The process and all below it; empty when it is gone."""
    try:
        top = psutil.Process(pid)
        return [top, *top.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def resident(pid: int) -> int:
    """Bytes that the processes of a tree have resident, together."""
    total = 0
    for process in tree(pid):
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


def processor_time(pid: int) -> float:
    """Processor seconds so far of the processes of a tree that are alive; each counts all of its threads."""
    total = 0.0
    for process in tree(pid):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


@dataclass(frozen=True)
class Spread:
    """Median, least and most of several rounds."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """The spread of at least one value."""
        every = list(values)
        return cls(statistics.median(every), min(every), max(every))

    def text(self, digits: int) -> str:
        """As in 0.71 (0.69..0.74)."""
        return f"{self.median:.{digits}f} ({self.low:.{digits}f}..{self.high:.{digits}f})"


# ---- within the job's process -----------------------------------------------------------------------------------

_started = [0.0]


def started() -> None:
    """Imports are done and the input is open: what follows is the work."""
    _started[0] = _spent()


def _spent() -> float:
    """Processor seconds of this process and of its children that have ended."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usage)


def _main(job: str, arguments: str) -> None:
    module, function = job.split(":")
    # Under its full name, so that the job's `started` is that of the module that reads it.
    here = import_module("tests.benchmarks.measure")
    result = getattr(import_module(f"tests.benchmarks.{module}"), function)(**json.loads(arguments))
    net = _spent() - here._started[0]
    print(json.dumps({"net": net, "high_water": _high_water(), "result": result or {}}))


def _high_water() -> int:
    """Bytes: the most that this process has had resident since it began; 0 where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    _main(*sys.argv[1:])

"""A scheduler and workers, each a process of its own, so that their memory is told apart from the client's."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

START_SECONDS = 60
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[tuple[str, int]]:
    """Address and process id of a scheduler with so many workers of one thread; logs are in `folder`."""
    place = folder / "scheduler.json"
    with ExitStack() as stack:
        scheduler = stack.enter_context(
            _running(
                folder / "scheduler.log",
                *("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"),
                *("--no-dashboard", "--no-jupyter", "--scheduler-file", str(place)),
            )
        )
        deadline = time.monotonic() + START_SECONDS
        while not place.exists():
            if scheduler.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"no scheduler: {(folder / 'scheduler.log').read_text()}")
            time.sleep(0.05)
        for i in range(workers):
            stack.enter_context(
                _running(
                    folder / f"worker-{i}.log",
                    *("distributed.cli.dask_worker", "--scheduler-file", str(place), "--nthreads", "1"),
                    *("--no-dashboard", "--no-nanny", "--memory-limit", "2GB"),
                    *("--local-directory", str(folder / f"worker-{i}")),
                )
            )
        from distributed import Client

        with Client(scheduler_file=str(place), set_as_default=False, timeout=START_SECONDS) as client:
            client.wait_for_workers(workers, timeout=START_SECONDS)
            address = str(client.scheduler.address)
        yield address, scheduler.pid


@contextmanager
def _running(log: Path, module: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-W", "ignore", "-m", module, *arguments]
    env = os.environ | dict.fromkeys(ONE_THREAD, "1")
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output, env=env) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()

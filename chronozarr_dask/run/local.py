"""A Dask cluster of processes of this machine: as large as its cores and memory, with one set of thread limits."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
from distributed import Client, LocalCluster, WorkerPlugin

from chronozarr_dask.run.machine import memory_limit, n_cores

LEAST_THREADS = 2
"""Of a worker, where none are named: it reads one region while it works on another."""

GDAL_CACHE_MB = 32
"""GDAL's block cache in each process: a share of the whole machine's memory, unless it is told."""

ONE_THREAD = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS", "BLOSC_NTHREADS", "GDAL_NUM_THREADS",
)  # fmt: skip


def worker_environment(threads: int) -> dict[str, str]:
    """Environment of a worker process: its threads are Dask's, and no library adds its own."""
    limits = {"ZARR_THREADING__MAX_WORKERS": str(threads), "GDAL_CACHEMAX": str(GDAL_CACHE_MB)}
    return dict.fromkeys(ONE_THREAD, "1") | limits


@contextmanager
def environment_restored() -> Iterator[None]:
    """Take back what Dask's nanny leaves in the environment of this process: it would rule the next cluster."""
    names = {*worker_environment(1), "PYTHONHASHSEED"}
    before = {name: os.environ.get(name) for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def local_client(workers: int | None = None, threads: int | None = None, memory: int | None = None) -> Iterator[Any]:
    """A client of a cluster of its own, closed at the end.

    Parameters
    ----------
    workers, threads, memory : int, optional
        Processes, threads of each, bytes of each; from the machine, within its control groups, when left out.
    """
    cores = n_cores()
    n = workers or max(1, cores // (threads or LEAST_THREADS))
    each = threads or max(LEAST_THREADS, cores // n)
    config = {
        "distributed.nanny.pre-spawn-environ": worker_environment(each),
        "distributed.worker.multiprocessing-method": "spawn",  # a fork copies locks that threads hold
        "distributed.deploy.lost-worker-timeout": "10 minutes",  # a worker that starts again more slowly is given up
    }
    with (
        environment_restored(),
        dask.config.set(config),
        LocalCluster(
            n_workers=n,
            threads_per_worker=each,
            memory_limit=memory or memory_limit() // n,
            dashboard_address=":0",
            silence_logs=logging.ERROR,  # a task that fails is told of by the run itself
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.register_plugin(SignalsAreForTheClient())
        yield client


class SignalsAreForTheClient(WorkerPlugin):
    """A terminal sends Ctrl-C, and an init system SIGTERM, to every process of a group: workers go on.

    The client ends them, after what is in flight has finished; and when the client is gone they end by themselves.
    """

    name = "signals-are-for-the-client"
    idempotent = True

    def setup(self, worker: Any) -> None:
        """Ignore both from now on."""
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)

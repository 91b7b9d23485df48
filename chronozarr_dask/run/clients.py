"""A client of a cluster: one that runs already, by its scheduler's address, or processes of this machine."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import dask

from chronozarr_dask.errors import InputError
from chronozarr_dask.run.machine import memory_limit, n_cores

CONNECT_SECONDS = 10
LEAST_THREADS = 2
"""Of a local worker, where none are named: it reads one region while it works on another."""

THREADS, LOCAL = "threads", "local"
"""Kinds of workers that are no address."""

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "BLOSC_NTHREADS",
     "GDAL_NUM_THREADS"), "1",
)  # fmt: skip
"""Environment of a worker: its threads are Dask's, and no library adds its own."""


@contextmanager
def cluster_client(
    kind: str, *, workers: int | None = None, threads: int | None = None, memory: int | None = None
) -> Iterator[Any]:
    """A client by the kind of a recipe's cluster: None for `threads`, a LocalCluster of its own for `local`.

    Parameters
    ----------
    kind : "threads", "local" or the address of a scheduler
    workers, threads, memory : int, optional
        Of a local cluster: processes, threads of each, bytes of each; from the machine when left out.
    """
    if kind != LOCAL:
        with connected(None if kind == THREADS else kind) as client:
            yield client
        return
    from distributed import Client, LocalCluster

    n = workers or max(1, n_cores() // (threads or LEAST_THREADS))
    with (
        dask.config.set({"distributed.nanny.pre-spawn-environ": ONE_THREAD}),
        LocalCluster(
            n_workers=n,
            threads_per_worker=threads or max(LEAST_THREADS, n_cores() // n),
            memory_limit=memory or memory_limit() // n,
            dashboard_address=":0",
            silence_logs=logging.ERROR,  # a task that fails is told of by the run itself
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """A `distributed.Client` of the scheduler, closed at the end; None where no address is given.

    Raises
    ------
    InputError
        If nothing answers there.
    """
    if address is None:
        yield None
        return
    from distributed import Client  # a cluster is imported by those who use one

    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address}: {error}; give the address that it prints when it starts, as in "
            f"tcp://10.0.0.5:8786"
        ) from error
    try:
        yield client
    finally:
        client.close()


def dashboard_link(client: Any) -> str | None:
    """Link to the dashboard of a client's cluster; None where it has none.

    A link may be made of a template with any variable of the environment (``distributed.dashboard.link``): users,
    passwords, queries and fragments are left out.
    """
    try:
        link = client.dashboard_link
    except KeyError:  # the scheduler serves no dashboard, or the template names a variable that is not there
        return None
    parts = urlsplit(link or "")
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl() or None

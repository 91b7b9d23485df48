"""A client of a cluster: one that runs already, by its scheduler's address, or processes of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import dask

from chronozarr_dask.errors import InputError

CONNECT_SECONDS = 10
THREADS, LOCAL = "threads", "local"
"""Kinds of workers that are no address."""

TLS = ("ca-file", "client.cert", "client.key")
"""Of Dask's configuration, below `distributed.comm.tls`."""


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
    from chronozarr_dask.run.local import local_client  # a cluster is imported by those who use one

    with local_client(workers, threads, memory) as client:
        yield client


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """A `distributed.Client` of the scheduler, closed at the end; None where no address is given.

    For an address with tls:// the certificates are those of Dask's configuration (`distributed.comm.tls`).

    Raises
    ------
    InputError
        If nothing answers there, or a certificate is missing or does not fit.
    """
    if address is None:
        yield None
        return
    from distributed import Client  # a cluster is imported by those who use one

    if address.startswith("tls://"):
        _check_tls(address)
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address}: {error}; give the address that it prints when it starts, as in "
            f"tcp://10.0.0.5:8786; one that asks for certificates has an address with tls://"
        ) from error
    try:
        yield client
    finally:
        client.close()


def _check_tls(address: str) -> None:
    """Raise InputError where Dask's configuration names no certificates, or files that are not there."""
    for name in TLS:
        at = f"distributed.comm.tls.{name}"
        path = dask.config.get(at, None)
        # A certificate may also be given as text.
        if path is None or ("\n" not in path and not os.path.isfile(path)):
            said = "is not set" if path is None else f"is {path}, and there is no such file"
            variable = f"DASK_{at.upper().replace('-', '_').replace('.', '__')}"
            raise InputError(
                f"{address} needs certificates, and {at} of Dask's configuration {said}: set it there or by "
                f"{variable}; the scheduler's own certificate authority is the one to use"
            )


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

"""A client of a cluster that runs already, by its scheduler's address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from chronozarr_dask.errors import InputError

CONNECT_SECONDS = 10


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

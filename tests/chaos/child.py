"""The command line of the package with a gate in front of every object, in this process and its workers.

Processes come from a fork server that has imported all they need: a start is a matter of milliseconds, so that a seed
spends its time on its run.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import dask
import distributed  # noqa: F401 - for the children of the fork server
import rasterio  # noqa: F401
import s3fs  # noqa: F401
import xarray  # noqa: F401

import chronozarr_dask.run.clients
import chronozarr_dask.run.produce  # noqa: F401
from chronozarr_dask.cli.app import main
from tests.chaos import gate

CONTEXT = multiprocessing.get_context("forkserver")


def serve() -> None:
    """Have the fork server import this module."""
    CONTEXT.set_forkserver_preload([__name__])


def start(arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> Any:
    """Start the command line in a process of its own, as a `multiprocessing.Process`; its words go to `log`."""
    process = CONTEXT.Process(target=_run, args=(list(arguments), dict(environment), str(log)))
    process.start()
    return process


def _run(arguments: list[str], environment: dict[str, str], log: str) -> None:
    os.environ.update(environment)
    fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(fd, stream.fileno())
    sys.argv = ["chronozarr-dask", *arguments]
    gate.install()
    workers = {**environment, gate.OWNER: str(os.getpid())}
    dask.config.set({"distributed.worker.preload": ["tests.chaos.gate"], "distributed.nanny.environ": workers})
    main()

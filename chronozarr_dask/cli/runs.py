"""What the commands on a run share: how it is named, and what is shown while its owner is watched."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console

RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="A run: the URL of its store, or of its journal (STORE.run).")
]


@contextmanager
def watching() -> Iterator[Callable[[str, float, float], None]]:
    """Shows, on a terminal, for how long the owner of a run is still watched for a sign of life."""
    console = Console(stderr=True)
    if not sys.stderr.isatty():
        from chronozarr_dask.run.claims import tell_nobody

        yield tell_nobody
        return
    with console.status("") as status:
        yield lambda owner, passed, long: status.update(
            f"watching for a sign of life of {owner}: {passed:.0f} of {long:.0f} s"
        )

"""``status``: how far a run is: done, failed and left, and at what speed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from chronozarr_dask.cli.interrupt import PROGRAM, blanked
from chronozarr_dask.cli.output import (
    JsonOption,
    StorageOption,
    errors_told,
    print_json,
    print_table,
    read_storage_options,
    screen,
)
from chronozarr_dask.cli.runs import RunArgument, watching
from chronozarr_dask.cli.text import nbytes, seconds

if TYPE_CHECKING:
    from chronozarr_dask.run.status import RunStatus

STYLES = {"complete": "green", "running": "cyan", "stopped": "yellow"}


def status_command(run: RunArgument, *, storage_option: StorageOption = None, as_json: JsonOption = False) -> None:
    """Show how far a run is: what is done, failed and left, its speed, and how to go on. Changes nothing."""
    with errors_told():
        from chronozarr_dask.run.status import status

        with watching() as tell:
            found = status(run, storage_options=read_storage_options(storage_option), tell=tell)
    if as_json:
        print_json(found.to_json())
    else:
        print_status(screen(), found, storage_option or ())


def print_status(console: Console, found: RunStatus, storage_option: Sequence[str]) -> None:
    """Print it: what the run is, its passes, what failed, and the command that goes on, with the options given here."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _rows(found):
        table.add_row(name, value)
    print_table(console, table)
    if found.passes:
        console.print()
        print_table(console, _passes(found))
    for failure in found.failures:
        tries = "1 try" if failure.tries == 1 else f"{failure.tries:,} tries"
        console.print(
            Text.assemble((f"region {failure.region}", "bold red"), f" failed after {tries}: {failure.error}"),
            soft_wrap=not console.is_terminal,
        )
    for text, line in _next(found, storage_option):
        console.print(f"\n{text}")
        typer.echo(f"  {line}")  # to copy: never wrapped


def _rows(found: RunStatus) -> Iterator[tuple[str, Text]]:
    yield "store", Text(found.target)
    yield "journal", Text(found.journal)
    yield "state", Text(found.state, style=STYLES[found.state])
    yield "owner", Text(found.owner)
    if found.heartbeat is not None:
        yield "last seen", Text(found.heartbeat)
    yield "encoding", Text(found.encoding)
    if found.state != "complete" and found.per_second is not None:
        pace = f"{found.per_second * 60:,.{0 if found.per_second > 0.2 else 2}f} regions a minute"
        left = "" if found.seconds_left is None else f", {seconds(found.seconds_left)} left"
        yield "speed", Text(pace + left + (" at that speed" if found.state == "stopped" else ""))


def _passes(found: RunStatus) -> Table:
    table = Table(box=None, pad_edge=False, header_style="cyan")
    for name in ("pass", "levels", "regions", "done", "failed", "left", "stored"):
        table.add_column(name, justify="left" if name in ("pass", "levels") else "right")
    about = "" if found.is_exact else "about "
    for p in found.passes:
        levels = str(p.levels[0]) if p.levels[0] == p.levels[1] else f"{p.levels[0]}-{p.levels[1]}"
        counts = (p.regions, p.done, p.failed, p.left)
        table.add_row(str(p.index), levels, *(f"{n:,}" for n in counts), about + nbytes(p.nbytes))
    if len(found.passes) > 1:
        left = found.regions - found.done - found.n_failed
        totals = (found.regions, found.done, found.n_failed, left)
        table.add_row("all", "", *(f"{n:,}" for n in totals), about + nbytes(found.nbytes), style="bold")
    return table


def _next(found: RunStatus, storage_option: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What may come next, and the line for it."""
    from chronozarr_dask.run.goingon import python_call

    if found.state != "stopped":
        return
    if found.way_on == "python":
        yield "Go on in Python, with the same cube and options:", python_call(found.target)
        return
    options = [word for pair in storage_option for word in ("--storage-option", blanked(pair))]

    def line(command: str) -> str:
        return shlex.join([PROGRAM, command, found.url, *options])

    if found.way_on == "clean":
        yield "There is nothing to go on with. Remove what it left with:", line("clean")
        return
    if found.n_failed:
        yield "Try again what failed, when its cause is mended:", line("retry-failed")
    yield "Go on with:", line("resume")

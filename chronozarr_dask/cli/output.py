"""What the commands share: where text goes, warnings and errors as one line each, options of file systems."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from chronozarr_dask.cli.parameters import in_flags, read_pair
from chronozarr_dask.errors import ChronozarrError, ChronozarrWarning

PLAIN_WIDTH = 200
"""Columns for tables that do not go to a terminal."""

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, all else on standard error.")]
StorageOption = Annotated[
    list[str] | None,
    typer.Option(
        "--storage-option",
        metavar="KEY=VALUE",
        help="Option of the URL's file system (fsspec), as in anon=true; the value is JSON or a text. Repeat it.",
    ),
]


PricesOption = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="With --dry-run: YAML file of prices, as deploy/prices.yaml; tells the cost."),
]


def check_prices(prices: str | None, *, dry_run: bool) -> None:
    """Bad usage where prices are given for a run that is not a dry one."""
    if prices is not None and not dry_run:
        raise typer.BadParameter("--prices tells what a run would cost: give --dry-run with it")


def read_storage_options(given: Sequence[str] | None, flag: str = "--storage-option") -> dict[str, Any]:
    """KEY=VALUE texts as a mapping; a value that is JSON is taken as JSON."""
    out: dict[str, Any] = {}
    for text in given or ():
        try:
            key, value = read_pair(text)
        except ValueError as error:
            raise typer.BadParameter(f"a {flag}: {error}") from None
        try:
            out[key] = json.loads(value)
        except ValueError:
            if value.startswith(("{", "[")):
                raise typer.BadParameter(f"a {flag}: the value of {key} is JSON with a fault") from None
            out[key] = value
    return out


def screen() -> Console:
    """Standard output: as wide as the terminal, plain and wide elsewhere."""
    return Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=PLAIN_WIDTH)


def print_table(console: Console, table: Table) -> None:
    """Print a table; without the padding at the end of its lines where it does not go to a terminal."""
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        console.out(line.rstrip(), highlight=False)


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output."""
    typer.echo(json.dumps(value, indent=2))


def print_line(label: str, style: str, text: str, console: Console | None = None) -> None:
    """Print a labelled paragraph on standard error: words are kept whole on a terminal, one line elsewhere.

    What is secret in a URL is not printed.
    """
    from chronozarr_dask.store.secrets import redacted_urls

    text = redacted_urls(text)
    if sys.stderr.isatty():
        (console or Console(stderr=True)).print(Text.assemble((f"{label}:", style), f" {text}"), highlight=False)
    else:
        typer.echo(f"{label}: {text}", err=True)


@contextmanager
def errors_told(put: Callable[[str], str] = in_flags) -> Iterator[None]:
    """End with a paragraph and exit code 1 on an error that a person can mend; any other keeps its traceback.

    `put` turns the keywords of `encode` in a message into what the command calls them.
    """
    try:
        yield
    except ChronozarrError as error:
        print_line("error", "bold red", put(str(error)))
        raise typer.Exit(1) from None


@contextmanager
def warnings_told(console: Console | None = None, put: Callable[[str], str] = in_flags) -> Iterator[None]:
    """Print each warning once, as a line on standard error, instead of in Python's format."""
    told: set[str] = set()

    def tell(message: Warning | str, *_: Any, **__: Any) -> None:
        text = str(message)
        if text not in told:
            told.add(text)
            print_line("warning", "yellow", put(text), console)

    with warnings.catch_warnings():
        warnings.simplefilter("always", ChronozarrWarning)
        warnings.showwarning = tell
        yield

"""``validate``: the problems of a store, one a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from chronozarr_dask.cli.output import (
    JsonOption,
    StorageOption,
    errors_told,
    print_json,
    read_storage_options,
    screen,
)
from chronozarr_dask.cli.progress import Bars
from chronozarr_dask.cli.text import plural

if TYPE_CHECKING:
    from chronozarr_dask.store.validate import Problem

STYLES = {"error": "bold red", "warning": "yellow"}
DEEP = "Pixels"
FIRST, STAGES = "documents", {"check": "pixels", "audit": "receipts"}
"""How the stages of `validate_deep` are shown."""


def validate_command(
    store: Annotated[str, typer.Argument(metavar="STORE", help="Store to check: a folder or a URL.")],
    *,
    deep: Annotated[
        bool,
        typer.Option(
            "--deep",
            help="Read the pixels too: each level from the one below, volatility, every object against its receipt.",
            rich_help_panel=DEEP,
        ),
    ] = False,
    sample: Annotated[
        str | None,
        typer.Option(
            metavar="PART", help="With --deep: part of the store to look at, as in 5% or 0.05.", rich_help_panel=DEEP
        ),
    ] = None,
    journal: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="With --deep: journal of the run that made the store; the one beside it when left out.",
            rich_help_panel=DEEP,
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="With --deep: Dask scheduler to run on, as in tcp://10.0.0.5:8786.",
            rich_help_panel=DEEP,
        ),
    ] = None,
    storage_option: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a store against the specification: metadata, shapes, codecs, mirrors, coordinates and shard indexes.

    With --deep its pixels too. One line for each problem: severity, section, object, message, expected and found value.
    The exit code is 1 when there is an error, 0 when there are only warnings.
    """
    from chronozarr_dask.store.reader import open_store

    options = read_storage_options(storage_option)
    for flag, value in (("--sample", sample), ("--journal", journal), ("--scheduler", scheduler)):
        if value is not None and not deep:
            raise typer.BadParameter(f"{flag} goes with --deep: without it no pixel is read")
    part = None if sample is None else read_part(sample)
    with errors_told():
        problems = _problems(store, options, part, journal, scheduler, deep=deep)
        n_errors = sum(p.severity == "error" for p in problems)
        version = "" if n_errors else open_store(store, options).attributes["chronozarr"]["spec_version"]
    if as_json:
        body = [p.to_json() for p in problems]
        print_json({"store": store, "conforms": not n_errors, "spec_version": version or None, "problems": body})
    else:
        _print(store, problems, version, _what_was_read(sample, deep=deep))
    raise typer.Exit(1 if n_errors else 0)


def read_part(text: str) -> float:
    """``5%`` or ``0.05`` as a fraction above 0 and at most 1."""
    number, percent, rest = text.strip().partition("%")
    try:
        part = float(number) / (100 if percent else 1)
    except ValueError:
        part = 0.0
    if rest or not 0 < part <= 1:
        raise typer.BadParameter(f"--sample is {text!r}: give a part above 0 and up to all, as in 5% or 0.05")
    return part


def _problems(
    store: str,
    options: Mapping[str, Any],
    sample: float | None,
    journal: str | None,
    scheduler: str | None,
    *,
    deep: bool,
) -> list[Problem]:
    if not deep:
        from chronozarr_dask.store.validate import validate

        return validate(store, options)
    from chronozarr_dask.run.clients import connected  # Dask is imported by those who use it
    from chronozarr_dask.run.deep import validate_deep

    with connected(scheduler) as client, Bars(quiet=False, first=FIRST, names=STAGES) as bars:
        return validate_deep(
            store, storage_options=options, client=client, sample=sample, journal=journal, progress=bars
        )


def _what_was_read(sample: str | None, *, deep: bool) -> str:
    """What the verdict does not rest on, or nothing when every pixel was read."""
    if not deep:
        return " (pixels were not read: --deep reads them)"
    return f" (a sample of {sample} of its pixels was read)" if sample else ""


def _print(store: str, problems: list[Problem], version: str, what_was_read: str) -> None:
    """The problems, then the verdict."""
    console = screen()
    for p in problems:
        severity, _, rest = str(p).partition(" ")
        console.print(
            Text.assemble((f"{severity:<7}", STYLES[severity]), f" {rest}"), soft_wrap=not console.is_terminal
        )
    n_errors = sum(p.severity == "error" for p in problems)
    n_warnings = len(problems) - n_errors
    if n_errors:
        verdict = f"does not conform: {plural(n_errors, 'error')}, {plural(n_warnings, 'warning')}"
    else:
        verdict = f"conforms to chronozarr v{'.'.join(version.split('.')[:2])}"
        verdict += f", with {plural(n_warnings, 'warning')}" if n_warnings else ""
    verdict += what_was_read
    console.print(Text.assemble(f"{store} ", (verdict, STYLES["error"] if n_errors else "green")), soft_wrap=True)

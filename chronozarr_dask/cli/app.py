"""The program ``chronozarr-dask``: its commands, and what they share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from chronozarr_dask._version import __version__
from chronozarr_dask.cli.clean import clean_command
from chronozarr_dask.cli.encode import encode_command
from chronozarr_dask.cli.info import info_command
from chronozarr_dask.cli.interrupt import PROGRAM
from chronozarr_dask.cli.read import read_command
from chronozarr_dask.cli.report import report_command
from chronozarr_dask.cli.resume import resume_command, retry_command, with_bare_verify
from chronozarr_dask.cli.run import run_command
from chronozarr_dask.cli.status import status_command
from chronozarr_dask.cli.validate import validate_command

app = typer.Typer(
    name=PROGRAM,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _flowing(command: Callable[..., None]) -> str:
    """A docstring with its paragraphs in one line each, for the terminal to wrap."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(p.split()) for p in paragraphs)


class _Command(TyperCommand):
    """A command whose ``--verify`` may have a value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As click, of the arguments with the value put in."""
        return super().parse_args(ctx, with_bare_verify(args))


SECTIONS = "Numbers in parentheses are sections of the chronozarr specification."

for _name, _command in (
    ("run", run_command),
    ("encode", encode_command),
    ("status", status_command),
    ("resume", resume_command),
    ("retry-failed", retry_command),
    ("clean", clean_command),
    ("validate", validate_command),
    ("info", info_command),
    ("read", read_command),
    ("report", report_command),
):
    app.command(_name, cls=_Command, help=_flowing(_command), epilog=SECTIONS if _name == "encode" else None)(_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{PROGRAM} {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Make chronozarr v0.2 stores of raster time series, check them, show what they hold, read them.

    Exit codes: 0 done, 1 a problem, 2 bad usage.
    """


def main() -> None:
    """Run the program with the arguments of this process."""
    app(prog_name=PROGRAM)

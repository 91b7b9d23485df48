"""``clean``: what a run left behind goes, after a question; a complete store stays."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from chronozarr_dask.cli.output import (
    JsonOption,
    StorageOption,
    errors_told,
    print_json,
    print_line,
    read_storage_options,
    warnings_told,
)
from chronozarr_dask.cli.runs import RunArgument, watching
from chronozarr_dask.cli.text import nbytes, plural

if TYPE_CHECKING:
    from chronozarr_dask.run.sweep import Removed, Swept


def clean_command(
    run: RunArgument,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and remove nothing.")] = False,
    storage_option: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove the journal of a run, and what a run that was not completed has stored.

    A complete store is never touched. Of an unfinished one go the objects that its plan can have written: whatever else
    lies there stays, and is told. Refused while the run is alive.
    """
    options = read_storage_options(storage_option)
    if not (yes or dry_run or sys.stdin.isatty()):
        raise typer.BadParameter("there is no terminal to ask on: give --yes to remove, or --dry-run to look")
    with errors_told(), warnings_told():
        from chronozarr_dask.run.sweep import clean

        swept = None
        if not yes:
            swept = clean(run, storage_options=options, dry_run=True)
            if not dry_run:
                _tell(swept, "This removes")
                if not typer.confirm("Remove them?", err=True):
                    raise typer.Exit(1)
        if not dry_run:
            with watching() as tell:
                swept = clean(run, storage_options=options, tell=tell)
    assert swept is not None
    if as_json:
        print_json(swept.to_json())
        return
    _tell(swept, "would be removed:" if dry_run else "removed:")
    _tell_foreign(swept)


def _tell(swept: Swept, begin: str) -> None:
    parts = [_counted(swept.journal, "of the journal")]
    if not swept.committed:
        parts.append(_counted(swept.store, "of the unfinished store"))
    typer.echo(f"{begin} {' and '.join(parts)}")
    if swept.committed:
        typer.echo(f"the store {swept.store.url} is complete and stays")


def _counted(place: Removed, what: str) -> str:
    return f"{plural(place.objects, 'object')} ({nbytes(place.nbytes)}) {what} {place.url}"


def _tell_foreign(swept: Swept) -> None:
    """What stays because no run has put it there."""
    if not swept.n_foreign:
        return
    more = swept.n_foreign - len(swept.foreign)
    text = ", ".join(swept.foreign) + (f" and {more:,} more" if more else "")
    print_line("warning", "yellow", f"not of this run, and left where it is: {text}")

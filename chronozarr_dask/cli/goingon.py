"""After Ctrl-C or SIGTERM: tell how to go on, and end with exit code 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer

from chronozarr_dask.cli.interrupt import command_line, interrupts, own_arguments
from chronozarr_dask.cli.output import print_line
from chronozarr_dask.cli.progress import Bars
from chronozarr_dask.errors import ChronozarrError


@contextmanager
def interruptible(bars: Bars, target: str, target_options: Mapping[str, Any], journal: str | None) -> Iterator[None]:
    """Tell, after Ctrl-C or SIGTERM, how to go on with a run into `target`, and end with exit code 1."""
    with interrupts(bars.stopping) as signals:
        try:
            yield
        except (KeyboardInterrupt, ChronozarrError):
            if not signals.count:
                raise
            signals.tell()
            try:
                bars.stop()
                _tell(target, target_options, journal)
            finally:
                signals.end()


def _tell(target: str, target_options: Mapping[str, Any], journal: str | None) -> None:
    try:
        begun = _journal_of_claim(target, target_options, journal)
        where = "nothing was stored yet" if begun is None else f"what is finished is kept in {begun}"
        again = begun is not None
    except ChronozarrError as error:
        where, again = f"what is finished is kept in the journal, which does not answer now ({error})", True
    print_line("interrupted", "yellow", f"{where}. {'Go on' if again else 'Begin again'} with:")
    typer.echo(command_line(own_arguments(), resume=again), err=True)  # to copy: never wrapped


def _journal_of_claim(target: str, options: Mapping[str, Any], journal_option: str | None) -> str | None:
    """Where the journal is; None when the run had no claim yet, so that there is nothing to go on with."""
    from chronozarr_dask.store.journal import CLAIM, Journal, journal_url
    from chronozarr_dask.store.target import open_target

    place = journal_url(open_target(target, options).url, journal_option)
    journal = Journal(open_target(place, options))
    return None if journal.read(CLAIM) is None else journal.url

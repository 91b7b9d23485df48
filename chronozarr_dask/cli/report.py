"""``report``: one page about a store, by whoever made it, that needs no network to be looked at."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from chronozarr_dask.cli.output import (
    JsonOption,
    StorageOption,
    errors_told,
    print_json,
    read_storage_options,
    warnings_told,
)
from chronozarr_dask.errors import InputError, TargetError


def report_command(
    store: Annotated[str, typer.Argument(metavar="STORE", help="Store to report on: a folder or a URL.")],
    *,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Page to write; <store>.html in this folder when left out."
        ),
    ] = None,
    journal: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Journal of the run that made it; the one beside it when left out."),
    ] = None,
    storage_option: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a report of a store: one page with its looks, a player, observations, change, levels and how it was made.

    A bounded part of the pixels is read, of coarse levels; the page says which. With --json the figures are printed,
    and a page is written only where -o names one.
    """
    from chronozarr_dask.run.reporting.leave import make_report
    from chronozarr_dask.store.target import open_target

    options = read_storage_options(storage_option)
    with errors_told(), warnings_told():
        url = open_target(store, options).url
        page = output or (None if as_json else f"{url.rstrip('/').rpartition('/')[2] or 'store'}.html")
        if page is not None:
            _check_outside(page, url)
        report = make_report(store, options, journal)
        if page is not None:
            _write(page, report.page)
    if as_json:
        print_json(report.document)
    elif page is not None:
        typer.echo(page)


def _check_outside(page: str, store: str) -> None:
    """InputError for a page that would lie in the store, which a server or a copy would take along."""
    if "://" not in store and Path(os.path.realpath(page)).is_relative_to(store):
        raise InputError(
            f"the page {page} would be written into the store {store}, and a store holds nothing but its own objects: "
            f"name a place outside of it with --output"
        )


def _write(path: str, page: str) -> None:
    try:
        Path(path).write_text(page, "utf-8")
    except OSError as error:
        raise TargetError(f"the page cannot be written to {path}: {error}; name another file with -o") from error

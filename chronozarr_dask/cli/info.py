"""``info``: what a store holds, from its root document alone."""

from __future__ import annotations

from typing import Annotated

import typer

from chronozarr_dask.cli.output import (
    JsonOption,
    StorageOption,
    errors_told,
    print_json,
    read_storage_options,
    screen,
)


def info_command(
    store: Annotated[str, typer.Argument(metavar="STORE", help="Store to show: a folder or a URL.")],
    *,
    storage_option: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a store holds: times, bands, grid, levels, encoding, layout. Pixels are not read."""
    from chronozarr_dask.cli.sheet import print_sheet
    from chronozarr_dask.run.facts import facts
    from chronozarr_dask.store.reader import open_store

    with errors_told():
        found = facts(open_store(store, read_storage_options(storage_option)))
    if as_json:
        print_json(found)
    else:
        print_sheet(screen(), found)

"""``validate``: the problems of a store, one a line."""

from __future__ import annotations

from typing import Annotated

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
from chronozarr_dask.cli.text import plural

STYLES = {"error": "bold red", "warning": "yellow"}


def validate_command(
    store: Annotated[str, typer.Argument(metavar="STORE", help="Store to check: a folder or a URL.")],
    *,
    storage_option: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a store against the specification: metadata, shapes, codecs, mirrors, coordinates and shard indexes.

    One line for each problem: severity, section, object, message, expected and found value. The exit code is 1 when
    there is an error, 0 when there are only warnings.
    """
    from chronozarr_dask.store.reader import open_store
    from chronozarr_dask.store.validate import validate

    options = read_storage_options(storage_option)
    with errors_told():
        problems = validate(store, options)
        n_errors = sum(p.severity == "error" for p in problems)
        n_warnings = len(problems) - n_errors
        version = "" if n_errors else open_store(store, options).attributes["chronozarr"]["spec_version"]
    if as_json:
        body = [p.to_json() for p in problems]
        print_json({"store": store, "conforms": not n_errors, "spec_version": version or None, "problems": body})
        raise typer.Exit(1 if n_errors else 0)
    console = screen()
    for p in problems:
        severity, _, rest = str(p).partition(" ")
        console.print(
            Text.assemble((f"{severity:<7}", STYLES[severity]), f" {rest}"), soft_wrap=not console.is_terminal
        )
    if n_errors:
        verdict = f"does not conform: {plural(n_errors, 'error')}, {plural(n_warnings, 'warning')}"
    else:
        verdict = f"conforms to chronozarr v{'.'.join(version.split('.')[:2])}"
        verdict += f", with {plural(n_warnings, 'warning')}" if n_warnings else ""
    console.print(Text.assemble(f"{store} ", (verdict, STYLES["error"] if n_errors else "green")), soft_wrap=True)
    raise typer.Exit(1 if n_errors else 0)

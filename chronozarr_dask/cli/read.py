"""``read``: pixels of a store as text or as a file of another format, and what it cost to read them."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from chronozarr_dask.cli.output import StorageOption, errors_told, print_line, read_storage_options
from chronozarr_dask.cli.reading.request import Request, make_request
from chronozarr_dask.cli.text import nbytes, plural
from chronozarr_dask.errors import InputError

if TYPE_CHECKING:
    from chronozarr_dask.cli.reading.selection import Selection
    from chronozarr_dask.store.cost import Cost

Format = Literal["csv", "json", "netcdf", "geotiff"]
SUFFIXES: Mapping[str, Format] = {
    ".csv": "csv", ".json": "json", ".nc": "netcdf", ".nc4": "netcdf", ".tif": "geotiff", ".tiff": "geotiff",
}  # fmt: skip
TEXT = ("csv", "json")
PIXEL, STEP, WHAT, OUT = "A pixel through time", "A timestep", "What of it", "Output"


def read_command(
    store: Annotated[str, typer.Argument(metavar="STORE", help="Store to read: a folder or a URL.")],
    *,
    x: Annotated[
        float | None, typer.Option("--x", help="Its x, in units of the store's CRS.", rich_help_panel=PIXEL)
    ] = None,
    y: Annotated[
        float | None, typer.Option("--y", help="Its y, in units of the store's CRS.", rich_help_panel=PIXEL)
    ] = None,
    lonlat: Annotated[
        str | None,
        typer.Option(metavar="LON,LAT", help="In place of --x and --y: degrees, WGS 84.", rich_help_panel=PIXEL),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Which one: a time (2024-01-31T10:56:19Z), a day or month that has one, or a number (0, -1).",
            rich_help_panel=STEP,
        ),
    ] = None,
    cell: Annotated[
        str | None, typer.Option(metavar="ROW,COL", help="One cell of it alone.", rich_help_panel=STEP)
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            metavar="Y0,Y1,X0,X1", help="Rows Y0 to Y1 - 1, columns X0 to X1 - 1 alone.", rich_help_panel=STEP
        ),
    ] = None,
    bbox: Annotated[
        str | None,
        typer.Option(
            metavar="LEFT,BOTTOM,RIGHT,TOP",
            help="The pixels that touch this box alone, in units of the store's CRS.",
            rich_help_panel=STEP,
        ),
    ] = None,
    level: Annotated[int, typer.Option(help="Level of the pyramid; 0 is the finest.", rich_help_panel=WHAT)] = 0,
    bands: Annotated[
        str | None,
        typer.Option(metavar="NAME,...", help="These bands, in this order; all when left out.", rich_help_panel=WHAT),
    ] = None,
    physical: Annotated[
        bool,
        typer.Option(
            "--physical",
            help="Values times scale plus offset, nothing where invalid; as stored when left out.",
            rich_help_panel=WHAT,
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write; CSV and JSON go to standard output when left out.",
            rich_help_panel=OUT,
        ),
    ] = None,
    format: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="By FILE's suffix when left out (.csv .json .nc .tif), CSV without one.",
            rich_help_panel=OUT,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it is there.", rich_help_panel=OUT)] = False,
    cost: Annotated[
        bool,
        typer.Option(
            "--cost", help="Tell what the pixels cost: on standard error, or within the JSON.", rich_help_panel=OUT
        ),
    ] = False,
    storage_option: StorageOption = None,
) -> None:
    """Read pixels of a store: a pixel through time, or a cell, a window or the whole of a timestep.

    A pixel gives a row for each timestep in CSV; a timestep gives a row for each pixel and band.
    """
    request = make_request(
        x=x, y=y, lonlat=lonlat, time=time, cell=cell, window=window, bbox=bbox, bands=bands, level=level,
        physical=physical,
    )  # fmt: skip
    output = None if output == Path("-") else output
    form = format_of(output, format, request)
    options = read_storage_options(storage_option)
    with errors_told():
        if output is not None:
            check_free(output, force=force)
        _read(store, options, request, form, output, tell_cost=cost)


def format_of(output: Path | None, given: Format | None, request: Request) -> Format:
    """The format that is asked for, or that the file's suffix stands for; bad usage where the two cannot be."""
    form = given
    if form is None:
        form = "csv" if output is None else SUFFIXES.get(output.suffix.lower())
    if form is None:
        raise typer.BadParameter(
            f"--output is {str(output)!r}, whose suffix is none of {', '.join(SUFFIXES)}: name the --format"
        )
    if output is None and form not in TEXT:
        raise typer.BadParameter(f"--format {form} is no text: give the file to write with -o FILE")
    if form == "geotiff" and request.is_series:
        raise typer.BadParameter("--format geotiff is for a timestep; a pixel through time is csv, json or netcdf")
    return form


def check_free(output: Path, *, force: bool) -> None:
    """Raise InputError unless the file can be made there."""
    if output.is_dir():
        raise InputError(f"{output} is a folder: give the name of a file")
    if output.exists() and not force:
        raise InputError(f"{output} is there already: name another file, or replace it with --force")
    if not output.absolute().parent.is_dir():
        raise InputError(f"{output} cannot be written: there is no folder {output.absolute().parent}; make it first")


def _read(
    store: str, options: Mapping[str, Any], request: Request, form: Format, output: Path | None, *, tell_cost: bool
) -> None:
    from chronozarr_dask.cli.reading.selection import select
    from chronozarr_dask.store.reader import open_store

    opened = open_store(store, options)
    selection = select(opened, request)
    with opened.measure() as cost:
        in_json = cost if tell_cost and form == "json" else None
        if output is None:
            _write_text(selection, form, sys.stdout, in_json)
        else:
            _in_place(output, lambda path: _write_file(selection, form, path, in_json))
            typer.echo(f"{output}: {_told(selection)}")
    if tell_cost and in_json is None:
        print_line("cost", "cyan", cost_told(cost))


def _write_text(selection: Selection, form: Format, file: Any, cost: Cost | None) -> None:
    from chronozarr_dask.cli.reading.tables import write_csv, write_json

    if form == "csv":
        write_csv(selection, file)
    else:
        write_json(selection, file, cost)
    file.flush()  # so that a reader that has gone is met here


def _write_file(selection: Selection, form: Format, path: Path, cost: Cost | None) -> None:
    if form in TEXT:
        with path.open("w", encoding="utf-8") as file:
            _write_text(selection, form, file, cost)
        return
    from chronozarr_dask.cli.reading.rasters import write_geotiff, write_netcdf

    (write_netcdf if form == "netcdf" else write_geotiff)(selection, path)


def cost_told(cost: Cost) -> str:
    """What pixels cost, in a line."""
    return (
        f"{plural(cost.chunks, 'chunk')} in {plural(cost.requests, 'request')}, {nbytes(cost.bytes_fetched)} fetched, "
        f"{nbytes(cost.bytes_decoded)} decoded; {plural(cost.cells_decoded, 'value')} decoded for "
        f"{cost.cells_wanted:,} wanted, {cost.amplification:.3g} to one"
    )


def _in_place(output: Path, write: Callable[[Path], None]) -> None:
    """Write beside the file and then put it in its place, so that no half of it is ever there."""
    folder = output.absolute().parent
    try:
        with tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=folder) as beside:
            path = Path(beside) / output.name
            write(path)
            os.replace(path, output)
    except OSError as error:
        raise InputError(f"{output} cannot be written: {error.strerror or error}") from error


def _told(selection: Selection) -> str:
    """What was written, in a line."""
    bands = plural(len(selection.bands), "band")
    dtype = "float32, physical" if selection.physical else f"{selection.store.dtype.name}, as stored"
    if selection.is_series:
        return f"{plural(selection.dataset.sizes['time'], 'time')} x {bands}, {dtype}"
    height, width = selection.window.shape
    return f"{bands} x {height} x {width} px, {dtype}"

"""What an encode did, in a few lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from chronozarr_dask.cli.output import print_table
from chronozarr_dask.cli.text import nbytes, plural, seconds
from chronozarr_dask.run.report import RunReport


def print_summary(console: Console, report: RunReport, target: str, *, remote: bool) -> None:
    """Print the report, and how to open the store in Python.

    Parameters
    ----------
    console : Console
    report : RunReport
    target : str
        As it was given.
    remote : bool
        Whether the store needs options of a file system to be opened.
    """
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _rows(report):
        table.add_row(name, Text(value))
    print_table(console, table)
    more = ", storage_options={...}" if remote else ""
    lines = ("import chronozarr_dask as czd", f"store = czd.open_store({target!r}{more})", "store.to_xarray()")
    console.print("\nOpen it in Python:")
    for line in lines:
        console.print(Text(f"  {line}", style="green"), soft_wrap=True)


def _rows(report: RunReport) -> Iterator[tuple[str, str]]:
    yield "target", report.target
    if report.scenes is not None:
        yield "scenes", _scenes(report.scenes)
    yield "encoding", encoding(report.encoding, report.selection)
    regions = plural(report.regions, "region")
    if report.regions_resumed:
        regions += f", {report.regions_resumed:,} of them from the run before"
    yield "objects", f"{report.objects:,} in {regions}"
    total = nbytes(sum(report.bytes_by_level.values()))
    yield "bytes", f"{total}: " + ", ".join(f"level {k} {nbytes(n)}" for k, n in report.bytes_by_level.items())
    if report.staged_bytes:
        yield "staged", f"{nbytes(report.staged_bytes)} of the source, in the journal meanwhile"
    spent = seconds(sum(report.seconds_by_stage.values())) + (" of this attempt" if report.regions_resumed else "")
    yield "time", f"{spent}: " + ", ".join(f"{stage} {seconds(s)}" for stage, s in report.seconds_by_stage.items())
    if report.failures:
        yield "failures", f"{plural(len(report.failures), 'region')} set aside: {report.failures[0].error}"
    yield "journal", report.journal


def _scenes(scenes: Mapping[str, Any]) -> str:
    told = [f"{len(scenes['used']):,} used"]
    told += [f"{len(scenes[name]):,} {name}" for name in ("dropped", "lost") if scenes[name]]
    if scenes["empty"]:
        told.append(f"no observation in {', '.join(scenes['empty'])}")
    return ", ".join(told)


def encoding(name: str, selection: object) -> str:
    """The encoding, with what `auto` measured."""
    if not isinstance(selection, dict) or "ratio" not in selection:
        return name
    cells = plural(selection.get("sampled_cells", 0), "cell")
    subject = "" if name == "star-delta" else "star-delta has "
    return f"{name}: {subject}{selection['ratio']} of the bytes of none, measured on {cells}"

"""What a run would do, on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from chronozarr_dask.cli.output import print_json, print_table, screen
from chronozarr_dask.cli.text import nbytes, number, plural, seconds
from chronozarr_dask.run.forecast import Forecast

SHOWN_DROPPED = 10


def show_forecast(forecast: Forecast, *, as_json: bool) -> None:
    """Print the forecast; exit code 1 where the run would be refused."""
    if as_json:
        print_json(forecast.to_json())
    else:
        print_forecast(screen(), forecast)
    if forecast.refused:
        raise typer.Exit(1)


def print_forecast(console: Console, forecast: Forecast) -> None:
    """Print the forecast: what is read, the scenes of each timestep, what is written, what would be refused."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _rows(forecast):
        table.add_row(name, Text(value))
    print_table(console, table)
    if forecast.scenes:
        _print_scenes(console, forecast)
    console.print()
    print_table(console, _stages(forecast))
    for text in forecast.refused:
        console.print(Text.assemble(("\nrefused: ", "bold red"), text), soft_wrap=not console.is_terminal)


def _print_scenes(console: Console, forecast: Forecast) -> None:
    months = Table(box=None, pad_edge=False, header_style="cyan")
    months.add_column("timestep")
    months.add_column("scenes", justify="right")
    most = max(forecast.scenes.values(), default=0)
    months.add_column("")
    for text, n in forecast.scenes.items():
        months.add_row(text, str(n), Text("█" * round(30 * n / most) if n else "no scene", style="" if n else "yellow"))
    console.print()
    print_table(console, months)


def _stages(f: Forecast) -> Table:
    table = Table(box=None, pad_edge=False, header_style="cyan")
    table.add_column("stage")
    for name in ("units", "read", "written", "objects", "requests", "core-hours", "time"):
        table.add_column(name, justify="right")
    for name, s in f.estimate.stages.items():
        numbers = f"{s.units:,}", nbytes(s.bytes_in), nbytes(s.bytes_out), f"{s.objects:,}", f"{s.requests:,}"
        table.add_row(name, *numbers, f"{s.core_seconds / 3600:,.2f}", seconds(s.seconds))
    return table


def _rows(f: Forecast) -> Iterator[tuple[str, str]]:
    n_time, n_band, height, width = f.shape
    if f.scenes:
        yield (
            "scenes",
            f"{sum(f.scenes.values()):,} in {plural(n_time, 'timestep')}, {nbytes(f.read_bytes)} to read",
        )
    else:
        yield "read", f"{nbytes(f.read_bytes)} of pixels"
    for rule, n in sorted(f.offsets.items(), key=lambda pair: -pair[1]):
        yield "offset", f"{plural(n, 'scene')}: {rule}"
    for name, reason in f.dropped[:SHOWN_DROPPED]:
        yield "dropped", f"{name}: {reason}"
    if len(f.dropped) > SHOWN_DROPPED:
        yield "dropped", f"and {len(f.dropped) - SHOWN_DROPPED} more"
    a, _, c, _, e, top = f.grid["transform"]
    yield (
        "grid",
        f"{f.grid['crs']}, {width:,} x {height:,} pixels of {number(a)} x {number(-e)}, "
        f"corner {number(c)}, {number(top)}",
    )
    yield (
        "store",
        f"{plural(n_time, 'timestep')}, {plural(n_band, 'band')}, {plural(f.levels, 'level')}, "
        f"at most {plural(f.objects, 'object')}",
    )
    about = ", ".join(f"{name} about {nbytes(n)}" for name, n in f.write_bytes.items())
    yield "write", f"{nbytes(f.raw_bytes)} of pixels before compression: {about}"
    yield "encoding", f.encoding + (": measured on a sample when the run begins" if f.encoding == "auto" else "")
    passes = f"{f.passes} {'pass' if f.passes == 1 else 'passes'}"
    yield "work", f"{plural(f.regions, 'region')} in {passes}, {plural(f.tasks, 'task')}"
    yield (
        "memory",
        f"{nbytes(f.region_bytes)} a region, {nbytes(f.worker_bytes)} in one process of {nbytes(f.memory)} at hand",
    )
    e = f.estimate
    yield "time", f"about {seconds(e.seconds)} with {plural(e.threads, 'thread')}, by measured speeds of this program"
    if f.cost is not None:
        once = sum(n for part, n in f.cost.items() if part != "month")
        parts = ", ".join(f"{part} {n:,.2f}" for part, n in f.cost.items() if part != "month")
        yield "cost", f"{once:,.2f} {f.currency} once ({parts}), and {f.cost['month']:,.2f} a month for what is stored"

"""What a run would do, on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from chronozarr_dask.cli.output import print_table
from chronozarr_dask.cli.text import nbytes, number, plural
from chronozarr_dask.run.forecast import Forecast

SHOWN_DROPPED = 10


def print_forecast(console: Console, forecast: Forecast) -> None:
    """Print the forecast: what is read, the scenes of each timestep, what is written, what would be refused."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _rows(forecast):
        table.add_row(name, Text(value))
    print_table(console, table)
    months = Table(box=None, pad_edge=False, header_style="cyan")
    months.add_column("timestep")
    months.add_column("scenes", justify="right")
    most = max(forecast.scenes.values(), default=0)
    months.add_column("")
    for text, n in forecast.scenes.items():
        months.add_row(text, str(n), Text("█" * round(30 * n / most) if n else "no scene", style="" if n else "yellow"))
    console.print()
    print_table(console, months)
    for text in forecast.refused:
        console.print(Text.assemble(("\nrefused: ", "bold red"), text), soft_wrap=not console.is_terminal)


def _rows(f: Forecast) -> Iterator[tuple[str, str]]:
    n_time, n_band, height, width = f.shape
    yield (
        "scenes",
        f"{sum(f.scenes.values()):,} in {plural(n_time, 'timestep')}, {nbytes(f.read_bytes)} to read",
    )
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

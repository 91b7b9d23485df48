"""What `info` tells, for a person: tables on a terminal, plain columns elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from chronozarr_dask.cli.output import print_table
from chronozarr_dask.cli.summary import encoding
from chronozarr_dask.cli.text import nbytes, number, plural


def print_sheet(console: Console, found: Mapping[str, Any]) -> None:
    """Print what `facts` found."""
    shape = found["shape"]
    console.print(Text(found["store"], style="bold"), soft_wrap=True)
    size = f"{plural(shape['time'], 'time')} x {plural(shape['band'], 'band')} x {shape['y']} x {shape['x']} px"
    console.print(f"chronozarr {found['spec_version']}: {size}, {found['dtype']}\n")
    sheet = Table.grid(padding=(0, 2))
    sheet.add_column(style="cyan", no_wrap=True)
    sheet.add_column(overflow="fold")
    for name, value in _rows(found):
        sheet.add_row(name, Text(value))
    print_table(console, sheet)
    for table in (_bands(console, found), _levels(console, found)):
        console.print()
        print_table(console, table)


def _rows(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    times, temporal = found["times"], found["temporal"]
    if times["n"] == 1:
        yield "times", times["first"]
    else:
        yield "times", f"{times['first']} to {times['last']}, {times['cadence']}"
    yield "CRS", found["crs"] if found["crs_name"] is None else f"{found['crs']} ({found['crs_name']})"
    left, bottom, right, top = map(number, found["bounds"])
    yield "bounds", f"x {left} to {right}, y {bottom} to {top}"
    yield "nodata", "none" if found["nodata"] is None else number(found["nodata"])
    yield "planes", ", ".join(found["planes"]) or "none"
    yield "encoding", encoding(temporal["encoding"], temporal["selection"])
    if temporal["encoding"] == "star-delta":
        yield "schedule", f"{plural(temporal['anchors'], 'anchor')}, every {temporal['anchor_interval']} timesteps"
    yield "layout", _layout(found)
    configuration = found["codec"]["configuration"]
    shown = ", ".join(f"{k} {v}" for k, v in configuration.items() if k not in ("checksum", "typesize", "blocksize"))
    yield "codec", f"{found['codec']['name']}, {shown}"
    stored = f"at most {found['objects_at_most']:,} {'shards' if found['shard_time'] else 'chunks'}"
    if found["data_bytes"] is not None:
        stored += f"; {nbytes(found['data_bytes'])} of data"
    yield "objects", stored
    for name, value in (found["provenance"] or {}).items():
        yield name, ", ".join(value) if isinstance(value, list) else str(value)


def _layout(found: Mapping[str, Any]) -> str:
    cs = found["chunk_size"]
    cells = f"cells of {cs} x {cs} px"
    if found["shard_time"] is None:
        return f"{cells}, unsharded: one object for each timestep"
    return f"{cells}, sharded: one object for {plural(found['shard_time'], 'timestep')}"


def _bands(console: Console, found: Mapping[str, Any]) -> Table:
    table = _table(console)
    for name in ("band", "common name", "scale", "offset", "units"):
        table.add_column(name, justify="right" if name in ("scale", "offset") else "left", overflow="fold")
    for b in found["bands"]:
        table.add_row(
            Text(b["name"]), b.get("common_name", ""), number(b["scale"]), number(b["offset"]), Text(b.get("units", ""))
        )
    return table


def _levels(console: Console, found: Mapping[str, Any]) -> Table:
    table = _table(console)
    for name in ("level", "height", "width", "cells", "resolution"):
        table.add_column(name, justify="right")
    for level in found["levels"]:
        _, _, height, width = level["shape"]
        rows, cols = level["grid"]
        table.add_row(level["path"], str(height), str(width), f"{rows} x {cols}", number(level["resolution"]))
    return table


def _table(console: Console) -> Table:
    return Table(
        box=box.SIMPLE_HEAD if console.is_terminal else None, header_style="cyan", pad_edge=False, show_edge=False
    )

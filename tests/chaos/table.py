"""The table of the seeds, for people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from tests.chaos.drive import Row

HEADER = (
    "seed", "phase", "killed at", "victim", "signal", "product", "workers", "target", "objects at kill", "alive", "met",
    "kills", "resumed", "by journal", "redone", "equal", "seconds",
)  # fmt: skip


def cells(row: Row) -> tuple[str, ...]:
    """One line."""
    s, first = row.scenario, row.scenario.kills[0]
    place = f"{first.place.point} {first.place.n} {first.place.how}"
    product = f"{s.product.kind} {s.product.encoding}" + (" sharded" if s.product.shard_time else "")
    product += f" slabs of {s.time_slab}" if s.time_slab else ""
    seen = (row.objects, _word(row.alive), _word(row.met))
    then = (row.kills, row.resumed, row.by_journal, row.redone, _word(row.equal))
    where = "S3" if s.on_s3 else "folder"
    out = (
        s.seed,
        first.phase,
        place,
        first.victim,
        first.signal,
        product,
        s.runner,
        where,
        *seen,
        *then,
        f"{row.seconds:.1f}",
    )
    return tuple(map(str, out))


def facts(rows: Sequence[Row]) -> str:
    """The rows as JSON."""
    told = [{**asdict(row), "counts": row.counts} for row in rows]
    return json.dumps(told, indent=1) + "\n"


def text(rows: Sequence[Row]) -> str:
    """The table as Markdown that lines up as text too, and a line for each fault."""
    lines = [HEADER, *map(cells, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADER))]
    out = ["| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |" for line in lines]
    out.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join([*out, "", summary(rows), *(f"seed {r.scenario.seed}: {r.fault}" for r in rows if r.fault)]) + "\n"


def summary(rows: Sequence[Row]) -> str:
    """How many there were."""
    count, bad = sum(r.counts for r in rows), sum(not r.equal or bool(r.fault) for r in rows)
    twice = sum(r.redone for r in rows)
    return f"{len(rows)} seeds, {count} count, {bad} with a fault; {twice} objects were stored again"


def _word(yes: bool) -> str:
    return "yes" if yes else "no"

"""Measure everything and write RESULTS.md; exit code 1 when a claim fails. ``make bench`` runs it.

``python -m tests.benchmarks --quick`` tries the harness at a tenth of the size: claims are shown and not judged.
``--only encoding`` (cluster, memory, reading, kernels, composites, region, first-use) makes one table. Both write to
``build/``; ``--only cluster --update`` puts the table in the place of the one in RESULTS.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks import cluster, compositing, encoding, kernels, memory, reading, region
from tests.benchmarks.measure import keep_compiled_code
from tests.benchmarks.tables import Table, machine, replaced

HERE = Path(__file__).resolve().parent
TABLES: dict[str, Callable[..., Table]] = {
    "encoding": encoding.table,
    "cluster": cluster.table,
    "memory": memory.table,
    "reading": reading.table,
    "kernels": kernels.table,
    "composites": compositing.table,
    "region": region.table,
    "first-use": kernels.first_use,
}


def main(arguments: list[str] | None = None) -> int:
    """Run the tables that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="at a tenth of the size, to try the harness")
    parser.add_argument("--only", action="append", choices=TABLES, help="this table alone; may be repeated")
    parser.add_argument("--update", action="store_true", help="put the tables into RESULTS.md, in place of theirs")
    parser.add_argument("--folder", help="where inputs and stores go, and are removed again; 20 GB (default: $TMPDIR)")
    given = parser.parse_args(arguments)
    full = not given.quick and not given.only
    results = HERE / "RESULTS.md" if full else HERE.parents[1] / "build" / f"bench{'-quick' * given.quick}.md"
    tables = _measure(given.only or list(TABLES), given.folder, quick=given.quick)
    results.parent.mkdir(exist_ok=True)
    kept = results.read_text() if full and results.exists() else ""
    results.write_text(_with_scale(_document(tables, quick=given.quick), kept))
    if given.update and not given.quick:
        results = HERE / "RESULTS.md"
        results.write_text(replaced(results.read_text(), tables))
    print(results)
    failed = [claim for table in tables for claim in table.claims if not claim.holds]
    for claim in failed:
        print(claim.line)
    return 1 if failed and not given.quick else 0


def _with_scale(document: str, before: str) -> str:
    """The document with the section of ``make scale``, which is measured by itself, as it was."""
    kept = [s for s in before.rstrip().split("\n\n## ")[1:] if s.startswith("Scale\n")]
    return "\n\n## ".join([document.rstrip(), *kept]) + "\n"


def _measure(names: list[str], folder: str | None, *, quick: bool) -> list[Table]:
    tables = []
    with tempfile.TemporaryDirectory(prefix="bench-", dir=folder) as work:
        keep_compiled_code(Path(work))
        for name in names:
            begun = time.monotonic()
            tables.append(TABLES[name](Path(work), quick=quick))
            print(f"{tables[-1].text()}\n\n{name}: {time.monotonic() - begun:.0f} s\n", file=sys.stderr, flush=True)
    return tables


def _document(tables: list[Table], *, quick: bool) -> str:
    size = ", at a tenth of the size: the claims mean nothing here" if quick else ""
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    head = f"# Benchmarks{size}\n\nWritten by `make bench`.\n\n{machine()}\n- load average at the end: {load}\n"
    return "\n\n".join([head.rstrip(), *(t.text() for t in tables)]) + "\n"


if __name__ == "__main__":
    sys.exit(main())

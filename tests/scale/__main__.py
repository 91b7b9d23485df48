"""``make scale``: 100,000 empty regions; writes table and plot of tests/benchmarks; exit code 1 if memory grows.

``python -m tests.scale --regions 2000`` tries it: the table is printed, the plot goes to build/, nothing is replaced.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.benchmarks import scale
from tests.benchmarks.tables import replaced

HERE = Path(__file__).resolve().parents[1] / "benchmarks"


def main(arguments: list[str] | None = None) -> int:
    """Drive, plot, and hold the claims."""
    parser = argparse.ArgumentParser(prog="python -m tests.scale", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--regions", type=int, default=scale.REGIONS, help=f"regions (default: {scale.REGIONS})")
    parser.add_argument("--folder", help="where store and journal go, and are removed again; 1 GB (default: $TMPDIR)")
    given = parser.parse_args(arguments)
    full = given.regions == scale.REGIONS
    plot = HERE / scale.PLOT if full else HERE.parents[1] / "build" / scale.PLOT
    plot.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="scale-", dir=given.folder) as work:
        table = scale.table(Path(work), regions=given.regions, plot=plot)
    print(table.text(), plot, sep="\n\n")
    if full:
        results = HERE / "RESULTS.md"
        results.write_text(replaced(results.read_text(), [table]))
    return 0 if all(claim.holds for claim in table.claims) else 1


if __name__ == "__main__":
    sys.exit(main())

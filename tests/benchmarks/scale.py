"""Memory of client and scheduler over a hundred thousand regions; ``make scale`` runs it."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks.tables import Claim, Table
from tests.scale.drive import WORKERS, drive
from tests.scale.plot import plot as draw
from tests.scale.watch import growth

REGIONS = 100_000
PLOT = "scale.svg"
LIMITS = {"client": 32, "scheduler": 64}
"""MiB that may be added between a fifth of the regions and all of them; at 18 KB a region it would be 1,400."""

COLUMNS = (
    "regions", "tasks", "regions a second", "scheduler, ms a task", "client, MiB", "scheduler, MiB", "commit, s",
)  # fmt: skip


def table(folder: Path, *, regions: int = REGIONS, plot: Path) -> Table:
    """The table; the plot goes to a file."""
    driven = drive(folder, regions)
    samples = driven.samples
    plot.write_text(draw(samples))
    sizes = [f"{getattr(samples[1], who):.0f} to {max(getattr(s, who) for s in samples):.0f}" for who in LIMITS]
    out = Table("Scale", _about(), COLUMNS)
    out.rows.append(
        (
            f"{driven.report.regions:,}", f"{driven.tasks:,}",
            f"{(samples[-1].done - samples[1].done) / driven.seconds:.0f}", f"{driven.scheduler_ms:.2f}", *sizes,
            f"{driven.report.seconds_by_stage['commit']:.1f}",
        )
    )  # fmt: skip
    for who, limit in LIMITS.items():
        text = f"{who}: MiB that it grows by from a fifth of {driven.report.regions:,} regions to all"
        out.claims.append(Claim(text, growth(samples, who), limit))
    return out


def _about() -> str:
    return (
        f"Regions without a payload through the submit, receipt and commit code of every run, on {WORKERS} workers of "
        "one thread; scheduler, workers and client are processes of their own. The raster is one cell high and all "
        "fill, so nothing is stored but receipts; half of the regions are of later passes. Resident memory of client "
        f"and scheduler, and processor time of the scheduler.\n\n![Memory over regions]({PLOT})"
    )

"""What the commands that make a store share: their options, the cluster of a recipe, and what is printed at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chronozarr_dask.cli.output import print_json, screen
from chronozarr_dask.cli.progress import Bars
from chronozarr_dask.options import GRACE_SECONDS

if TYPE_CHECKING:
    from chronozarr_dask.options.recipe import ClusterPart
    from chronozarr_dask.run.report import RunReport

WORK = "Work"
"""Panel of the help."""

KeepGoingOption = Annotated[
    bool,
    typer.Option("--keep-going", help="Leave out scenes that cannot be read, and tell of them.", rich_help_panel=WORK),
]
FailFastOption = Annotated[
    bool,
    typer.Option("--fail-fast", help="End the run by the first region that failed 3 times.", rich_help_panel=WORK),
]
NoClaimOption = Annotated[
    bool,
    typer.Option(
        "--no-claim",
        help="For stores without conditional creates: you see to it that only one run writes.",
        rich_help_panel=WORK,
    ),
]
GRACE = "For regions in flight after SIGTERM or Ctrl-C"
GraceOption = Annotated[float, typer.Option(metavar="SECONDS", min=0, help=f"{GRACE}.", rich_help_panel=WORK)]
RecipeGraceOption = Annotated[
    float | None,
    typer.Option(
        "--grace",
        metavar="SECONDS",
        min=0,
        help=f"{GRACE}; when left out that of the recipe, else {GRACE_SECONDS:g}.",
        rich_help_panel=WORK,
    ),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="threads, local, or a scheduler's address; when left out that of the recipe, else threads.",
        rich_help_panel=WORK,
    ),
]
SourceOption = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="As --storage-option, for the source's URL; no journal keeps its secrets."),
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress and no summary; warnings and errors only.")
]


@contextmanager
def working(bars: Bars, kind: str, part: ClusterPart | None) -> Iterator[Any]:
    """A client of a kind of cluster, in the sizes of a recipe; the bars tell that it is made."""
    from chronozarr_dask.run.clients import THREADS, cluster_client
    from chronozarr_dask.run.progress import Step

    sizes: dict[str, Any] = {}
    if part is not None:
        sizes = {"workers": part.workers, "threads": part.threads, "memory": part.memory}
    if kind != THREADS:
        bars(Step("cluster", 0, 1))
    with cluster_client(kind, **sizes) as client:
        yield client


def print_report(report: RunReport, target: str, *, remote: bool, as_json: bool, quiet: bool) -> None:
    """Print the end of a run: as JSON, as a summary, or nothing. `remote` is as of `summary.print_summary`."""
    if as_json:
        print_json(report.to_json())
    elif not quiet:
        from chronozarr_dask.cli.summary import print_summary

        print_summary(screen(), report, target, remote=remote)

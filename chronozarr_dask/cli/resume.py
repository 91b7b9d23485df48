"""``resume`` and ``retry-failed``: go on with a run by its journal, where what it was begun with is kept."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from chronozarr_dask.cli.goingon import interruptible
from chronozarr_dask.cli.output import (
    JsonOption,
    StorageOption,
    errors_told,
    print_json,
    read_storage_options,
    screen,
    warnings_told,
)
from chronozarr_dask.cli.progress import Bars
from chronozarr_dask.cli.runs import RunArgument
from chronozarr_dask.errors import ChronozarrWarning, ResumeError
from chronozarr_dask.options import GRACE_SECONDS

if TYPE_CHECKING:
    from chronozarr_dask.run.beginning import Beginning
    from chronozarr_dask.run.journals import Run
    from chronozarr_dask.run.report import RunReport

STAGES = {"audit": "verify"}
VERIFY = "--verify"

ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="KIND",
        help="threads, local, or a scheduler's address; when left out that of the recipe, else threads.",
    ),
]
SourceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--source-option", metavar="KEY=VALUE", help="As --storage-option, for the source: secrets are not kept."
    ),
]
KeepGoing = Annotated[
    bool, typer.Option("--keep-going", help="Of a recipe: leave out scenes that cannot be read, and tell of them.")
]
FailFast = Annotated[bool, typer.Option("--fail-fast", help="End the run by the first region that failed 3 times.")]
NoClaim = Annotated[
    bool,
    typer.Option("--no-claim", help="For stores without conditional creates: you see to it that only one run writes."),
]
Grace = Annotated[float, typer.Option(metavar="SECONDS", min=0, help="For regions in flight after SIGTERM or Ctrl-C.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary; warnings and errors only.")]


def with_bare_verify(arguments: Sequence[str]) -> list[str]:
    """``--verify`` alone is ``--verify=full``: an option whose value may be left out."""
    return [f"{VERIFY}=full" if word == VERIFY else word for word in arguments]


def resume_command(
    run: RunArgument,
    *,
    verify: Annotated[
        Literal["full", "head"] | None,
        typer.Option(
            VERIFY,
            metavar="[=full|head]",
            help="First compare what is stored with the receipts, by checksums, or with --verify=head by lengths; do "
            "again what does not agree.",
        ),
    ] = None,
    cluster: ClusterOption = None,
    keep_going: KeepGoing = False,
    fail_fast: FailFast = False,
    no_claim: NoClaim = False,
    grace: Grace = GRACE_SECONDS,
    storage_option: StorageOption = None,
    source_option: SourceOption = None,
    as_json: JsonOption = False,
    quiet: Quiet = False,
) -> None:
    """Go on with an interrupted run by its journal, which keeps the recipe, or what encode was given, but no secret.

    What is stored is kept, and the store is the same to the last byte. Refused while the run is alive.
    """
    how = {"verify": verify, "keep_going": keep_going, "fail_fast": fail_fast, "claim": not no_claim, "grace": grace}
    options = read_storage_options(storage_option), read_storage_options(source_option, "--source-option")
    _command(run, *options, cluster, how, as_json=as_json, quiet=quiet, failed_only=False)


def retry_command(
    run: RunArgument,
    *,
    cluster: ClusterOption = None,
    keep_going: KeepGoing = False,
    fail_fast: FailFast = False,
    no_claim: NoClaim = False,
    grace: Grace = GRACE_SECONDS,
    storage_option: StorageOption = None,
    source_option: SourceOption = None,
    as_json: JsonOption = False,
    quiet: Quiet = False,
) -> None:
    """Try the regions again that failed in a run that is not complete, and what waits for them; nothing else.

    Where nothing else is left the store is completed; after an interruption resume does the rest.
    """
    how = {"keep_going": keep_going, "fail_fast": fail_fast, "claim": not no_claim, "grace": grace}
    options = read_storage_options(storage_option), read_storage_options(source_option, "--source-option")
    _command(run, *options, cluster, how, as_json=as_json, quiet=quiet, failed_only=True)


def _command(
    run: str,
    options: Mapping[str, Any],
    source_options: Mapping[str, Any],
    cluster: str | None,
    how: dict[str, Any],
    *,
    as_json: bool,
    quiet: bool,
    failed_only: bool,
) -> None:
    with errors_told(), Bars(quiet=quiet, first="journal", names=STAGES) as bars, warnings_told(bars.console):
        from chronozarr_dask.run.beginning import read_beginning
        from chronozarr_dask.run.journals import find_run
        from chronozarr_dask.run.resume import failed_regions

        warnings.simplefilter("always", ChronozarrWarning)
        found = find_run(run, options)
        if failed_only:
            how["only"] = failed_regions(found)
        beginning = read_beginning(found, source_options)
        with interruptible(bars, found.target.url, options, found.journal.url):
            report = _go_on(found, beginning, bars, cluster, how)
    if as_json:
        print_json(report.to_json())
    elif not quiet:
        from chronozarr_dask.cli.summary import print_summary

        print_summary(screen(), report, found.target.url, remote=bool(options))


def _go_on(run: Run, beginning: Beginning, bars: Bars, cluster: str | None, how: Mapping[str, Any]) -> RunReport:
    from chronozarr_dask.run.clients import THREADS, cluster_client
    from chronozarr_dask.run.progress import Step
    from chronozarr_dask.run.resume import go_on

    if beginning.is_relative:
        try:
            os.chdir(beginning.folder)  # of this process alone, before a worker starts
        except OSError as error:
            raise ResumeError(
                f"the recipe of this run has relative paths, which begin in {beginning.folder}; that is gone: {error}"
            ) from error
    kind, sizes = cluster or THREADS, {}
    if beginning.recipe is not None:
        part = beginning.recipe.recipe().cluster
        kind = cluster or part.kind
        sizes = {"workers": part.workers, "threads": part.threads, "memory": part.memory}
    if kind != THREADS:
        bars(Step("cluster", 0, 1))
    with cluster_client(kind, **sizes) as client:
        return go_on(run, beginning, client=client, progress=bars, **how)

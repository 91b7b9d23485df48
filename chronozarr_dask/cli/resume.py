"""``resume`` and ``retry-failed``: go on with a run by its journal, where what it was begun with is kept."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from chronozarr_dask.cli.goingon import interruptible
from chronozarr_dask.cli.output import (
    JsonOption,
    StorageOption,
    errors_told,
    read_storage_options,
    warnings_told,
)
from chronozarr_dask.cli.progress import Bars
from chronozarr_dask.cli.runs import RunArgument
from chronozarr_dask.cli.work import (
    ClusterOption,
    FailFastOption,
    KeepGoingOption,
    NoClaimOption,
    QuietOption,
    RecipeGraceOption,
    SourceOption,
    print_report,
    working,
)
from chronozarr_dask.errors import ResumeError

if TYPE_CHECKING:
    from chronozarr_dask.run.beginning import Beginning
    from chronozarr_dask.run.journals import Run
    from chronozarr_dask.run.report import RunReport

STAGES = {"audit": "verify"}
VERIFY = "--verify"


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
    keep_going: KeepGoingOption = False,
    fail_fast: FailFastOption = False,
    no_claim: NoClaimOption = False,
    grace: RecipeGraceOption = None,
    storage_option: StorageOption = None,
    source_option: SourceOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
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
    keep_going: KeepGoingOption = False,
    fail_fast: FailFastOption = False,
    no_claim: NoClaimOption = False,
    grace: RecipeGraceOption = None,
    storage_option: StorageOption = None,
    source_option: SourceOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
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

        found = find_run(run, options)
        if failed_only:
            how["only"] = failed_regions(found)
        beginning = read_beginning(found, source_options)
        with interruptible(bars, found.target.url, options, found.journal.url):
            report = _go_on(found, beginning, bars, cluster, how)
    print_report(report, found.target.url, remote=bool(options), as_json=as_json, quiet=quiet)


def _go_on(run: Run, beginning: Beginning, bars: Bars, cluster: str | None, how: Mapping[str, Any]) -> RunReport:
    from chronozarr_dask.run.clients import THREADS
    from chronozarr_dask.run.resume import go_on

    if beginning.is_relative:
        try:
            os.chdir(beginning.folder)  # of this process alone, before a worker starts
        except OSError as error:
            raise ResumeError(
                f"the recipe of this run has relative paths, which begin in {beginning.folder}; that is gone: {error}"
            ) from error
    part = None if beginning.recipe is None else beginning.recipe.recipe().cluster
    with working(bars, cluster or (THREADS if part is None else part.kind), part) as client:
        return go_on(run, beginning, client=client, progress=bars, **how)

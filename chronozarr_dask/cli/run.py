"""``run``: a recipe in, a store out; ``--dry-run`` says what it would do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chronozarr_dask.cli.goingon import interruptible
from chronozarr_dask.cli.output import (
    JsonOption,
    PricesOption,
    check_prices,
    errors_told,
    warnings_told,
)
from chronozarr_dask.cli.progress import Bars
from chronozarr_dask.cli.work import (
    WORK,
    ClusterOption,
    FailFastOption,
    KeepGoingOption,
    NoClaimOption,
    QuietOption,
    RecipeGraceOption,
    print_report,
    working,
)

if TYPE_CHECKING:
    from chronozarr_dask.options.recipe import Recipe
    from chronozarr_dask.run.recipes import Document
    from chronozarr_dask.run.report import RunReport


def run_command(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="YAML file of one product; see pipelines/.")],
    *,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="FIELD=VALUE", help="In place of the recipe's, as in period.end=2024-06. Repeat it."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Search, plan and print what would be done; read no pixel, write nothing.",
            rich_help_panel=WORK,
        ),
    ] = False,
    prices: PricesOption = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with an interrupted run of the same recipe.", rich_help_panel=WORK),
    ] = False,
    keep_going: KeepGoingOption = False,
    fail_fast: FailFastOption = False,
    no_claim: NoClaimOption = False,
    grace: RecipeGraceOption = None,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make a product from its recipe: a search for scenes, composites of them, a store.

    An interrupted run keeps what is finished in a journal beside the store; the same command with --resume goes on with
    the scenes that were found then.
    """
    if dry_run and resume:
        raise typer.BadParameter("--dry-run says what a new run would do: leave out --resume")
    check_prices(prices, dry_run=dry_run)
    settings = [*(setting or ()), *(["run.keep_going=true"] if keep_going else [])]
    settings += ["run.fail_fast=true"] if fail_fast else []
    settings += ["run.claim=false"] if no_claim else []
    settings += [] if grace is None else [f"run.grace={grace}"]
    settings += [f"cluster.kind={cluster}"] if cluster else []
    with (
        errors_told(in_fields),
        Bars(quiet=quiet or dry_run, first="recipe") as bars,
        warnings_told(bars.console, in_fields),
    ):
        from chronozarr_dask.run.recipes import read_recipe

        document, made = read_recipe(recipe, settings)
        if dry_run:
            _print_forecast(document, made, prices, as_json=as_json)
            return
        target = made.target
        with interruptible(bars, target.url, target.storage_options, target.journal):
            report = _run(document, made, bars, resume=resume)
    print_report(report, target.url, remote=bool(target.storage_options), as_json=as_json, quiet=quiet)


def in_fields(text: str) -> str:
    """A message with keywords of `encode` put as fields of a recipe: ``time_slab`` as encode.time_slab."""
    from chronozarr_dask.options.recipe import ENCODE_FIELDS

    names = "|".join(name for name in ENCODE_FIELDS if "_" in name)
    text = re.sub(rf"(?<![\w./'\"-])({names})(?![\w.'\"])", r"encode.\1", text)
    text = re.sub(r"(?<![\w.])journal=", "target.journal=", text)
    return text.replace("raise memory to", "raise encode.memory to")


def _run(document: Document, recipe: Recipe, bars: Bars, *, resume: bool) -> RunReport:
    from chronozarr_dask.run.produce import run_document

    with working(bars, recipe.cluster.kind, recipe.cluster) as client:
        return run_document(document, recipe, resume=resume, client=client, progress=bars)


def _print_forecast(document: Document, recipe: Recipe, prices: str | None, *, as_json: bool) -> None:
    from chronozarr_dask.cli.forecast import show_forecast
    from chronozarr_dask.options.prices import read_prices
    from chronozarr_dask.run.clients import cluster_client
    from chronozarr_dask.run.forecast import forecast
    from chronozarr_dask.run.workers import make_workers

    priced = None if prices is None else read_prices(prices)
    c = recipe.cluster
    encode: Any = recipe.encode
    with cluster_client(c.kind, workers=c.workers, threads=c.threads, memory=c.memory) as client:
        found = forecast(document, recipe, make_workers(client, encode.memory), priced)
    show_forecast(found, as_json=as_json)

"""``encode``: a source and options in, a store out; interrupted at any moment, it goes on with ``--resume``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chronozarr_dask.cli.goingon import interruptible
from chronozarr_dask.cli.output import (
    JsonOption,
    PricesOption,
    StorageOption,
    check_prices,
    errors_told,
    read_storage_options,
    warnings_told,
)
from chronozarr_dask.cli.parameters import read_options, with_encode_options
from chronozarr_dask.cli.progress import Bars
from chronozarr_dask.cli.work import (
    WORK,
    FailFastOption,
    GraceOption,
    NoClaimOption,
    QuietOption,
    SourceOption,
    print_report,
    working,
)
from chronozarr_dask.options import GRACE_SECONDS

if TYPE_CHECKING:
    from chronozarr_dask.run.report import RunReport


@with_encode_options
def encode_command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="NetCDF or GRIB file, or Zarr store of v2 or v3; or GeoTIFFs: a quoted glob of files with a date in "
            "each name, or a manifest (.csv or .json) with uri, datetime and, if wanted, bands. A path or a URL.",
        ),
    ],
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="Store to write: a folder or a URL where nothing is yet.")
    ],
    *,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Plan and print what would be done; read no pixel, write nothing.", rich_help_panel=WORK
        ),
    ] = False,
    prices: PricesOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted run.", rich_help_panel=WORK)
    ] = False,
    fail_fast: FailFastOption = False,
    no_claim: NoClaimOption = False,
    grace: GraceOption = GRACE_SECONDS,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            "--scheduler",
            metavar="KIND",
            help="threads (of this process), local (processes of this machine), or a scheduler's address, as in "
            "tcp://10.0.0.5:8786; threads when left out.",
            rich_help_panel=WORK,
        ),
    ] = None,
    date_format: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help="Where the date is in the names of GeoTIFFs: %Y %m %d %j %H %M %S, text and *, as in LC08_*_%Y%m%d_.",
            rich_help_panel="Input",
        ),
    ] = None,
    storage_option: StorageOption = None,
    source_option: SourceOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    **given: Any,
) -> None:
    """Encode a NetCDF file, a Zarr store or a stack of GeoTIFFs as a chronozarr v0.2 store.

    An interrupted run (Ctrl-C, a kill, a crash) keeps what is finished in a journal beside the store; the same command
    with --resume goes on, and the store is the same to the last byte.
    """
    options, target_options = read_options(given), read_storage_options(storage_option)
    from_options = read_storage_options(source_option, "--source-option")
    check_prices(prices, dry_run=dry_run)
    if dry_run:
        if resume:
            raise typer.BadParameter("--dry-run says what a new run would do: leave out --resume")
        read = (source, from_options, date_format, options)
        with errors_told(), warnings_told():
            _forecast(read, target, target_options, cluster, prices, as_json=as_json)
        return
    how = {"resume": resume, "fail_fast": fail_fast, "claim": not no_claim, "grace": grace}
    with (
        errors_told(),
        Bars(quiet=quiet) as bars,
        warnings_told(bars.console),
        interruptible(bars, target, target_options, options["journal"]),
    ):
        report = _encode((source, from_options, date_format, options), target, target_options, bars, cluster, **how)
    print_report(report, target, remote=bool(storage_option), as_json=as_json, quiet=quiet)


def _forecast(
    source: tuple[Any, ...],
    target: str,
    target_options: Mapping[str, Any],
    cluster: str | None,
    prices: str | None,
    *,
    as_json: bool,
) -> None:
    from chronozarr_dask.cli.forecast import show_forecast
    from chronozarr_dask.options import make_options
    from chronozarr_dask.options.prices import read_prices
    from chronozarr_dask.run.beginning import Source, source_input
    from chronozarr_dask.run.clients import THREADS, cluster_client
    from chronozarr_dask.run.forecast import Place, forecast_input
    from chronozarr_dask.run.workers import make_workers

    priced = None if prices is None else read_prices(prices)
    described = Source(*source)
    options = make_options(**described.options)
    given = source_input(described, options)
    with cluster_client(cluster or THREADS) as client:
        place = Place(target, options.journal, target_options)
        found = forecast_input(given, options, place, make_workers(client, options.memory), priced)
    show_forecast(found, as_json=as_json)


def _encode(
    source: tuple[Any, ...],
    target: str,
    target_options: Mapping[str, Any],
    bars: Bars,
    cluster: str | None,
    **how: Any,
) -> RunReport:
    from chronozarr_dask.run.beginning import Source, encode_source  # with Dask: not for bad usage
    from chronozarr_dask.run.clients import THREADS

    with working(bars, cluster or THREADS, None) as client:
        return encode_source(Source(*source), target, target_options, client=client, progress=bars, **how)

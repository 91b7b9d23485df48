"""``validate --deep`` as one function: the documents, then every place, then every receipt, on threads or a cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from chronozarr_dask.errors import InputError, StoreError, TargetError
from chronozarr_dask.format.layout import ROOT_DOCUMENT
from chronozarr_dask.graph.deep import place_task, receipt_task
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.run.beside import appended, followed, is_of_store, no_plan, place_of, plan_of
from chronozarr_dask.run.engine import run_all
from chronozarr_dask.run.progress import Meter, NoProgress, Progress
from chronozarr_dask.run.workers import Build, Workers, check_no_secrets_travel, make_workers
from chronozarr_dask.store.deep.change import Changes, check_volatility
from chronozarr_dask.store.deep.found import Found
from chronozarr_dask.store.deep.places import Place, check_sample, count_places, places, run_length
from chronozarr_dask.store.deep.receipts import SECTION, Ledger
from chronozarr_dask.store.deep.scope import Scope
from chronozarr_dask.store.journal import PLAN, Journal
from chronozarr_dask.store.opening import open_documents
from chronozarr_dask.store.target import Objects, open_target
from chronozarr_dask.store.validate import Problem, Severity, validate_objects

AFTER_PLACES = 2**62
"""Number of the first receipt in the order of the checks: no store has as many places."""


def validate_deep(
    url: str | os.PathLike[str],
    *,
    storage_options: Mapping[str, Any] | None = None,
    client: Any = None,
    sample: float | None = None,
    journal: str | None = None,
    progress: Progress | None = None,
) -> list[Problem]:
    """Check a store by its documents, and by its pixels: what can be derived again is derived and compared.

    Each level from the one below it, masks and coverage too (2.4, 2.5, 6), volatility (5), padding (2.1), finite values
    (2.3), every chunk and shard decoded (7, 8); and, where the journal of the run that made the store is at hand, the
    length and crc32c of every object. Without a journal a lost chunk shows only where the level above no longer
    matches. What is read is read twice with a journal. Memory is a few chunks for each thread.

    Parameters
    ----------
    url : str or path
        Of the store: a folder, or any fsspec URL.
    storage_options : mapping, optional
        For fsspec. No secrets with a `client`: they would travel in tasks.
    client : distributed.Client, optional
        Cluster to run on; threads of this process when left out.
    sample : float, optional
        Fraction of level 0 to look at, above 0 and at most 1: the same part every time, and of the levels above what
        rests on it alone. All when left out.
    journal : str, optional
        Of the run that made the store; when left out, the one beside the store, or where the claim there says.
    progress : callable, optional
        Called with a `run.progress.Step` at each change, in the stages "check" and "audit".

    Returns
    -------
    list of Problem
        Those of `validate`, then those of the pixels: the first hundred of each kind, the rest counted.

    Raises
    ------
    InputError
        If `sample` is no fraction, or the named journal has no plan.
    TargetError
        If the place cannot be read at all.
    """
    check_sample(sample)
    options = dict(storage_options or {})
    check_no_secrets_travel(client, options)
    target = open_target(url, options)
    problems = validate_objects(target)
    try:
        scope = Scope.of(target, open_documents(target))
    except StoreError as error:
        message = f"the pixels were not looked at: {str(error).removeprefix(f'{target.url}/')}"
        severity: Severity = "warning" if any(p.severity == "error" for p in problems) else "error"
        return [*problems, Problem(severity, "10", ROOT_DOCUMENT, message)]
    ledger = _ledger(scope, journal, options, sample, problems)
    workers = make_workers(client, None)
    workers.limit(max(1, min(workers.process_threads, workers.memory // scope.place_bytes)))
    try:
        found = _check_places(scope, sample, workers, progress or NoProgress())
        if ledger is not None:
            found.merge(_audit(ledger, workers, progress or NoProgress()))
    except BaseException:
        workers.close(cancel=True)
        raise
    workers.close(cancel=False)
    return [*problems, *found.problems()]


def _check_places(scope: Scope, sample: float | None, workers: Workers, progress: Progress) -> Found:
    """Every place, then volatility of the cells that were read whole."""
    chunk = scope.meta(0, scope.layout.variable).chunk_bytes
    total = count_places(scope.layout, chunk, sample)
    found = Found()
    changes = Changes(scope, -(-scope.layout.n_time // run_length(chunk)))

    def build(place: Place) -> Build:
        return partial(place_task, scope, place)

    meter = Meter(progress, "check", total, dashboard=workers.dashboard)
    for _, checked in run_all(workers, places(scope.layout, chunk, sample), build, meter):
        found.merge(checked.found)
        changes.add(checked.changes)
        meter.done(bytes_in=checked.nbytes)
    last = Found(total)
    check_volatility(changes, last)
    found.merge(last)
    return found


def _audit(ledger: Ledger, workers: Workers, progress: Progress) -> Found:
    """Every region's objects against its receipt. Its problems are told after those of the places."""
    found = Found()

    def build(item: tuple[int, Region]) -> Build:
        number, region = item
        return lambda unit: receipt_task(ledger, region, number, unit)

    numbered = enumerate(ledger.plan.regions(), AFTER_PLACES)
    meter = Meter(progress, "audit", ledger.plan.n_regions, dashboard=workers.dashboard)
    for _, audited in run_all(workers, numbered, build, meter):
        found.merge(audited.found)
        meter.done(bytes_in=audited.nbytes)
    return found


def _ledger(
    scope: Scope, journal: str | None, options: dict[str, Any], sample: float | None, problems: list[Problem]
) -> Ledger | None:
    """The journal that is named, or that lies beside the store; what speaks against its use goes to `problems`."""
    read = _plan_of(scope.objects, journal, options, problems)
    if read is None:
        return None
    at, plan = read
    ledger = Ledger(scope.objects, at, plan, scope.layout, sample)
    where = f"{at.url}/{PLAN}"
    if not is_of_store(ledger, scope.planes):
        message = "the plan is of another store, so no object was compared with a receipt; name the journal of this one"
        problems.append(Problem("error", SECTION, where, message))
        return None
    if (grown := appended(ledger)) is not None:
        message = f"{grown}: the objects that hold them have no receipts here"
        problems.append(Problem("warning", SECTION, where, message))
    return ledger


def _plan_of(
    target: Objects, named: str | None, options: dict[str, Any], problems: list[Problem]
) -> tuple[Journal, Plan] | None:
    """The journal with its plan; where there is one that cannot be used, that is told."""
    place = place_of(target.url, options, named)
    if place is None:
        return None
    where, document, reason = place.url, None, "there is none"
    try:
        if (at := followed(place, options)) is not None:
            where, document = at.url, at.read(PLAN)
            if document is not None:
                return at, plan_of(at, document)
    except TargetError as error:
        if named is not None:
            raise
        at, reason = place, str(error)
    if named is not None:
        raise InputError(no_plan(where))
    if at is not None:
        message = f"no object was compared with a receipt: {reason}; name the journal of the run that made the store"
        problems.append(Problem("warning", SECTION, f"{where}/{PLAN}", message))
    return None

"""One encode from beginning to end: plan, claim, select, run, commit.

One direction, no way back; everything before the commit can be done again and gives the same bytes.
"""

from __future__ import annotations

import os
import socket
import warnings
from collections.abc import Mapping
from dataclasses import replace
from inspect import Parameter, Signature
from typing import Any

import xarray as xr

from chronozarr_dask._version import __version__
from chronozarr_dask.errors import InputError, ResumeError, RunError, TargetError
from chronozarr_dask.format.layout import ROOT_DOCUMENT
from chronozarr_dask.graph.frames import CubeFrames, FrameSource
from chronozarr_dask.graph.staging import staged_whole
from chronozarr_dask.options import EncodeOptions, make_options
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.plan.shape import Budget
from chronozarr_dask.plan.spec import StoreSpec
from chronozarr_dask.run.clock import Clock
from chronozarr_dask.run.job import Encode
from chronozarr_dask.run.prepare import (
    Input,
    differences,
    encoding_choice,
    identity,
    make_spec,
    plan_encode,
    read_cube,
)
from chronozarr_dask.run.progress import NoProgress, Progress
from chronozarr_dask.run.report import RunReport
from chronozarr_dask.run.space import check_space
from chronozarr_dask.run.workers import make_workers
from chronozarr_dask.store.journal import CLAIM, PLAN, Journal, check_apart, claim_url, journal_url
from chronozarr_dask.store.target import Objects, open_target, secret_options


class ChronozarrWarning(UserWarning):
    """Something that a person should know about an input or a store."""


def encode(
    cube: xr.DataArray | xr.Dataset,
    target: str | os.PathLike[str],
    *,
    storage_options: Mapping[str, Any] | None = None,
    client: Any = None,
    resume: bool = False,
    fail_fast: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> RunReport:
    """Encode a cube of rasters as a chronozarr v0.2 store.

    Parameters
    ----------
    cube : DataArray (time, band, y, x) or (time, y, x), or Dataset of such variables
        uint8, uint16, int16 or float32; numpy, Dask or read lazily from a file. See `source.cube.as_cube`.
    target : str or path
        A folder, or any fsspec URL; nothing may be there.
    storage_options : mapping, optional
        For fsspec. No secrets with a `client`: they would travel in tasks.
    client : distributed.Client, optional
        Cluster to run on. When left out, threads of this process: as many as Dask's option `num_workers` says, else one
        for each core.
    resume : bool
        Go on with an interrupted run of the same input and options.
    fail_fast : bool
        End the run by the first region that failed three times, instead of storing all others first.
    progress : callable, optional
        Called with a `run.progress.Step` at each change: stage, units of work done and in all, bytes in and out, units
        in flight, tried again and failed, scenes lost, the dashboard. `notebook_progress()` shows them in Jupyter.
    **options
        Fields of `options.EncodeOptions`.

    Returns
    -------
    RunReport

    Raises
    ------
    InputError, PlanError, TargetError
        Before anything is written; or, for what only pixels can show, when a region meets it.
    ResumeError
        If there is nothing to resume, or the journal is of another input or of other options.
    RunError
        If regions failed three times: what was finished is kept, and there is no root document.
    """
    chosen = make_options(**options)
    clock = Clock()
    with clock.stage("plan"):
        cube_ = read_cube(cube, chosen)
        given = Input(cube_, CubeFrames(cube_))
    place = os.fspath(target), dict(storage_options or {})
    how: Any = {"client": client, "resume": resume, "fail_fast": fail_fast, "progress": progress, "clock": clock}
    return run_input(given, *place, chosen, **how)


def run_input(
    given: Input,
    target: str,
    storage_options: dict[str, Any],
    options: EncodeOptions,
    *,
    client: Any,
    resume: bool,
    fail_fast: bool,
    progress: Progress | None,
    clock: Clock,
) -> RunReport:
    """Encode what is described, from the plan to the report; errors as of `encode`."""
    with clock.stage("plan"):
        run = replace(_prepare(given, target, options, storage_options, client, resume), fail_fast=fail_fast)
    try:
        report = run.finish(clock, progress or NoProgress())
    except KeyboardInterrupt:
        run.workers.close(cancel=True)
        raise RunError(
            f"interrupted; what is finished is kept in {run.journal.url}: go on with resume (--resume)"
        ) from None
    except BaseException:
        run.workers.close(cancel=True)
        raise
    run.workers.close(cancel=False)
    for text in report.warnings[len(run.warnings) :]:
        warnings.warn(text, ChronozarrWarning, stacklevel=3)
    return report


def _prepare(
    given: Input,
    url: str,
    options: EncodeOptions,
    storage_options: dict[str, Any],
    client: Any,
    resume: bool,
) -> Encode:
    """Everything up to the claim."""
    if client is not None and (secrets := secret_options(storage_options)):
        raise InputError(
            f"storage_options has {', '.join(secrets)}: secrets do not travel to the workers; let them find "
            f"credentials by themselves (environment, profile or role) and leave these out"
        )
    target = open_target(url, storage_options)
    journal = Journal(open_target(journal_url(target.url, options.journal), storage_options))
    check_apart(target, journal.objects)
    cube = given.described
    for text in cube.warnings:
        warnings.warn(text, ChronozarrWarning, stacklevel=5)
    choice = encoding_choice(cube, options)
    spec = make_spec(cube, options)
    workers = make_workers(client, options.memory)
    budget = Budget(workers.memory, workers.process_threads, workers.threads)
    same = identity(given, spec, options)
    plan = _begun(target, journal, same) if resume else None
    if plan is None:
        plan = plan_encode(given, spec, options, choice, budget)
        check_space(target, spec)
        if not resume:
            _claim(target, journal, Journal(open_target(claim_url(target.url, journal.url), storage_options)))
        for name, document in given.documents.items():
            journal.objects.put(name, document)
        journal.write(PLAN, {"version": __version__, "target": target.url, "identity": same, "plan": plan.to_json()})
    return Encode(
        target=target,
        journal=journal,
        spec=spec,
        plan=plan,
        options=options,
        choice=choice,
        source=_source(given, plan, journal, spec),
        workers=workers,
        warnings=cube.warnings,
        in_flight=budget.in_flight(plan.region_bytes, plan.total_bytes),
        resumed=resume,
        gap_fill=given.gap_fill,
        book=given.book,
    )


def _source(given: Input, plan: Plan, journal: Journal, spec: StoreSpec) -> FrameSource:
    """The input itself, or what is staged of it: only the blocks of a cube can make that the better plan."""
    if not plan.staged:
        return given.frames
    assert isinstance(given.frames, CubeFrames)
    return staged_whole(given.frames, plan, journal.objects, spec)


def _claim(target: Objects, journal: Journal, beside: Journal) -> None:
    """Claim an empty target; TargetError when something is there, or another run is.

    The claim lies `beside` the store, and says where the journal is; in a journal elsewhere lies another.
    """
    complete = target.size(ROOT_DOCUMENT) is not None
    if not complete and (claim := beside.read(CLAIM)) is not None:
        raise TargetError(
            f"{target.url} is not complete: {claim.get('journal', beside.url)} is the journal of a run that was "
            f"interrupted or is still running. Go on with it with resume (--resume); or name another target; "
            f"or, to begin anew, remove both yourself"
        )
    if not target.is_empty():
        raise TargetError(
            f"{target.url} is not empty: a store is written under a new prefix and never in place (section 9); name "
            f"another target, or empty it yourself"
        )
    owner = {
        "version": __version__,
        "host": socket.gethostname(),
        "process": os.getpid(),
        "target": target.url,
        "journal": journal.url,
    }
    for place in {journal.url: journal, beside.url: beside}.values():
        if not place.objects.is_empty() or not place.claim(owner):
            raise TargetError(
                f"{place.url}, where the journal or the claim of a run goes, is not empty: name another place with "
                f"journal=, or another target"
            )


def _begun(target: Objects, journal: Journal, same: dict[str, Any]) -> Plan | None:
    """The plan of the run that is to be resumed; None when it ended between its claim and its plan."""
    doc = journal.read(PLAN)
    if doc is None:
        if (claim := journal.read(CLAIM)) is not None:
            if (elsewhere := claim.get("journal", journal.url)) != journal.url:
                raise ResumeError(f"the run into {target.url} has its journal elsewhere: name journal={elsewhere}")
            return None
        raise ResumeError(f"there is no run to resume: {journal.url}/{CLAIM} does not exist; begin without resume")
    if doc["version"] != __version__:
        raise ResumeError(
            f"the run in {journal.url} was begun by version {doc['version']}, this is {__version__}: finish it with "
            f"that one"
        )
    if doc["target"] != target.url:
        raise ResumeError(f"the run in {journal.url} writes to {doc['target']}, and not to {target.url}")
    changed = differences(doc["identity"], same)
    if changed:
        raise ResumeError(
            f"{target.url} was begun with another input or other options, and cannot go on with these. "
            f"{'; '.join(changed)}. To begin anew name another target, or remove {target.url} and {journal.url} first"
        )
    return Plan.from_json(doc["plan"])


def _signature() -> Signature:
    """The keywords of `encode`, with the defaults that the options model holds."""
    own = Signature.from_callable(encode)
    keep = [p for p in own.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
    fields = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=f.default, annotation=f.annotation)
        for name, f in EncodeOptions.model_fields.items()
    ]
    return own.replace(parameters=keep + fields)


encode.__signature__ = _signature()  # type: ignore[attr-defined]

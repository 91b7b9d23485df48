"""One encode from beginning to end: plan, claim, select, run, commit.

One direction, no way back; everything before the commit can be done again and gives the same bytes.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from inspect import Parameter, Signature
from typing import Any

import xarray as xr

from chronozarr_dask._version import __version__
from chronozarr_dask.errors import ChronozarrWarning, ResumeError, RunError
from chronozarr_dask.graph.frames import CubeFrames, FrameSource
from chronozarr_dask.graph.staging import staged_whole
from chronozarr_dask.options import GRACE_SECONDS, EncodeOptions, make_options
from chronozarr_dask.plan.estimate import Estimate, estimate
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.plan.shape import Budget
from chronozarr_dask.plan.spec import StoreSpec
from chronozarr_dask.run import claims
from chronozarr_dask.run.begun import begun
from chronozarr_dask.run.clock import Clock
from chronozarr_dask.run.goingon import is_from_python, way_on
from chronozarr_dask.run.heartbeat import Heartbeat
from chronozarr_dask.run.job import Encode
from chronozarr_dask.run.prepare import Input, encoding_choice, identity, make_spec, plan_encode, read_cube
from chronozarr_dask.run.progress import NoProgress, Progress
from chronozarr_dask.run.report import RunReport
from chronozarr_dask.run.space import check_space
from chronozarr_dask.run.workers import check_no_secrets_travel, make_workers
from chronozarr_dask.store.journal import ESTIMATE, PLAN, Journal, check_apart, claim_url, journal_url, run_url
from chronozarr_dask.store.probe import probe_places
from chronozarr_dask.store.target import open_target


def encode(
    cube: xr.DataArray | xr.Dataset,
    target: str | os.PathLike[str],
    *,
    storage_options: Mapping[str, Any] | None = None,
    client: Any = None,
    resume: bool = False,
    fail_fast: bool = False,
    claim: bool = True,
    grace: float = GRACE_SECONDS,
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
        Go on with an interrupted run of the same input and options. While its owner lives it is refused; an owner that
        may be gone is watched first, for three of its heartbeats (45 s), unless it was a process of this machine.
    fail_fast : bool
        End the run by the first region that failed three times, instead of storing all others first.
    claim : bool
        Whether claim and root are created on condition that nobody has. False is for stores without conditional
        creates: you see to it that only one run writes.
    grace : float
        Seconds that regions in flight have to finish after an interrupt (KeyboardInterrupt).
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
    return run_input(given, *place, chosen, claim=claim, grace=grace, **how)


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
    claim: bool = True,
    grace: float = GRACE_SECONDS,
    only: frozenset[Region] | None = None,
) -> RunReport:
    """Encode what is described, from the plan to the report, or of a run that is resumed the regions `only`.

    Errors as of `encode`.
    """
    with ExitStack() as held:
        with clock.stage("plan"):
            run = replace(
                _prepare(given, target, options, storage_options, client, held, resume=resume, claim=claim),
                fail_fast=fail_fast,
                only=only,
            )
        try:
            report = run.finish(clock, progress or NoProgress())
        except KeyboardInterrupt as stop:
            _stop(run, grace)
            _leave_report(run, clock, stop)
            raise RunError(
                f"interrupted; what is finished is kept in {run.journal.url}: go on with {run.way_on}"
            ) from None
        except ResumeError:  # nothing was done: the report of before stays
            run.workers.close(cancel=True)
            raise
        except BaseException as error:
            run.workers.close(cancel=True)
            _leave_report(run, clock, error)
            raise
        run.workers.close(cancel=False)
        _leave_report(run, clock, report)
    for text in report.warnings[len(run.warnings) :]:
        warnings.warn(text, ChronozarrWarning, stacklevel=3)
    return report


def _leave_report(run: Encode, clock: Clock, end: RunReport | BaseException) -> None:
    """Leave the report in the journal, unless another process owns that now.

    Whatever goes wrong with it is told, and no more: neither does it hide the error of the run, nor does it make a run
    whose store is complete a failed one.
    """
    # Pictures and pages need libraries that are only loaded now: beside the work they would take 6 MiB.
    from chronozarr_dask.run.reporting.document import told_options
    from chronozarr_dask.run.reporting.leave import leave_report

    try:
        if run.heartbeat is not None:
            run.heartbeat.confirm()
        report = end if isinstance(end, RunReport) else run.broken(clock, end)
        leave_report(report, told_options(run.options), run.journal, run.target)
    except Exception as error:
        text = (
            f"the report of this run could not be written into {run.journal.url}: {error}; the run itself is not "
            f"touched by that"
        )
        try:
            warnings.warn(text, ChronozarrWarning, stacklevel=4)
        except ChronozarrWarning:  # Python's -W error
            if isinstance(end, RunReport):
                raise
            end.add_note(text)


def _stop(run: Encode, grace: float) -> None:
    """Let what is in flight finish within the grace; one more interrupt ends that at once."""
    try:
        run.workers.drain(grace)
    finally:
        left = run.workers.close(cancel=True, wait=False)
        if run.heartbeat is not None:
            run.heartbeat.outlived_by(left)


def _prepare(
    given: Input,
    url: str,
    options: EncodeOptions,
    storage_options: dict[str, Any],
    client: Any,
    held: ExitStack,
    *,
    resume: bool,
    claim: bool,
) -> Encode:
    """Everything up to the claim, whose heartbeat is `held` from then on."""
    check_no_secrets_travel(client, storage_options)
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
    probe_places(target, journal.objects, storage_options, conditional=claim)
    plan = begun(target, journal, same) if resume else plan_encode(given, spec, options, choice, budget)
    beside = Journal(open_target(claim_url(target.url, journal.url), storage_options))
    if resume:
        owned = claims.take_over(target, journal, claims.warn_watched, beside=beside, conditional=claim)
        plan = plan or begun(target, journal, same)  # its owner may have written one while it was watched
    else:
        check_space(target, spec)
        owned = claims.begin(target, journal, beside, conditional=claim)
    heartbeat = held.enter_context(Heartbeat(journal, owned))
    workers.check = heartbeat.check
    if not resume or plan is None:
        plan = plan or plan_encode(given, spec, options, choice, budget)
        how: Any = {"choice": choice, "threads": workers.threads, "remote": "://" in target.url}
        will = estimate(plan, spec, given.read, **how)
        _keep(journal, given, will, {"target": target.url, "identity": same, "plan": plan.to_json()})
    from_python = is_from_python(journal) if resume else not given.documents
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
        heartbeat=heartbeat,
        conditional=claim,
        way_on=way_on(run_url(target.url, journal.url), target.url, from_python=from_python),
    )


def _keep(journal: Journal, given: Input, will: Estimate, plan: Mapping[str, Any]) -> None:
    """Write what is known before any work: the plan last, by which a resume knows that all the rest is there."""
    for name, document in given.documents.items():
        journal.objects.put(name, document)
    journal.write(ESTIMATE, will.to_json())
    journal.write(PLAN, {"version": __version__, **plan})


def _source(given: Input, plan: Plan, journal: Journal, spec: StoreSpec) -> FrameSource:
    """The input itself, or what is staged of it: only the blocks of a cube can make that the better plan."""
    if not plan.staged:
        return given.frames
    assert isinstance(given.frames, CubeFrames)
    return staged_whole(given.frames, plan, journal.objects, spec)


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

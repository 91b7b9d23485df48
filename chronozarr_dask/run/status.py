"""``status``: how far a run is, by its journal: done, failed and left, pass by pass, with its speed and what is left.

Regions are counted by a listing of the receipts, a thousand with a request. Its times, all by the clock of the store,
give the speed, so that no clock is compared with another. For the bytes receipts are read, of many only some.
"""

from __future__ import annotations

import os
import time
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from chronozarr_dask.format.layout import ROOT_DOCUMENT
from chronozarr_dask.format.temporal import Selection
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.run import claims
from chronozarr_dask.run.claims import Tell, tell_nobody
from chronozarr_dask.run.engine import Failure
from chronozarr_dask.run.goingon import is_from_python, is_kept
from chronozarr_dask.run.journals import Run, find_run, stored_regions
from chronozarr_dask.run.machine import machine_identity
from chronozarr_dask.run.owners import read_claim, read_heartbeat
from chronozarr_dask.run.pace import WINDOW_SECONDS
from chronozarr_dask.run.prepare import can_measure
from chronozarr_dask.run.report import UNDECIDED
from chronozarr_dask.run.resume import failures, finished_report
from chronozarr_dask.store.inorder import in_order
from chronozarr_dask.store.journal import SELECTION

State = Literal["complete", "running", "stopped"]
WayOn = Literal["resume", "python", "clean"]
"""By a command, in the program that has the cube, or not at all: what is left is to be removed."""

MOST_READ = 1024
"""Receipts that are read; of more, every n-th."""

TOLD = 5
"""Failures that are told."""


@dataclass(frozen=True)
class PassStatus:
    """One pass.

    Attributes
    ----------
    index : int
    levels : tuple of int
        First and last level that it stores.
    regions, done, failed : int
    nbytes : int
        Stored by what is done; about, where not every receipt was read.
    """

    index: int
    levels: tuple[int, int]
    regions: int
    done: int
    failed: int
    nbytes: int

    @property
    def left(self) -> int:
        """Regions that are neither done nor failed."""
        return self.regions - self.done - self.failed


@dataclass(frozen=True)
class RunStatus:
    """How far a run is.

    Attributes
    ----------
    target, journal : str
    url : str
        By which commands find it: the store's, or where no claim lies beside that the journal's.
    state : "complete", "running" or "stopped"
    owner : str
        The process that had the run last.
    heartbeat : str or None
        Its last sign of life, by the clock of its host.
    encoding : str
        "none", "star-delta", or "undecided" where `auto` has not measured yet.
    passes : tuple of PassStatus
        None of a run that ended before its plan.
    is_exact : bool
        Whether every receipt was read, so that bytes are no estimate.
    per_second : float or None
        Regions, by the last receipts; None where there are fewer than two.
    seconds_left : float or None
        At that speed; None where it is complete, or nothing tells.
    n_failed : int
    failures : tuple of Failure
        The last of them.
    way_on : "resume", "python" or "clean"
        How to go on with it, once it has stopped.
    """

    target: str
    journal: str
    url: str
    state: State
    owner: str
    heartbeat: str | None
    encoding: str
    passes: tuple[PassStatus, ...] = ()
    is_exact: bool = True
    per_second: float | None = None
    seconds_left: float | None = None
    n_failed: int = 0
    failures: tuple[Failure, ...] = field(default=())
    way_on: WayOn = "resume"

    @property
    def regions(self) -> int:
        """Of the plan."""
        return sum(p.regions for p in self.passes)

    @property
    def done(self) -> int:
        """Regions that are stored."""
        return sum(p.done for p in self.passes)

    @property
    def nbytes(self) -> int:
        """Stored by them."""
        return sum(p.nbytes for p in self.passes)

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {**asdict(self), "regions": self.regions, "done": self.done, "bytes": self.nbytes}


def status(
    run: str | os.PathLike[str], *, storage_options: Mapping[str, Any] | None = None, tell: Tell | None = None
) -> RunStatus:
    """How far a run is. Changes nothing.

    Parameters
    ----------
    run : str or path
        The store's URL or the journal's.
    storage_options : mapping, optional
        For fsspec.
    tell : callable, optional
        Told while the heartbeat of an owner on another machine is watched, for a little more than two of its periods.

    Raises
    ------
    ResumeError
        If there is no run, or another version of this package began it.
    TargetError
        If the place does not answer.
    """
    found = find_run(run, storage_options)
    claim, beat = read_claim(found.journal), read_heartbeat(found.journal)
    state = _state(found, tell or tell_nobody)
    plan = found.plan
    failed = failures(found) if state != "complete" else []
    passes, is_exact, times = ((), True, array("d")) if plan is None else _passes(found, plan, failed)
    speed = _per_second(times)
    left = sum(p.regions - p.done for p in passes)
    return RunStatus(
        target=found.target.url,
        journal=found.journal.url,
        url=found.url,
        state=state,
        owner="unknown" if claim is None else claim.owner.told,
        heartbeat=None if beat is None else beat.time,
        encoding=_encoding(found),
        passes=passes,
        is_exact=is_exact,
        per_second=speed,
        seconds_left=left / speed if speed and left and state != "complete" else None,
        n_failed=len(failed),
        failures=tuple(failed[-TOLD:]),
        way_on="resume" if state == "complete" else _way_on(found, any(p.nbytes for p in passes)),
    )


def _state(run: Run, tell: Tell) -> State:
    """Whether it is complete, or else whether its owner lives: certain on its own machine, else seen by its counter."""
    if run.is_committed:
        return "complete"
    claim, first = read_claim(run.journal), read_heartbeat(run.journal)
    if claim is None or first is None or first.state == "ended" or claim.owner.is_gone():
        return "stopped"
    if claim.owner.machine is not None and claim.owner.machine == machine_identity():
        return "running"
    # A beat takes a period, some requests and a PUT, each of which may have to be tried again.
    begun, long = time.monotonic(), 2 * first.period + claims.POLL_SECONDS
    while (passed := time.monotonic() - begun) < long:
        tell(claim.owner.told, passed, long)
        time.sleep(claims.POLL_SECONDS)
        beat = read_heartbeat(run.journal)
        if beat is not None and beat.counter != first.counter:
            return "running" if beat.state == "running" else "stopped"
    return "stopped" if run.target.size(ROOT_DOCUMENT) is None else "complete"


def _way_on(run: Run, has_stored: bool) -> WayOn:
    """How to go on with a run that is not complete; not where what it has stored, or its root document, is gone."""
    if finished_report(run) is not None or (has_stored and run.target.is_empty()):
        return "clean"
    if is_from_python(run.journal):
        return "python"
    return "resume" if run.plan_document is not None or is_kept(run.journal) else "clean"


def _encoding(run: Run) -> str:
    """As it was named, as `auto` has chosen, or undecided."""
    if (doc := run.plan_document) is None:
        return UNDECIDED
    if (report := finished_report(run)) is not None:
        return report.encoding
    of = doc["identity"]
    if of["encoding"] != "auto":
        return str(of["encoding"])
    if not can_measure(of["dtype"], of["n_time"], of["anchor_interval"]):
        return "none"
    chosen = run.journal.read(SELECTION)
    if chosen is None:
        return UNDECIDED
    return Selection(chosen["sampled_cells"], chosen["star_delta_bytes"], chosen["plain_bytes"]).encoding


def _passes(run: Run, plan: Plan, failed: Sequence[Failure]) -> tuple[tuple[PassStatus, ...], bool, array[float]]:
    """The passes, whether their bytes are exact, and when the receipts were written."""
    step = -(-plan.n_regions // MOST_READ)
    counts, picked, times = Counter[int](), list[Region](), array("d")
    for i, (region, entry) in enumerate(stored_regions(run.journal, plan)):
        counts[region.pass_index] += 1
        if entry.modified is not None:
            times.append(entry.modified)
        if i % step == 0:
            picked.append(region)
    read, nbytes = Counter[int](), Counter[int]()
    for region, receipt in zip(picked, in_order(run.journal.receipt, picked), strict=True):
        if receipt is None:  # torn: its region is not done
            counts[region.pass_index] -= 1
            continue
        read[region.pass_index] += 1
        nbytes[region.pass_index] += receipt.n_bytes
    n_failed = Counter(int(f.region.partition("/")[0]) for f in failed)
    out = []
    for p in plan.passes:
        n, levels = counts[p.index], (p.levels[0], p.levels[-1])
        about = nbytes[p.index] * n // read[p.index] if read[p.index] else 0
        out.append(PassStatus(p.index, levels, p.n_regions, n, n_failed[p.index], about))
    return tuple(out), step == 1, times


def _per_second(times: array[float]) -> float | None:
    """Receipts in a second, over the last `WINDOW_SECONDS` before the last; None where there are too few to tell."""
    last = max(times, default=0.0)
    recent = [t for t in times if t > last - WINDOW_SECONDS]
    seconds = last - min(recent, default=last)
    return (len(recent) - 1) / seconds if seconds > 0 else None

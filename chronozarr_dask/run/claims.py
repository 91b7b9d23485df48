"""Who may write a run: the claim, taken once, and taken over by a resume when its owner is gone.

    claim.json          first owner         heartbeat.json
    claim.2.json        second owner        heartbeat.2.json
    ...

A claim is never changed. Each resume creates the next one, on condition that nobody has (`Objects.create`), so of two
resumes at the same time one wins. The owner of the last claim is the owner of the run; it renews the heartbeat of its
own (`run.heartbeat`), so that no two owners ever write one object.

Whether an owner is gone is certain when it said so (its heartbeat has "ended"), or when it was a process of this
machine that is no more. Else it is watched for a bounded time. Clocks of two hosts are never compared: what counts is
whether the counter of the heartbeat changes.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from chronozarr_dask._version import __version__
from chronozarr_dask.errors import ChronozarrWarning, ResumeError, TargetError
from chronozarr_dask.format.layout import ROOT_DOCUMENT
from chronozarr_dask.run.goingon import is_from_python, way_on
from chronozarr_dask.run.owners import Claim, Owner, claim_key, read_beat, read_claim
from chronozarr_dask.store.journal import CLAIM, REPORT, Journal, dump, run_url
from chronozarr_dask.store.listing import has_folder
from chronozarr_dask.store.target import Objects

BEAT_SECONDS = 15.0
"""Between two renewals of a heartbeat: one PUT, and two or three requests that look for another owner."""

WATCH_SECONDS = 3 * BEAT_SECONDS
"""How long a heartbeat must stand still before its owner is taken for gone."""

POLL_SECONDS = 1.0
"""How often a heartbeat is looked at while it is watched."""

GONE = "its claim is gone: a clean has removed the run"

Tell = Callable[[str, float, float], None]
"""Told while an owner is watched: who it is, seconds that have passed, seconds that it takes."""


def begin(target: Objects, journal: Journal, beside: Journal, *, conditional: bool = True) -> Claim:
    """Claim an empty target; TargetError when something is there, or another run is.

    The claim lies `beside` the store, and says where the journal is; in a journal elsewhere lies another.

    Parameters
    ----------
    conditional : bool
        Whether claims are created on condition that there is none. Without, two runs that begin at the same moment do
        not see each other.
    """
    check_empty(target, journal, beside)
    owner = Owner.me()
    places = {place.url: place for place in (target, journal.objects, beside.objects)}
    folders = [url for url, place in places.items() if has_folder(place)]  # somebody else's, which a clean leaves
    document = {**_document(owner, target.url, journal.url), "folders": folders}
    if not _create(journal, CLAIM, document, conditional):
        raise TargetError(_why_not_empty(target, journal, beside) or _not_empty(journal, journal))
    if beside.url == journal.url:
        return Claim(1, owner)
    try:
        is_first = _create(beside, CLAIM, document, conditional)
    except TargetError:
        for place in (beside, journal):  # of the first the answer may have been lost, and not the claim
            with suppress(TargetError):  # that the place does not answer is told already
                _withdraw(place, owner)
        raise
    if not is_first:
        _withdraw(journal, owner)
        raise TargetError(_why_not_empty(target, journal, beside) or _not_empty(beside, journal))
    return Claim(1, owner)


def check_empty(target: Objects, journal: Journal, beside: Journal) -> None:
    """Raise TargetError where no run can begin, as in `begin`; nothing is written."""
    if (why := _why_not_empty(target, journal, beside)) is not None:
        raise TargetError(why)


def _why_not_empty(target: Objects, journal: Journal, beside: Journal) -> str | None:
    """Why no run can begin, as another has claimed the target, or something else is there; None where all is empty."""
    if target.size(ROOT_DOCUMENT) is None:
        if (claim := beside.read(CLAIM)) is not None:
            place = claim.get("journal", beside.url)
            known = next((j for j in (beside, journal) if j.url == place), None)
            return _claimed(target, place, known, run_url(target.url, place))
        if (claim := journal.read(CLAIM)) is not None and claim.get("target") == target.url:  # it ended between the two
            return _claimed(target, journal.url, journal, journal.url)
    if not target.is_empty():
        return (
            f"{target.url} is not empty: a store is written under a new prefix and never in place (section 9); name "
            f"another target, or empty it yourself"
        )
    return next((_not_empty(j, journal) for j in (beside, journal) if not j.objects.is_empty()), None)


def _claimed(target: Objects, place: str, journal: Journal | None, named: str) -> str:
    """That a run has the target, whose journal is at `place` and which commands find as `named`."""
    if journal is not None and (report := journal.read(REPORT)) is not None and report.get("status") == "complete":
        return (
            f"{target.url} was claimed: {place} is the journal of a run that was complete, whose store is gone. Remove "
            f"what it left with `chronozarr-dask clean {named}`, or name another target"
        )
    began = "was interrupted or is still running" + (", or whose store is gone" if journal is None else "")
    on = way_on(named, target.url, from_python=journal is not None and is_from_python(journal))
    return (
        f"{target.url} is not complete: {place} is the journal of a run that {began}. Go on with it with {on}, name "
        f"another target, or, to begin anew, remove what it left with `chronozarr-dask clean {named}`"
    )


def _not_empty(place: Journal, journal: Journal) -> str:
    if place.url != journal.url:
        return f"{place.url}, where the claim of a run goes, is not empty: empty it, or name another target"
    return (
        f"{place.url}, where the journal or the claim of a run goes, is not empty: name another place with journal=, "
        f"or another target"
    )


def _withdraw(journal: Journal, owner: Owner) -> None:
    """Take an own claim back, and none that another has put in its place."""
    claim = journal.read(CLAIM)
    if claim is not None and Owner.of(claim).token == owner.token:
        journal.objects.delete(CLAIM)


def take_over(
    target: Objects, journal: Journal, tell: Tell, *, beside: Journal | None = None, conditional: bool = True
) -> Claim:
    """Take over the run of a journal whose owner is gone.

    Parameters
    ----------
    tell : callable
        Told while the owner is watched.
    beside : Journal, optional
        Where the claim beside the store is, for one who will write there: it must name this journal, and is created
        where a run ended before it did that.
    conditional : bool
        As of `begin`.

    Raises
    ------
    ResumeError
        While its owner is alive, when another resume was first, or when the store is another run's.
    """
    last = read_claim(journal)
    if last is None:
        raise ResumeError(f"there is no run to resume: {journal.url}/{CLAIM} does not exist; begin without resume")
    if not _is_gone(journal, last, tell):
        on = way_on(run_url(target.url, journal.url), target.url, from_python=is_from_python(journal))
        raise ResumeError(
            f"the run in {journal.url} is still running: {last.owner.told} renews its heartbeat. Wait for its end, or "
            f"end that process first; then go on with {on}"
        )
    owner = Owner.me()
    generation, document = last.generation + 1, _document(owner, target.url, journal.url)
    is_missing = beside is not None and beside.url != journal.url and not is_beside(journal, beside)
    if not _create(journal, claim_key(generation), document, conditional):
        winner = read_claim(journal) or last
        raise ResumeError(
            f"the run in {journal.url} was taken over by another resume at the same moment: {winner.owner.told}. Let "
            f"that one go on, or end that process first"
        )
    if journal.read(CLAIM) is None:  # a clean came to its end while its heartbeat was watched
        journal.objects.delete(claim_key(generation))
        raise ResumeError(f"the run in {journal.url} was removed by a clean at this moment: begin without resume")
    if is_missing and beside is not None and not _create(beside, CLAIM, document, conditional):
        is_beside(journal, beside)  # another was first
    return Claim(generation, owner)


def is_beside(journal: Journal, beside: Journal) -> bool:
    """Whether the claim beside a store is that of the journal; False where there is none.

    Raises
    ------
    ResumeError
        If it is that of another run.
    """
    if (claim := beside.read(CLAIM)) is None:
        return False
    if (other := claim.get("journal", beside.url)) != journal.url:
        raise ResumeError(
            f"{beside.url}/{CLAIM} is that of another run, whose journal is {other}: the store beside it is not this "
            f"run's any more, whose journal is {journal.url}. Go on with that one, or begin anew with another target"
        )
    return True


def tell_nobody(owner: str, passed: float, long: float) -> None:
    """Nobody is told while an owner is watched."""


def warn_watched(owner: str, passed: float, long: float) -> None:
    """Tell once, as a warning, that an owner is watched."""
    if passed < POLL_SECONDS / 2:
        warnings.warn(
            f"{owner} began this run or went on with it last, and cannot be asked whether it still works: its "
            f"heartbeat is watched for up to {long:.0f} s",
            ChronozarrWarning,
            stacklevel=2,
        )


def lost(journal: Journal, claim: Claim) -> str | None:
    """Why a claim is nobody's any more; None while its owner owns the run. Two requests, or three after a resume.

    A clean removes all claims of a run that it took for dead, and another may have begun in its place since.
    """
    if (doc := journal.read(claim_key(claim.generation + 1))) is not None:
        return f"it was taken over by {Owner.of(doc).told}"
    if (doc := journal.read(claim_key(claim.generation))) is None:
        return GONE
    if (owner := Owner.of(doc)).token != claim.owner.token:
        return f"it was removed by a clean, and another run was begun by {owner.told}"
    if claim.generation > 1 and journal.objects.size(CLAIM) is None:
        return GONE
    return None


def _is_gone(journal: Journal, claim: Claim, tell: Tell) -> bool:
    """Whether an owner is gone: at once where that is certain, else after its heartbeat stood still long enough."""
    first = read_beat(journal, claim)
    begun = time.monotonic()
    long = WATCH_SECONDS if first is None else max(WATCH_SECONDS, 3 * first.period)
    beat = first
    while True:
        if beat is not None and beat.state == "ended":
            return True
        if beat is not None and (first is None or beat.counter != first.counter):
            return False
        if claim.owner.is_gone():
            return True
        passed = time.monotonic() - begun
        if passed >= long:
            return True
        tell(claim.owner.told, passed, long)
        time.sleep(min(POLL_SECONDS, long - passed))
        beat = read_beat(journal, claim)


def _create(journal: Journal, key: str, document: dict[str, Any], conditional: bool) -> bool:
    if conditional:
        return journal.objects.create(key, dump(document))
    if journal.objects.size(key) is not None:
        return False
    journal.objects.put(key, dump(document))
    return True


def _document(owner: Owner, target: str, journal: str) -> dict[str, Any]:
    return {"version": __version__, "target": target, "journal": journal, **asdict(owner)}

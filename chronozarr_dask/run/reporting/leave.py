"""Where reports come to be: at the end of a run, however it ends, and for any store."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import ChronozarrWarning, InputError, NotCompleteError, StoreError, TargetError
from chronozarr_dask.run.beside import appended, followed, is_of_store, layout_of, no_plan, place_of, plan_of
from chronozarr_dask.run.report import RunReport
from chronozarr_dask.run.reporting.choice import choose_maps, choose_player
from chronozarr_dask.run.reporting.document import bare_run, run_document, store_document
from chronozarr_dask.run.reporting.look import kind_of, look_at
from chronozarr_dask.run.reporting.page import Shown, render_page
from chronozarr_dask.run.reporting.player import Reel
from chronozarr_dask.store.deep.receipts import Ledger
from chronozarr_dask.store.journal import PLAN, REPORT, REPORT_PAGE, Journal
from chronozarr_dask.store.opening import open_documents
from chronozarr_dask.store.reader import Store, open_store
from chronozarr_dask.store.target import Objects, open_target


@dataclass(frozen=True)
class Report:
    """A report.

    Attributes
    ----------
    document : dict
        As in `report.json`.
    page : str
        `report.html`.
    """

    document: dict[str, Any]
    page: str


def leave_report(run: RunReport, options: Mapping[str, Any], journal: Journal, target: Objects) -> None:
    """Write report.json and report.html of a run into its journal.

    What the run knows of itself is written even where its store cannot be read: then the error follows.
    """
    document = run_document(run, options, journal, _known(journal))
    store = None
    try:
        if run.status == "complete":
            store = Store(target, open_documents(target))
        report = _made(document, store)
    except BaseException:
        journal.write(REPORT, document | store_document(None, None, None))
        raise
    journal.write(REPORT, report.document)
    journal.objects.put(REPORT_PAGE, report.page.encode())


def make_report(
    url: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None, journal: str | None = None
) -> Report:
    """The report of a store, with what the journal of its run knows where there is one.

    Parameters
    ----------
    url : str or path
        Of the store, by whoever made it.
    storage_options : mapping, optional
        For fsspec.
    journal : str, optional
        Of the run that made it; the one beside it, or where the claim there says, when left out. One that cannot be
        read, or is of another store, is a warning.

    Raises
    ------
    StoreError, TargetError
        If there is no store, or it cannot be read. A store that is not complete has a report where its run left one.
    InputError
        If the named journal is none.
    """
    target, notes = open_target(url, storage_options), list[str]()
    found = _journal(target.url, storage_options, journal, notes)
    known = None if found is None else _told(found, notes)
    store = None
    try:
        store = open_store(url, storage_options)
    except NotCompleteError:
        if known is None:
            raise
    if found is not None and known is not None:
        fits = store is None or _fits(store, target, found, notes)
        known = {**known, "journal": found.url} if fits else None
    for text in notes:
        warnings.warn(text, ChronozarrWarning, stacklevel=2)
    return _made({**bare_run(), **(known or {}), "target": target.url, "notes": notes}, store)


def _known(journal: Journal) -> dict[str, Any] | None:
    """The report that a run has left; None where there is none, or none that can be read: another one can be made."""
    try:
        return journal.read(REPORT)
    except TargetError:
        return None


def _told(journal: Journal, notes: list[str]) -> dict[str, Any] | None:
    """As `_known`; one that cannot be read is noted."""
    try:
        return journal.read(REPORT)
    except TargetError as error:
        notes.append(_not_told(error))
        return None


def _not_told(error: TargetError) -> str:
    """What to say of a journal that is damaged: what is wrong, without what a run would have to do about it."""
    what = str(error).partition("; ")[0]
    return f"nothing is told here of the run that made the store, as its journal cannot be used: {what}"


def _journal(store: str, options: Mapping[str, Any] | None, named: str | None, notes: list[str]) -> Journal | None:
    """The journal of the run that made a store; None where there is none, or it cannot be read, which is noted."""
    place = place_of(store, options, named)
    if place is None:
        return None
    try:
        found = followed(place, options)
    except TargetError as error:
        if named is not None:
            raise
        notes.append(
            f"the journal {place.url} cannot be read ({error}): the report is of the store, with nothing of how it was "
            f"made"
        )
        return None
    if found is None and named is not None:
        raise InputError(no_plan(place.url))
    return found


def _fits(store: Store, target: Objects, journal: Journal, notes: list[str]) -> bool:
    """Whether the run of a journal made a store; what speaks against that, and an append since, is noted."""
    try:
        document = journal.read(PLAN)
        if document is None:
            return True
        plan = plan_of(journal, document)
    except TargetError as error:
        notes.append(_not_told(error))
        return False
    ledger = Ledger(target, journal, plan, layout_of(store), None)
    if not is_of_store(ledger, store.planes):
        notes.append(
            f"the journal {journal.url} is of the run of another store, so nothing of it is told here; name the "
            f"journal of this one with journal="
        )
        return False
    if (grown := appended(ledger)) is not None:
        notes.append(f"{grown}: bytes, objects and regions are those of the run before that")
    return True


def _made(document: Mapping[str, Any], store: Store | None) -> Report:
    if store is None:
        whole = {**document, **store_document(None, None, None)}
        return Report(whole, render_page(whole, None))
    kind = kind_of(store)
    look = look_at(store, choose_maps(store.levels, kind))
    reels = [Reel.of(store, part) for part in choose_player(store.levels, kind)]
    volatility = _volatility(store)
    whole = {**document, **store_document(store, look, volatility)}
    return Report(whole, render_page(whole, Shown(store, look, reels, volatility)))


def _volatility(store: Store) -> npt.NDArray[np.float32] | None:
    """The volatility of the cells; None where a store has none, as those of other writers may."""
    try:
        return np.asarray(store.volatility().values)
    except StoreError:
        return None

"""Where reports come to be: at the end of a run, however it ends, and for any store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import NotCompleteError, StoreError, TargetError
from chronozarr_dask.run.report import RunReport
from chronozarr_dask.run.reporting.choice import choose_maps, choose_player
from chronozarr_dask.run.reporting.document import bare_run, run_document, store_document
from chronozarr_dask.run.reporting.look import kind_of, look_at
from chronozarr_dask.run.reporting.page import Shown, render_page
from chronozarr_dask.run.reporting.player import Reel
from chronozarr_dask.store.journal import CLAIM, REPORT, REPORT_PAGE, Journal, journal_url
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
        Of the run that made it; the one beside it when left out.

    Raises
    ------
    StoreError, TargetError
        If there is no store, or it cannot be read. A store that is not complete has a report where its run left one.
    """
    target = open_target(url, storage_options)
    found = _journal(target.url, storage_options, journal)
    known = None if found is None else _known(found)
    document = {**bare_run(), "target": target.url, **(known or {})}
    try:
        return _made(document, open_store(url, storage_options))
    except NotCompleteError:
        if known is None:
            raise
    return _made(document, None)


def _known(journal: Journal) -> dict[str, Any] | None:
    """The report that a run has left; None where there is none, or none that can be read: another one can be made."""
    try:
        return journal.read(REPORT)
    except TargetError:
        return None


def _journal(url: str, options: Mapping[str, Any] | None, named: str | None) -> Journal | None:
    """The journal of the run that made a store; None where there is none.

    Beside a store whose journal is elsewhere lies a claim that names it. A journal that was copied with its store names
    another place too; but it has a report.
    """
    try:
        place = Journal(open_target(journal_url(url, named), options))
        claim = place.read(CLAIM)
    except TargetError:  # a bucket's root has nothing beside it, another program's folder is no journal
        if named is not None:
            raise
        return None
    if claim is None:
        return None
    elsewhere = claim.get("journal", place.url)
    if elsewhere == place.url or _known(place) is not None:
        return place
    return Journal(open_target(elsewhere, options if "://" in elsewhere else None))


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

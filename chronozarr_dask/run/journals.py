"""A run by the URL of its store or of its journal, whichever a person has at hand."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from chronozarr_dask._version import __version__
from chronozarr_dask.errors import ResumeError, TargetError
from chronozarr_dask.format.layout import ROOT_DOCUMENT
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.store.journal import CLAIM, PLAN, RECEIPTS, Journal, claim_url, journal_url, run_url
from chronozarr_dask.store.listing import Entry, entries
from chronozarr_dask.store.target import Objects, open_target


@dataclass(frozen=True)
class Run:
    """A run that was found.

    Attributes
    ----------
    target : Objects
        The store's, there or not.
    journal : Journal
    beside : Journal
        Where the claim beside the store is: the journal itself, unless that is elsewhere.
    claim : mapping
        The first claim.
    storage_options : mapping
        By which it was found.
    """

    target: Objects
    journal: Journal
    beside: Journal
    claim: Mapping[str, Any]
    storage_options: Mapping[str, Any]

    @property
    def url(self) -> str:
        """By which commands find it again: the store's, unless the run ended before its claim was beside it."""
        return run_url(self.target.url, self.journal.url) if self._is_beside else self.journal.url

    @property
    def _is_beside(self) -> bool:
        claim = None if self.beside.url == self.journal.url else self.beside.read(CLAIM)
        return self.beside.url == self.journal.url or (
            claim is not None and claim.get("journal", self.beside.url) == self.journal.url
        )

    @cached_property
    def is_committed(self) -> bool:
        """Whether there is a root document."""
        return self.target.size(ROOT_DOCUMENT) is not None

    @cached_property
    def plan_document(self) -> Mapping[str, Any] | None:
        """What the journal holds beside the plan too; None for a run that ended before it was planned."""
        return self.journal.read(PLAN)

    @cached_property
    def plan(self) -> Plan | None:
        """The plan; ResumeError where another version of this package made it."""
        if self.plan_document is None:
            return None
        if (version := self.plan_document.get("version")) != __version__:
            raise ResumeError(
                f"the run in {self.journal.url} was begun by version {version}, this is {__version__}: use that one"
            )
        return Plan.from_json(self.plan_document["plan"])


def stored_regions(journal: Journal, plan: Plan) -> Iterator[tuple[Region, Entry]]:
    """Regions of a plan that have a receipt, with what a listing says of it; in any order."""
    for entry in entries(journal.objects, RECEIPTS):
        region = Region.named(entry.key.removeprefix(f"{RECEIPTS}/"))
        if region is not None and region.pass_index < len(plan.passes):
            yield region, entry


def find_run(url: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None) -> Run:
    """The run of a store or of a journal.

    Parameters
    ----------
    url : str or path
        Of either: a folder, or any fsspec URL.
    storage_options : mapping, optional
        For fsspec.

    Raises
    ------
    ResumeError
        If neither is there, or the journal is that of a run in another place: it was moved.
    TargetError
        If the place does not answer.
    """
    options = dict(storage_options or {})
    here = open_target(url, options)
    journal, claim = _claimed(here, options)
    if claim is None or journal is None:
        raise ResumeError(_nothing(here))
    target = open_target(claim.get("target") or _store_of(here, journal), options)
    beside = Journal(open_target(claim_url(target.url, journal.url), options))
    run = Run(target, journal, beside, claim, options)
    if (meant := claim.get("journal", journal.url)) != journal.url:
        raise ResumeError(
            f"{journal.url} holds the journal of a run into {target.url}, whose journal is {meant}: was it moved or "
            f"copied? Move store and journal back to where the run began"
        )
    return run


def _claimed(here: Objects, options: dict[str, Any]) -> tuple[Journal | None, dict[str, Any] | None]:
    """The journal with its first claim: here, beside here, or where the claim that is found says."""
    journal = Journal(here)
    claim = journal.read(CLAIM)
    if claim is None:
        try:
            journal = Journal(open_target(journal_url(here.url, None), options))
        except TargetError:  # the root of a bucket has nothing beside it
            return None, None
        claim = journal.read(CLAIM)
    elsewhere = None if claim is None else claim.get("journal", journal.url)
    if elsewhere is None or elsewhere == journal.url or journal.objects.size(PLAN) is not None:
        return journal, claim
    journal = Journal(open_target(elsewhere, options))
    return journal, journal.read(CLAIM) or claim


def _store_of(here: Objects, journal: Journal) -> str:
    """The store of a claim that does not name it: what was given, if that is not the journal."""
    if here.url != journal.url:
        return here.url
    raise ResumeError(f"{journal.url}/{CLAIM} does not name its store; give the URL of the store")


def _nothing(here: Objects) -> str:
    if here.size(ROOT_DOCUMENT) is not None:
        return (
            f"{here.url} is a store, and there is no journal of its run beside it: it was cleaned, made by another "
            f"program, or its journal is elsewhere; give the journal's URL"
        )
    return (
        f"{here.url}: there is no run: it is neither a journal nor a store with a journal beside it; check the path or "
        f"URL, and give the journal's where it was put elsewhere"
    )

"""The journal of the run that made a store: beside it, or where the claim beside it says, and whether it is of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from chronozarr_dask._version import __version__
from chronozarr_dask.errors import TargetError
from chronozarr_dask.format.layout import Layout
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.store.deep.receipts import Ledger
from chronozarr_dask.store.journal import CLAIM, PLAN, Journal, journal_url
from chronozarr_dask.store.reader import Store
from chronozarr_dask.store.target import open_target


def place_of(store: str, options: Mapping[str, Any] | None, named: str | None = None) -> Journal | None:
    """Where a journal is looked for first: beside a store, or where it is named; nothing is read.

    Parameters
    ----------
    store : str
        URL.
    options : mapping, optional
        For fsspec, of the store.
    named : str, optional

    Returns
    -------
    Journal or None
        None for the root of a bucket, which has nothing beside it.
    """
    try:
        url = journal_url(store, named)
    except TargetError:
        return None
    return Journal(open_target(url, options))


def followed(place: Journal, options: Mapping[str, Any] | None) -> Journal | None:
    """The journal of the run whose claim or plan is in a place.

    Beside a store whose journal is elsewhere lies a claim that names it. A journal that was copied with its store names
    another place too; but it has a plan.

    Returns
    -------
    Journal or None
        None where there is neither a claim nor a plan.

    Raises
    ------
    TargetError
        If what is there may not be read, or is no claim.
    """
    claim, has_plan = place.read(CLAIM), place.objects.size(PLAN) is not None
    if claim is None or has_plan:
        return place if has_plan else None
    elsewhere = str(claim.get("journal", place.url))
    if elsewhere == place.url:
        return place
    return Journal(open_target(elsewhere, options if "://" in elsewhere else None))


def plan_of(journal: Journal, document: Mapping[str, Any]) -> Plan:
    """The plan that a journal holds; TargetError where another version of this package wrote it in another shape."""
    try:
        return Plan.from_json(document["plan"])
    except (KeyError, TypeError, ValueError) as error:
        raise TargetError(
            f"{journal.url}/{PLAN} was made by version {document.get('version')}, this is {__version__}, and cannot "
            f"read it ({type(error).__name__}: {error}); use that one"
        ) from error


def no_plan(url: str) -> str:
    """What to say of a journal that was named, and is none."""
    return f"{url} has no {PLAN}: name the journal of the run that made the store, or leave it out"


def is_of_store(ledger: Ledger, planes: Collection[str]) -> bool:
    """Whether the plan of a journal made a store, which may have grown since."""
    return ledger.is_same_store and set(ledger.plan.planes) == set(planes)


def appended(ledger: Ledger) -> str | None:
    """What to say of a store that has grown since its run; None of one that has not."""
    made = ledger.plan.layout.n_time
    return f"timesteps from {made} on were appended since" if made < ledger.layout.n_time else None


def layout_of(store: Store) -> Layout:
    """The layout of an open store."""
    sharding = store.cells(0, store.variable).chunks.meta.sharding
    shard_time = None if sharding is None else sharding.shard_time
    return Layout(*store.levels[0].shape, store.chunk_size, len(store.levels), shard_time, store.variable)

"""``clean``: the journal of a run goes, and what an unfinished run has stored; nothing else.

What lies in the place of the store is listed, and of that goes what the plan could have written: keys are compared, and
no prefix is removed. A listing finds what is there with a request for a thousand objects, where a plan of millions of
keys would ask for each; what a listing misses, the same command finds when it is run again.

It may be interrupted anywhere and run again, and a resume in between does no harm: receipts and marks of staging go
first, so that nothing is taken for done that is not there any more; then what was stored, then the rest of the journal,
and at last the claim, which says whose all of it is. On disk go the folders that are empty then, but for one of a
store or a journal that was there before the run: somebody made it, maybe with rights of its own.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

from chronozarr_dask.errors import ChronozarrWarning, ConditionalCreateError, ResumeError
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.run.belongings import is_journal_folder, is_planned, is_planned_folder, turn
from chronozarr_dask.run.claims import Tell, is_beside, take_over, tell_nobody
from chronozarr_dask.run.heartbeat import Heartbeat
from chronozarr_dask.run.journals import Run, find_run
from chronozarr_dask.run.owners import Claim, read_claim
from chronozarr_dask.store.journal import CLAIM
from chronozarr_dask.store.listing import delete_all, entries, remove_empty
from chronozarr_dask.store.target import Objects

BATCH = 1000
"""Keys that are removed at once, before it is asked again whether nobody has taken the run over."""

TOLD = 20
"""Foreign keys that are told one by one."""


@dataclass
class Removed:
    """Objects of one place.

    Attributes
    ----------
    url : str
    objects, nbytes : int
        The run's.
    n_foreign : int
        What is there and is not the run's: it stays.
    foreign : list of str
        The first of these.
    """

    url: str
    objects: int = 0
    nbytes: int = 0
    n_foreign: int = 0
    foreign: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Swept:
    """What a clean removed, or would remove.

    Attributes
    ----------
    committed : bool
        Whether the store is complete: then nothing of it is touched.
    store, journal : Removed
    """

    committed: bool
    store: Removed
    journal: Removed

    @property
    def foreign(self) -> tuple[str, ...]:
        """URLs of the first objects that stay."""
        return tuple(f"{place.url}/{key}" for place in (self.store, self.journal) for key in place.foreign)

    @property
    def n_foreign(self) -> int:
        """Objects that stay, of an unfinished store and of the journal."""
        return self.store.n_foreign + self.journal.n_foreign

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


Remove = Callable[[Objects, list[str]], None]


def clean(
    run: str | os.PathLike[str],
    *,
    storage_options: Mapping[str, Any] | None = None,
    dry_run: bool = False,
    tell: Tell | None = None,
) -> Swept:
    """Remove the journal of a run; of one that was not committed also what it has stored. Never a complete store.

    Parameters
    ----------
    run : str or path
        The store's URL or the journal's.
    storage_options : mapping, optional
        For fsspec.
    dry_run : bool
        Only count.
    tell : callable, optional
        Told while the heartbeat of the run's owner is watched, as of `run.claims.take_over`.

    Returns
    -------
    Swept

    Raises
    ------
    ResumeError
        If there is no run, it is still running, or another version of this package began it.
    TargetError
        If something cannot be removed.
    """
    found = find_run(run, storage_options)
    swept = Swept(found.is_committed, Removed(found.target.url), Removed(found.journal.url))
    plan = None if swept.committed or not _is_its_own(found) else found.plan
    if dry_run:
        _sweep(found, swept, plan, _nothing)
        _sweep_claims(found, swept, _nothing)
        return swept
    if read_claim(found.journal) is not None:
        with Heartbeat(found.journal, _claim(found, tell or tell_nobody)) as heartbeat:
            if find_run(run, storage_options).is_committed != swept.committed:
                raise ResumeError(
                    f"{found.target.url} was completed at this moment: look at it, then clean its journal"
                )

            def remove(objects: Objects, keys: list[str]) -> None:
                heartbeat.confirm()  # a resume may have taken over from a clean that stood still
                delete_all(objects, keys)

            _sweep(found, swept, plan, remove)
            if plan is not None:
                own = _made_root(found, found.target)
                remove_empty(found.target, lambda path: is_planned_folder(plan, path), root=own)
            heartbeat.leave()
            heartbeat.confirm()
            _sweep_claims(found, swept, delete_all)
    else:  # a clean was broken off before its last claim, or the journal was removed by hand
        _sweep_claims(found, swept, delete_all)
    for place in (found.journal, found.beside):
        remove_empty(place.objects, is_journal_folder, root=_made_root(found, place.objects))
    return swept


def _made_root(found: Run, place: Objects) -> bool:
    """Whether the run made the folder that a place is: its claim says which were there before."""
    folders = found.claim.get("folders")
    return folders is not None and place.url not in folders


def _is_its_own(found: Run) -> bool:
    """Whether the store is this run's; a warning where another run has claimed it since."""
    try:
        is_beside(found.journal, found.beside)
    except ResumeError as error:
        warnings.warn(f"{error}. Nothing of that store is touched", ChronozarrWarning, stacklevel=3)
        return False
    return True


def _claim(found: Run, tell: Tell) -> Claim:
    """Take the run over, so that no resume begins meanwhile; ResumeError while its owner is alive."""
    try:
        return take_over(found.target, found.journal, tell)
    except ConditionalCreateError:
        return take_over(found.target, found.journal, tell, conditional=False)


def _sweep(found: Run, swept: Swept, plan: Plan | None, remove: Remove) -> None:
    """All but the claims, in its order."""
    at = found.journal.objects
    _walk(at, swept.journal, remove, lambda key: turn(key) == 0)
    if plan is not None:
        _walk(
            found.target, swept.store, remove, lambda key: is_planned(plan, key), lambda key: not is_planned(plan, key)
        )
    _walk(at, swept.journal, remove, lambda key: turn(key) == 1, lambda key: turn(key) is None)


def _sweep_claims(found: Run, swept: Swept, remove: Remove) -> None:
    """The claims and their heartbeats, the first one late, and last that beside the store, if it is this run's."""
    _walk(found.journal.objects, swept.journal, remove, lambda key: turn(key) == 2)
    _walk(found.journal.objects, swept.journal, remove, lambda key: turn(key) == 3)
    beside = found.beside
    if beside.url != found.journal.url and (claim := beside.read(CLAIM)) and claim.get("journal") == found.journal.url:
        remove(beside.objects, [CLAIM])


def _nothing(objects: Objects, keys: list[str]) -> None:
    """Remove nothing."""


def _walk(
    objects: Objects,
    removed: Removed,
    remove: Remove,
    mine: Callable[[str], bool],
    foreign: Callable[[str], bool] = lambda key: False,
) -> None:
    """Remove what is `mine` of a place, and count it and what is foreign."""
    listed = entries(objects)
    while batch := list(islice(listed, BATCH)):
        own = [entry for entry in batch if mine(entry.key)]
        others = [entry.key for entry in batch if foreign(entry.key)]
        if own:
            remove(objects, sorted((entry.key for entry in own), reverse=True))  # a heartbeat before its claim
        removed.objects += len(own)
        removed.nbytes += sum(entry.nbytes for entry in own)
        removed.n_foreign += len(others)
        removed.foreign += others[: TOLD - len(removed.foreign)]

"""``resume`` and ``retry-failed``: go on with a run by its journal alone."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from typing import Any

from chronozarr_dask.errors import ChronozarrWarning, ResumeError
from chronozarr_dask.options import GRACE_SECONDS
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.run.beginning import Beginning, encode_source, read_beginning
from chronozarr_dask.run.claims import warn_watched
from chronozarr_dask.run.engine import Failure, read_failures
from chronozarr_dask.run.journals import Run, find_run
from chronozarr_dask.run.produce import run_document
from chronozarr_dask.run.progress import Progress
from chronozarr_dask.run.recipes import Document
from chronozarr_dask.run.report import RunReport
from chronozarr_dask.run.verify import Depth, verify_run
from chronozarr_dask.store.inorder import in_order
from chronozarr_dask.store.journal import REPORT


def resume(
    run: str | os.PathLike[str],
    *,
    storage_options: Mapping[str, Any] | None = None,
    source_options: Mapping[str, Any] | None = None,
    client: Any = None,
    verify: Depth | None = None,
    keep_going: bool = False,
    fail_fast: bool = False,
    grace: float | None = None,
    claim: bool = True,
    progress: Progress | None = None,
) -> RunReport:
    """Go on with an interrupted run by its journal, which keeps what it was begun with.

    Parameters
    ----------
    run : str or path
        The store's URL or the journal's.
    storage_options : mapping, optional
        For fsspec, of store and journal.
    source_options : mapping, optional
        As of the source of ``encode``: secrets that the journal does not keep.
    client : distributed.Client, optional
        Cluster to run on; threads of this process when left out.
    verify : "full" or "head", optional
        Compare what is stored with the receipts first, by checksums or by lengths, and do again what does not agree.
    keep_going : bool
        Of a recipe: leave out scenes that cannot be read, from here on.
    fail_fast, grace, claim, progress
        As of `encode`. What is left out is as the recipe says, of an `encode` the default.

    Returns
    -------
    RunReport
        Of a run that is complete already, the one that it left.

    Raises
    ------
    ResumeError
        If there is no run, it is still running, or its journal does not keep what it was begun with.
    And as of `encode`.
    """
    found = find_run(run, storage_options)
    how = {"client": client, "fail_fast": fail_fast, "grace": grace, "claim": claim, "progress": progress}
    return go_on(found, read_beginning(found, source_options), verify=verify, keep_going=keep_going, **how)


def retry_failed(
    run: str | os.PathLike[str],
    *,
    storage_options: Mapping[str, Any] | None = None,
    source_options: Mapping[str, Any] | None = None,
    **how: Any,
) -> RunReport:
    """Try the regions again that failed in a run that is not committed, and what waits for them, and nothing else.

    Where nothing else is left, the commit follows; a run that was also interrupted needs `resume` for the rest.

    Parameters
    ----------
    run, storage_options, source_options
        As of `resume`.
    **how
        client, keep_going, fail_fast, grace, claim and progress of `resume`.

    Raises
    ------
    ResumeError
        If nothing has failed.
    RunError
        If other regions are left, or one fails again.
    And as of `resume`.
    """
    found = find_run(run, storage_options)
    return go_on(found, read_beginning(found, source_options), only=failed_regions(found), **how)


def go_on(
    run: Run,
    beginning: Beginning,
    *,
    client: Any = None,
    verify: Depth | None = None,
    only: frozenset[Region] | None = None,
    keep_going: bool = False,
    fail_fast: bool = False,
    grace: float | None = None,
    claim: bool = True,
    progress: Progress | None = None,
) -> RunReport:
    """Go on with a run that was found."""
    if run.is_committed and (report := finished_report(run)) is not None:
        return report
    if keep_going and beginning.recipe is None:
        raise ResumeError(
            f"--keep-going (keep_going=) leaves out scenes of a recipe, and the run into {run.target.url} was begun by "
            f"encode, which stores every timestep of its source: leave the option out"
        )
    claim = claim and (beginning.recipe is None or beginning.recipe.recipe().run.claim)
    if verify is not None:
        verified = verify_run(run, verify, client=client, tell=warn_watched, progress=progress, claim=claim)
        if verified.wrong:
            warnings.warn(verified.told, ChronozarrWarning, stacklevel=3)
    how: Any = {"client": client, "resume": True, "progress": progress, "only": only}
    if beginning.source is not None:
        behaviour: Any = {"fail_fast": fail_fast, "claim": claim, "grace": GRACE_SECONDS if grace is None else grace}
        return encode_source(beginning.source, run.target.url, run.storage_options, **behaviour, **how)
    assert beginning.recipe is not None
    beginning.check_folder()
    given = {"keep_going": keep_going or None, "fail_fast": fail_fast or None, "grace": grace}
    document = beginning.recipe.with_values(_settings(run, beginning.recipe, {**given, "claim": claim}))
    recipe = document.recipe()
    options = {**recipe.target.storage_options, **run.storage_options}
    target = recipe.target.model_copy(update={"storage_options": options})
    return run_document(document, recipe.model_copy(update={"target": target}), **how)


def _settings(run: Run, recipe: Document, behaviour: Mapping[str, Any]) -> list[str]:
    """What stands in place of what a recipe says: places, which are relative there, and what is given now."""
    target = recipe.values["target"]
    elsewhere = isinstance(target, Mapping) and target.get("journal") is not None
    places = {"url": run.target.url, **({"journal": run.journal.url} if elsewhere else {})}
    settings = [f"target.{name}={json.dumps(url)}" for name, url in places.items()]
    return settings + [f"run.{name}={json.dumps(value)}" for name, value in behaviour.items() if value is not None]


def failed_regions(run: Run) -> frozenset[Region]:
    """The regions that failed and are not stored; ResumeError where there is none."""
    if run.is_committed:
        raise ResumeError(f"{run.target.url} is complete: nothing failed")
    found = frozenset(r for f in failures(run) if (r := Region.named(f.region)) is not None)
    if not found:
        raise ResumeError(
            f"no region of the run into {run.target.url} has failed: go on with `chronozarr-dask resume {run.url}`"
        )
    return found


def failures(run: Run) -> list[Failure]:
    """The failures that the journal records, of regions that are not stored since."""
    found = [(region, f) for f in read_failures(run.journal) if (region := Region.named(f.region)) is not None]
    receipts = in_order(run.journal.receipt, (region for region, _ in found))
    return [failure for (_, failure), receipt in zip(found, receipts, strict=True) if receipt is None]


def finished_report(run: Run) -> RunReport | None:
    """The report of a run that is complete; None where it was cut short before it."""
    doc = run.journal.read(REPORT)
    if doc is None or doc.get("status", "complete") != "complete":
        return None
    fields = {name: doc[name] for name in RunReport.__dataclass_fields__ if name in doc}
    given = {"failures": tuple(Failure(**f) for f in doc["failures"]), "warnings": tuple(doc["warnings"])}
    return RunReport(**{**fields, **given})

"""The run that a resume goes on with: its plan, when it is of the same input, options and version."""

from __future__ import annotations

from typing import Any

from chronozarr_dask._version import __version__
from chronozarr_dask.errors import ResumeError
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.run.prepare import differences
from chronozarr_dask.store.journal import CLAIM, PLAN, Journal, run_url
from chronozarr_dask.store.target import Objects


def begun(target: Objects, journal: Journal, same: dict[str, Any]) -> Plan | None:
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


def check_there(target: Objects, journal: Journal, n_objects: int, n_regions: int) -> None:
    """Raise ResumeError where receipts tell of objects and there are none: a root document would stand over nothing."""
    if n_objects and target.is_empty():
        raise ResumeError(
            f"nothing is left in {target.url} of what {n_regions:,} regions have stored there: it was removed or "
            f"moved. Move it back, or begin again after `chronozarr-dask clean {run_url(target.url, journal.url)}`"
        )

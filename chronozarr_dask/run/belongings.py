"""Which objects are a run's own: those of its journal, and those that its plan can have stored, by the key alone."""

from __future__ import annotations

import os
import re

from chronozarr_dask.format.layout import COORDINATES, ROOT_DOCUMENT, VOLATILITY
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.run.owners import heartbeat_key
from chronozarr_dask.store.bucket import PROBE
from chronozarr_dask.store.journal import (
    ARGUMENTS,
    CLAIM,
    ESTIMATE,
    FAILURES,
    HANDOVER,
    ITEMS,
    PLAN,
    RECEIPTS,
    RECIPE,
    REPORT,
    REPORT_PAGE,
    SCENES,
    SELECTION,
    STAGED,
    STAGING,
    dump,
)

DOCUMENTS = frozenset({RECIPE, ITEMS, PLAN, ESTIMATE, SELECTION, FAILURES, REPORT, REPORT_PAGE, ARGUMENTS})
PREFIXES = frozenset({RECEIPTS, SCENES, HANDOVER, STAGING})
"""What a run keeps in its journal, beside claims and heartbeats."""

_FIRST = re.compile(rf"{RECEIPTS}/.*|{STAGED}/.*|{re.escape(SELECTION)}")
"""What a resume takes for done."""
_LAST = re.compile(r"(claim|heartbeat)(\.\d+)?\.json")
_PART = re.compile(r"\.\d+\.[0-9a-f]{8}\.part$")
"""What a file is called before it gets its name at once: a process that was killed may leave it."""
_PROBE = re.compile(rf"{PROBE}[^/]+")
_NUMBER = re.compile(r"0|[1-9]\d*")


def recipe_arguments() -> bytes:
    """What the journal keeps of ``run`` beside the recipe: where its relative paths begin."""
    return dump({"command": "run", "folder": os.getcwd()})


def turn(key: str) -> int | None:
    """When an object of the journal goes; None for what no run has put there."""
    key = _PART.sub("", key)
    if key in (CLAIM, heartbeat_key(1)):
        return 3
    if _LAST.fullmatch(key) or _PROBE.fullmatch(key):
        return 2
    if _FIRST.fullmatch(key):
        return 0
    folder, below, _ = key.partition("/")
    return 1 if folder in (PREFIXES if below else DOCUMENTS) else None


def is_planned(plan: Plan, key: str) -> bool:
    """Whether a run of this plan can have stored an object before its root document; none that is foreign counts."""
    key = _PART.sub("", key)
    path = key.split("/")
    layout = plan.layout
    if _PROBE.fullmatch(key) or path in ([VOLATILITY, ROOT_DOCUMENT], [VOLATILITY, "c", "0", "0"]):
        return True
    level = _number(path[0])
    if level is None or level >= layout.n_levels:
        return False
    arrays = (layout.variable, *plan.planes)
    match path[1:]:
        case [name]:
            return name == ROOT_DOCUMENT
        case [name, document] if document == ROOT_DOCUMENT:
            return name in arrays or name in COORDINATES
        case [name, "c", "0"]:
            return name in COORDINATES
        case [name, "c", t, "0", row, col] if name == layout.variable:
            pass
        case [name, "c", t, row, col] if name in plan.planes:
            pass
        case _:
            return False
    position = _number(t), _number(row), _number(col)
    ends = (layout.n_objects_t, *layout.grid(level))
    return all(i is not None and i < n for i, n in zip(position, ends, strict=True))


def is_planned_folder(plan: Plan, path: str) -> bool:
    """Whether objects of `is_planned` can lie in a folder of the store."""
    names = "|".join(map(re.escape, (plan.layout.variable, *plan.planes, *COORDINATES)))
    found = re.fullmatch(rf"(\d+)(/({names})(/c(/\d+)*)?)?|{VOLATILITY}(/c(/0)?)?", path)
    return found is not None and (found[1] is None or int(found[1]) < plan.layout.n_levels)


def is_journal_folder(path: str) -> bool:
    """Whether objects of the journal can lie in a folder of it."""
    return path.partition("/")[0] in PREFIXES


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None

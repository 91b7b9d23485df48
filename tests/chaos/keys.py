"""Which region of a plan stores an object: what was done twice is counted by regions."""

from __future__ import annotations

import json

from chronozarr_dask.plan.plan import Plan


def read_plan(document: bytes) -> Plan:
    """The plan of a journal's ``plan.json``."""
    return Plan.from_json(json.loads(document)["plan"])


def region_of_keys(plan: Plan) -> dict[str, str]:
    """Key of every object that regions may store -> name of its region; those of the commit are not in it."""
    out: dict[str, str] = {}
    for region in plan.regions():
        for array in plan.arrays(region):
            out |= dict.fromkeys(array.keys(), region.name)
    return out

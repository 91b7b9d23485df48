"""Deep validation as Dask collections: each place and each receipt is one task that reads what it needs itself."""

from __future__ import annotations

from dask.delayed import Delayed

from chronozarr_dask.graph.frames import Unit
from chronozarr_dask.graph.lazy import call
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.store.deep.levels import check_place
from chronozarr_dask.store.deep.places import Place
from chronozarr_dask.store.deep.receipts import Ledger, audit
from chronozarr_dask.store.deep.scope import Scope


def place_task(scope: Scope, place: Place, unit: Unit) -> Delayed:
    """Checks one place; gives a `Checked`."""
    return call(check_place, scope, place, name=f"check-{unit.name}")


def receipt_task(ledger: Ledger, region: Region, number: int, unit: Unit) -> Delayed:
    """Checks the objects of one region against its receipt; gives an `Audited`."""
    return call(audit, ledger, region, number, name=f"audit-{unit.name}")

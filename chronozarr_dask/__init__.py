"""Distributed batch encoder of raster time series to chronozarr v0.2 stores, on Dask.

>>> import chronozarr_dask as czd
>>> report = czd.encode(cube, "store", crs="EPSG:32631")        # doctest: +SKIP
>>> store = czd.open_store("store")                             # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from chronozarr_dask._version import __version__

if TYPE_CHECKING:
    from chronozarr_dask.errors import (
        ChronozarrError,
        ChronozarrWarning,
        InputError,
        NotCompleteError,
        PlanError,
        ReadError,
        ResumeError,
        RunError,
        StoreError,
        TargetError,
    )
    from chronozarr_dask.format.bands import Band
    from chronozarr_dask.run.deep import validate_deep
    from chronozarr_dask.run.encode import encode
    from chronozarr_dask.run.notebook import notebook_progress
    from chronozarr_dask.run.produce import run_recipe
    from chronozarr_dask.run.report import RunReport
    from chronozarr_dask.run.reporting.leave import make_report
    from chronozarr_dask.run.resume import resume, retry_failed
    from chronozarr_dask.run.status import RunStatus, status
    from chronozarr_dask.run.sweep import clean
    from chronozarr_dask.store.cost import Cost
    from chronozarr_dask.store.reader import Store, open_store
    from chronozarr_dask.store.validate import Problem, validate

_WHERE = {
    "Band": "chronozarr_dask.format.bands",
    "ChronozarrError": "chronozarr_dask.errors",
    "ChronozarrWarning": "chronozarr_dask.errors",
    "Cost": "chronozarr_dask.store.cost",
    "InputError": "chronozarr_dask.errors",
    "NotCompleteError": "chronozarr_dask.errors",
    "PlanError": "chronozarr_dask.errors",
    "Problem": "chronozarr_dask.store.validate",
    "ReadError": "chronozarr_dask.errors",
    "ResumeError": "chronozarr_dask.errors",
    "RunError": "chronozarr_dask.errors",
    "RunReport": "chronozarr_dask.run.report",
    "RunStatus": "chronozarr_dask.run.status",
    "Store": "chronozarr_dask.store.reader",
    "StoreError": "chronozarr_dask.errors",
    "TargetError": "chronozarr_dask.errors",
    "clean": "chronozarr_dask.run.sweep",
    "encode": "chronozarr_dask.run.encode",
    "make_report": "chronozarr_dask.run.reporting.leave",
    "notebook_progress": "chronozarr_dask.run.notebook",
    "open_store": "chronozarr_dask.store.reader",
    "resume": "chronozarr_dask.run.resume",
    "retry_failed": "chronozarr_dask.run.resume",
    "run_recipe": "chronozarr_dask.run.produce",
    "status": "chronozarr_dask.run.status",
    "validate": "chronozarr_dask.store.validate",
    "validate_deep": "chronozarr_dask.run.deep",
}

__all__ = [
    "Band",
    "ChronozarrError",
    "ChronozarrWarning",
    "Cost",
    "InputError",
    "NotCompleteError",
    "PlanError",
    "Problem",
    "ReadError",
    "ResumeError",
    "RunError",
    "RunReport",
    "RunStatus",
    "Store",
    "StoreError",
    "TargetError",
    "__version__",
    "clean",
    "encode",
    "make_report",
    "notebook_progress",
    "open_store",
    "resume",
    "retry_failed",
    "run_recipe",
    "status",
    "validate",
    "validate_deep",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that the package itself is quick to import."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

"""What the journal holds only until the commit: staged pixels and handovers. Their keys follow from the plan."""

from __future__ import annotations

from collections.abc import Iterator

from chronozarr_dask.graph.frames import FrameSource, StagedFrames
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.store.journal import Journal, handover_key
from chronozarr_dask.store.listing import delete_all


def temporary_keys(plan: Plan, source: FrameSource, region: Region) -> Iterator[str]:
    """Keys that nobody needs once `region` is stored."""
    if region.pass_index:
        return
    if plan.slabs.handed(region.slab):
        for name in source.names:
            yield handover_key(region, name)
    if isinstance(source, StagedFrames):
        for name, m in source.maps.items():
            if source.is_staged(name, region):
                for part in m.pieces(name, region):
                    yield part.key


def remove_temporary(journal: Journal, plan: Plan, source: FrameSource, region: Region) -> None:
    """Remove what only this region needed."""
    if keys := list(temporary_keys(plan, source, region)):
        delete_all(journal.objects, keys)

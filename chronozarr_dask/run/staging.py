"""What is staged before regions are stored: all of the source, or for `auto` the regions that hold sampled cells.

Each block or region leaves a mark when its last piece was acknowledged: those that an earlier run has staged are found
by it, and not computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from chronozarr_dask.graph.frames import FrameSource, StagedFrames
from chronozarr_dask.graph.staging import StagedBlock, blocks_to_stage, stage_block, stage_region
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.run.engine import run_all
from chronozarr_dask.run.progress import Meter, Progress
from chronozarr_dask.run.workers import Build, Workers
from chronozarr_dask.store.inorder import in_order
from chronozarr_dask.store.journal import Journal, staged_key

Item = TypeVar("Item", StagedBlock, Region)


@dataclass
class Stager:
    """Stages for one run.

    Attributes
    ----------
    workers : Workers
    journal : Journal
    plan : Plan
    resumed : bool
        Whether an earlier run may have staged something.
    nbytes : int
        Bytes that it has staged so far.
    """

    workers: Workers
    journal: Journal
    plan: Plan
    resumed: bool
    nbytes: int = 0

    def everything(self, staged: StagedFrames, progress: Progress) -> None:
        """Compute each source block once and keep its pieces."""
        blocks = list(blocks_to_stage(staged))
        left = self._left(blocks)
        self._stage(left, len(blocks), lambda b: partial(stage_block, staged, b), progress)

    def sample(self, staged: StagedFrames, progress: Progress) -> None:
        """Stage the regions that hold sampled cells; nothing where the source is in memory."""
        left = self._left(sorted(self.plan.sampled_regions())) if staged.maps else []
        if left:
            self._stage(left, len(left), lambda r: partial(stage_region, staged, self.journal, r), progress)

    def still_staged(self, source: FrameSource) -> FrameSource:
        """The source with those sampled regions staged whose marks are there: others were done, and are done again."""
        if not isinstance(source, StagedFrames) or source.regions is None or not source.maps:
            return source
        return replace(source, regions=source.regions - frozenset(self._left(sorted(source.regions))))

    def _stage(self, left: Sequence[Item], total: int, build: Callable[[Item], Build], progress: Progress) -> None:
        meter = Meter(progress, "stage", total, done=total - len(left), dashboard=self.workers.dashboard)
        for item, (nbytes, taken) in run_all(self.workers, left, build, meter):
            self.journal.objects.put(_mark(item), b"")
            self.nbytes += nbytes
            meter.done(bytes_in=taken.nbytes, bytes_out=nbytes, lost=taken.lost)

    def _left(self, items: Sequence[Item]) -> list[Item]:
        """Those that no earlier run has staged."""
        if not self.resumed:
            return list(items)
        marks = in_order(self.journal.objects.size, map(_mark, items))
        return [item for item, size in zip(items, marks, strict=True) if size is None]


def _mark(item: Any) -> str:
    return staged_key(item.key if isinstance(item, StagedBlock) else item.name)

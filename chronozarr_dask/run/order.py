"""Which region may start when: one of pass 1 as soon as all that it reads is stored, a slab after the one before it.

State is one bit a region and one count for each region of a later pass whose inputs are partly there, so it stays small
whatever the store's size.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from functools import cached_property

from chronozarr_dask.format.temporal import Encoding
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.plan.regions import Region


class Order:
    """Hands out regions that can start.

    Parameters
    ----------
    plan : Plan
    encoding : "none" or "star-delta"
    done : iterator of bool
        For each region in the plan's order, whether it has a receipt already.
    """

    def __init__(self, plan: Plan, encoding: Encoding, done: Iterator[bool]) -> None:
        self._plan = plan
        self._encoding = encoding
        self._done = [bytearray(next(done) for _ in range(p.n_regions)) for p in plan.passes]
        self._missing: dict[Region, int] = {}
        self._ready: deque[Region] = deque()
        self._first = plan.passes[0].regions()
        self.n_left = sum(done.count(0) for done in self._done)
        if any(plan.slabs.handed(s) for s in range(plan.slabs.n)):
            self._ready.extend(
                r
                for r in plan.passes[0].regions()
                if self._waits(r) and not self.is_done(r) and self.is_done(_before(r))
            )
        for p in plan.passes[1:]:
            for region in p.regions():
                if not self.is_done(region) and all(map(self.is_done, plan.inputs(region, encoding))):
                    self._ready.append(region)

    def is_done(self, region: Region) -> bool:
        """Whether the region has a receipt."""
        return bool(self._done[region.pass_index][self._plan.passes[region.pass_index].position(region)])

    def next(self) -> Region | None:
        """A region that can start, each handed out once; None when there is none now."""
        if self._ready:
            return self._ready.popleft()
        for region in self._first:
            if not self.is_done(region) and not self._waits(region):
                return region
        return None

    def again(self, region: Region) -> None:
        """Put back a region that is to be tried once more."""
        self._ready.append(region)

    def finish(self, region: Region) -> None:
        """Record a receipt and find what can start because of it."""
        p = self._plan.passes[region.pass_index]
        self._done[region.pass_index][p.position(region)] = 1
        self.n_left -= 1
        if region.pass_index == 0 and region.slab + 1 < p.n_slabs:
            after = Region(0, region.row, region.col, region.slab + 1)
            if self._waits(after) and not self.is_done(after):
                self._ready.append(after)
        if region.pass_index + 1 < len(self._plan.passes):
            for above in self.above(region):
                self._count(above)

    def _waits(self, region: Region) -> bool:
        """Whether the slab needs what the one before hands over."""
        return bool(self._plan.slabs.handed(region.slab))

    def above(self, region: Region) -> Iterator[Region]:
        """Regions of the next pass that read what this one has stored."""
        p, above = self._plan.passes[region.pass_index : region.pass_index + 2]
        cells = p.cells(region, above.base)
        for place in above.covering(cells, range(1), above.base):
            for slab in self._readers[region.pass_index][region.slab]:
                yield Region(above.index, place.row, place.col, slab)

    @cached_property
    def _readers(self) -> list[list[list[int]]]:
        """For each pass but the last and each of its slabs: slabs of the next pass that need its timesteps."""
        out = []
        for p, above in zip(self._plan.passes, self._plan.passes[1:], strict=False):
            present = [
                set(self._plan.present(Region(above.index, 0, 0, s), self._encoding)) for s in range(above.n_slabs)
            ]
            own = [set(p.times(Region(p.index, 0, 0, s))) for s in range(p.n_slabs)]
            out.append([[i for i, needed in enumerate(present) if needed & times] for times in own])
        return out

    def _count(self, region: Region) -> None:
        if self.is_done(region):
            return
        left = self._missing.get(region)
        if left is None:
            left = sum(1 for r in self._plan.inputs(region, self._encoding) if not self.is_done(r))
        else:
            left -= 1
        if left:
            self._missing[region] = left
        else:
            self._missing.pop(region, None)
            self._ready.append(region)


class Chosen(Order):
    """Hands out some regions alone, and what waits for them: a slab after its own, a later pass.

    Parameters
    ----------
    plan, encoding, done
        As of `Order`.
    regions : iterable of Region
        What is chosen.
    """

    def __init__(self, plan: Plan, encoding: Encoding, done: Iterator[bool], regions: Iterable[Region]) -> None:
        super().__init__(plan, encoding, done)
        self._chosen: set[Region] = set()
        waiting = list(regions)
        while waiting:
            if (region := waiting.pop()) not in self._chosen:
                self._chosen.add(region)
                waiting.extend(self._after(region))

    def next(self) -> Region | None:
        """As of `Order`, of the chosen regions."""
        while (region := super().next()) is not None and region not in self._chosen:
            continue
        return region

    def _after(self, region: Region) -> Iterator[Region]:
        """Regions that cannot start before this one is stored."""
        after = Region(0, region.row, region.col, region.slab + 1)
        if region.pass_index == 0 and after.slab < self._plan.slabs.n and self._waits(after):
            yield after
        if region.pass_index + 1 < len(self._plan.passes):
            yield from self.above(region)


def _before(region: Region) -> Region:
    return Region(region.pass_index, region.row, region.col, region.slab - 1)

"""The objects of a region in the plan's order: level by level, array by array, cell by cell, time inside.

A receipt lists lengths and checksums in this order, so it needs no keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from chronozarr_dask.format.layout import Layout, Window, object_key
from chronozarr_dask.format.planes import Plane
from chronozarr_dask.plan.regions import Pass, Region


@dataclass(frozen=True)
class ArrayObjects:
    """The objects of one array in one region.

    Attributes
    ----------
    level : int
    name : str
        The data variable, "mask" or "coverage".
    has_band : bool
    cells : Window
        Rows and columns of cells.
    objects_t : range
        Time indices of the objects: timesteps, or time shards.
    """

    level: int
    name: str
    has_band: bool
    cells: Window
    objects_t: range

    def __len__(self) -> int:
        rows, cols = self.cells.shape
        return rows * cols * len(self.objects_t)

    def positions(self) -> Iterator[tuple[int, int, int]]:
        """(object_t, row, col) in the plan's order."""
        for r in range(self.cells.y0, self.cells.y1):
            for c in range(self.cells.x0, self.cells.x1):
                for t in self.objects_t:
                    yield t, r, c

    def keys(self) -> Iterator[str]:
        """Keys in the plan's order."""
        for t, r, c in self.positions():
            yield object_key(self.level, self.name, t, r, c, has_band=self.has_band)


def region_arrays(layout: Layout, planes: tuple[Plane, ...], p: Pass, region: Region) -> list[ArrayObjects]:
    """The arrays that a region stores objects of, in order."""
    times, step = p.times(region), layout.object_times
    objects_t = range(times.start // step, -(-times.stop // step))
    out = []
    for level in p.levels:
        cells = p.cells(region, level)
        out.append(ArrayObjects(level, layout.variable, True, cells, objects_t))
        out.extend(ArrayObjects(level, plane, False, cells, objects_t) for plane in planes)
    return out


def count_objects(layout: Layout, planes: tuple[Plane, ...]) -> int:
    """Most chunk and shard objects that a store can have: all-fill ones are not stored."""
    cells = sum(rows * cols for rows, cols in map(layout.grid, range(layout.n_levels)))
    return cells * layout.n_objects_t * (1 + len(planes))

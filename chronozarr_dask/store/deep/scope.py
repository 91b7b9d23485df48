"""What a worker needs to know of a store to check a part of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.arrays import ArrayMeta
from chronozarr_dask.format.dtypes import Number
from chronozarr_dask.format.layout import Layout, array_path
from chronozarr_dask.format.planes import Plane
from chronozarr_dask.format.temporal import NOMINAL_ANCHOR_INTERVAL, Temporal, references
from chronozarr_dask.store.opening import Opened
from chronozarr_dask.store.target import Objects


@dataclass(frozen=True)
class Scope:
    """A store as its documents describe it.

    Attributes
    ----------
    objects : Objects
    layout : Layout
    planes : tuple of "mask" and "coverage"
    nodata : number or None
    temporal : Temporal
    metas : mapping of str to ArrayMeta
        By array path.
    references : tuple of int
        For each timestep the one that its change is measured against (5); itself where there is no change.
    """

    objects: Objects
    layout: Layout
    planes: tuple[Plane, ...]
    nodata: Number | None
    temporal: Temporal
    metas: Mapping[str, ArrayMeta]
    references: tuple[int, ...]

    @classmethod
    def of(cls, objects: Objects, opened: Opened) -> Scope:
        """The scope of an opened store.

        Raises
        ------
        StoreError
            If its levels are no pyramid, so that no level can be derived from the one below.
        """
        root = opened.root
        paths = [entry.path for entry in opened.levels]
        data = opened.arrays[f"{paths[0]}/{root.variable}"]
        height, width = data.shape[2:]
        shard_time = None if data.sharding is None else data.sharding.shard_time
        layout = Layout(
            len(root.times), len(root.bands), height, width, data.chunk[-1], len(paths), shard_time, root.variable
        )
        if paths != [str(k) for k in range(len(paths))]:
            raise StoreError(f"levels are named {paths}, not 0, 1, ... (3.4)")
        for path, meta in opened.arrays.items():
            size = layout.level_size(int(path.split("/")[0]))
            if meta.shape[-2:] != size or meta.chunk[-1] != layout.chunk_size:
                raise StoreError(
                    f"{path} has {meta.shape[-2:]} pixels in cells of {meta.chunk[-1]}, where level 0 makes {size} and "
                    f"{layout.chunk_size} (2.1, 6)"
                )
        return cls(
            objects, layout, root.planes, root.nodata, root.temporal, opened.arrays, _references(root.temporal, layout)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The arrays of a level: data first."""
        return (self.layout.variable, *self.planes)

    def meta(self, level: int, name: str) -> ArrayMeta:
        """What the document of an array says."""
        return self.metas[array_path(level, name)]

    @property
    def place_bytes(self) -> int:
        """Bytes that the check of one place holds at most: chunks, anchors and what is derived."""
        return 24 * self.meta(0, self.layout.variable).chunk_bytes


def _references(temporal: Temporal, layout: Layout) -> tuple[int, ...]:
    """The recorded references; for a ``none`` store the nominal schedule, as if it was made in one batch (5)."""
    if temporal.encoding == "star-delta":
        return tuple(temporal.reference(t) for t in range(layout.n_time))
    return tuple(references(layout.n_time, NOMINAL_ANCHOR_INTERVAL).tolist())

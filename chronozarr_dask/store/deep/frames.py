"""One array's chunks for one place: as they are stored, and their true values, a timestep at a time."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.temporal import Temporal, restore
from chronozarr_dask.store.chunks import Chunks
from chronozarr_dask.store.deep.scope import Scope

KEPT = 8
"""Frames that are kept: two anchors for each of four cells, since a star may have holes after an append."""


@dataclass(frozen=True)
class Frame:
    """One timestep of one cell.

    Attributes
    ----------
    stored : ndarray or None
        The chunk as it is stored, at full size; None where it cannot be decoded.
    values : ndarray or None
        True values, at full size; None where the chunk or its anchor cannot be decoded.
    is_absent : bool
        Whether no chunk is stored: it reads as fill.
    error : str
        Why the chunk cannot be decoded; empty where it can.
    """

    stored: npt.NDArray[Any] | None
    values: npt.NDArray[Any] | None
    is_absent: bool = False
    error: str = ""


class Frames:
    """Reads the chunks of one array; those of `kept` timesteps are decoded once while they are in use.

    Shards are read by the length that the object has, whatever `shard_bytes` says of it.

    Parameters
    ----------
    scope : Scope
    level : int
    name : str
        The data variable, "mask" or "coverage".
    kept : set of int
        Timesteps that others are compared with, besides the anchors of the encoding.
    """

    def __init__(self, scope: Scope, level: int, name: str, kept: frozenset[int] = frozenset()) -> None:
        meta = scope.meta(level, name)
        self.is_data = name == scope.layout.variable
        self.chunks = Chunks(scope.objects, f"{level}/{name}", meta)
        self.temporal = scope.temporal if self.is_data else Temporal.none()
        self.nbytes = 0
        self._keep = kept | frozenset(self.temporal.anchor_indices)
        self._kept: OrderedDict[tuple[int, int, int], Frame] = OrderedDict()

    def key(self, t: int, row: int, col: int) -> str:
        """Key of the object that holds a chunk."""
        return self.chunks.key(t, row, col)

    def is_residual(self, t: int) -> bool:
        """Whether the chunks of a timestep hold residuals."""
        return self.temporal.reference(t) != t

    def frame(self, t: int, row: int, col: int) -> Frame:
        """One timestep of a cell; TargetError if the target does not answer."""
        place = (t, row, col)
        found = self._kept.get(place)
        if found is None:
            found = self._read(t, row, col)
            if t in self._keep:
                self._kept[place] = found
                if len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(place)
        return found

    def _read(self, t: int, row: int, col: int) -> Frame:
        try:
            stored = self.chunks.read(t, row, col)
        except StoreError as error:
            where = f"{self.chunks.objects.url}/{self.key(t, row, col)}"
            return Frame(None, None, error=str(error).removeprefix(where).lstrip(": "))
        self.nbytes += stored.nbytes
        is_absent = not any(stored.strides)  # one value, repeated
        if not self.is_residual(t):
            return Frame(stored, np.ascontiguousarray(stored), is_absent)
        anchor = self.frame(self.temporal.reference(t), row, col).values
        return Frame(stored, None if anchor is None else restore(stored, anchor), is_absent)

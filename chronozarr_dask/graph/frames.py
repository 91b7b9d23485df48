"""Where the frames of a region come from, as lazy Dask arrays of one block: a cube, or what is staged of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import dask.array as da
import numpy as np
import numpy.typing as npt
import xarray as xr
from dask.delayed import Delayed

from chronozarr_dask.format.layout import COVERAGE, MASK, Window
from chronozarr_dask.graph.lazy import array_of, map_block
from chronozarr_dask.plan.plan import runs
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.source.cube import Cube
from chronozarr_dask.source.view import is_chunked, is_in_memory
from chronozarr_dask.store.heap import give_back
from chronozarr_dask.store.pixels import Declared
from chronozarr_dask.store.staging import StagedPart, StagingMap, read_parts

DATA = "data"


@dataclass(frozen=True)
class Unit:
    """One submission of one unit of work.

    Attributes
    ----------
    name : str
        Unique to the submission, and part of every key of its graph: a second try, or the next run on the same cluster,
        never meets the result of another.
    hold : callable
        Puts pixels that are in memory where the tasks run: themselves in one process, a scatter on a cluster.
    """

    name: str
    hold: Callable[[npt.NDArray[Any]], Any]


@dataclass(frozen=True)
class Taken:
    """What frames cost: bytes of source pixels, decoded, and the ids of scenes that could not be read."""

    nbytes: int = 0
    lost: tuple[str, ...] = ()


class FrameSource(Protocol):
    """Frames of level 0."""

    @property
    def names(self) -> tuple[str, ...]:
        """What the source has: "data", and "mask" and "coverage" where they are given."""

    def frames(self, name: str, region: Region, times: tuple[int, ...], window: Window, unit: Unit) -> da.Array:
        """(times, band, y, x) of "data", or (times, 1, y, x) of a plane, as one block; `times` is sorted."""

    def dtype(self, name: str) -> np.dtype[Any]:
        """Dtype of the frames of a name, in any byte order; a plane's values are looked at when they are stored."""

    def is_lazy(self, name: str) -> bool:
        """Whether pixels are computed or read when they are asked for, so that asking twice costs twice."""

    def notes(self, times: tuple[int, ...], window: Window, unit: Unit) -> Delayed | None:
        """What the frames of the same unit tell the journal, as JSON; None where they have nothing to tell."""

    def taken(
        self, names: Iterable[str], region: Region, times: tuple[int, ...], window: Window, unit: Unit
    ) -> Taken | Delayed:
        """What the frames of the same unit cost, or will have cost: a `Taken`."""


@dataclass(frozen=True)
class CubeFrames:
    """Frames of a cube. Blocks of a Dask array are joined; anything else is read by window, each pixel once."""

    cube: Cube

    @property
    def names(self) -> tuple[str, ...]:
        """What the cube has: "data" and its planes."""
        planes = ((MASK, self.cube.mask), (COVERAGE, self.cube.coverage))
        return (DATA, *(name for name, array in planes if array is not None))

    def arrays(self, name: str) -> tuple[xr.DataArray, ...]:
        """The arrays behind a name: several for "data" when its bands are."""
        if name == DATA:
            return self.cube.parts
        plane = self.cube.mask if name == MASK else self.cube.coverage
        assert plane is not None
        return (plane,)

    def dtype(self, name: str) -> np.dtype[Any]:
        """Dtype of what is behind a name."""
        dtype: np.dtype[Any] = self.arrays(name)[0].dtype
        return dtype

    def is_lazy(self, name: str) -> bool:
        """Whether anything behind a name is not in memory."""
        return not all(is_in_memory(a) for a in self.arrays(name))

    def notes(self, times: tuple[int, ...], window: Window, unit: Unit) -> Delayed | None:
        """Nothing."""
        return None

    def taken(
        self, names: Iterable[str], region: Region, times: tuple[int, ...], window: Window, unit: Unit
    ) -> Taken | Delayed:
        """Bytes of the frames, each counted once however its file is cut."""
        n_pixels = len(times) * window.shape[0] * window.shape[1]
        each = (prod(a.shape[1:-2]) * a.dtype.itemsize for name in names for a in self.arrays(name))
        return Taken(n_pixels * sum(each))

    def frames(self, name: str, region: Region, times: tuple[int, ...], window: Window, unit: Unit) -> da.Array:
        """(times, band, y, x) of "data", or (times, 1, y, x) of a plane, as one block; `times` is sorted."""
        y, x = window.slices
        bands = []
        for i, array in enumerate(self.arrays(name)):
            label = f"read-{name}-{i}-{unit.name}"
            here = array.isel(y=y, x=x)
            spans = [here.isel(time=slice(start, stop)) for start, stop in runs(times)]
            blocks = [_block(s, f"{label}-{k}", unit) for k, s in enumerate(spans)]
            # A slab that was handed all of its timesteps reads nothing, and must not ask for a block to learn that.
            joined = _concatenate(blocks or [da.zeros((0, *here.shape[1:]), dtype=array.dtype, chunks=-1)], axis=0)
            bands.append(joined if name == DATA else joined[:, None])
        out: da.Array = _concatenate(bands, axis=1).rechunk(-1, method="tasks")
        declared = Declared(name, out.shape, out.dtype.str)
        return map_block(declared, out, shape=out.shape, dtype=out.dtype, name=f"declared-{name}-{unit.name}")


def _concatenate(arrays: list[da.Array], axis: int) -> da.Array:
    out: da.Array = arrays[0] if len(arrays) == 1 else da.concatenate(arrays, axis=axis)
    return out


def _block(part: xr.DataArray, label: str, unit: Unit) -> da.Array:
    """A part of the source as a Dask array: its own blocks, or one block that reads the window."""
    if is_chunked(part):
        out: da.Array = part.data
        return out
    pixels = unit.hold(part.values) if is_in_memory(part) else part.variable
    return array_of(_values, pixels, shape=part.shape, dtype=part.dtype, name=label)


def _values(part: Any) -> npt.NDArray[Any]:
    values = np.asarray(part)
    give_back()  # what the file's own chunks were decoded in
    return values


@dataclass(frozen=True)
class StagedFrames:
    """Frames of what is staged in the journal; the cube serves the rest.

    Attributes
    ----------
    cube : FrameSource
    maps : mapping of name to StagingMap
        What is staged of "data" and of the planes.
    regions : set of Region or None
        Regions that are staged; None for all.
    n_band : int
    data_dtype : dtype
        Of the data; a plane is staged in its own, for its values are looked at when its region is stored.
    """

    cube: FrameSource
    maps: Mapping[str, StagingMap]
    regions: frozenset[Region] | None
    n_band: int
    data_dtype: np.dtype[Any]

    @property
    def names(self) -> tuple[str, ...]:
        """What the source has."""
        return self.cube.names

    def dtype(self, name: str) -> np.dtype[Any]:
        """Dtype of what is staged under a name."""
        return self.data_dtype if name == DATA else self.cube.dtype(name)

    def is_lazy(self, name: str) -> bool:
        """As of what is staged."""
        return self.cube.is_lazy(name)

    def notes(self, times: tuple[int, ...], window: Window, unit: Unit) -> Delayed | None:
        """As of what is staged; of a region that is staged they were kept with it."""
        return self.cube.notes(times, window, unit)

    def taken(
        self, names: Iterable[str], region: Region, times: tuple[int, ...], window: Window, unit: Unit
    ) -> Taken | Delayed:
        """As of the cube, of what is not staged: the source was asked for the rest before."""
        left = [name for name in names if not self.is_staged(name, region)]
        return self.cube.taken(left, region, times, window, unit)

    def is_staged(self, name: str, region: Region) -> bool:
        """Whether these frames come from the journal."""
        return name in self.maps and (self.regions is None or region in self.regions)

    def frames(self, name: str, region: Region, times: tuple[int, ...], window: Window, unit: Unit) -> da.Array:
        """As `CubeFrames.frames`."""
        if not self.is_staged(name, region):
            return self.cube.frames(name, region, times, window, unit)
        return self.from_parts(name, self.maps[name].pieces(name, region), times, window, unit)

    def from_parts(
        self, name: str, parts: Iterable[StagedPart], times: tuple[int, ...], window: Window, unit: Unit
    ) -> da.Array:
        """Frames of `times` in `window` out of staged pieces, as one block."""
        n_band, dtype = self.n_band if name == DATA else 1, self.dtype(name)
        shape, label = (len(times), n_band, *window.shape), f"unstage-{name}-{unit.name}"
        pieces = list(parts)
        return array_of(read_parts, pieces, times, window, n_band, dtype.str, shape=shape, dtype=dtype, name=label)

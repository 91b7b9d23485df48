"""Section 10: the reader. A store is opened with one GET; pixels are read when asked for, from any thread."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import InputError, TargetError
from chronozarr_dask.format.attributes import LevelMirror
from chronozarr_dask.format.layout import Window, ceil_div
from chronozarr_dask.format.planes import Plane
from chronozarr_dask.format.temporal import Temporal
from chronozarr_dask.store.cells import READ_THREADS, Cells, anchor_cache
from chronozarr_dask.store.chunks import Chunks, index_cache
from chronozarr_dask.store.cost import Account, Cost, spent
from chronozarr_dask.store.journal import CLAIM, journal_url
from chronozarr_dask.store.metadata import StoreMetadata
from chronozarr_dask.store.opening import Opened, open_documents
from chronozarr_dask.store.target import Objects, open_target
from chronozarr_dask.store.timesteps import Time, timestep
from chronozarr_dask.store.volatility import read_volatility

if TYPE_CHECKING:
    import xarray as xr


def open_store(url: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None) -> Store:
    """Open a chronozarr store of v0.1 or v0.2.

    Parameters
    ----------
    url : str or path
        A folder, or any fsspec URL.
    storage_options : mapping, optional
        For fsspec; not for a folder.

    Raises
    ------
    NotCompleteError
        If its run was not committed yet.
    StoreError
        If there is no store, it cannot be read by this version, or a document of it is malformed.
    TargetError
        If the target cannot be reached.
    """
    objects = open_target(url, storage_options)
    return Store(objects, open_documents(objects, lambda: _unfinished(objects.url, storage_options)))


def _unfinished(url: str, storage_options: Mapping[str, Any] | None) -> str | None:
    """URL of the journal beside a store that has no root document, None where there is none."""
    try:
        journal = open_target(journal_url(url, None), storage_options)
    except TargetError:  # a bucket's root has nothing beside it
        return None
    return None if journal.get(CLAIM) is None else journal.url


class Store(StoreMetadata):
    """A chronozarr store that is open for reading. It may be used by many threads, and pickled.

    `t` is a position (negative ones count from the end) or a time that names a timestep exactly: an ISO-8601 text, a
    datetime64 or a datetime, in UTC where it has no zone.
    """

    def __init__(self, objects: Objects, opened: Opened) -> None:
        super().__init__(objects, opened)
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._process = os.getpid()
        self._cells: dict[tuple[int, str], Cells] = {}
        self._indexes = index_cache()
        self._anchors = anchor_cache()
        self._account = Account()

    def __getstate__(self) -> dict[str, Any]:
        return {"objects": self._objects, "opened": self._opened}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["objects"], state["opened"])  # type: ignore[misc]

    def __repr__(self) -> str:
        n_time, n_band, height, width = self.levels[0].shape
        return (
            f"<chronozarr Store {self.url}: {n_time} times x {n_band} bands x {height} x {width} px of "
            f"{self.dtype.name}, {len(self.levels)} levels, {self.temporal.encoding}, {self.crs}>"
        )

    # ---- of the data array ------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype[Any]:
        """Stored dtype."""
        return self.cells(0, self.variable).chunks.dtype

    @property
    def chunk_size(self) -> int:
        """`cs`: edge of a cell of level 0, pixels."""
        return self.cells(0, self.variable).chunks.meta.chunk[-1]

    def level_for(self, gsd: float) -> int:
        """The coarsest level whose resolution does not exceed `gsd` (units of the CRS); 0 if none (10, rule 3)."""
        if not gsd > 0:
            raise InputError(f"gsd is {gsd}: give a ground sample distance above 0, in units of {self.crs}")
        return max((k for k, entry in enumerate(self.levels) if entry.resolution <= gsd), default=0)

    # ---- pixels -----------------------------------------------------------------------------------------------------

    def read(self, t: Time, level: int = 0) -> npt.NDArray[Any]:
        """One timestep: ndarray (band, y, x), stored dtype, true values."""
        height, width = self._level(level).shape[2:]
        return self.read_window(t, Window(0, height, 0, width), level)

    def read_window(self, t: Time, window: Window | tuple[int, int, int, int], level: int = 0) -> npt.NDArray[Any]:
        """Part of one timestep: ndarray (band, y1 - y0, x1 - x0), stored dtype, true values.

        Parameters
        ----------
        t : int or time
        window : Window or (y0, y1, x0, x1)
            Pixels of the level, half-open.
        level : int
        """
        w = window if isinstance(window, Window) else Window(*window)
        height, width = self._level(level).shape[2:]
        if not (0 <= w.y0 < w.y1 <= height and 0 <= w.x0 < w.x1 <= width):
            raise InputError(
                f"window y {w.y0} to {w.y1}, x {w.x0} to {w.x1} is empty or not within level {level}, "
                f"which has y 0 to {height}, x 0 to {width}"
            )
        return self._frame(self.variable, t, w, level)

    def read_cell(self, t: Time, row: int, col: int, level: int = 0) -> npt.NDArray[Any]:
        """One timestep of one cell: ndarray (band, h, w), stored dtype, true values, cut to the array's shape.

        At most two chunk reads: one where the timestep's chunk holds true values, or its anchor was read before.
        """
        height, width = self._level(level).shape[2:]
        cs = self.cells(level, self.variable).chunks.meta.chunk[-1]
        rows, cols = ceil_div(height, cs), ceil_div(width, cs)
        if not (0 <= row < rows and 0 <= col < cols):
            raise InputError(
                f"cell ({row}, {col}) does not exist: level {level} has rows 0 to {rows - 1}, columns 0 to {cols - 1}"
            )
        window = Window(row * cs, min((row + 1) * cs, height), col * cs, min((col + 1) * cs, width))
        return self._frame(self.variable, t, window, level)

    def read_mask(self, t: Time, level: int = 0) -> npt.NDArray[np.uint8] | None:
        """Validity of one timestep: ndarray (y, x), uint8 of 0 and 1; None where the store has no mask."""
        return self._plane("mask", t, level)

    def read_coverage(self, t: Time, level: int = 0) -> npt.NDArray[np.uint8] | None:
        """Observations behind one timestep: ndarray (y, x), uint8; None where the store has no coverage."""
        return self._plane("coverage", t, level)

    def to_xarray(self, level: int = 0, physical: bool = False) -> xr.Dataset:
        """A level as a lazy Dataset: nothing is read before it is computed or loaded.

        Parameters
        ----------
        level : int
        physical : bool
            float32 of stored * scale + offset, NaN where a pixel is invalid by section 2.3, instead of stored values.

        Returns
        -------
        Dataset
            The data array, named `variable`, (time, band, y, x); ``mask`` and ``coverage``, (time, y, x), where the
            store has them; coordinates ``time``, ``band`` (names), ``y``, ``x`` and ``spatial_ref``. ``.chunk()`` makes
            it a Dask collection that travels to other processes.
        """
        from chronozarr_dask.store.datasets import level_dataset  # xarray is imported when it is asked for

        self._level(level)
        return level_dataset(self, level, physical)

    def series(self, x: float, y: float, level: int = 0) -> xr.Dataset:
        """All timesteps of the pixel under a coordinate of the store's CRS.

        Returns
        -------
        Dataset
            ``data`` (time, band), stored dtype; ``valid`` (time, band), bool, by section 2.3: by the mask it is the
            same for every band, by nodata each band has its own; ``coverage`` (time), where the store has it. ``x`` and
            ``y`` are the pixel's centre. A coordinate on the raster's right or bottom edge belongs to the last pixel.

        Raises
        ------
        InputError
            If the coordinate is outside of the raster.
        """
        from chronozarr_dask.store.datasets import pixel_series

        self._level(level)
        return pixel_series(self, x, y, level)

    def volatility(self) -> xr.DataArray:
        """How much each cell of level 0 changes over time (5): 0 never, 1 by 10000 and more in the mean.

        Returns
        -------
        DataArray (row, col), float32
            Coordinates ``y`` (row) and ``x`` (col) are the centres of what the raster has of each cell.

        Raises
        ------
        StoreError
            If the store has none, or it is malformed.
        """
        from chronozarr_dask.store.datasets import volatility_map

        with self._account.charging():
            spent(cells_wanted=math.prod(self.levels[0].grid))
            return volatility_map(self, read_volatility(self._objects, self.levels[0].grid))

    def measure(self, *, every_thread: bool = False) -> AbstractContextManager[Cost]:
        """Count what reads of this store cost, within a block.

        Parameters
        ----------
        every_thread : bool
            Count what any thread of this process reads from this store while the block is open, as under Dask's
            threaded scheduler. By default a block counts what its own thread (or asyncio task) asks for, whichever
            threads of the reader's pool do it: blocks that are open in two threads at once do not count each other's
            reads. Blocks may be nested: each counts all that is read within it.

        Returns
        -------
        context manager of Cost
            Chunks, requests, bytes fetched and decoded, read amplification. What the store's caches hold costs
            nothing. The opening of the store is not counted: it was before. Reads in other processes are not either.

        Examples
        --------
        >>> with store.measure() as cost:            # doctest: +SKIP
        ...     store.read(3)
        >>> cost.requests, cost.amplification        # doctest: +SKIP
        """
        return self._account.measure(every_thread)

    # ---- how --------------------------------------------------------------------------------------------------------

    def cells(self, level: int, name: str) -> Cells:
        """Access to one array: the data array or a plane of a level."""
        cells = self._cells.get((level, name))
        if cells is None:
            path = f"{self.levels[level].path}/{name}"
            is_data = name == self.variable
            lengths = (self._opened.root.shard_bytes or {}).get(self.levels[level].path, {}) if is_data else {}
            chunks = Chunks(self._objects, path, self._opened.arrays[path], lengths, self._indexes)
            cells = Cells(
                chunks, self.temporal if is_data else Temporal.none(), self._anchors, self._pool, self._account
            )
            self._cells[level, name] = cells
        return cells

    def _pool(self) -> Executor:
        with self._lock:
            if self._executor is None or self._process != os.getpid():  # threads do not survive a fork
                self._executor, self._process = ThreadPoolExecutor(READ_THREADS, "chronozarr-read"), os.getpid()
            return self._executor

    def _frame(self, name: str, t: Time, w: Window, level: int) -> npt.NDArray[Any]:
        index = np.array([self._timestep(t)]), np.arange(w.y0, w.y1), np.arange(w.x0, w.x1)
        frame: npt.NDArray[Any] = self.cells(level, name).gather(*index)[0]
        return frame

    def _plane(self, plane: Plane, t: Time, level: int) -> npt.NDArray[np.uint8] | None:
        height, width = self._level(level).shape[2:]
        t = self._timestep(t)
        return self._frame(plane, t, Window(0, height, 0, width), level) if plane in self.planes else None

    def _level(self, level: int) -> LevelMirror:
        if isinstance(level, bool) or not isinstance(level, (int, np.integer)) or not 0 <= level < len(self.levels):
            raise InputError(f"level is {level!r}: {self.url} has levels 0 to {len(self.levels) - 1}")
        return self.levels[level]

    def _timestep(self, t: Time) -> int:
        return timestep(t, self.times)

"""A level that a pass has stored, read back as the next pass's input. Its root document does not exist yet."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.format.layout import Window, array_path
from chronozarr_dask.format.temporal import Encoding, Temporal
from chronozarr_dask.plan.spec import StoreSpec
from chronozarr_dask.store.cells import Cells, anchor_cache
from chronozarr_dask.store.chunks import Chunks
from chronozarr_dask.store.target import Objects


class _Here(Executor):
    """Runs what is submitted at once in the calling thread: a region is one unit of work for one thread."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@dataclass(frozen=True)
class StoredLevel:
    """Reads true values of one level of an unfinished store."""

    target: Objects
    spec: StoreSpec
    encoding: Encoding
    level: int

    def read(self, name: str, times: tuple[int, ...], window: Window) -> npt.NDArray[Any]:
        """Frames of the data array or of a plane: ndarray (times, band, y, x); a plane has one band."""
        data = name == self.spec.layout.variable
        temporal = self.spec.temporal(self.encoding) if data else Temporal.none()
        chunks = Chunks(self.target, array_path(self.level, name), self.spec.meta(self.level, name))
        cells = Cells(chunks, temporal, anchor_cache(), _Here)
        y, x = np.arange(window.y0, window.y1), np.arange(window.x0, window.x1)
        frames = cells.gather(np.array(times, np.intp), y, x)
        return frames if data else frames[:, None]

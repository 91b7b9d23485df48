"""What a store shows, read once, timestep by timestep: observations, maps, quicklooks, and one stretch for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.format.bands import Band
from chronozarr_dask.format.dtypes import valid_pixels
from chronozarr_dask.format.layout import COVERAGE, MASK
from chronozarr_dask.run.reporting.choice import Kind, Part
from chronozarr_dask.store.inorder import in_order
from chronozarr_dask.store.reader import Store

Array = npt.NDArray[Any]

PLACES = 4
"""Rows and columns of places that observations are counted by."""
PERCENTILES = (2.0, 98.0)
SAMPLED = 20_000
"""Values of a timestep that the stretch looks at."""
AT_ONCE = 4
"""Timesteps that are read at a time."""


@dataclass(frozen=True)
class Frame:
    """One timestep of a part: data (band, y, x), validity of each pixel of each band, coverage (y, x) or None."""

    data: Array
    valid: npt.NDArray[np.bool_]
    mask: npt.NDArray[np.uint8] | None
    coverage: npt.NDArray[np.uint8] | None


@dataclass(frozen=True)
class Look:
    """What a part of a store shows.

    Attributes
    ----------
    part : Part
    shown : tuple of int
        Bands of the pictures.
    counts : ndarray (time, row, col), float64
        In each place, observations of a pixel in the mean; where the store has no coverage, the valid share of its
        pixels (valid in every band).
    coverage : ndarray (y, x), float64
        As `counts`, of each pixel over all timesteps: observations in the mean, or the valid share.
    quicklooks : mapping of timestep to (data, valid)
        First, middle and last timestep: (shown, y, x) and (y, x).
    stretch : (float, float) or None
        Stored values that are black and white; None where nothing is valid.
    """

    part: Part
    shown: tuple[int, ...]
    counts: npt.NDArray[np.float64]
    coverage: npt.NDArray[np.float64]
    quicklooks: dict[int, tuple[Array, npt.NDArray[np.bool_]]]
    stretch: tuple[float, float] | None


def shown_bands(bands: Sequence[Band]) -> tuple[int, ...]:
    """Positions of red, green and blue, by common name or by name; of the first band where one of them is missing."""
    found = []
    for colour in ("red", "green", "blue"):
        at = [i for i, b in enumerate(bands) if b.common_name == colour]
        at += [i for i, b in enumerate(bands) if b.common_name is None and b.name.lower() == colour]
        found += at[:1]
    return tuple(found) if len(found) == 3 else (0,)


def kind_of(store: Store) -> Kind:
    """What the choice of parts depends on."""
    return Kind(store.chunk_size, store.dtype.itemsize, len(store.planes), shown_bands(store.bands))


def frames(store: Store, part: Part) -> Iterator[Frame]:
    """The timesteps of a part, in order, a few read ahead."""
    yield from in_order(partial(_frame, store, part), part.times, threads=AT_ONCE, ahead=1)


def _frame(store: Store, part: Part, t: int) -> Frame:
    w, s = part.window, part.stride
    index = np.array([t]), np.arange(w.y0, w.y1, s), np.arange(w.x0, w.x1, s)
    data = store.cells(part.level, store.variable).gather(*index, np.array(part.bands))[0]
    planes: dict[str, Array] = {p: store.cells(part.level, p).gather(*index)[0] for p in store.planes}
    mask = planes.get(MASK)
    return Frame(data, valid_pixels(data, mask, store.nodata), mask, planes.get(COVERAGE))


def look_at(store: Store, part: Part) -> Look:
    """Read a part and sum it up."""
    shown = shown_bands(store.bands)
    height, width = part.shape
    total = np.zeros((height, width))
    counts, samples = [], []
    quicklooks = {}
    wanted = {part.times[i] for i in (0, len(part.times) // 2, -1)}
    for t, frame in zip(part.times, frames(store, part), strict=True):
        seen: Array = everywhere(frame.valid) if frame.coverage is None else frame.coverage
        total += seen
        counts.append(by_place(seen))
        visible = everywhere(frame.valid[list(shown)])
        values = frame.data[list(shown)][:, visible].ravel()
        samples.append(values[:: max(1, values.size // SAMPLED)])
        if t in wanted:
            quicklooks[t] = frame.data[list(shown)], visible
    return Look(part, shown, np.array(counts), total / len(part.times), quicklooks, stretch_of(samples))


def everywhere(valid: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Where a pixel is valid in every band: (band, y, x) to (y, x)."""
    out: npt.NDArray[np.bool_] = np.logical_and.reduce(valid, axis=0)
    return out


def by_place(plane: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Means of a plane (y, x) in at most `PLACES` x `PLACES` places of about the same size."""
    ys, xs = (np.array_split(np.arange(n), min(PLACES, n)) for n in plane.shape)
    return np.array([[plane[y[0] : y[-1] + 1, x[0] : x[-1] + 1].mean() for x in xs] for y in ys], np.float64)


def stretch_of(samples: Sequence[Array]) -> tuple[float, float] | None:
    """The 2nd and 98th percentile of each timestep, of these the medians; None where there is no sample.

    The medians, so that a month of snow does not make all others dark.
    """
    found = [np.percentile(values.astype(np.float64), PERCENTILES) for values in samples if values.size]
    if not found:
        return None
    low, high = (float(v) for v in np.median(found, axis=0))
    return (low, high) if high > low else (low - 0.5, low + 0.5)

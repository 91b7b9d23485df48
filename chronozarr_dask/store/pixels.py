"""From the frames that a region reads to its level 0: checked, made little-endian, joined with what was handed over.

What only pixels can show is found here and stops the run: NaN, infinities, mask values other than 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import InputError, StoreError
from chronozarr_dask.format.dtypes import Number
from chronozarr_dask.format.layout import COVERAGE, MASK, Window
from chronozarr_dask.format.times import render_time
from chronozarr_dask.kernels import checks
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.store.frames import pack, unpack
from chronozarr_dask.store.journal import Journal, handover_key

Array = npt.NDArray[Any]
FillGaps = Callable[[Array, Array, Array | None], object]
"""Fills gaps of (time, band, y, x) in place, given (time, y, x) counts and the frame before, or None at the start."""


@dataclass(frozen=True)
class Declared:
    """Holds blocks of the source to what the source says of them: only its functions know what they return.

    Attributes
    ----------
    what : str
        "data", "mask" or "coverage".
    shape : tuple of int
    dtype : str
        In any byte order.
    """

    what: str
    shape: tuple[int, ...]
    dtype: str

    def __call__(self, frames: Array) -> Array:
        """The frames; InputError if they are others than was said."""
        same = frames.dtype.newbyteorder("=") == np.dtype(self.dtype).newbyteorder("=")
        if not same or frames.shape != self.shape:
            raise InputError(
                f"blocks of {self.what} are {frames.dtype} {frames.shape} when they are computed, and the array "
                f"promises {np.dtype(self.dtype)} {self.shape}: a function that was given to Dask returns something "
                f"else than its dtype, chunks or meta say; mend these, or let it return what they say"
            )
        return frames


@dataclass(frozen=True)
class Level0:
    """How the frames of one region of pass 0 become its level 0.

    Attributes
    ----------
    journal : Journal
    region, next_region : Region
        `next_region` is the next slab of the place; None after the last.
    reads, handed, carry : tuple of int
        Timesteps that come from the source, that the slab before hands over, and that the next one is handed.
    times : tuple of int
        Milliseconds, of all timesteps: to name one.
    window : Window
        Pixels of the region.
    band_names : tuple of str
    fill : number
    nan_to_mask, fill_masked : bool
    fill_gaps : callable or None
        How pixels without an observation are filled from the timestep before; None: they are not.
    """

    journal: Journal
    region: Region
    next_region: Region | None
    reads: tuple[int, ...]
    handed: tuple[int, ...]
    carry: tuple[int, ...]
    times: tuple[int, ...]
    window: Window
    band_names: tuple[str, ...]
    fill: Number
    nan_to_mask: bool = False
    fill_masked: bool = False
    fill_gaps: FillGaps | None = None

    @property
    def present(self) -> tuple[int, ...]:
        """Timestep of every frame of the result, sorted."""
        return tuple(sorted({*self.reads, *self.handed}))

    def data(self, frames: Array, mask: Array | None = None) -> Array:
        """Level 0 of the data: ndarray (present, band, y, x).

        Parameters
        ----------
        frames : ndarray (reads, band, y, x)
        mask : ndarray (reads, 1, y, x), uint8
            Given only for `fill_masked`.
        """
        frames = np.ascontiguousarray(frames, frames.dtype.newbyteorder("<"))
        if self.nan_to_mask and self.fill_masked:
            mask = checks.nan_mask(frames)[:, None]
        if frames.dtype.kind == "f":
            frames = self._finite(frames)
        if mask is not None and self.fill_masked:
            frames = checks.fill_where(frames, mask[:, 0], self.fill)
        return self._joined("data", frames, self._handed("data"))

    def without_gaps(self, frames: Array, coverage: Array) -> Array:
        """Level 0 of composites, their gaps filled: what is handed on is filled already.

        Parameters
        ----------
        frames : ndarray (reads, band, y, x)
            Timesteps without a gap between them, so that each is filled from the one before.
        coverage : ndarray (reads, 1, y, x), uint8
        """
        assert self.fill_gaps is not None
        frames = np.array(frames, frames.dtype.newbyteorder("<"), order="C", copy=not frames.flags.writeable or None)
        frames = self._finite(frames) if frames.dtype.kind == "f" else frames
        handed = self._handed("data")
        last = None if handed is None or not self.reads else handed[self.handed.index(self.reads[0] - 1)]
        self.fill_gaps(frames, self._plane(coverage)[:, 0], last)
        return self._joined("data", frames, handed)

    def mask(self, frames: Array) -> Array:
        """Level 0 of the mask, (present, 1, y, x), out of mask frames; or out of data frames under `nan_to_mask`."""
        if self.nan_to_mask:
            frames = checks.nan_mask(frames.astype(frames.dtype.newbyteorder("="), copy=False))[:, None]
        else:
            frames = self._plane(frames)
            if (at := checks.first_not_binary(frames)) is not None:
                n = checks.count_not_binary(frames)
                raise InputError(
                    f"the mask has {frames[at]} at {self._place(at, has_band=False)}, and {n} values in this region "
                    f"that are neither 0 nor 1; 1 is valid, 0 is not: convert it first, for example "
                    f"(mask == good).astype('uint8')"
                )
        return self._joined(MASK, frames, self._handed(MASK))

    def coverage(self, frames: Array) -> Array:
        """Level 0 of the coverage, (present, 1, y, x)."""
        return self._joined(COVERAGE, self._plane(frames), self._handed(COVERAGE))

    def _finite(self, frames: Array) -> Array:
        if self.nan_to_mask:
            n_inf = checks.count_inf(frames)
            if not n_inf:
                return checks.fill_nan(frames, self.fill)
            at = tuple(int(i[0]) for i in np.nonzero(np.isinf(frames)))
            raise InputError(
                f"the input has {n_inf} infinite values in this region, the first at {self._place(at, has_band=True)}; "
                f"nan_to_mask masks NaN alone: turn them into NaN, or into nodata, first"
            )
        if (at_ := checks.first_not_finite(frames)) is None:
            return frames
        nan, inf = checks.count_nan(frames), checks.count_inf(frames)
        raise InputError(
            f"the input has {nan} NaN and {inf} infinite values in this region, the first at "
            f"{self._place(at_, has_band=True)}; the format stores neither (section 2.3): set nan_to_mask to make a "
            f"mask of NaN, or fill them with a nodata value first"
        )

    def _place(self, at: tuple[int, ...], *, has_band: bool) -> str:
        t = self.reads[at[0]]
        band = f"band {self.band_names[at[1]]}, " if has_band else ""
        y, x = self.window.y0 + at[-2], self.window.x0 + at[-1]
        return f"timestep {t} ({render_time(self.times[t])}), {band}row {y}, column {x}"

    def _plane(self, frames: Array) -> Array:
        if frames.dtype == np.uint8:
            return frames
        as_bytes = frames.astype(np.uint8)
        if (as_bytes != frames).any():
            at = tuple(int(i[0]) for i in np.nonzero(as_bytes != frames))
            raise InputError(f"a plane has {frames[at]} at {self._place(at, has_band=False)}: uint8 holds 0 to 255")
        return as_bytes

    def _handed(self, name: str) -> Array | None:
        """Frames of `handed`; None where there are none."""
        if not self.handed:
            return None
        key = handover_key(self.region, name)
        blob = self.journal.objects.get(key)
        where = f"{self.journal.url}/{key}"
        if blob is None:
            raise StoreError(f"{where}: the slab before has not handed over timesteps {list(self.handed)}")
        return unpack(blob, where)

    def _joined(self, name: str, frames: Array, handed: Array | None) -> Array:
        """Frames of `present`; hands on what the next slab needs."""
        if handed is not None:
            joined = np.empty((len(self.present), *frames.shape[1:]), frames.dtype)
            joined[self._rows(self.reads)] = frames
            joined[self._rows(self.handed)] = handed
            frames = joined
        if self.next_region is not None and self.carry:
            self.journal.objects.put(handover_key(self.next_region, name), pack(frames[self._rows(self.carry)]))
        return frames

    def _rows(self, times: tuple[int, ...]) -> list[int]:
        at = {t: i for i, t in enumerate(self.present)}
        return [at[t] for t in times]

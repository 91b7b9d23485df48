"""One band of an open file: where its header says that it lies, and its pixels on a part of the grid.

A raster that shares the grid is copied, a coarser one that nests in it is repeated (`placement`). Any other is
resampled at the exact centres of the grid's pixels; what is missing, or hidden by the file's mask, enters no kernel.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.dtypes import Number, is_finite_number
from chronozarr_dask.format.layout import Window
from chronozarr_dask.kernels import resample
from chronozarr_dask.source.crs import epsg_of, parse_crs
from chronozarr_dask.source.placement import Nested, Positions, Raster, Warped, in_pixels_of, place
from chronozarr_dask.source.stac.assets import SceneAsset
from chronozarr_dask.source.stac.grid import Grid

Resampling = Literal["auto", "nearest", "bilinear", "mean"]
COARSENING = 1.5
"""Pixels of the raster in a pixel of the grid, along an axis, beyond which `auto` takes the mean over the footprint."""

KEPT_POSITIONS = 4
"""Sets of transformed centres of a window that are kept: bands and tiles of one lattice share theirs."""


@dataclass(frozen=True)
class BandHeader:
    """What a plan needs of one band's file: its raster, dtype, block (height, width) and nodata tag."""

    raster: Raster
    dtype: str
    block: tuple[int, int]
    nodata: float | None


@dataclass
class Centres:
    """Transformed centres of one window of the grid, as `Warped.positions`; the last few are kept. Thread-safe."""

    grid: Grid
    window: Window
    _known: OrderedDict[Raster, Positions] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def at(self, warped: Warped, part: Window) -> Positions:
        """(rows, cols) of a part of the window."""
        key = Raster(warped.raster.crs, warped.raster.transform, 0, 0)
        with self._lock:
            if key not in self._known:
                self._known[key] = warped.positions(self.window)
            self._known.move_to_end(key)
            rows, cols = self._known[key]
            while len(self._known) > KEPT_POSITIONS:
                self._known.popitem(last=False)
        o = self.window
        at = slice(part.y0 - o.y0, part.y1 - o.y0), slice(part.x0 - o.x0, part.x1 - o.x0)
        return rows[at], cols[at]


TOLD_WITHIN = 2.0
"""Pixels by which an item may be wrong about the place of a file without losing one: `reach` has a wider margin."""


def check_told(asset: SceneAsset, raster: Raster, within: float) -> None:
    """Raise InputError where an item says something else of the place of a file than the file does.

    Parameters
    ----------
    within : float
        Pixels of the file by which they may differ.
    """
    codes = {c for c in (asset.crs, raster.crs) if c is not None and c.startswith("EPSG:")}
    if len(codes) == 2:
        raise InputError(
            f"is on {raster.crs}, and its item says {asset.crs} (proj:code): mend the item, or leave it out"
        )
    if asset.transform is None or asset.shape is None:
        return
    height, width = asset.shape
    corners = [(0, 0), (height, width)]
    for (row, col), (own_row, own_col) in zip(corners, [(0, 0), (raster.height, raster.width)], strict=True):
        y, x = in_pixels_of(raster, row, col, Raster(raster.crs, asset.transform, height, width))
        off = max(abs(float(y) - own_row), abs(float(x) - own_col))
        if off > within:
            raise InputError(
                f"is {raster.height} x {raster.width} pixels with the transform {list(raster.transform)}, and its item "
                f"says {height} x {width} with {list(asset.transform)} (proj:shape, proj:transform), {off:.6g} pixels "
                f"off: mend the item, or leave it out; within {TOLD_WITHIN:g} pixels a grid that is named "
                f"(grid.resolution) takes the file's word"
            )


def read_header(asset: SceneAsset, file: Any) -> BandHeader:
    """Header of the asset's band in an open file; InputError where neither it nor the item says where that lies."""
    index = asset.band_index
    if not 1 <= index <= file.count:
        raise InputError(f"has {file.count} bands, and the item tells of band {index}")
    return BandHeader(
        _raster(file, asset), file.dtypes[index - 1], file.block_shapes[index - 1], file.nodatavals[index - 1]
    )


def _raster(file: Any, asset: SceneAsset) -> Raster:
    if file.crs:
        crs = _code(file.crs.to_wkt())
    elif asset.crs:
        crs = asset.crs
    else:
        raise InputError("has no CRS, and the item has none either (proj:code): give it one first")
    transform = tuple(float(v) for v in file.transform[:6])
    if transform == (1.0, 0.0, 0.0, 0.0, 1.0, 0.0):
        if asset.transform is None:
            raise InputError("has no transform, and the item has none either (proj:transform): give it one first")
        transform = asset.transform
    return Raster(crs, transform, file.height, file.width)  # type: ignore[arg-type]


@cache
def _code(wkt: str) -> str:
    """``EPSG:<code>`` of a CRS, else the WKT itself."""
    code = epsg_of(parse_crs(wkt, "a source"))
    return wkt if code is None else f"EPSG:{code}"


@dataclass(frozen=True)
class BandOnGrid:
    """One band of an open file on a part of the grid; `positions` are the centres of a raster that does not nest."""

    file: Any
    index: int
    placed: Nested | Warped
    part: Window
    positions: Positions | None

    @classmethod
    def of(
        cls, file: Any, asset: SceneAsset, grid: Grid, centres: Centres, part: Window | None, told_within: float
    ) -> BandOnGrid | None:
        """The part of the window that the raster covers, or the `part` that is given; None for nothing."""
        header = read_header(asset, file)
        check_told(asset, header.raster, told_within)
        placed = place(header.raster, grid)
        window = part or centres.window
        if isinstance(placed, Nested):
            covered = placed.part(window)
            return (
                None
                if covered is None and part is None
                else cls(file, asset.band_index, placed, part or covered or window, None)
            )
        positions = centres.at(placed, window)
        if part is None:
            inside = _inside(placed.raster, positions)
            if inside is None:
                return None
            part = Window(*(a + b for a, b in zip(inside, (window.y0, window.y0, window.x0, window.x0), strict=True)))
            positions = centres.at(placed, part)
        return cls(file, asset.band_index, placed, part, positions)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the file's pixels."""
        dtype: np.dtype[Any] = np.dtype(self.file.dtypes[self.index - 1])
        return dtype

    @property
    def nodata(self) -> float | None:
        """The file's tag."""
        tag: float | None = self.file.nodatavals[self.index - 1]
        return tag

    def pixels(self, how: Resampling, missing: Number | None, *, also: Number | None = None) -> npt.NDArray[Any]:
        """The band on the part; `also` is another number that enters no kernel."""
        if missing is None and self.dtype.kind in "iu" and self._has_mask and isinstance(self.placed, Warped):
            return self._masked(how)
        fill = missing if is_finite_number(missing) else math.nan if self.dtype.kind == "f" else 0
        blank = fill if self.dtype.kind == "f" else missing
        return self._on_grid(partial(self._read, blank, also), self.dtype, how, fill, blank)

    def _masked(self, how: Resampling) -> npt.NDArray[Any]:
        """Integers of which each is a value, and a mask: for a kernel, what is hidden has a number that none has."""
        wide = np.dtype(np.int64)
        hidden = int(np.iinfo(wide).min)

        def read(window: Window) -> npt.NDArray[Any]:
            pixels = self.file.read(self.index, window=_gdal(window)).astype(wide)
            pixels[self._read_mask(window) == 0] = hidden
            return pixels  # type: ignore[no-any-return]

        return self._on_grid(read, wide, how, hidden, hidden).astype(self.dtype)

    def present(self, *, unmarked: bool = False) -> npt.NDArray[np.uint8] | None:
        """Validity by the file's own mask or alpha band, or by its extent where that is `unmarked`; None without."""
        if not (self._has_mask or unmarked):
            return None
        read = self._read_mask if self._has_mask else _ones
        return (self._on_grid(read, np.dtype(np.uint8), "nearest", 0, 0) > 0).view(np.uint8)

    @property
    def _has_mask(self) -> bool:
        return bool({flag.name for flag in self.file.mask_flag_enums[self.index - 1]} & {"per_dataset", "alpha"})

    def _read_mask(self, window: Window) -> npt.NDArray[Any]:
        pixels: npt.NDArray[Any] = self.file.read_masks(self.index, window=_gdal(window))
        return pixels

    def _read(self, blank: Number | None, also: Number | None, window: Window) -> npt.NDArray[Any]:
        """Pixels of the file; for a kernel, whatever does not count is `blank`."""
        pixels: npt.NDArray[Any] = self.file.read(self.index, window=_gdal(window))
        if isinstance(self.placed, Warped) and blank is not None:
            if is_finite_number(also) and also != blank:
                pixels[pixels == also] = blank
            if self._has_mask:
                pixels[self._read_mask(window) == 0] = blank
        return pixels

    def _on_grid(
        self, read: Callable[[Window], npt.NDArray[Any]], dtype: np.dtype[Any], how: Resampling, fill: Number,
        missing: Number | None,
    ) -> npt.NDArray[Any]:  # fmt: skip
        if isinstance(self.placed, Nested):
            return _repeated(self.placed, read, self.part, dtype, fill)
        assert self.positions is not None
        rows, cols = self.positions
        size = self.placed.raster.height, self.placed.raster.width
        half = self.placed.half if how in ("auto", "mean") else (0.5, 0.5)
        if how == "auto":
            how = "mean" if 2 * max(half) > COARSENING else "bilinear"
        half = max(half[0], 0.5), max(half[1], 0.5)
        margin = {
            "nearest": resample.NEAREST_MARGIN, "bilinear": resample.BILINEAR_MARGIN, "mean": resample.box_margin(half)
        }[how]  # fmt: skip
        needed = resample.window(rows, cols, size, margin)
        if needed is None:
            return np.full(self.part.shape, fill, dtype)
        source = read(Window(needed[0].start, needed[0].stop, needed[1].start, needed[1].stop))[None]
        place_: Any = {"origin": (needed[0].start, needed[1].start), "size": size}
        if how == "nearest":
            out = resample.nearest(source, rows, cols, fill, **place_)
        elif how == "bilinear":
            out = resample.bilinear(source, rows, cols, missing, **place_)
        else:
            out = resample.box_mean(source, rows, cols, half, missing, **place_)
        on_grid: npt.NDArray[Any] = out[0]
        return on_grid


def _repeated(
    placed: Nested, read: Callable[[Window], npt.NDArray[Any]], part: Window, dtype: np.dtype[Any], fill: Number
) -> npt.NDArray[Any]:
    """A nested raster on a part of the grid; `fill` where it does not reach."""
    covered = placed.part(part)
    if covered is None:
        return np.full(part.shape, fill, dtype)
    needed = placed.source(covered)
    first = covered.y0 - placed.row - needed.y0 * placed.factor, covered.x0 - placed.col - needed.x0 * placed.factor
    pixels = (
        resample.repeat_nested(read(needed), placed.factor, first, covered.shape) if placed.factor > 1 else read(needed)
    )
    if covered == part:
        return pixels
    out = np.full(part.shape, fill, dtype)
    out[covered.y0 - part.y0 : covered.y1 - part.y0, covered.x0 - part.x0 : covered.x1 - part.x0] = pixels
    return out


def _inside(raster: Raster, positions: Positions) -> tuple[int, int, int, int] | None:
    """(y0, y1, x0, x1) around the positions that lie in the raster."""
    rows, cols = positions
    inside = (rows >= 0) & (rows < raster.height) & (cols >= 0) & (cols < raster.width)
    y, x = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
    return (int(y[0]), int(y[-1]) + 1, int(x[0]), int(x[-1]) + 1) if y.size else None


def _ones(window: Window) -> npt.NDArray[np.uint8]:
    return np.ones(window.shape, np.uint8)


def _gdal(window: Window) -> tuple[tuple[int, int], tuple[int, int]]:
    return (window.y0, window.y1), (window.x0, window.x1)

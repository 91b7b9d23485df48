"""One chunk by itself: it decodes (8), its padding (2.1), no NaN or infinity (2.3), a mask of 0 and 1 (2.4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.format.layout import MASK, Window
from chronozarr_dask.kernels.checks import first_not_binary, first_not_finite
from chronozarr_dask.store.deep.found import Found
from chronozarr_dask.store.deep.frames import Frame, Frames
from chronozarr_dask.store.validate.problem import Problem


def check_chunk(frames: Frames, frame: Frame, t: int, cell: tuple[int, int], window: Window, found: Found) -> None:
    """Check what one chunk shows alone.

    Parameters
    ----------
    frames : Frames
        The array.
    frame : Frame
    t : int
    cell : (row, col)
    window : Window
        The cell's pixels, cut to the array's shape.
    found : Found
        Where problems go.
    """
    path = frames.chunks.path
    key = frames.key(t, *cell)
    if frame.stored is None:
        message = f"timestep {t} of cell {cell} cannot be read: {frame.error}; write the object again"
        found.add(f"decode {path}", Problem("error", "8", key, message))
        return
    if not frame.is_absent:
        _check_padding(frames, frame.stored, t, cell, window, found)
    if frame.values is None:
        return
    h, w = window.shape
    values = frame.values[..., :h, :w]
    if frames.is_data and (at := first_not_finite(values)) is not None:
        where = place(t, cell, at, window)
        message = f"{where} is not finite: mark gaps with nodata or a mask"
        found.add(f"finite {path}", Problem("warning", "2.3", key, message, "a finite number", str(values[at])))
    if path.endswith(f"/{MASK}") and (at := first_not_binary(values)) is not None:
        where = place(t, cell, at, window)
        message = f"{where} is neither 1 (valid) nor 0 (invalid)"
        found.add(f"binary {path}", Problem("error", "2.4", key, message, "0 or 1", values[at].item()))


def _check_padding(
    frames: Frames, stored: npt.NDArray[Any], t: int, cell: tuple[int, int], window: Window, found: Found
) -> None:
    """What lies beyond the shape is fill, in a chunk of residuals 0."""
    h, w = window.shape
    if stored.shape[-2:] == (h, w):
        return
    fill = stored.dtype.type(frames.chunks.meta.fill)
    wanted = stored.dtype.type(0) if frames.is_residual(t) else fill
    beyond = np.ones(stored.shape[-2:], np.bool_)
    beyond[:h, :w] = False
    wrong = (stored != wanted) & beyond
    if not wrong.any():
        return
    at = first_of(wrong)
    # Plain Zarr writers pad with the fill value, whatever the chunk holds: every reader discards it.
    is_fill = not ((stored != fill) & beyond).any()
    what = "0 in a chunk of residuals" if frames.is_residual(t) else "the fill value"
    message = f"{place(t, cell, at, window)}, beyond the raster's edge, is padding and should be {what}"
    problem = Problem(
        "warning" if is_fill else "error", "2.1", frames.key(t, *cell), message, wanted.item(), stored[at].item()
    )
    found.add(f"padding {frames.chunks.path} {problem.severity}", problem)


def first_of(wrong: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    """Index of the first True in C order."""
    return tuple(int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape))


def place(t: int, cell: tuple[int, int], at: tuple[int, ...], window: Window) -> str:
    """Name a pixel: `at` is its index in the chunk, told as row and column of the level."""
    band = f"band {at[0]}, " if len(at) == 3 else ""
    return f"timestep {t}, cell {cell}, {band}row {window.y0 + at[-2]}, column {window.x0 + at[-1]}"

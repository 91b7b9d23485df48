"""Take the pixels of a source at exactly given positions: nearest, bilinear, and the mean over a box.

A position is the centre of a target pixel in pixel coordinates of the whole source, float64: the source pixel (r, c)
covers r <= row < r + 1 and c <= col < c + 1, and its centre is (r + 0.5, c + 0.5)::

        c      c+1     c+2
     r  +-------+-------+        *  (row, col)
        |   o   |   o   |           nearest   the pixel that holds it
        |     * |       |           bilinear  the four centres o around it
    r+1 +-------+-------+           mean      the centres within a box around it
        |   o   |   o   |

What a target pixel gets depends on its own position and the source pixels around it, on nothing else: the result is the
same however target or source were cut. A source that was read in part is given as it is, with the place of its first
pixel (`origin`) and the size of the whole (`size`); `window` says which part a set of positions needs.

A position outside of the source, or NaN, gives nothing. Missing source pixels (`nodata`, NaN, infinities) never enter a
sum: the weights of the others are scaled up. Integers are rounded half up. A float32 sum is taken in float64, row by
row. Where nodata lies within the range of the values, as -9999 may, a mean can come out as nodata by chance; where it
is the least or the greatest value, as 0 of unsigned numbers, it cannot.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.format.dtypes import Number
from chronozarr_dask.kernels.compiled import compiled
from chronozarr_dask.kernels.rows import flat_rows

Positions = npt.NDArray[np.float64]
Window = tuple[slice, slice]
Pair = tuple[int, int]

NEAREST_MARGIN = (0.0, 0.0)
BILINEAR_MARGIN = (0.5, 0.5)


def box_margin(half: tuple[float, float]) -> tuple[float, float]:
    """Margin of a mean over a box of half the height and half the width given, in source pixels."""
    return half[0] + 0.5, half[1] + 0.5


def window(rows: Positions, cols: Positions, size: Pair, margin: tuple[float, float]) -> Window | None:
    """The part of a source that is needed at some positions, or None when all of them lie outside.

    Parameters
    ----------
    rows, cols : ndarray of one shape, float64
    size : (height, width) of the whole source
    margin : NEAREST_MARGIN, BILINEAR_MARGIN or `box_margin`
        How far the pixels taken reach from a position, in source pixels.

    Returns
    -------
    (slice of rows, slice of columns) or None
    """
    inside = _inside(rows, cols, size)
    if not inside.any():
        return None
    spans = []
    for positions, n, reach in zip((rows, cols), size, margin, strict=True):
        taken = positions[inside]
        first, last = int(np.floor(taken.min() - reach)), int(np.floor(taken.max() + reach))
        spans.append(slice(max(first, 0), min(last + 1, n)))
    return spans[0], spans[1]


def nearest(
    source: npt.NDArray[Any], rows: Positions, cols: Positions, nothing: Number,
    *, origin: Pair = (0, 0), size: Pair | None = None,
) -> npt.NDArray[Any]:  # fmt: skip
    """The source pixel that holds each position.

    Parameters
    ----------
    source : ndarray (band, h, w), any dtype
    rows, cols : ndarray (y, x), float64
        Positions in the whole source.
    nothing : number
        What a position outside of the source gets.
    origin : (row, col), optional
        Place of the first pixel of `source` in the whole source.
    size : (height, width), optional
        Of the whole source; that of `source` when left out.

    Returns
    -------
    ndarray (band, y, x), the dtype of `source`
    """
    return _gather(source, rows, cols, nothing, origin, size, _nearest)


def bilinear(
    source: npt.NDArray[Any], rows: Positions, cols: Positions, nodata: Number | None,
    *, origin: Pair = (0, 0), size: Pair | None = None,
) -> npt.NDArray[Any]:  # fmt: skip
    """The four pixels around each position, weighted by nearness; those beyond an edge, or missing, have no weight.

    Parameters and result as of `nearest`, but
    nodata : number or None
        Value of a missing pixel, in the source and in the result; 0 fills the result where it is None.
    """
    return _gather(source, rows, cols, nodata, origin, size, _bilinear, nodata is not None)


def box_mean(
    source: npt.NDArray[Any], rows: Positions, cols: Positions, half: tuple[float, float], nodata: Number | None,
    *, origin: Pair = (0, 0), size: Pair | None = None,
) -> npt.NDArray[Any]:  # fmt: skip
    """Mean of the pixels whose centres are in a box: ``row - half[0] <= centre < row + half[0]``, columns alike.

    The box is the footprint of a target pixel: half of its height and width in source pixels, at least 0.5 each, so
    that there is always a centre in it. Boxes that touch share no pixel.

    Parameters and result as of `bilinear`.
    """
    assert min(half) >= 0.5, f"a box of half {half} source pixels may hold no pixel's centre"
    halves = float(half[0]), float(half[1])
    return _gather(source, rows, cols, nodata, origin, size, _box_mean, nodata is not None, *halves)


def repeat_nested(plane: npt.NDArray[Any], factor: int, first: Pair, shape: Pair) -> npt.NDArray[Any]:
    """Pixels that each cover `factor` x `factor` pixels of a finer grid with the same edges, on that grid.

    Parameters
    ----------
    plane : ndarray (..., h, w)
    factor : int
    first : (row, col)
        Place of the first fine pixel of the result, counted from the first fine pixel of `plane`.
    shape : (y, x)
        Of the result.

    Returns
    -------
    ndarray (..., y, x), the dtype of `plane`
    """
    spans = [slice(begin, begin + n) for begin, n in zip(first, shape, strict=True)]
    assert all(s.start >= 0 and s.stop <= n * factor for s, n in zip(spans, plane.shape[-2:], strict=True))
    y, x = (slice(s.start // factor, -(-s.stop // factor)) for s in spans)
    repeated = plane[..., y, x].repeat(factor, axis=-2).repeat(factor, axis=-1)
    rows, cols = (slice(s.start % factor, s.start % factor + n) for s, n in zip(spans, shape, strict=True))
    return repeated[..., rows, cols]


def _inside(rows: Positions, cols: Positions, size: Pair) -> npt.NDArray[np.bool_]:
    """Which positions lie in the source; NaN does not."""
    return (rows >= 0) & (rows < size[0]) & (cols >= 0) & (cols < size[1])


def _gather(
    source: npt.NDArray[Any], rows: Positions, cols: Positions, fill: Number | None, origin: Pair, size: Pair | None,
    kernel: Any, *more: Any,
) -> npt.NDArray[Any]:  # fmt: skip
    """Run a kernel, and make sure that it found each pixel that it reached for."""
    native = source.dtype.newbyteorder("=")
    out = np.empty((len(source), *rows.shape), native)
    flat, strides = flat_rows(source)
    places = np.array([*origin, *source.shape[1:], *(source.shape[1:] if size is None else size)], np.int64)
    positions = np.ascontiguousarray(rows, np.float64), np.ascontiguousarray(cols, np.float64)
    missing = kernel(flat, strides, places, *positions, out, native.type(0 if fill is None else fill), *more)
    assert not missing, f"{missing} pixels lie in the source and not in the part {source.shape[1:]} at {origin} of it"
    return out.astype(source.dtype, copy=False)


@compiled
def _outside(row: float, col: float, places: Any) -> bool:
    return not (row >= 0 and row < places[4] and col >= 0 and col < places[5])


@compiled
def _nearest(flat: Any, strides: Any, places: Any, rows: Any, cols: Any, out: Any, fill: Any) -> int:
    missing = 0
    for y in range(rows.shape[0]):
        for x in range(rows.shape[1]):
            outside = _outside(rows[y, x], cols[y, x], places)
            at = np.int64(0)
            if not outside:
                r, c = np.int64(rows[y, x]) - places[0], np.int64(cols[y, x]) - places[1]
                if r < 0 or r >= places[2] or c < 0 or c >= places[3]:
                    missing += 1
                    outside = True
                else:
                    at = r * strides[1] + c
            for b in range(out.shape[0]):
                out[b, y, x] = fill if outside else flat[b * strides[0] + at]
    return missing


@compiled
def _bilinear(
    flat: Any, strides: Any, places: Any, rows: Any, cols: Any, out: Any, fill: Any, has_nodata: bool
) -> int:  # fmt: skip
    missing = 0
    at = np.zeros(4, np.int64)
    weight = np.zeros(4, np.float64)
    for y in range(rows.shape[0]):
        for x in range(rows.shape[1]):
            if _outside(rows[y, x], cols[y, x], places):
                out[:, y, x] = fill
                continue
            top, left = np.floor(rows[y, x] - 0.5), np.floor(cols[y, x] - 0.5)
            down, right = rows[y, x] - 0.5 - top, cols[y, x] - 0.5 - left
            for k in range(4):
                i, j = k >> 1, k & 1
                r, c = np.int64(top) + i, np.int64(left) + j
                weight[k] = (down if i else 1.0 - down) * (right if j else 1.0 - right)
                at[k] = 0
                if r < 0 or r >= places[4] or c < 0 or c >= places[5]:
                    weight[k] = 0.0
                    continue
                r, c = r - places[0], c - places[1]
                if r < 0 or r >= places[2] or c < 0 or c >= places[3]:
                    missing += weight[k] > 0
                    weight[k] = 0.0
                    continue
                at[k] = r * strides[1] + c
            for b in range(out.shape[0]):
                out[b, y, x] = _weighted(flat[b * strides[0] :], at, weight, fill, has_nodata)
    return missing


@compiled
def _weighted(pixels: Any, at: Any, weight: Any, fill: Any, has_nodata: bool) -> Any:
    total, weights = 0.0, 0.0
    for k in range(4):
        v = pixels[at[k]]
        if weight[k] > 0 and _present(v, fill, has_nodata):
            total += weight[k] * np.float64(v)
            weights += weight[k]
    return _rounded(total / weights, fill) if weights > 0 else fill


@compiled
def _present(v: Any, nodata: Any, has_nodata: bool) -> bool:
    return np.isfinite(v) and not (has_nodata and v == nodata)


@compiled
def _rounded(mean: float, like: Any) -> Any:
    """In the type of `like`, integers half up."""
    kind = type(like)
    whole = kind(0.5) == 0
    return kind(np.floor(mean + 0.5)) if whole else kind(mean)


@compiled
def _box_mean(
    flat: Any, strides: Any, places: Any, rows: Any, cols: Any, out: Any, fill: Any, has_nodata: bool,
    half_height: float, half_width: float,
) -> int:  # fmt: skip
    missing = 0
    for y in range(rows.shape[0]):
        for x in range(rows.shape[1]):
            row, col = rows[y, x], cols[y, x]
            if _outside(row, col, places):
                out[:, y, x] = fill
                continue
            r0: Any = max(np.int64(np.ceil(row - half_height - 0.5)), 0)
            r1: Any = min(np.int64(np.ceil(row + half_height - 0.5)), places[4])
            c0: Any = max(np.int64(np.ceil(col - half_width - 0.5)), 0)
            c1: Any = min(np.int64(np.ceil(col + half_width - 0.5)), places[5])
            if r0 < places[0] or r1 > places[0] + places[2] or c0 < places[1] or c1 > places[1] + places[3]:
                missing += 1
                out[:, y, x] = fill
                continue
            for b in range(out.shape[0]):
                total, count = 0.0, 0
                for r in range(r0, r1):
                    start = b * strides[0] + (r - places[0]) * strides[1] - places[1]
                    for c in range(c0, c1):
                        v = flat[start + c]
                        if _present(v, fill, has_nodata):
                            total += np.float64(v)
                            count += 1
                out[b, y, x] = _rounded(total / count, fill) if count else fill
    return missing

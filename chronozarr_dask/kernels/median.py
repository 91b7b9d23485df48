"""Order statistics of the valid observations of each pixel, compiled: the median, and any other rank.

A run of pixels of one row is sorted at once, all observations of a band, by a network of `network`::

    observation 0   . . . . . . . .  <- one row of scratch, W pixels that stay in the processor's cache
    observation 1   . . . . . . . .
    ...                                  a comparator: lesser of two rows into one, greater into the other

An invalid pixel takes part as a value that stays out of the way. For a rank it is the greatest of the dtype. For the
median it is the greatest and the least by turns: half of the invalid ones then lie below the valid ones and half above,
so the middle is the same row for every pixel, however many are valid. A valid pixel may have such a value itself: ranks
are counted, so equal values may change places.

Of n observations, m invalid, the odd one above: floor(m / 2) lie below. An odd number of valid ones has its middle at
rank (n - 1) // 2, an even one its two middles at (n - 2) // 2 and the next.

-0.0 counts as 0.0, so that no result depends on which of two equal values came first. Values marked valid are numbers:
NaN is kept out by the validity, never here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.format.dtypes import Number
from chronozarr_dask.kernels.compiled import compiled
from chronozarr_dask.kernels.network import GREATER, LESSER, network
from chronozarr_dask.kernels.observations import by_rows

SCRATCH_BYTES = 2**18
WIDTHS = (1024, 8192)
"""Pixels of a row that are sorted at once, at least and at most; in between as many as `SCRATCH_BYTES` hold.

Long runs pay more than staying in the first cache, since the stack comes from memory: 18 observations of uint16 took
22 ns per pixel at 128, 12 at 512, 10 at 2048, 8 at 8192 (one core of a Zen 4 EPYC).
"""


def masked_median(stack: npt.NDArray[Any], valid: npt.NDArray[Any], fill: Number) -> npt.NDArray[Any]:
    """Median of the valid observations.

    Integers: the middle of an odd number, floor((a + b) / 2) of an even one, exact for every pair. float32: the mean of
    the two middles in float64, rounded once.

    Parameters
    ----------
    stack : ndarray (observation, band, y, x), uint8, uint16, int16 or float32; read in place
    valid : ndarray (observation, y, x), uint8 or bool
    fill : number
        What a pixel without a valid observation holds.

    Returns
    -------
    ndarray (band, y, x), the dtype of `stack`
    """
    n = stack.shape[0]
    if n == 0:
        return np.full(stack.shape[1:], fill, stack.dtype)
    native, least, greatest = _ends(stack)
    zero = np.float64(0) if native.kind == "f" else np.float32(0)
    low = max((n - 2) // 2, 0)
    high = min(low + 1, n - 1)
    pairs = network(n, frozenset({low, high}))
    scratch = np.empty((n, _width(stack)), native), np.empty((n, _width(stack)), native)
    values = type(zero)(native.type(fill)), least, greatest
    return by_rows(_median, stack, valid, pairs, scratch, (low, high), values, zero, native.kind != "f")


def masked_median_numpy(stack: npt.NDArray[Any], valid: npt.NDArray[Any], fill: Number) -> npt.NDArray[Any]:
    """Twin of `masked_median`."""
    ordered, n = _sorted_numpy(stack, valid)
    if not len(stack):
        return np.full(stack.shape[1:], fill, stack.dtype)
    a, b = (_pick(ordered, rank) for rank in (np.maximum(n - 1, 0) // 2, np.minimum(n // 2, len(stack) - 1)))
    mean = (a.astype(np.float64) + b) / 2 if stack.dtype.kind == "f" else (a.astype(np.int32) + b) // 2
    return np.where(n > 0, mean, fill).astype(stack.dtype)


def masked_rank(
    stack: npt.NDArray[Any], valid: npt.NDArray[Any], ranks: Sequence[int], fill: Number
) -> npt.NDArray[Any]:
    """The valid observation of a given rank.

    Parameters
    ----------
    stack : ndarray (observation, band, y, x), uint8, uint16, int16 or float32; read in place
    valid : ndarray (observation, y, x), uint8 or bool
    ranks : sequence of n_observation + 1 ints
        ``ranks[n]``, from 0 and below n: the rank to take of n valid observations. ``ranks[0]`` is not looked at.
    fill : number
        What a pixel without a valid observation holds.

    Returns
    -------
    ndarray (band, y, x), the dtype of `stack`
    """
    n = stack.shape[0]
    assert len(ranks) == n + 1
    assert all(0 <= rank < k for k, rank in enumerate(ranks) if k)
    if n == 0:
        return np.full(stack.shape[1:], fill, stack.dtype)
    native, _, greatest = _ends(stack)
    pairs = network(n, frozenset(ranks[1:]))
    scratch = np.empty((n, _width(stack)), native)
    return by_rows(_rank, stack, valid, pairs, scratch, np.array(ranks, np.int64), (native.type(fill), greatest))


def masked_rank_numpy(
    stack: npt.NDArray[Any], valid: npt.NDArray[Any], ranks: Sequence[int], fill: Number
) -> npt.NDArray[Any]:
    """Twin of `masked_rank`."""
    ordered, n = _sorted_numpy(stack, valid)
    if not len(stack):
        return np.full(stack.shape[1:], fill, stack.dtype)
    picked = _pick(ordered, np.array([0, *ranks[1:]])[n])
    return np.where(n > 0, picked, fill).astype(stack.dtype)


def _ends(stack: npt.NDArray[Any]) -> tuple[np.dtype[Any], Any, Any]:
    """The dtype in native byte order, its least value and its greatest."""
    native = stack.dtype.newbyteorder("=")
    least, greatest = (-np.inf, np.inf) if native.kind == "f" else (np.iinfo(native).min, np.iinfo(native).max)
    return native, native.type(least), native.type(greatest)


def _width(stack: npt.NDArray[Any]) -> int:
    """Pixels in a row of scratch."""
    least, most = WIDTHS
    size = int(stack.shape[-2] * stack.shape[-1])
    return max(1, min(max(SCRATCH_BYTES // (len(stack) * stack.itemsize), least), most, size))


def _sorted_numpy(stack: npt.NDArray[Any], valid: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Observations in order, valid ones first, and how many of them are valid."""
    greatest = np.inf if stack.dtype.kind == "f" else np.iinfo(stack.dtype).max
    ok = valid != 0
    zero = stack.dtype.type(0)
    return np.sort(np.where(ok[:, None], stack + zero, stack.dtype.type(greatest)), axis=0), ok.sum(axis=0)


def _pick(ordered: npt.NDArray[Any], rank: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    picked: npt.NDArray[Any] = np.take_along_axis(ordered, rank[None, None], axis=0)[0]
    return picked


@compiled
def _median(
    flat: Any, strides: Any, flags: Any, flag_strides: Any, out: Any,
    pairs: Any, scratch: Any, middles: Any, values: Any, zero: Any, whole: bool,
) -> None:  # fmt: skip
    """Fill `out`. `scratch` is for the values, and for what an invalid pixel takes part as."""
    ordered, instead = scratch
    n, width = ordered.shape
    counts = np.empty(width, np.int32)
    fill, least, greatest = values
    low, high = middles
    h, w = out.shape[1:]
    for y in range(h):
        for first in range(0, w, width):
            size = min(width, w - first)
            start = y * flag_strides[1] + first
            counts[:size] = 0
            for i in range(n):
                _by_turns(flags[start + i * flag_strides[0] :][:size], counts, instead[i], i, least, greatest)
            for b in range(out.shape[0]):
                begin = b * strides[1] + y * strides[2] + first
                for i in range(n):
                    ok = flags[start + i * flag_strides[0] :][:size]
                    _take(flat[begin + i * strides[0] :][:size], ok, instead[i], ordered[i])
                _exchange(ordered, pairs, size)
                middle = ordered[(n - 1) // 2]
                _middle(ordered[low], ordered[high], middle, counts, out[b, y, first:][:size], fill, zero, whole)


@compiled
def _by_turns(ok: Any, counts: Any, instead: Any, before: int, least: Any, greatest: Any) -> None:
    """Count the valid ones, and give the invalid ones the greatest and the least value by turns."""
    for x in range(ok.size):
        instead[x] = least if (before - counts[x]) & 1 else greatest
        counts[x] += np.int32(1) if ok[x] != 0 else np.int32(0)


@compiled
def _take(pixels: Any, ok: Any, instead: Any, row: Any) -> None:
    """Both are read before one is chosen: a load that depends on the choice would keep vector instructions away."""
    for x in range(ok.size):
        pixel, other = pixels[x], instead[x]
        row[x] = pixel + type(pixel)(0) if ok[x] != 0 else other


@compiled
def _exchange(rows: Any, pairs: Any, size: int) -> None:
    """Run a network over the first pixels of each row."""
    for c in range(pairs.shape[0]):
        a = rows[pairs[c, 0]][:size]
        b = rows[pairs[c, 1]][:size]
        if pairs[c, 2] == LESSER:
            for x in range(size):
                a[x] = b[x] if b[x] < a[x] else a[x]
        elif pairs[c, 2] == GREATER:
            for x in range(size):
                b[x] = a[x] if b[x] < a[x] else b[x]
        else:
            for x in range(size):
                p, q = a[x], b[x]
                a[x] = q if q < p else p
                b[x] = p if q < p else q


@compiled
def _middle(
    low: Any, high: Any, middle: Any, counts: Any, out: Any, fill: Any, zero: Any, whole: bool
) -> None:  # fmt: skip
    """Mean of the two middles, or the one; in float32 the sum of two 16-bit integers and its half are exact."""
    for x in range(out.size):
        mean = (zero + low[x] + high[x]) / (zero + type(zero)(2))
        if whole:
            mean = np.floor(mean)
        single = zero + middle[x]
        value = single if counts[x] & 1 else mean
        out[x] = value if counts[x] > 0 else fill


@compiled
def _rank(
    flat: Any, strides: Any, flags: Any, flag_strides: Any, out: Any, pairs: Any, rows: Any, ranks: Any, values: Any
) -> None:
    """Fill `out`. `rows` is scratch."""
    n, width = rows.shape
    counts = np.empty(width, np.int32)
    fill, greatest = values
    instead = np.full(width, greatest)
    h, w = out.shape[1:]
    for y in range(h):
        for first in range(0, w, width):
            size = min(width, w - first)
            start = y * flag_strides[1] + first
            counts[:size] = 0
            for i in range(n):
                ok = flags[start + i * flag_strides[0] :][:size]
                for x in range(size):
                    counts[x] += np.int32(1) if ok[x] != 0 else np.int32(0)
            for b in range(out.shape[0]):
                begin = b * strides[1] + y * strides[2] + first
                for i in range(n):
                    ok = flags[start + i * flag_strides[0] :][:size]
                    _take(flat[begin + i * strides[0] :][:size], ok, instead, rows[i])
                _exchange(rows, pairs, size)
                for x in range(size):
                    out[b, y, first + x] = rows[ranks[counts[x]], x] if counts[x] > 0 else fill

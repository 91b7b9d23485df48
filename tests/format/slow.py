"""The specification's arithmetic once more, pixel by pixel in plain Python: what the package is held to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def is_valid(value: Any, mask: int | None, nodata: float | None) -> bool:
    """Section 2.3, for one pixel."""
    if mask is not None:
        return mask == 1
    return nodata is None or value != nodata


def blocks(height: int, width: int) -> list[list[list[tuple[int, int]]]]:
    """For each pixel of the next level its four source pixels, in the order of section 6; the edge is repeated."""
    out = []
    for y in range((height + 1) // 2):
        row = []
        for x in range((width + 1) // 2):
            ys = (2 * y, min(2 * y + 1, height - 1))
            xs = (2 * x, min(2 * x + 1, width - 1))
            row.append([(i, j) for i in ys for j in xs])
        out.append(row)
    return out


def next_level(data: Array, mask: Array | None, nodata: float | None) -> Array:
    """Section 6, for data (band, y, x) and a mask (y, x)."""
    n_band, height, width = data.shape
    out = np.empty((n_band, (height + 1) // 2, (width + 1) // 2), data.dtype)
    for b in range(n_band):
        for y, row in enumerate(blocks(height, width)):
            for x, block in enumerate(row):
                valid = [
                    data[b, i, j].item()
                    for i, j in block
                    if is_valid(data[b, i, j].item(), None if mask is None else int(mask[i, j]), nodata)
                ]
                out[b, y, x] = mean(valid, data.dtype, nodata)
    return out


def mean(valid: Sequence[Any], dtype: np.dtype[Any], nodata: float | None) -> Any:
    """The mean of a block's valid pixels: floor of the exact quotient, or the float64 sum in order over the count."""
    if not valid:
        return dtype.type(0 if nodata is None else nodata)
    if dtype.kind in "iu":
        return dtype.type(sum(valid) // len(valid))
    total = 0.0
    for v in valid:
        total += v
    return np.float32(total / len(valid))


def next_mask(mask: Array) -> Array:
    """Section 2.4: 1 where any pixel of the block is 1."""
    return np.array([[max(mask[i, j] for i, j in b) for b in row] for row in blocks(*mask.shape)], np.uint8)


def next_coverage(coverage: Array) -> Array:
    """Section 2.5: the mean to the nearest integer, halves up, through the sum of the four."""
    table = [[(sum(int(coverage[i, j]) for i, j in b) + 2) // 4 for b in row] for row in blocks(*coverage.shape)]
    return np.array(table, np.uint8)


def nearest_anchor(t: int, anchors: Sequence[int]) -> int:
    """Section 4.2 step 2: look at every anchor; the earlier one wins a tie."""
    best = anchors[0]
    for a in anchors:
        if abs(a - t) < abs(best - t):
            best = a
    return best


def volatility(cube: Array, references: Sequence[int]) -> float:
    """Section 5, for one cell (time, band, y, x) without its padding."""
    total: int | float = 0
    count = 0
    for t, a in enumerate(references):
        if t == a:
            continue
        for source, anchor in zip(cube[t].ravel().tolist(), cube[a].ravel().tolist(), strict=True):
            total += abs(source - anchor)
            count += 1
    return min(max(total / count / 10000, 0.0), 1.0) if count else 0.0


def crc32c(data: bytes) -> int:
    """CRC-32C bit by bit: reflected polynomial 0x82F63B78."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF

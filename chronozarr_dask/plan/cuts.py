"""Where a raster may be cut, and the cut that comes nearest to a wanted size. Integers in, integers out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise

from chronozarr_dask.format.layout import ceil_div


def star_starts(references: Sequence[int]) -> tuple[int, ...]:
    """Timesteps where a star begins, and n_time: under the nearest-anchor schedule a star is one run of timesteps."""
    starts = [t for t in range(len(references)) if t == 0 or references[t] != references[t - 1]]
    return (*starts, len(references))


def time_positions(references: Sequence[int], shard_time: int | None) -> tuple[int, ...]:
    """Timesteps where a slab may begin or end: between stars when unsharded, between shards when sharded."""
    n = len(references)
    return star_starts(references) if shard_time is None else (*range(0, n, shard_time), n)


def cell_positions(n_cells: int, step: int) -> tuple[int, ...]:
    """Multiples of `step` cells, and the grid's end."""
    return (*range(0, n_cells, step), n_cells)


def on_blocks(cells: Iterable[int], boundaries: Sequence[int], chunk_size: int, size: int) -> tuple[int, ...]:
    """Those cell positions whose pixel is a boundary of the source's blocks; both ends stay."""
    allowed = set(boundaries)
    return tuple(c for c in cells if min(c * chunk_size, size) in allowed)


def nearest_cuts(positions: Sequence[int], target: int) -> tuple[int, ...]:
    """Cuts out of `positions` (sorted, both ends included), each interval the longest that is at most `target`.

    Where no position is near enough the interval is as short as the positions allow.
    """
    cuts = [positions[0]]
    while cuts[-1] != positions[-1]:
        at = bisect_right(positions, cuts[-1] + target) - 1
        here = bisect_right(positions, cuts[-1]) - 1
        cuts.append(positions[max(at, here + 1)])
    return tuple(cuts)


def longest(cuts: Sequence[int]) -> int:
    """The longest interval between cuts."""
    return max(b - a for a, b in pairwise(cuts))


def depth_of(cuts: Iterable[int], end: int, most: int) -> int:
    """The largest d, at most `most`, such that every inner cut is a multiple of 2^d."""
    d = most
    for c in cuts:
        if 0 < c < end:
            d = min(d, (c & -c).bit_length() - 1)
    return d


def at_level(n_cells: int, level: int) -> int:
    """Cells along an edge of `n_cells` level 0 cells, `level` levels higher."""
    return ceil_div(n_cells, 1 << level)

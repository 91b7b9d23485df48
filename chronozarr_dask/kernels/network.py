"""Which rows to compare and exchange, in which order, so that the rows asked for end up sorted: a sorting network.

A network sorts without looking at the outcome of a comparison, so one order serves all pixels of a row at once: that is
what lets the kernels of `median` use vector instructions. Batcher's merge exchange makes one for any number of rows,
about n (log2 n)^2 / 4 comparators: 41 for 12 rows, 82 for 18, 3,831 for 255. Per pixel that is less work than an
insertion sort at every n, since each comparator takes 16 or more pixels in one instruction; so there is no second way
for many observations.

A median does not need all rows sorted. Walking back from the rows that are asked for, a comparator that reaches none of
them is left out, and one that reaches them through one of its two rows need not write the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

BOTH, LESSER, GREATER = 0, 1, 2


@lru_cache(maxsize=256)
def network(n: int, wanted: frozenset[int]) -> npt.NDArray[np.int32]:
    """Comparators that put the right value into each wanted row.

    Parameters
    ----------
    n : int
        Number of rows.
    wanted : frozenset of int
        Ranks, from 0: after the network row r holds the value of rank r.

    Returns
    -------
    ndarray (comparator, 3), int32, read-only
        Row of the lesser, row of the greater, and what to write: BOTH, LESSER or GREATER alone.
    """
    needed = set(wanted)
    kept: list[tuple[int, int, int]] = []
    for low, high in reversed(list(_merge_exchange(n))):
        if low in needed or high in needed:
            kept.append((low, high, BOTH if {low, high} <= needed else LESSER if low in needed else GREATER))
            needed |= {low, high}
    out = np.array(kept[::-1], np.int32).reshape(-1, 3)
    out.flags.writeable = False
    return out


def _merge_exchange(n: int) -> Iterator[tuple[int, int]]:
    """Batcher's merge exchange for any n (Knuth, The Art of Computer Programming 3, algorithm 5.2.2M)."""
    largest = 1 << max(n - 1, 0).bit_length() >> 1
    p = largest
    while p:
        q, r, d = largest, 0, p
        while True:
            yield from ((i, i + d) for i in range(n - d) if i & p == r)
            if q == p:
                break
            d, q, r = q - p, q >> 1, p
        p >>= 1

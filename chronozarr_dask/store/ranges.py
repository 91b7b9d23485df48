"""Section 7.2: the inner chunks of one shard that are wanted, put together into few byte ranges::

shard    [t0][t1][t2]..gap..[t7][t8][index]          wanted: t0, t2, t7
ranges   <--------->        <-->                      t1 is cheaper fetched than asked around, the gap is not
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

GAP_BYTES = 512 * 2**10
"""Longest run of bytes that is fetched for nothing: what 25 MB/s brings in one round trip of 20 ms."""

RANGE_BYTES = 16 * 2**20
"""Longest range of more than one chunk: beyond this several connections are faster, and memory is bounded."""


@dataclass(frozen=True)
class Entry:
    """One inner chunk: its timestep, and where it is in the shard."""

    t: int
    offset: int
    nbytes: int

    @property
    def end(self) -> int:
        """The byte behind it."""
        return self.offset + self.nbytes


@dataclass(frozen=True)
class Range:
    """Bytes `start` to `stop` (exclusive) of a shard, and the chunks in them."""

    start: int
    stop: int
    entries: tuple[Entry, ...]


def coalesce(entries: Iterable[Entry], gap: int = GAP_BYTES, most: int = RANGE_BYTES) -> list[Range]:
    """Put chunks together into ranges, by offset.

    Parameters
    ----------
    entries : iterable of Entry
    gap : int
        Most bytes between two chunks of a range.
    most : int
        Most bytes of a range of more than one chunk.

    >>> [(r.start, r.stop, len(r.entries)) for r in coalesce([Entry(0, 0, 5), Entry(1, 6, 4), Entry(2, 90, 9)], 3, 50)]
    [(0, 10, 2), (90, 99, 1)]
    """
    out: list[Range] = []
    for entry in sorted(entries, key=lambda e: (e.offset, e.t)):
        if out:
            last = out[-1]
            stop = max(last.stop, entry.end)
            if entry.offset - last.stop <= gap and stop - last.start <= most:
                out[-1] = Range(last.start, stop, (*last.entries, entry))
                continue
        out.append(Range(entry.offset, entry.end, (entry,)))
    return out

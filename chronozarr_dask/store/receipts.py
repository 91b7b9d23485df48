"""What a finished region leaves behind: what was stored of each of its arrays, and its sums."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

JOURNAL_VERSION = 1


@dataclass(frozen=True)
class Stored:
    """What was stored of one array in one region, in the plan's order.

    Attributes
    ----------
    lengths : tuple of int
        Bytes of each object, 0 for one that is left out.
    checksums : tuple of int
        crc32c of each object, 0 for one that is left out.
    """

    lengths: tuple[int, ...]
    checksums: tuple[int, ...]

    @classmethod
    def joined(cls, rows: Sequence[Stored]) -> Stored:
        """Of several rows of cells, top to bottom."""
        return cls(tuple(n for r in rows for n in r.lengths), tuple(c for r in rows for c in r.checksums))


@dataclass(frozen=True)
class Receipt:
    """What a finished region leaves: its objects in the plan's order, and its volatility sums.

    Attributes
    ----------
    region : str
        Its name.
    arrays : tuple of Stored
        One for each of the region's arrays.
    changes : list
        Pass 0: one list of sums per level 0 cell (5). Else empty.
    values : list
        Pass 0: the few values that each band takes in the region, None where they are many. Else empty.
    """

    region: str
    arrays: tuple[Stored, ...]
    changes: Sequence[Sequence[int | float]] = ()
    values: Sequence[Sequence[int] | None] = ()

    def pack(self) -> bytes:
        """The receipt as JSON bytes."""
        doc = {
            "journal_version": JOURNAL_VERSION,
            "region": self.region,
            "lengths": [a.lengths for a in self.arrays],
            "crc32c": [a.checksums for a in self.arrays],
            "changes": self.changes,
            "values": self.values,
        }
        return json.dumps(doc, separators=(",", ":")).encode()

    @classmethod
    def unpack(cls, blob: bytes) -> Receipt | None:
        """Inverse of `pack`; None for a receipt that was torn while it was written: its region is then not done."""
        try:
            doc = json.loads(blob)
        except ValueError:
            return None
        arrays = tuple(Stored(tuple(n), tuple(c)) for n, c in zip(doc["lengths"], doc["crc32c"], strict=True))
        return cls(doc["region"], arrays, doc["changes"], doc["values"])

    @property
    def n_objects(self) -> int:
        """Objects that were stored."""
        return sum(1 for a in self.arrays for n in a.lengths if n)

    @property
    def n_bytes(self) -> int:
        """Bytes that were stored."""
        return sum(n for a in self.arrays for n in a.lengths)

"""What the attempts of a run add up to: each has left what it took, unless its process was killed.

What is stored is not added up here: the receipts tell it, whoever wrote them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Attempt = Mapping[str, Any]


def seconds_by_stage(attempts: Sequence[Attempt]) -> dict[str, float]:
    """Wall time of each stage in all attempts."""
    out: dict[str, float] = {}
    for attempt in attempts:
        for stage, seconds in attempt["seconds_by_stage"].items():
            out[stage] = out.get(stage, 0.0) + seconds
    return out


def in_all(attempts: Sequence[Attempt], name: str) -> int:
    """Sum of one count: regions, objects, bytes or bytes_in."""
    return sum(int(attempt["attempt"][name]) for attempt in attempts)


def staged_bytes(attempts: Sequence[Attempt]) -> int:
    """Bytes of the source that all attempts have kept in the journal."""
    return sum(int(attempt.get("staged_bytes", 0)) for attempt in attempts)


def untold_regions(attempts: Sequence[Attempt]) -> int:
    """Regions that an attempt found stored, beyond those that the one before it had told of.

    A process that was killed left them, and no report: nobody knows what they took.
    """
    n, told = 0, 0
    for attempt in attempts:
        found = attempt["regions_done"] - attempt["attempt"]["regions"]
        n, told = n + max(0, found - told), attempt["regions_done"]
    return n

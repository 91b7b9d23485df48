"""Predicates that take any parsed JSON, and the vote that finds out which of several places is wrong."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, TypeGuard, TypeVar

T = TypeVar("T", bound=Hashable)

_HUGE = 1e300  # far beyond any coordinate, and below what float() of a long integer overflows at
_MAX_SIZE = 2**53
_MAX_NAME = 80  # characters; file systems take 255 bytes
_REL = 1e-9


def is_number(value: Any) -> TypeGuard[int | float]:
    """Whether `value` is a finite JSON number. A bool is none."""
    return type(value) in (int, float) and -_HUGE < value < _HUGE


def is_sizes(value: Any, n: int) -> TypeGuard[list[int]]:
    """Whether `value` is a list of `n` positive integers."""
    return isinstance(value, list) and len(value) == n and all(type(v) is int and 0 < v < _MAX_SIZE for v in value)


def is_numbers(value: Any, n: int) -> TypeGuard[list[float]]:
    """Whether `value` is a list of `n` finite numbers."""
    return isinstance(value, list) and len(value) == n and all(is_number(v) for v in value)


def is_text(value: Any) -> TypeGuard[str]:
    """Whether `value` is a text that is not empty."""
    return isinstance(value, str) and bool(value)


def is_key(path: Any) -> TypeGuard[str]:
    """Whether `path` can be asked of any target: short printable names between slashes, none that leaves the store."""
    if not isinstance(path, str):
        return False
    parts = path.split("/")
    return all(0 < len(p) <= _MAX_NAME and p.isprintable() and p not in (".", "..") for p in parts)


def as_mapping(value: Any) -> Mapping[str, Any]:
    """`value` when it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def close(a: Iterable[float], b: Iterable[float], scale: float) -> bool:
    """Whether numbers agree up to rounding; `scale` is a length (a pixel) next to which a difference is nothing."""
    return all(math.isclose(x, y, rel_tol=_REL, abs_tol=_REL * scale) for x, y in zip(a, b, strict=True))


def same_json(a: Any, b: Any) -> bool:
    """Whether two JSON values are equal; true is not 1, but 1 is 1.0."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same_json(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same_json(x, y) for x, y in zip(a, b, strict=True))
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


def vote(candidates: Iterable[T | None]) -> T | None:
    """The value that most places agree on, the first of several; None where no place has one.

    One thing is written in many places of a store. Whichever place then differs from the vote is the one to mend, so
    that one fault is reported once, where it is.
    """
    counts = Counter(c for c in candidates if c is not None)
    return counts.most_common(1)[0][0] if counts else None

"""Observations to try kernels with, and the same arithmetic pixel by pixel in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.format.strategies import masks, values
from tests.kernels.views import Array, few, sizes

DTYPES = ("uint8", "uint16", "int16", "float32")
OfPixel = Callable[[list[Any]], Any]


@st.composite
def observations(draw: st.DrawFn, dtype: str, least: int = 0) -> tuple[Array, Array]:
    """A stack (observation, band, y, x) and its validity (observation, y, x)."""
    shape = (draw(st.integers(least, 7)), draw(few), draw(sizes), draw(sizes))
    stack = draw(hnp.arrays(dtype, shape, elements=values(dtype)))
    return stack, draw(masks((shape[0], *shape[2:])))


def many(dtype: str, n: int, size: tuple[int, int] = (5, 150), share: float = 0.6) -> tuple[Array, Array]:
    """Random bits, so that every value of the dtype occurs; some pixels without an observation."""
    rng = np.random.default_rng(n)
    raw = rng.integers(0, 256, (n, 2, *size, np.dtype(dtype).itemsize), np.uint8)
    stack = raw.view(dtype)[..., 0]
    if dtype == "float32":
        stack[~np.isfinite(stack)] = -0.0
    valid = (rng.random((n, *size)) < share).astype(np.uint8)
    valid[:, 0, :3] = 0
    return stack, valid


def pixel_by_pixel(stack: Array, valid: Array, fill: Any, value: OfPixel) -> Array:
    """Of each pixel the value of its valid observations, in their order, as Python numbers."""
    out = np.empty(stack.shape[1:], stack.dtype)
    for b, y, x in np.ndindex(out.shape):
        seen = [stack[i, b, y, x].item() for i in range(len(stack)) if valid[i, y, x]]
        out[b, y, x] = value(seen) if seen else fill
    return out


def median(seen: list[Any]) -> Any:
    ordered = sorted(v + 0 for v in seen)
    a, b = ordered[(len(seen) - 1) // 2], ordered[len(seen) // 2]
    return (a + b) // 2 if isinstance(a, int) else np.float32((a + b) / 2 + 0.0)


def mean(seen: list[Any]) -> Any:
    if isinstance(seen[0], int):
        return sum(seen) // len(seen)
    total = 0.0
    for v in seen:
        total += v
    return np.float32(total / len(seen))


def percentile(p: int) -> OfPixel:
    def of(seen: list[Any]) -> Any:
        return sorted(v + 0 for v in seen)[max(1, ceil(Fraction(p * len(seen), 100))) - 1] + 0

    return of


def ranks(p: int, n: int) -> list[int]:
    return [max(1, ceil(Fraction(p * k, 100))) - 1 for k in range(n + 1)]


def first(seen: list[Any]) -> Any:
    return seen[0]


def same_numbers(one: Array, other: Array) -> bool:
    """Equal in dtype, shape and every bit, but for the sign of zero."""
    return one.dtype == other.dtype and one.shape == other.shape and bool(np.array_equal(one, other))


def same_bits(one: Array, other: Array) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def column(dtype: str, *series: Sequence[Any]) -> tuple[Array, Array]:
    """One pixel for each series, in one band and row; None is an invalid observation with a value that would show."""
    n = max(map(len, series))
    padded = [[*s, *[None] * (n - len(s))] for s in series]
    stack = np.array([[1 if v is None else v for v in s] for s in padded], dtype)
    valid = np.array([[v is not None for v in s] for s in padded])
    return stack.T[:, None, None], valid.T[:, None].astype(np.uint8)

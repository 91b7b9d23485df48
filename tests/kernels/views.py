"""The ways in which the same pixels may lie in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.format.strategies import values

Array = npt.NDArray[Any]
Way = Callable[[Array], Array]

sizes = st.integers(1, 9)
few = st.integers(1, 3)


def dense(a: Array) -> Array:
    return np.ascontiguousarray(a)


def window(a: Array) -> Array:
    """In the middle of a larger array."""
    larger = np.full([n + 3 for n in a.shape], 77, a.dtype)
    inner = larger[tuple(slice(1, 1 + n) for n in a.shape)]
    inner[...] = a
    return inner


def flipped(a: Array) -> Array:
    """Rows from south to north in memory."""
    return np.ascontiguousarray(a[..., ::-1, :])[..., ::-1, :]


def bands_last(a: Array) -> Array:
    """The second axis is the innermost one in memory."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1)


def every_second(a: Array) -> Array:
    return np.repeat(a, 2, axis=-1)[..., ::2]


def other_byte_order(a: Array) -> Array:
    return a.astype(a.dtype.newbyteorder())


def unaligned(a: Array) -> Array:
    return np.frombuffer(b"\0" + a.tobytes(), a.dtype, offset=1).reshape(a.shape)


def read_only(a: Array) -> Array:
    return np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape)


WAYS = (dense, window, flipped, bands_last, every_second, other_byte_order, unaligned, read_only)
ways = st.sampled_from(WAYS)


@st.composite
def stacks(draw: st.DrawFn, dtype: str) -> Array:
    """Pixels (time, band, y, x), dense."""
    shape = (draw(few), draw(few), draw(sizes), draw(sizes))
    return draw(hnp.arrays(dtype, shape, elements=values(dtype)))

"""Section 5: one float32 per level 0 cell, the mean absolute change against the anchors over 10000, clipped to 0..1.

Every pixel of the cell counts, invalid ones too; padding never does. Integers are summed exactly; float32 in float64,
one sum per non-anchor timestep over the unpadded cell in C order, added with `math.fsum`: so the value does not depend
on how the work was cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

DIVISOR = 10000


def change_sum(source: npt.NDArray[Any], anchor: npt.NDArray[Any]) -> int | float:
    """Sum of |source - anchor| over one timestep of one cell.

    Parameters
    ----------
    source, anchor : ndarray (band, h, w), the same dtype
        The cell cut to the array's shape.

    Returns
    -------
    int (exact) for integer dtypes, float for float32
    """
    if source.dtype.kind == "f":
        change = np.abs(source.astype(np.float64) - anchor.astype(np.float64))
        return float(np.cumsum(change.ravel(order="C"))[-1])  # cumsum adds one after the other, sum does not
    return int(np.abs(source.astype(np.int32) - anchor.astype(np.int32)).sum(dtype=np.int64))


def volatility(sums: Iterable[int | float], n_values: int) -> np.float32:
    """Volatility of a cell.

    Parameters
    ----------
    sums : iterable of int or float
        `change_sum` of each non-anchor timestep.
    n_values : int
        Number of values behind all of them: timesteps x bands x pixels; 0 when there is no non-anchor timestep.
    """
    items: Sequence[int | float] = list(sums)
    if not n_values:
        return np.float32(0)
    total = math.fsum(items) if any(isinstance(s, float) for s in items) else sum(items)
    return np.float32(min(max(total / n_values / DIVISOR, 0.0), 1.0))

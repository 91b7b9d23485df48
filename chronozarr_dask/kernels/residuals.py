"""Section 4.2, step 4: the residuals of a run of timesteps.

numpy alone: its subtraction runs at the speed of memory. Six timesteps of 4 x 512 x 512 uint16 took 0.8 ms, the same
loop in numba 1.5 ms (November 2026).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def residuals(data: npt.NDArray[Any], anchor_of: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """What a star-delta store keeps: `format.temporal.residual` of every timestep that is not an anchor.

    Parameters
    ----------
    data : ndarray (time, band, y, x), uint8 or uint16
        True values; may be a window of a larger array.
    anchor_of : ndarray (time,), intp
        For each timestep of `data` the index within `data` of its anchor; its own index if it is one.

    Returns
    -------
    ndarray of the same shape and dtype, C-contiguous
        ``(data[t] - data[anchor_of[t]]) mod 2^bits``, and ``data[t]`` itself where t is an anchor.
    """
    assert data.dtype.kind == "u", f"residuals of {data.dtype}: star-delta is for uint8 and uint16 (2.3)"
    out = np.empty(data.shape, data.dtype)
    for t, anchor in enumerate(anchor_of):
        if anchor == t:
            out[t] = data[t]
        else:
            np.subtract(data[t], data[anchor], out=out[t])
    return out

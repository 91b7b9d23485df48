"""Section 14: what an append adds and what stays as it is, as pure functions.

New timesteps refer to the nearest anchor that exists after the append; the reference of a timestep that is already
written never changes, so a star may have holes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from chronozarr_dask.errors import InputError, StoreError
from chronozarr_dask.format.layout import ceil_div
from chronozarr_dask.format.temporal import NOMINAL_ANCHOR_INTERVAL, Temporal, anchors, nearest_anchor, references
from chronozarr_dask.format.times import render_time
from chronozarr_dask.format.volatility import DIVISOR


def check_after(old_times: Sequence[int], new_times: Sequence[int]) -> None:
    """Raise InputError unless every new timestep (ms) is after the last one of the store."""
    if new_times and new_times[0] <= old_times[-1]:
        raise InputError(
            f"the first new timestep is {render_time(new_times[0])}, the store ends at {render_time(old_times[-1])}: "
            f"an append only adds later timesteps (section 14); leave the earlier ones out"
        )


def grow_temporal(temporal: Temporal, n_old: int, n_new: int) -> Temporal:
    """The ``temporal`` block after `n_new` timesteps joined `n_old`: recorded references stay as they are."""
    if temporal.encoding == "none":
        return temporal
    interval = temporal.anchor_interval
    if interval is None:
        raise StoreError("a star-delta store has no anchor_interval (4.1)")
    n = n_old + n_new
    deltas = dict(temporal.delta_reference)
    for t in range(n_old, n):
        anchor = nearest_anchor(t, n, interval)
        if anchor != t:
            deltas[t] = anchor
    added = tuple(a for a in anchors(n, interval) if a >= n_old)
    return replace(temporal, anchor_indices=temporal.anchor_indices + added, delta_reference=deltas)


def volatility_references(temporal: Temporal, batches: Sequence[int]) -> list[int]:
    """Reference of every timestep by which volatility is defined, after a first encode and appends.

    Parameters
    ----------
    temporal : Temporal
        After the last append.
    batches : sequence of int
        Timesteps of the first encode and of each append.

    Returns
    -------
    list of int
        `t` itself where `t` is an anchor. A ``none`` store uses interval 6, each batch over the timesteps that existed
        after it.
    """
    n = sum(batches)
    if temporal.encoding == "star-delta":
        return [temporal.reference(t) for t in range(n)]
    out: list[int] = []
    for count in batches:
        total = len(out) + count
        out.extend(references(total, NOMINAL_ANCHOR_INTERVAL)[len(out) :].tolist())
    return out


def grow_volatility(old: np.float32, n_old_values: int, new_sum: int | float, n_new_values: int) -> np.float32:
    """A cell's volatility after new deltas join its mean (14).

    Parameters
    ----------
    old : float32
        As stored. A stored 1.0 was clipped, and its true mean is lost: it joins as 1.0.
    n_old_values, n_new_values : int
        Values (non-anchor timesteps x bands x pixels) behind the old and the new sum.
    new_sum : int or float
        Sum of absolute changes of the new non-anchor timesteps.
    """
    total = n_old_values + n_new_values
    if not total:
        return np.float32(0)
    mean = (float(old) * DIVISOR * n_old_values + new_sum) / total
    return np.float32(min(max(mean / DIVISOR, 0.0), 1.0))


def rewritten_shard(n_old: int, shard_time: int) -> int | None:
    """Time shard that already exists and gains timesteps, or None when the old axis ends at a shard's end (14)."""
    return None if n_old % shard_time == 0 else n_old // shard_time


def written_objects_t(n_old: int, n_new: int, shard_time: int | None) -> range:
    """Time indices of the chunk or shard objects that an append writes, for every cell and level."""
    step = shard_time or 1
    return range(n_old // step, ceil_div(n_old + n_new, step))

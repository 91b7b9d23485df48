"""Which timestep a caller means: a position, or a time that names it exactly."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import InputError

Time = int | np.integer[Any] | str | np.datetime64 | datetime


def timestep(t: Time, times: npt.NDArray[np.datetime64]) -> int:
    """Position of a timestep.

    Parameters
    ----------
    t : int, str, datetime64 or datetime
        A position (negative ones count from the end), or a time: in UTC where it has no zone.
    times : ndarray of datetime64

    Raises
    ------
    InputError
        If there is no such timestep; names the range.
    """
    n = len(times)
    if isinstance(t, (int, np.integer)) and not isinstance(t, bool):
        if not -n <= t < n:
            raise InputError(f"timestep {t} does not exist: the store has 0 to {n - 1} (or {-n} to -1)")
        return int(t) % n
    moment = _moment(t)
    found = np.flatnonzero(times == moment)
    if not len(found):
        nearest = times[int(np.argmin(np.abs(times - moment)))]
        raise InputError(
            f"no timestep is at {t}: there are {n} from {times[0]} to {times[-1]}, the nearest is {nearest}"
        )
    return int(found[0])


def _moment(t: Any) -> np.datetime64:
    """A time as datetime64, UTC."""
    if isinstance(t, str):
        try:
            t = datetime.fromisoformat(t)
        except ValueError as error:
            raise InputError(f"t is {t!r}: not a timestep's number, and not an ISO-8601 time: {error}") from error
    if isinstance(t, datetime):
        t = np.datetime64(t.astimezone(UTC).replace(tzinfo=None) if t.tzinfo else t)
    if not isinstance(t, np.datetime64) or np.isnat(t):
        raise InputError(f"t is {t!r}: give a timestep's number, an ISO-8601 text or a datetime64")
    return t

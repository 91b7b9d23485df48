"""Periods of the calendar, in UTC: which of them a moment falls in, when each begins, what people call it.

A timestep is the first millisecond of its period. Periods of a kind are numbered without gaps, so that the next of a
month is plus one; the number is counted from 1970 and nobody sees it::

    kind     number                   begins on
    month    months since 1970        the 1st
    quarter  quarters since 1970      the 1st of January, April, July, October
    year     years since 1970         the 1st of January
    dekad    3 x month + 0, 1, 2      the 1st, the 11th, the 21st (which has 8 to 11 days)
    day      days since 1970          midnight
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

import numpy as np

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.times import render_time

Period = Literal["month", "quarter", "year", "dekad", "day"]
PERIODS: tuple[Period, ...] = get_args(Period)
ADJECTIVES: dict[Period, str] = {
    "month": "monthly", "quarter": "quarterly", "year": "yearly", "dekad": "dekadal", "day": "daily",
}  # fmt: skip
"""As in the provenance: "monthly median"."""

_DEKAD_DAYS = (1, 11, 21)


def start_of(kind: Period, ms: int) -> int:
    """First millisecond of the period that a moment falls in; both in milliseconds since 1970, UTC."""
    return _start(kind, _number(kind, ms))


def timesteps(kind: Period, start_ms: int, end_ms: int, times: Iterable[int] = ()) -> tuple[int, ...]:
    """Every period that the range touches, empty ones too; of days only those with a scene.

    Parameters
    ----------
    kind : Period
    start_ms, end_ms : int
        The range asked for, milliseconds since 1970; the end is not part of it.
    times : iterable of int
        Times of the scenes; looked at for "day" alone. Those outside of the range are passed over.

    Returns
    -------
    tuple of int
        First millisecond of each period, increasing. The first one may lie before `start_ms`.

    Raises
    ------
    InputError
        If the range is empty.
    """
    if end_ms <= start_ms:
        raise InputError(
            f"the period from {render_time(start_ms)} to {render_time(end_ms)} is empty: its end has to be after its "
            f"start, and is not part of it"
        )
    if kind == "day":
        return tuple(sorted({start_of(kind, ms) for ms in times if start_ms <= ms < end_ms}))
    numbers = range(_number(kind, start_ms), _number(kind, end_ms - 1) + 1)
    return tuple(_start(kind, number) for number in numbers)


def members(kind: Period, steps: Sequence[int], times: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Which scenes make each timestep.

    Parameters
    ----------
    kind : Period
    steps : sequence of int
        As from `timesteps`.
    times : sequence of int
        Of the scenes, in any order.

    Returns
    -------
    tuple of tuples of int
        For each timestep the indices into `times`, in their order there; a scene of no timestep is in none.
    """
    found: dict[int, list[int]] = {step: [] for step in steps}
    for i, ms in enumerate(times):
        found.get(start_of(kind, ms), []).append(i)
    return tuple(tuple(found[step]) for step in steps)


def label(kind: Period, ms: int) -> str:
    """What people call the period of a moment: 2024-02, 2024-Q1, 2024, 2024-02-11."""
    date = render_time(start_of(kind, ms))[:10]
    if kind == "quarter":
        return f"{date[:4]}-Q{int(date[5:7]) // 3 + 1}"
    return date[: {"month": 7, "year": 4}.get(kind, 10)]


def _number(kind: Period, ms: int) -> int:
    """Number of the period that a moment falls in. numpy rounds down to a unit before 1970 too."""
    moment = np.datetime64(ms, "ms")
    if kind == "day":
        return _count(moment, "D")
    if kind == "year":
        return _count(moment, "Y")
    month = _count(moment, "M")
    if kind == "month":
        return month
    if kind == "quarter":
        return month // 3
    day = _count(moment, "D") - _count(np.datetime64(month, "M"), "D") + 1
    return 3 * month + sum(day >= first for first in _DEKAD_DAYS) - 1


def _start(kind: Period, number: int) -> int:
    """First millisecond of a period."""
    if kind == "dekad":
        month, third = divmod(number, 3)
        return _count(np.datetime64(month, "M"), "ms") + (_DEKAD_DAYS[third] - 1) * 86_400_000
    if kind == "quarter":
        return _count(np.datetime64(3 * number, "M"), "ms")
    unit: Literal["D", "Y", "M"] = "D" if kind == "day" else "Y" if kind == "year" else "M"
    return _count(np.datetime64(number, unit), "ms")


def _count(moment: np.datetime64, unit: str) -> int:
    """Whole units since 1970."""
    return int(moment.astype(f"datetime64[{unit}]").astype(np.int64))

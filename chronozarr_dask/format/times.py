"""Section 2.2: timestamps, int64 milliseconds since the Unix epoch, and their ISO-8601 rendering (3.2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from chronozarr_dask.errors import InputError, StoreError

TIME_UNITS = "milliseconds since 1970-01-01T00:00:00"
TIME_CALENDAR = "proleptic_gregorian"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_ISO = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)(T(?P<time>\d\d:\d\d(:\d\d)?)(\.(?P<decimals>\d{1,9}))?(?P<zone>Z|[+-]\d\d:?\d\d)?)?",
    re.ASCII,
)


def render_time(ms: int) -> str:
    """ISO-8601 in UTC: ``YYYY-MM-DDTHH:MM:SSZ``, with three decimals when there are milliseconds.

    Raises
    ------
    InputError
        If the year is not between 1 and 9999.
    """
    try:
        moment = _EPOCH + timedelta(milliseconds=ms)
    except OverflowError as error:
        raise InputError(f"time {ms} ms since 1970 is outside of the years 1 to 9999") from error
    text = f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}"
    return f"{text}.{moment.microsecond // 1000:03d}Z" if ms % 1000 else f"{text}Z"


def parse_time(text: str) -> int:
    """Milliseconds since the epoch of an entry of ``chronozarr.times``.

    Other writers may leave out the zone (UTC is meant) or the time of day, or write more decimals.

    Raises
    ------
    StoreError
        If it is not ISO-8601, or not a whole number of milliseconds.
    """
    match = _ISO.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise StoreError(f"chronozarr.times has {text!r}: not an ISO-8601 timestamp like 2024-01-01T00:00:00Z (3.2)")
    decimals = (match["decimals"] or "").ljust(9, "0")
    if decimals[3:].strip("0"):
        raise StoreError(f"chronozarr.times has {text!r}: time is in whole milliseconds (2.2, 3.2)")
    try:
        moment = datetime.fromisoformat(f"{match['date']}T{match['time'] or '00:00'}{match['zone'] or 'Z'}")
        return (moment - _EPOCH) // _MILLISECOND + int(decimals[:3])
    except (ValueError, OverflowError) as error:
        raise StoreError(f"chronozarr.times has {text!r}: {error} (3.2)") from error


def check_increasing(ms: Sequence[int]) -> None:
    """Raise InputError unless there is a timestep and each is later than the one before (2.2)."""
    if not len(ms):
        raise InputError("the input has no timestep: give at least one")
    for i in range(1, len(ms)):
        if ms[i] <= ms[i - 1]:
            raise InputError(
                f"times do not increase: timestep {i} ({render_time(int(ms[i]))}) is not after timestep {i - 1} "
                f"({render_time(int(ms[i - 1]))}); sort by time and merge duplicates first"
            )

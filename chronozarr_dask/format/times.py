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
_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?(Z|[+-]\d\d:?\d\d)")


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
    """Milliseconds since the epoch of an entry of ``chronozarr.times``; StoreError if it is not ISO-8601."""
    if not isinstance(text, str) or not _ISO.fullmatch(text):
        raise StoreError(f"chronozarr.times has {text!r}: not an ISO-8601 timestamp like 2024-01-01T00:00:00Z (3.2)")
    try:
        return (datetime.fromisoformat(text) - _EPOCH) // _MILLISECOND
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

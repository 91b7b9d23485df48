"""Section 2.2: timestamps of an input as int64 milliseconds, exactly, or an error that names the one that cannot be.

Timestamps come as datetime64 of any unit, as ISO-8601 text, as datetime or cftime objects, or as numbers with CF units
(``days since 1990-01-01``). Nothing is rounded but the last bits of a floating-point number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import xarray as xr

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.times import check_increasing, render_time
from chronozarr_dask.source.packing import unpacked

CALENDARS = frozenset({"standard", "gregorian", "proleptic_gregorian"})

_EPOCH = datetime(1970, 1, 1)
_GREGORIAN = datetime(1582, 10, 15)
_UNITS = re.compile(
    r"\s*(?P<unit>[a-zA-Z]+)\s+since\s+(?P<y>\d{1,4})-(?P<mo>\d{1,2})-(?P<d>\d{1,2})"
    r"(?:[T\s]+(?P<h>\d{1,2})(?::(?P<mi>\d{1,2})(?::(?P<s>\d{1,2})(?:\.(?P<f>\d*))?)?)?)?"
    r"\s*(?P<zone>Z|UTC|GMT|[+-]\d{1,2}:?\d{2}|[+-]\d{1,2})?\s*",
    re.IGNORECASE,
)
_MS_OF_UNIT: dict[str, Fraction] = {
    name: ms
    for names, ms in (
        ("nanosecond nanoseconds nanosec nanosecs ns nsec nsecs", Fraction(1, 1_000_000)),
        ("microsecond microseconds microsec microsecs us", Fraction(1, 1_000)),
        ("millisecond milliseconds millisec millisecs ms msec msecs", Fraction(1)),
        ("second seconds sec secs s", Fraction(1_000)),
        ("minute minutes min mins", Fraction(60_000)),
        ("hour hours hr hrs h", Fraction(3_600_000)),
        ("day days d", Fraction(86_400_000)),
    )
    for name in names.split()
}
_MONTH = re.compile(r"\d{4}-\d\d")
_FRACTION = re.compile(r"[.,](\d+)")


def decode_times(coordinate: xr.DataArray | None, n_time: int) -> tuple[int, ...]:
    """Milliseconds since the epoch of each timestep, strictly increasing.

    Parameters
    ----------
    coordinate : DataArray (time,) or None
        Values and attributes as xarray has them, decoded or not.
    n_time : int
        Length of the time axis.

    Raises
    ------
    InputError
        If there is no coordinate, its values have no unit, one is missing or finer than a millisecond, the calendar is
        not the usual one, or they do not increase.
    """
    if coordinate is None:
        raise InputError(
            f"the time axis, of length {n_time}, has no coordinate: give each timestep its moment, for example "
            f"cube.assign_coords(time=pandas.date_range('2024-01-01', periods={n_time}, freq='MS'))"
        )
    kind = coordinate.dtype.kind
    if getattr(coordinate.dtype, "tz", None) is not None:  # a pandas index with a time zone
        ms = _of_datetime64(coordinate.to_index().tz_convert(None).to_numpy())
    elif kind == "M":
        ms = _of_datetime64(np.asarray(coordinate.values))
    elif kind in "iuf":
        ms = _of_numbers(coordinate)
    else:
        ms = [_of_object(v, i) for i, v in enumerate(coordinate.values.tolist())]
    check_increasing(ms)
    for value in (ms[0], ms[-1]):
        render_time(value)
    return tuple(ms)


def _too_fine(i: int, value: object) -> InputError:
    return InputError(
        f"timestep {i} is {value}: finer than a millisecond, which is what the format keeps (section 2.2); "
        f"round it first, for example cube.assign_coords(time=cube.time.dt.floor('ms'))"
    )


def _missing(i: int) -> InputError:
    return InputError(f"timestep {i} has no time (NaT, NaN or the fill value): give it one, or leave it out with isel")


def _of_datetime64(values: np.ndarray[Any, np.dtype[Any]]) -> list[int]:
    missing = np.isnat(values)
    if missing.any():
        raise _missing(int(missing.argmax()))
    ms = values.astype("datetime64[ms]")
    fine = ms != values
    if fine.any():
        i = int(fine.argmax())
        raise _too_fine(i, values[i])
    return [int(v) for v in ms.astype(np.int64)]


def _of_numbers(coordinate: xr.DataArray) -> list[int]:
    """Decode numbers by CF ``units`` and ``calendar``."""
    units, calendar = coordinate.attrs.get("units"), str(coordinate.attrs.get("calendar", "standard")).lower()
    if not isinstance(units, str) or " since " not in units:
        raise InputError(
            f"the time coordinate {str(coordinate.name)!r} holds plain numbers ({coordinate.values[0]}, ...) and no "
            f"unit: give it datetime64 values, or attrs['units'] like 'days since 1970-01-01'"
        )
    _check_calendar(calendar)
    origin, step = _parse_units(units, calendar)
    values, fill = unpacked(coordinate), coordinate.attrs.get("_FillValue", coordinate.attrs.get("missing_value"))
    stored = np.asarray(coordinate.values)
    out = []
    for i, value in enumerate(values.tolist()):
        if value != value or (fill is not None and stored[i] == np.asarray(fill).ravel()[0]):
            raise _missing(i)
        exact = origin + Fraction(value) * step
        ms = round(exact)
        # A number like 16450 + 1/3 days cannot be held exactly: what its own last bits stand for is not a fraction of a
        # millisecond that anybody meant.
        noise = 2 * Fraction(float(np.spacing(abs(values[i])))) * step if values.dtype.kind == "f" else Fraction(0)
        if abs(exact - ms) > noise:
            raise _too_fine(i, f"{value} {units}")
        out.append(ms)
    return out


def _check_calendar(calendar: str) -> None:
    if calendar.lower() not in CALENDARS:
        raise InputError(
            f"times are in the calendar {calendar!r}, which has days that the usual calendar has not, or lacks some: "
            f"convert them first, for example cube.convert_calendar('standard', align_on='date')"
        )


def _parse_units(units: str, calendar: str) -> tuple[Fraction, Fraction]:
    """(milliseconds since the epoch of the reference date, milliseconds of one unit)."""
    match = _UNITS.fullmatch(units)
    step = match and _MS_OF_UNIT.get(match["unit"] if match["unit"] == "ms" else match["unit"].lower())
    if match is None or step is None:
        raise InputError(
            f"time units {units!r} are not understood: use days, hours, minutes, seconds or milliseconds since a date, "
            f"as in 'days since 1970-01-01' (a month or a year has no fixed length); or give datetime64 values"
        )
    try:
        days = _days_since_epoch(int(match["y"]), int(match["mo"]), int(match["d"]), calendar)
        clock = time(int(match["h"] or 0), int(match["mi"] or 0), int(match["s"] or 0))
    except ValueError as error:
        raise InputError(f"time units {units!r} have no valid date: {error}") from error
    seconds = days * 86_400 + clock.hour * 3_600 + clock.minute * 60 + clock.second - _zone_seconds(match["zone"])
    return (seconds + Fraction(int(match["f"] or 0), 10 ** len(match["f"] or ""))) * 1_000, step


def _days_since_epoch(year: int, month: int, day: int, calendar: str) -> int:
    """Days from 1970-01-01. CF: dates before 15 October 1582 are Julian, unless the calendar is proleptic_gregorian."""
    date = datetime(year, month, day)
    days = date.toordinal() - _EPOCH.toordinal()
    if calendar == "proleptic_gregorian" or date >= _GREGORIAN:
        return days
    centuries = (year - 1) // 100 if month < 3 else year // 100
    return days + centuries - centuries // 4 - 2


def _zone_seconds(text: str | None) -> int:
    if text is None or text.upper() in {"Z", "UTC", "GMT"}:
        return 0
    digits = text[1:].replace(":", "")
    hours, minutes = (int(digits), 0) if len(digits) <= 2 else (int(digits[:-2]), int(digits[-2:]))
    return (hours * 3_600 + minutes * 60) * (-1 if text[0] == "-" else 1)


def _of_object(value: Any, i: int) -> int:
    """One timestep given as text, a datetime (or pandas Timestamp) or a cftime object."""
    if value is None or value != value:
        raise _missing(i)
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        return _of_text(value, i)
    if isinstance(value, datetime):
        return _of_fields(value, i, getattr(value, "nanosecond", 0))
    if isinstance(value, np.datetime64):
        return _of_datetime64(np.asarray([value]))[0]
    if hasattr(value, "calendar") and hasattr(value, "microsecond"):  # cftime, without importing it
        _check_calendar(value.calendar)
        fields = (value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
        if value.calendar != "proleptic_gregorian" and fields[:3] < (1582, 10, 15):
            raise InputError(
                f"timestep {i} is {value} in the calendar {value.calendar!r}, which is Julian before 1582-10-15: "
                f"convert it first with cube.convert_calendar('proleptic_gregorian')"
            )
        return _of_fields(datetime(*fields), i)
    raise InputError(
        f"timestep {i} is {value!r}, of type {type(value).__name__}: times must be datetime64, ISO-8601 text, or "
        f"numbers with units like 'days since 1970-01-01'"
    )


def _of_text(text: str, i: int) -> int:
    fraction = _FRACTION.search(text)
    if fraction and fraction[1][3:].strip("0"):
        raise _too_fine(i, text)
    try:
        moment = datetime.fromisoformat(f"{text}-01" if _MONTH.fullmatch(text) else text)
    except ValueError as error:
        raise InputError(f"timestep {i} is {text!r}: not an ISO-8601 time such as 2024-01-31T10:20:30Z") from error
    return _of_fields(moment, i)


def _of_fields(moment: datetime, i: int, nanosecond: int = 0) -> int:
    """A moment without a time zone is in UTC, as the format has it; one with a zone is converted."""
    if moment.microsecond % 1000 or nanosecond:
        raise _too_fine(i, moment)
    try:
        naive = moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    except OverflowError as error:
        raise InputError(f"timestep {i} is {moment}: outside of the years 1 to 9999 in UTC") from error
    return int((naive - _EPOCH) // timedelta(milliseconds=1))


def first_difference(a: Sequence[int], b: Sequence[int]) -> int | None:
    """Index of the first place where two axes of times of one length differ; None if they are equal."""
    return next((i for i, (u, v) in enumerate(zip(a, b, strict=True)) if u != v), None)

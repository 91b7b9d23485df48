"""Times of STAC items: RFC 3339 with any zone offset, to whole milliseconds since the epoch in UTC.

Decimals finer than a millisecond are cut, never rounded: 23:59:59.9996 must not move into the next day.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from chronozarr_dask.errors import InputError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_MOMENT = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)"
    r"([Tt ](?P<minute>\d\d:\d\d):(?P<second>\d\d)([.,](?P<decimals>\d+))?\s*(?P<zone>[Zz]|[+-]\d\d(:?\d\d)?)?)?",
    re.ASCII,
)


def parse_moment(text: object, where: str) -> int:
    """Milliseconds since 1970 in UTC.

    A date alone is its midnight, and a time without a zone is UTC: older items write both. The leap second :60 is the
    last millisecond before it.

    Raises
    ------
    InputError
        If it is no time; `where` names the item and the property.
    """
    match = _MOMENT.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise InputError(f"{where} is {text!r}: give a time as in 2024-01-31T23:59:59.024Z (RFC 3339)")
    zone = (match["zone"] or "Z").upper()
    second, ms = match["second"] or "00", int((match["decimals"] or "").ljust(3, "0")[:3])
    if second == "60":
        second, ms = "59", 999
    try:
        moment = datetime.fromisoformat(f"{match['date']}T{match['minute'] or '00:00'}:{second}{zone}")
        return (moment - _EPOCH) // _MILLISECOND + ms
    except (ValueError, OverflowError) as error:
        raise InputError(f"{where} is {text!r}: {error}") from error

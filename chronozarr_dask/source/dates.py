"""The moment in a file's name: told from the common ways of writing one, else from a format that the caller gives.

A guess is made only where there is nothing to choose. A name with two different moments (an acquisition and a
processing date) is refused, and so is one with none::

    S2_T31UFS_20240131T104321_B04.tif  ->  2024-01-31T10:43:21
    ndvi-2024-01.tif                   ->  2024-01-01
    MOD13Q1.A2024033.tif               ->  2024-02-02 (year and day of the year)
    LC08_20180131_20180207.tif         ->  refused; with the format "LC08_%Y%m%d" 2018-01-31
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import PurePosixPath

from chronozarr_dask.errors import InputError

_YEARS = range(1900, 2101)
_DATE = r"(?P<Y>\d{4})(?P<s>[-_.]?)(?P<m>\d\d)(?P=s)(?P<d>\d\d)"
_ORDINAL = r"(?P<Y>\d{4})(?P<j>\d{3})"
# Finest first: what one pattern took is not looked at by the next. Digits never run on at either end. A clock follows
# its date after a T or at once: after an underscore six digits may as well be a path and row, or a tile.
_PATTERNS = tuple(
    re.compile(rf"(?<!\d){pattern}(?!\d)")
    for pattern in (
        rf"{_DATE}(?:[Tt])(?P<H>\d\d)[-_:]?(?P<M>\d\d)[-_:]?(?P<S>\d\d)",
        r"(?P<Y>\d{4})(?P<m>\d\d)(?P<d>\d\d)(?P<H>\d\d)(?P<M>\d\d)(?P<S>\d\d)",
        rf"{_DATE}[Tt](?P<H>\d\d)[-_:]?(?P<M>\d\d)",
        _DATE,
        _ORDINAL,
        r"(?P<Y>\d{4})[-_]?(?P<m>\d\d)",
    )
)
_DIRECTIVES = {
    "Y": r"\d{4}",
    "y": r"\d\d",
    "m": r"\d\d",
    "d": r"\d\d",
    "j": r"\d{3}",
    "H": r"\d\d",
    "M": r"\d\d",
    "S": r"\d\d",
    "f": r"\d{1,6}",
    "b": r"[A-Za-z]{3}",
}


@dataclass(frozen=True)
class Dated:
    """A moment that a text names.

    Attributes
    ----------
    moment : datetime
        Without a time zone, which is UTC.
    text : str
        The part of the name that says it.
    """

    moment: datetime
    text: str


@dataclass(frozen=True)
class _Candidate:
    start: datetime
    end: datetime
    text: str

    def is_told_finer_by(self, other: _Candidate) -> bool:
        span, finer = self.end - self.start, other.end - other.start
        return finer < span and self.start <= other.start < self.end


def date_in(path: str, date_format: str | None = None) -> Dated:
    """The moment in a file's name, or, when that has none, in the name of its folder.

    Parameters
    ----------
    path : str
        A path or a URL; what follows a ``?`` of a URL is not its name.
    date_format : str, optional
        Directives of strptime (%Y %y %m %b %d %j %H %M %S %f) between literal text, ``*`` for any text and ``?`` for
        any character. It may be a part of the name. With a ``/`` in it, it is looked for in as many folders as it has.

    Raises
    ------
    InputError
        If there is none, or more than one.
    """
    parts = _names(path)
    if date_format is not None:
        pattern, directives = _compiled(date_format)
        name = "/".join(parts[-1 - date_format.count("/") :])
        return _one(_by_format(name, pattern, directives), path, f"that --date-format {date_format!r} finds")
    for name in parts[-1:-3:-1]:
        found = list(_guessed(name))
        if found:
            return _one([c for c in found if not any(c.is_told_finer_by(o) for o in found)], path, "in its name")
    raise InputError(
        f"{path} has no date in its name that is written in a common way (20240131, 2024-01-31, 2024_01, "
        f"20240131T104321, 2024031 as year and day of the year): name its place with --date-format (date_format=), as "
        f"in --date-format '_%d%m%Y_', or list the files and their times in a manifest"
    )


def has_date(path: str) -> bool:
    """Whether a name, or that of its folder, has a date that is written in a common way."""
    return any(True for name in _names(path)[-1:-3:-1] for _ in _guessed(name))


def _names(path: str) -> tuple[str, ...]:
    return PurePosixPath(path.split("?")[0] if "://" in path else path).parts


def _one(found: list[_Candidate], path: str, how: str) -> Dated:
    if not found:
        raise InputError(
            f"{path} has no date {how}: mend --date-format (date_format=), or list the files and their times in a "
            f"manifest"
        )
    moments = sorted({c.start for c in found})
    if len(moments) > 1:
        texts = ", ".join(dict.fromkeys(c.text for c in found))
        raise InputError(
            f"{path} has {len(moments)} different dates {how} ({texts}): say which one it is with --date-format "
            f"(date_format=) and the text beside it, as in --date-format 'L2SP_*_%Y%m%d_'"
        )
    return Dated(moments[0], found[0].text)


def _guessed(name: str) -> Iterator[_Candidate]:
    for pattern in _PATTERNS:
        for match in list(pattern.finditer(name)):
            candidate = _candidate(match)
            if candidate is not None:
                yield candidate
                # As long as before, so that what stands beside it stays where it is.
                name = name[: match.start()] + "#" * len(match[0]) + name[match.end() :]


def _candidate(match: re.Match[str]) -> _Candidate | None:
    """The moment of a match; None if no calendar has it."""
    fields = {k: int(v) for k, v in match.groupdict().items() if k != "s" and v is not None}
    if fields["Y"] not in _YEARS:
        return None
    try:
        if "j" in fields:
            start = datetime.strptime(f"{fields['Y']} {fields['j']}", "%Y %j")
        else:
            clock = [fields.get(k, 0) for k in "HMS"]
            start = datetime(fields["Y"], fields["m"], fields.get("d", 1), clock[0], clock[1], clock[2])
    except ValueError:
        return None
    if start.year != fields["Y"]:  # strptime takes day 366 of any year
        return None
    if "H" in fields:
        span = timedelta(seconds=1) if "S" in fields else timedelta(minutes=1)
    else:
        span = timedelta(days=1 if {"d", "j"} & fields.keys() else monthrange(start.year, start.month)[1])
    return _Candidate(start, start + span, match[0])


def _compiled(date_format: str) -> tuple[re.Pattern[str], list[str]]:
    """The expression that finds a format, and its directives in order."""
    out, directives, i = "", [], 0
    while i < len(date_format):
        char = date_format[i]
        if char == "%":
            i += 1
            code = date_format[i : i + 1]
            if code == "%":
                out += "%"
            elif code in _DIRECTIVES and code:
                directives.append(f"%{code}")
                out += f"({_DIRECTIVES[code]})"
            else:
                raise InputError(
                    f"--date-format (date_format=) {date_format!r} has %{code}: the directives are "
                    f"{' '.join('%' + d for d in _DIRECTIVES)}"
                )
        else:
            out += {"*": "[^/]*?", "?": "[^/]"}.get(char, re.escape(char))
        i += 1
    if not {"%Y", "%y"} & set(directives):
        raise InputError(f"--date-format (date_format=) {date_format!r} has no year: put %Y or %y where it stands")
    if len(set(directives)) < len(directives):
        raise InputError(f"--date-format (date_format=) {date_format!r} names a part of the date twice")
    start = r"(?<!\d)" if re.match(r"%[^%b]", date_format) else ""
    end = r"(?!\d)" if re.search(r"(?<!%)%[^%b]$", date_format) else ""
    return re.compile(f"{start}{out}{end}"), directives


def _by_format(name: str, pattern: re.Pattern[str], directives: list[str]) -> list[_Candidate]:
    found = []
    for match in pattern.finditer(name):
        try:
            moment = datetime.strptime(" ".join(match.groups()), " ".join(directives))
        except ValueError:
            continue
        first, last = match.start(1), match.end(len(directives))
        found.append(_Candidate(moment, moment, name[first:last]))
    return found

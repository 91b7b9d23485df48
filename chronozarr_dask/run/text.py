"""Numbers as a person reads them."""

from __future__ import annotations

UNITS = ("kB", "MB", "GB", "TB", "PB")
MINUTE = 60


def nbytes(n: int) -> str:
    """Bytes in powers of 1000, three digits.

    >>> nbytes(999), nbytes(1234), nbytes(56_789_000), nbytes(999_999)
    ('999 B', '1.23 kB', '56.8 MB', '1.00 MB')
    """
    if n < 1000:
        return f"{n} B"
    value = float(n)
    for unit in UNITS:
        value /= 1000
        if value < 999.5 or unit == UNITS[-1]:
            return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {unit}"
    raise AssertionError


def seconds(s: float) -> str:
    """A duration.

    >>> seconds(0.123), seconds(12.3), seconds(75), seconds(3723)
    ('0.1 s', '12.3 s', '1 min 15 s', '1 h 2 min')
    """
    if round(s, 1) < MINUTE:
        return f"{s:.1f} s"
    minutes, rest = divmod(round(s), MINUTE)
    if minutes < MINUTE:
        return f"{minutes} min {rest} s"
    return f"{minutes // MINUTE} h {minutes % MINUTE} min"


def number(x: float) -> str:
    """A number without needless digits.

    >>> number(10.0), number(0.0001), number(4999960.5), number(-0.1)
    ('10', '0.0001', '4999960.5', '-0.1')
    """
    return str(int(x)) if x == int(x) and abs(x) < 1e15 else repr(x)


def plural(n: int, word: str) -> str:
    """A count and its noun.

    >>> plural(1, "cell"), plural(1234, "cell")
    ('1 cell', '1,234 cells')
    """
    return f"{n:,} {word}" + ("" if n == 1 else "s")

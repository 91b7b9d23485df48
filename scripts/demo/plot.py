"""A pixel's series as a plot of text, 80 columns wide at most."""

from __future__ import annotations

from collections.abc import Sequence

EIGHTHS = "▁▂▃▄▅▆▇█"
ASCII = "...:::##"
ROWS = 8


def plot_series(
    months: Sequence[str], values: Sequence[float | None], counts: Sequence[int], top: float = 1.0, *, ascii_only: bool
) -> list[str]:
    """Lines of a bar chart: values from 0 to `top` by month, and how often each was seen.

    Parameters
    ----------
    months : sequence of str
        As in 2021-07.
    values : sequence of float or None
        None where nothing was seen: the column is marked.
    counts : sequence of int
        Observations of each month.
    top : float
    ascii_only : bool
        For terminals that have no block characters.
    """
    blocks = ASCII if ascii_only else EIGHTHS
    gap = "X"
    corner, side, line = ("+", "|", "-") if ascii_only else ("└", "│", "─")
    lines = []
    for row in range(ROWS - 1, -1, -1):
        label = f"{top * (row + 1) / ROWS:4.2f}" if row % 2 else ""
        cells = []
        for value in values:
            eighths = 0 if value is None else round(min(max(value / top, 0), 1) * ROWS * 8) - row * 8
            mark = blocks[min(eighths, 8) - 1] * 3 if eighths > 0 else "   "
            cells.append(f" {gap if row == 0 and value is None else ' '}  " if value is None else f"{mark} ")
        lines.append(f"  {label:>5} {side} {' '.join(cells)}".rstrip())
    wide = len(months) * 5 - 1
    lines.append(f"  {'':>5} {corner}{line * (wide + 1)}")
    lines.append(f"  {'NDVI':>5}   " + " ".join(f"{'none' if v is None else f'{v:.2f}':4}" for v in values).rstrip())
    lines.append(f"  {'seen':>5}   " + " ".join(f"{f'{n} x' if n else ' -':4}" for n in counts).rstrip())
    lines.append(f"  {'':>5}   " + " ".join(f"{_short(m):4}" for m in months).rstrip())
    years = [m[:4] if i == 0 or m.endswith("-01") else "" for i, m in enumerate(months)]
    lines.append(f"  {'':>5}   " + " ".join(f"{y:4}" for y in years).rstrip())
    return lines


def _short(month: str) -> str:
    return "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()[int(month[5:]) - 1]

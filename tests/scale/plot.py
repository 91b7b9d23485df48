"""The plot of a run: memory of client and scheduler, and regions a second, over the regions done. SVG as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from tests.scale.watch import Sample

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 420, 64, 64, 44, 48
COLOURS = {"client": "#0b6e4f", "scheduler": "#8a3ffc", "regions a second": "#b36b00"}
TICKS = 5
STYLE = 'font-family="sans-serif" font-size="12" fill="#333"'


def plot(samples: Sequence[Sample]) -> str:
    """An SVG document; memory on the left axis, from 0, and speed on the right one."""
    total = samples[-1].done
    memory = _ceiling(max(max(s.client, s.scheduler) for s in samples))
    speeds = _speeds(samples)
    fastest = _ceiling(max(v for _, v in speeds))
    series = {
        "client": [(s.done / total, s.client / memory) for s in samples],
        "scheduler": [(s.done / total, s.scheduler / memory) for s in samples],
        "regions a second": [(n / total, v / fastest) for n, v in speeds],
    }
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">',
        f"<title>Memory of client and scheduler over {total:,} regions</title>",
        '<rect width="100%" height="100%" fill="#fff"/>',
        *_axes(total, memory, fastest),
    ]
    for i, (name, points) in enumerate(series.items()):
        line = " ".join(f"{_x(x):.1f},{_y(y):.1f}" for x, y in points)
        dash = ' stroke-dasharray="4 3"' if i == 2 else ""
        parts.append(f'<polyline points="{line}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"{dash}/>')
        unit = "" if i == 2 else ", MiB"
        x = LEFT + 190 * i
        parts.append(f'<line x1="{x}" x2="{x + 24}" y1="20" y2="20" stroke="{COLOURS[name]}" stroke-width="2"{dash}/>')
        parts.append(f'<text x="{x + 30}" y="24" {STYLE}>{name}{unit}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _speeds(samples: Sequence[Sample]) -> list[tuple[int, float]]:
    """Regions a second, each over a twentieth of the samples."""
    step = max(len(samples) // 20, 1)
    chosen = [*samples[:-1:step], samples[-1]]
    pairs = pairwise(chosen)
    return [((a.done + b.done) // 2, (b.done - a.done) / max(b.seconds - a.seconds, 1e-9)) for a, b in pairs]


def _ceiling(value: float) -> float:
    """A round number that is not less."""
    unit = 10.0 ** (len(str(int(value))) - 1)
    return next(n * unit for n in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 20) if n * unit >= value)


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _axes(total: int, memory: float, fastest: float) -> list[str]:
    out = []
    labels: dict[str, Callable[[float], str]] = {
        "x": lambda s: f"{s * total:,.0f}",
        "left": lambda s: f"{s * memory:,.0f}",
        "right": lambda s: f"{s * fastest:,.0f}",
    }
    for i in range(TICKS + 1):
        share = i / TICKS
        x, y = _x(share), _y(share)
        out.append(f'<line x1="{_x(0)}" x2="{_x(1)}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        out.append(
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle" {STYLE}>{labels["x"](share)}</text>'
        )
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" {STYLE}>{labels["left"](share)}</text>')
        out.append(f'<text x="{WIDTH - RIGHT + 8}" y="{y + 4:.1f}" {STYLE}>{labels["right"](share)}</text>')
    out.append(f'<text x="{_x(0.5)}" y="{HEIGHT - 8}" text-anchor="middle" {STYLE}>regions done</text>')
    return out

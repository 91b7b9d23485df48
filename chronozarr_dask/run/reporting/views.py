"""What the page shows of pixels: pictures with their sizes, captions and texts for those who do not see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.format.layout import COVERAGE
from chronozarr_dask.format.times import render_time
from chronozarr_dask.run.reporting import pictures
from chronozarr_dask.run.reporting.choice import thinned
from chronozarr_dask.run.reporting.look import Look, everywhere
from chronozarr_dask.run.reporting.player import Reel
from chronozarr_dask.run.text import number, plural
from chronozarr_dask.store.reader import Store

FILM = 24
FILM_EDGE = 112
LARGEST_GRID = 1024
"""Cells along an edge of the volatility map, beyond which every so many are drawn."""


@dataclass(frozen=True)
class Picture:
    """A picture of the page.

    Attributes
    ----------
    src : str
    width, height : int
        Pixels.
    label : str
    alt : str
    note : str
    """

    src: str
    width: int
    height: int
    label: str
    alt: str
    note: str = ""


@dataclass(frozen=True)
class Legend:
    """Colours of a map from 0 to `most`."""

    colours: tuple[str, ...]
    most: str


@dataclass(frozen=True)
class HeatMap:
    """Observations by place and timestep.

    Attributes
    ----------
    rows : tuple of (name, tuple of (colour, text))
    times : tuple of str
    legend : Legend
    alt : str
    """

    rows: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    times: tuple[str, ...]
    legend: Legend
    alt: str


def day(time: str) -> str:
    """A time as people write it, without what is zero.

    >>> day("2024-03-01T00:00:00Z"), day("2024-03-01T10:56:19.024Z")
    ('2024-03-01', '2024-03-01 10:56:19')
    """
    date, _, rest = time.partition("T")
    return date if rest.startswith("00:00:00") else f"{date} {rest[:8]}"


def time_of(store: Store, t: int) -> str:
    """What people call a timestep."""
    return day(render_time(int(store.times[t].astype("int64"))))


def quicklooks(store: Store, look: Look) -> list[Picture]:
    """First, middle and last timestep."""
    out = []
    for t, (data, valid) in sorted(look.quicklooks.items()):
        share = float(valid.mean())
        note = "no valid pixel" if not share else f"{number(round(100 * share, 1))} % valid"
        out.append(_picture(pictures.stretched(data, valid, look.stretch), time_of(store, t), note, "quicklook of"))
    return out


def film(store: Store, reel: Reel, look: Look) -> list[Picture]:
    """The coarsest level over time, in small."""
    part, out = reel.part, []
    at = [part.bands.index(b) for b in look.shown]
    step = pictures.reduced(FILM_EDGE, *part.shape)
    for i in thinned(len(part.times), FILM):
        frame = reel.frames[i]
        data, valid = frame.data[at, ::step, ::step], everywhere(frame.valid[at, ::step, ::step])
        pixels = pictures.stretched(data, valid, look.stretch)
        out.append(_picture(pixels, time_of(store, part.times[i]), "", "level in small of"))
    return out


def _picture(pixels: npt.NDArray[np.uint8], label: str, note: str, what: str) -> Picture:
    height, width = pixels.shape[:2]
    return Picture(pictures.png(pixels), width, height, label, f"{what} {label}{f', {note}' if note else ''}", note)


def coverage_map(store: Store, look: Look) -> tuple[Picture, Legend]:
    """Observations of each pixel in the mean over time; or how often it is valid."""
    is_count = COVERAGE in store.planes
    most = float(look.coverage.max()) if is_count else 1.0
    pixels = pictures.coloured(look.coverage, most, pictures.OBSERVED)
    mean = number(round(float(look.coverage.mean()), 2))
    label = "observations of a pixel, mean of all timesteps" if is_count else "share of timesteps with a valid pixel"
    return _picture(pixels, label, f"{mean} in the mean", "map of the"), _legend(most, pictures.OBSERVED)


def volatility_map(values: npt.NDArray[np.float32]) -> tuple[Picture, Legend]:
    """Volatility of each cell, from 0 to the largest value."""
    step = pictures.reduced(LARGEST_GRID, *values.shape)
    most = float(values.max())
    pixels = pictures.coloured(values[::step, ::step].astype(np.float64), most, pictures.CHANGED)
    note = f"{plural(values.shape[0], 'row')} x {plural(values.shape[1], 'column')} of cells"
    note += f", one of {step} shown along each axis" if step > 1 else ""
    return _picture(pixels, "volatility of each cell", note, "map of the"), _legend(most, pictures.CHANGED)


def heat_map(store: Store, look: Look) -> HeatMap:
    """Observations of each place in each timestep."""
    of_count = COVERAGE in store.planes
    most = float(look.counts.max()) if of_count else 1.0
    times = tuple(time_of(store, t) for t in look.part.times)
    n_rows, n_cols = look.counts.shape[1:]
    rows = []
    for r in range(n_rows):
        for c in range(n_cols):
            name = f"{'ABCD'[r]}{c + 1}"
            cells = [
                (pictures.css(value, most, pictures.OBSERVED), f"{name}, {time}: {told(value, of_count)}")
                for time, value in zip(times, look.counts[:, r, c].tolist(), strict=True)
            ]
            rows.append((name, tuple(cells)))
    what = "observations of a pixel in the mean" if of_count else "share of valid pixels"
    return HeatMap(
        tuple(rows),
        times,
        _legend(most, pictures.OBSERVED),
        f"Heat map: {what}, {plural(len(rows), 'place')} by {plural(len(times), 'timestep')}; from "
        f"{told(float(look.counts.min()), of_count)} to {told(float(look.counts.max()), of_count)}",
    )


def told(value: float, is_count: bool) -> str:
    """A mean count, or a share."""
    return number(round(value, 2)) if is_count else f"{number(round(100 * value, 1))} %"


def _legend(most: float, palette: Sequence[pictures.Colour]) -> Legend:
    colours = tuple(pictures.css(i / 8, 1.0, palette) for i in range(9))
    return Legend(colours, f"{most:.3g}")


def seen_of(store: Store, look: Look) -> dict[str, Any]:
    """Which part of the store the pictures show, in words."""
    part = look.part
    level = store.levels[part.level]
    height, width = level.shape[2:]
    scale = 1 << part.level
    texts = [f"level {part.level}"]
    if part.level:
        texts.append(f"one pixel stands for {scale} x {scale} of level 0")
    if part.window.shape != (height, width):
        w = part.window
        texts.append(f"only rows {w.y0} to {w.y1 - 1} and columns {w.x0} to {w.x1 - 1} in its middle")
    if len(part.times) < len(store.times):
        texts.append(f"{len(part.times)} of {len(store.times)} timesteps")
    return {"text": ", ".join(texts), "bands": ", ".join(store.bands[b].name for b in look.shown)}

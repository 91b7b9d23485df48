"""What is to be read, as options say it: a pixel through time, or a timestep of a cell, a box or the raster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import typer

N = TypeVar("N", int, float)


@dataclass(frozen=True)
class Request:
    """What is to be read; of `point`, `lonlat`, `cell`, `window` and `bbox` at most one is there.

    Attributes
    ----------
    point : (x, y) or None
        In the store's CRS.
    lonlat : (longitude, latitude) or None
        Degrees, WGS 84.
    time : str or None
        A timestep's number, or a time; all timesteps of a point where it is None.
    cell : (row, col) or None
    window : (y0, y1, x0, x1) or None
        Pixels of the level, half-open.
    bbox : (left, bottom, right, top) or None
        In the store's CRS.
    bands : tuple of str or None
        Names, in the order that is wanted; all where it is None.
    level : int
    physical : bool
    """

    point: tuple[float, float] | None = None
    lonlat: tuple[float, float] | None = None
    time: str | None = None
    cell: tuple[int, int] | None = None
    window: tuple[int, int, int, int] | None = None
    bbox: tuple[float, float, float, float] | None = None
    bands: tuple[str, ...] | None = None
    level: int = 0
    physical: bool = False

    @property
    def is_series(self) -> bool:
        """Whether one pixel is asked for."""
        return self.point is not None or self.lonlat is not None


def make_request(
    *,
    x: float | None,
    y: float | None,
    lonlat: str | None,
    time: str | None,
    cell: str | None,
    window: str | None,
    bbox: str | None,
    bands: str | None,
    level: int,
    physical: bool,
) -> Request:
    """A request of what the options say; bad usage is told with the option's name."""
    if (x is None) != (y is None):
        raise typer.BadParameter("--x and --y go together: give both, in units of the store's CRS")
    places = {"--x and --y": x, "--lonlat": lonlat, "--cell": cell, "--window": window, "--bbox": bbox}
    given = [flag for flag, value in places.items() if value is not None]
    if len(given) > 1:
        raise typer.BadParameter(f"{' and '.join(given)} name two places: give one of them")
    if not given and time is None:
        raise typer.BadParameter(
            "nothing says what to read: give --x and --y, or --lonlat, for the series of a pixel; or --time for a "
            "whole timestep, with --cell, --window or --bbox for a part of it"
        )
    degrees = None if lonlat is None else numbers("--lonlat", lonlat, "LON,LAT", float)
    if degrees is not None and not (-360 <= degrees[0] <= 360 and -90 <= degrees[1] <= 90):
        raise typer.BadParameter(
            f"--lonlat is {lonlat!r}: the longitude comes first, then the latitude, in degrees (-90 to 90)"
        )
    return Request(
        point=None if x is None or y is None else (x, y),
        lonlat=None if degrees is None else (degrees[0], degrees[1]),
        time=time,
        cell=_ints("--cell", cell, "ROW,COL"),  # type: ignore[arg-type]
        window=_ints("--window", window, "Y0,Y1,X0,X1"),  # type: ignore[arg-type]
        bbox=None if bbox is None else _box(bbox),
        bands=None if bands is None else tuple(name.strip() for name in bands.split(",")),
        level=level,
        physical=physical,
    )


def numbers(flag: str, text: str, form: str, kind: Callable[[str], N]) -> tuple[N, ...]:
    """As many finite numbers as the form has, between commas."""
    try:
        found = tuple(kind(part) for part in text.split(","))
    except ValueError:
        found = ()
    if len(found) != form.count(",") + 1 or any(n != n or abs(n) == float("inf") for n in found):
        raise typer.BadParameter(f"{flag} is {text!r}: it takes {form}, numbers with commas and no blanks between")
    return found


def _ints(flag: str, text: str | None, form: str) -> tuple[int, ...] | None:
    return None if text is None else numbers(flag, text, form, int)


def _box(text: str) -> tuple[float, float, float, float]:
    left, bottom, right, top = numbers("--bbox", text, "LEFT,BOTTOM,RIGHT,TOP", float)
    if not (left < right and bottom < top):
        raise typer.BadParameter(
            f"--bbox is {text!r}: LEFT must be less than RIGHT, and BOTTOM less than TOP, in units of the store's CRS"
        )
    return left, bottom, right, top

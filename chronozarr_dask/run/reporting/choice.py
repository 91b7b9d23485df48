"""Which part of a store a report reads: bounded in requests and bytes, whatever the store's size.

A level of a pyramid shows the whole raster, so a report takes the finest level that is small enough. A store whose
coarsest level is still large is looked at in a window in its middle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, isqrt

from chronozarr_dask.format.attributes import LevelMirror
from chronozarr_dask.format.layout import Window, ceil_div

MAP_EDGE = 512
"""Pixels along the longer edge of a level that is read whole for maps."""
WHOLE_EDGE = 1024
"""Pixels along the longer edge of the coarsest level, beyond which its middle alone is read."""
MOST_CHUNKS = 4096
"""Chunks of data and planes that the maps read."""
MOST_VALUES = 2**26
"""Values of data that the maps read."""
PLAYER_BYTES = 4_000_000
"""Bytes of pixels in the page, before they are compressed."""
LEAST_TIMES = 12
"""Timesteps that the player has at least, before it leaves out pixels."""


@dataclass(frozen=True)
class Kind:
    """What a choice depends on, beside the levels.

    Attributes
    ----------
    chunk_size : int
    itemsize : int
        Bytes of a stored value.
    n_planes : int
    shown : tuple of int
        Bands of the pictures: red, green and blue, or one.
    """

    chunk_size: int
    itemsize: int
    n_planes: int
    shown: tuple[int, ...]


@dataclass(frozen=True)
class Part:
    """A part of one level.

    Attributes
    ----------
    level : int
    window : Window
        Pixels of the level.
    times, bands : tuple of int
        Positions, ascending.
    stride : int
        Every so many pixels of the window, along both axes.
    """

    level: int
    window: Window
    times: tuple[int, ...]
    bands: tuple[int, ...]
    stride: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        """(height, width) in pixels that are taken."""
        height, width = self.window.shape
        return ceil_div(height, self.stride), ceil_div(width, self.stride)

    def nbytes(self, kind: Kind) -> int:
        """Bytes of its data and planes."""
        height, width = self.shape
        return len(self.times) * height * width * (len(self.bands) * kind.itemsize + kind.n_planes)


def thinned(n: int, most: int) -> tuple[int, ...]:
    """At most `most` of the positions 0 to n - 1, evenly; the first and the last among them.

    >>> thinned(5, 9), thinned(10, 4)
    ((0, 1, 2, 3, 4), (0, 3, 6, 9))
    """
    if n <= most:
        return tuple(range(n))
    if most == 1:
        return (0,)
    return tuple(sorted({round(i * (n - 1) / (most - 1)) for i in range(most)}))


def choose_maps(levels: Sequence[LevelMirror], kind: Kind) -> Part:
    """The finest level of at most `MAP_EDGE` pixels whose every timestep can be read; else the coarsest, thinned."""
    n_time, n_band = levels[0].shape[:2]
    for k, level in enumerate(levels[:-1]):
        height, width = level.shape[2:]
        part = Part(k, Window(0, height, 0, width), tuple(range(n_time)), tuple(range(n_band)))
        fits = n_time * _chunks(part, kind) <= MOST_CHUNKS and n_time * n_band * height * width <= MOST_VALUES
        if max(height, width) <= MAP_EDGE and fits:
            return part
    part = _whole(levels, kind)
    height, width = part.window.shape
    most = min(MOST_CHUNKS // _chunks(part, kind), MOST_VALUES // (n_band * height * width))
    return replace(part, times=thinned(n_time, max(3, most)))


def choose_player(levels: Sequence[LevelMirror], kind: Kind) -> tuple[Part, ...]:
    """The levels in the page, the coarsest first, then finer ones as long as they fit.

    Where the coarsest alone has more than `PLAYER_BYTES`, bands that are not shown go first, then timesteps, evenly
    and down to `LEAST_TIMES`, then pixels, evenly.
    """
    coarsest = _fitted(_whole(levels, kind), kind)
    out = [coarsest]
    left = PLAYER_BYTES - coarsest.nbytes(kind)
    for part in _finer(levels):
        left -= part.nbytes(kind)
        if left < 0 or len(part.times) * _chunks(part, kind) > MOST_CHUNKS:
            break
        out.append(part)
    return tuple(out)


def _finer(levels: Sequence[LevelMirror]) -> Iterator[Part]:
    n_time, n_band = levels[0].shape[:2]
    for k in reversed(range(len(levels) - 1)):
        height, width = levels[k].shape[2:]
        yield Part(k, Window(0, height, 0, width), tuple(range(n_time)), tuple(range(n_band)))


def _whole(levels: Sequence[LevelMirror], kind: Kind) -> Part:
    """The coarsest level, or what lies in its middle."""
    n_time, n_band, height, width = levels[-1].shape
    part = Part(len(levels) - 1, Window(0, height, 0, width), tuple(range(n_time)), tuple(range(n_band)))
    if max(height, width) <= WHOLE_EDGE and 3 * _chunks(part, kind) <= MOST_CHUNKS:
        return part
    cells = isqrt(MOST_CHUNKS // (3 * (1 + kind.n_planes)))
    edge = min(MAP_EDGE, cells * kind.chunk_size)
    y0, y1 = _middle(height, edge, kind.chunk_size)
    x0, x1 = _middle(width, edge, kind.chunk_size)
    return replace(part, window=Window(y0, y1, x0, x1))


def _middle(n: int, edge: int, cs: int) -> tuple[int, int]:
    """A run of pixels in the middle of an axis, from a cell's edge on."""
    start = max(0, (n - edge) // 2) // cs * cs
    return start, min(n, start + edge)


def _fitted(part: Part, kind: Kind) -> Part:
    if part.nbytes(kind) > PLAYER_BYTES:
        part = replace(part, bands=kind.shown)
    n_time = len(part.times)
    fitting = max(LEAST_TIMES, PLAYER_BYTES * n_time // part.nbytes(kind))
    part = replace(part, times=thinned(n_time, min(fitting, MOST_CHUNKS // _chunks(part, kind))))
    while part.nbytes(kind) > PLAYER_BYTES:
        part = replace(part, stride=max(part.stride + 1, ceil((part.nbytes(kind) / PLAYER_BYTES) ** 0.5)))
    return part


def _chunks(part: Part, kind: Kind) -> int:
    """Chunks of one timestep: data and planes."""
    w, cs = part.window, kind.chunk_size
    rows, cols = ceil_div(w.y1, cs) - w.y0 // cs, ceil_div(w.x1, cs) - w.x0 // cs
    return rows * cols * (1 + kind.n_planes)

"""Section 2, 2.1 and 2.2: arrays, cells, chunks, and the names of objects.

A level is cut into cells of ``cs`` x ``cs`` pixels; a chunk is one timestep of one cell with all its bands. Row 0 is
the north edge; chunks at the right and bottom edge are stored at full size and padded::

    700 x 600 pixels, cs = 512            keys of timestep t
    ┌────────┬────────┐  0                0/data/c/t/0/0/0   0/data/c/t/0/0/1
    │ (0, 0) │ (0, 1) │
    ├────────┼────────┤  512
    │ (1, 0) │ (1, 1) │                  0/data/c/t/0/1/0   0/data/c/t/0/1/1
    └────────┴────────┘  700 .. 1023 is padding
    0       512      600
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from chronozarr_dask.errors import InputError

DEFAULT_CHUNK_SIZE = 512
DEFAULT_VARIABLE = "data"
MASK = "mask"
COVERAGE = "coverage"
VOLATILITY = "volatility"
ROOT_DOCUMENT = "zarr.json"

DATA_DIMS = ("time", "band", "y", "x")
PLANE_DIMS = ("time", "y", "x")
VOLATILITY_DIMS = ("row", "col")

Coordinate = Literal["time", "band", "y", "x"]
COORDINATES: tuple[Coordinate, ...] = ("time", "band", "y", "x")
RESERVED_NAMES = frozenset({*COORDINATES, MASK, COVERAGE, ROOT_DOCUMENT})


def check_chunk_size(cs: int) -> int:
    """Return `cs` if it is even and positive (2.1), else raise InputError."""
    if cs < 2 or cs % 2:
        raise InputError(
            f"chunk_size is {cs}: a cell's edge must be an even number of pixels of at least 2 (section 2.1); "
            f"take {DEFAULT_CHUNK_SIZE}, or 256 for a store that must answer fast"
        )
    return cs


def check_variable(name: str) -> str:
    """Return `name` if it can name the data array of a level group, else raise InputError."""
    if not name or "/" in name or name in RESERVED_NAMES or name.startswith((".", "__")):
        raise InputError(
            f"variable is {name!r}: the data array needs a name without '/' that is none of "
            f"{', '.join(sorted(RESERVED_NAMES))} and begins with neither '.' nor '__'"
        )
    return name


def ceil_div(a: int, b: int) -> int:
    """Return ceil(a / b) of two positive integers."""
    return -(-a // b)


@dataclass(frozen=True)
class Window:
    """A half-open box of pixels (or cells) in y and x."""

    y0: int
    y1: int
    x0: int
    x1: int

    @property
    def shape(self) -> tuple[int, int]:
        """(height, width)."""
        return self.y1 - self.y0, self.x1 - self.x0

    @property
    def slices(self) -> tuple[slice, slice]:
        """The pair of slices (y, x)."""
        return slice(self.y0, self.y1), slice(self.x0, self.x1)


@dataclass(frozen=True)
class Layout:
    """Shapes, grids and keys of a store.

    Attributes
    ----------
    n_time, n_band : int
        Lengths of the first two axes, the same at every level.
    height, width : int
        Level 0, pixels.
    chunk_size : int
        `cs`: edge of a cell, pixels; even.
    n_levels : int
        Number of levels, level 0 included.
    shard_time : int or None
        Timesteps in a shard (7.1); None when unsharded.
    variable : str
        Name of the data array.
    """

    n_time: int
    n_band: int
    height: int
    width: int
    chunk_size: int
    n_levels: int
    shard_time: int | None = None
    variable: str = DEFAULT_VARIABLE

    def level_size(self, level: int) -> tuple[int, int]:
        """(H_k, W_k) in pixels: ceil(H_0 / 2^k), ceil(W_0 / 2^k) (section 6)."""
        return ceil_div(self.height, 1 << level), ceil_div(self.width, 1 << level)

    def grid(self, level: int) -> tuple[int, int]:
        """(rows, cols) of cells of a level."""
        h, w = self.level_size(level)
        return ceil_div(h, self.chunk_size), ceil_div(w, self.chunk_size)

    def data_shape(self, level: int) -> tuple[int, int, int, int]:
        """Shape of the data array: (n_time, n_band, H_k, W_k)."""
        return (self.n_time, self.n_band, *self.level_size(level))

    def plane_shape(self, level: int) -> tuple[int, int, int]:
        """Shape of a mask or coverage array: (n_time, H_k, W_k)."""
        return (self.n_time, *self.level_size(level))

    def cell_window(self, level: int, row: int, col: int) -> Window:
        """Pixels of cell (row, col) of a level, cut to the array's shape."""
        h, w = self.level_size(level)
        cs = self.chunk_size
        return Window(row * cs, min((row + 1) * cs, h), col * cs, min((col + 1) * cs, w))

    @property
    def chunk_shape(self) -> tuple[int, int, int, int]:
        """Shape of one data chunk: (1, n_band, cs, cs)."""
        return 1, self.n_band, self.chunk_size, self.chunk_size

    @property
    def object_times(self) -> int:
        """Timesteps in one stored object: `shard_time`, or 1 when unsharded."""
        return self.shard_time or 1

    @property
    def n_objects_t(self) -> int:
        """Stored objects along time: n_time, or ceil(n_time / shard_time)."""
        return ceil_div(self.n_time, self.object_times)


def array_path(level: int, name: str) -> str:
    """Path of an array within the store, for example ``0/data``."""
    return f"{level}/{name}"


def object_key(level: int, name: str, t: int, row: int, col: int, *, has_band: bool) -> str:
    """Key of a chunk object (or, with `t` a time shard, of a shard object).

    The data array has a band index, always 0; a plane has none (2.4).
    """
    cell = f"0/{row}/{col}" if has_band else f"{row}/{col}"
    return f"{level}/{name}/c/{t}/{cell}"


def centres(origin: float, step: float, n: int) -> list[float]:
    """Projected coordinate of the `n` pixel centres that begin at the edge `origin` (2.2)."""
    return [origin + step * (i + 0.5) for i in range(n)]

"""What a region needs in memory, known before the run.

At its peak a region holds level 0 and the levels above, a third of level 0 in all; or, while it is put together from
the source's blocks or from what an earlier slab handed over, level 0 twice. Residuals and padding are made chunk by
chunk. What a process holds is that, times the regions in flight in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chronozarr_dask.errors import PlanError
from chronozarr_dask.format.layout import Layout

READ_FACTOR = 1 + 1 / 3
ASSEMBLED_FACTOR = 2.0
CELLS_IN_HAND = 1.5
"""Beside the region: a padded chunk, and the object that is put together; of each row of cells that is at work."""

MIB = 2**20


@dataclass(frozen=True)
class PixelBytes:
    """Bytes of one pixel of one timestep: all bands, and one for each plane.

    Attributes
    ----------
    data, planes : int
    making : int
        Bytes of one pixel that one timestep takes while it is made: the observations of a composite, with validity.
    making_rows : int or None
        Rows of pixels that are made at a time; None: all of a region.
    """

    data: int
    planes: int
    making: int = 0
    making_rows: int | None = None

    def making_bytes(self, height: int, width: int) -> int:
        """Bytes that a region of so many pixels takes while it is made."""
        return min(height, self.making_rows or height) * width * self.making

    @property
    def total(self) -> int:
        """Bytes of one pixel and timestep."""
        return self.data + self.planes


def region_bytes(layout: Layout, pixel: PixelBytes, cells: tuple[int, int], n_present: int, *, assembled: bool) -> int:
    """Peak bytes of a region of `cells` (rows, cols) that has `n_present` timesteps at hand.

    Parameters
    ----------
    assembled : bool
        Whether level 0 is put together from several blocks.
    """
    cs = layout.chunk_size
    height, width = min(cells[0] * cs, layout.height), min(cells[1] * cs, layout.width)
    factor = ASSEMBLED_FACTOR if assembled else READ_FACTOR
    making = pixel.making_bytes(height, width)
    return int(n_present * (height * width * pixel.total * factor + CELLS_IN_HAND * cs**2 * pixel.data) + making)


def human(n: float) -> str:
    """A number of bytes for a person: 9.4 GiB, 512.0 MiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024:
            return f"{n:.0f} B" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1024
    return f"{n:.1f} TiB"


def enough(n: int) -> str:
    """A number of whole MiB that is not less than `n` bytes, as options take it: 12MiB."""
    return f"{-(-n // MIB)}MiB"


def does_not_fit(needed: int, memory: int, what: str, named: Sequence[str] = ()) -> PlanError:
    """The error of a region that no cut makes small enough; options that were `named` are the first to be lowered."""
    *options, last = *named, "chunk_size", "shard_time", "anchor_interval"
    return PlanError(
        f"{what} needs {human(needed)} at its peak, and the regions of a process have {human(memory)}; raise memory to "
        f"{enough(needed)}, or set {', '.join(options)} or {last} lower"
    )

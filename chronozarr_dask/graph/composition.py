"""What composites are made of, as data: which scenes a timestep has, and how they become one value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.composite.reduce import Method
from chronozarr_dask.composite.validity import Rule
from chronozarr_dask.format.dtypes import Number
from chronozarr_dask.format.layout import Window
from chronozarr_dask.source.observe import Observer
from chronozarr_dask.source.stac.items import Scene


@dataclass(frozen=True)
class SceneUse:
    """A scene of a run.

    Attributes
    ----------
    scene : Scene
        Narrowed to the bands, and behind them the class asset where there is one.
    offset : int
        What is added to its pixels (see `source.stac.offsets`).
    reach : Window or None
        Pixels of the grid beyond which it has none; None where its item does not tell.
    """

    scene: Scene
    offset: int = 0
    reach: Window | None = None

    def reaches(self, window: Window) -> bool:
        """Whether it may have pixels in a window."""
        r = self.reach
        return r is None or (r.y0 < window.y1 and window.y0 < r.y1 and r.x0 < window.x1 and window.x0 < r.x1)


@dataclass(frozen=True)
class Timestep:
    """Observations of one timestep in the order of (datetime, id), each of one scene or of the tiles of a pass.

    Attributes
    ----------
    observations : tuple of tuples of SceneUse
    preference : tuple of int or None
        Indices of the observations, the best first: for the method "best".
    """

    observations: tuple[tuple[SceneUse, ...], ...]
    preference: tuple[int, ...] | None = None

    def within(self, window: Window) -> Timestep:
        """The observations that may have pixels in a window."""
        found = [tuple(s for s in tiles if s.reaches(window)) for tiles in self.observations]
        kept = [i for i, tiles in enumerate(found) if tiles]
        order = None
        if self.preference is not None:
            order = tuple(kept.index(i) for i in self.preference if i in kept)
        return Timestep(tuple(found[i] for i in kept), order)


@dataclass(frozen=True)
class Strips:
    """Where a window is cut into strips of rows: at `first`, and every `height` rows above and below it."""

    first: int = 0
    height: int = 512

    def of(self, window: Window) -> list[Window]:
        """The strips of a window, from top to bottom."""
        begin = window.y0 + (self.first - window.y0) % self.height
        cuts = [window.y0, *range(begin, window.y1, self.height), window.y1]
        return [replace(window, y0=a, y1=b) for a, b in pairwise(cuts) if a < b]


@dataclass(frozen=True)
class Composition:
    """How scenes become composites.

    Attributes
    ----------
    observer : Observer
    n_band : int
    rule : ClassRule, BitRule or None
        What of the class plane counts; None where there is no class plane.
    method : Method
    dtype : str
        Of the store.
    nodata : number or None
        Of the store: a pixel that has it in any band is not valid.
    fill : number
        What a pixel without a valid observation holds.
    reads : int
        Reads in flight at a time in one process.
    cast : bool
        Whether sources of another dtype are taken where every value fits.
    keep_going : bool
        Whether a scene that cannot be read is left out and told of, instead of ending the run.
    strips : Strips
    """

    observer: Observer
    n_band: int
    rule: Rule | None
    method: Method
    dtype: str
    nodata: Number | None
    fill: Number
    reads: int
    cast: bool = False
    keep_going: bool = False
    strips: Strips = Strips()


@dataclass
class Composed:
    """Composites of one region, and what is told of them.

    Attributes
    ----------
    values : ndarray (time, band, y, x)
    coverage : ndarray (time, y, x), uint8
    valid : mapping of (collection, id) to [valid pixels, of them those that an offset took to the least number]
        Ids are unique in a collection only.
    lost : list of {"collection", "id", "error"}
        Scenes that could not be read.
    nbytes : int
        Bytes of the windows that were decoded of their files, masks too.
    """

    values: npt.NDArray[Any]
    coverage: npt.NDArray[np.uint8]
    valid: dict[tuple[str | None, str], list[int]] = field(default_factory=dict)
    lost: list[dict[str, Any]] = field(default_factory=list)
    nbytes: int = 0

    def notes(self, times: tuple[int, ...]) -> dict[str, Any]:
        """What the journal keeps of it; `times` are its timesteps."""
        covered = [int(np.count_nonzero(frame)) for frame in self.coverage]
        valid = [[*scene, *counts] for scene, counts in self.valid.items()]
        return {"times": list(times), "covered": covered, "valid": valid, "lost": self.lost}

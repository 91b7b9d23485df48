"""What the documents of an open store say, as properties: no pixel is read for any of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.format.attributes import LevelMirror
from chronozarr_dask.format.bands import Band
from chronozarr_dask.format.dtypes import Number
from chronozarr_dask.format.planes import Plane
from chronozarr_dask.format.provenance import Provenance
from chronozarr_dask.format.temporal import Temporal
from chronozarr_dask.store.opening import Opened
from chronozarr_dask.store.target import Objects


class StoreMetadata:
    """The metadata of a store whose documents were read."""

    def __init__(self, objects: Objects, opened: Opened) -> None:
        self._objects = objects
        self._opened = opened

    @property
    def url(self) -> str:
        """Path or URL of the store."""
        return self._objects.url

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The root attributes, as they are stored."""
        return self._opened.attributes

    @property
    def times(self) -> npt.NDArray[np.datetime64]:
        """Timesteps, datetime64[ms], UTC. Shape (n_time,)."""
        return np.array(self._opened.root.times, "datetime64[ms]")

    @property
    def bands(self) -> tuple[Band, ...]:
        """Bands in array order; those of a v0.1 store have a name and no more."""
        return self._opened.root.bands

    @property
    def levels(self) -> tuple[LevelMirror, ...]:
        """Path, resolution, transform, shape and grid of each level."""
        return self._opened.levels

    @property
    def crs(self) -> str:
        """``EPSG:<code>``."""
        return self._opened.root.crs

    @property
    def nodata(self) -> Number | None:
        """The value of invalid pixels, or None (2.3)."""
        return self._opened.root.nodata

    @property
    def temporal(self) -> Temporal:
        """Encoding and references (4.1)."""
        return self._opened.root.temporal

    @property
    def variable(self) -> str:
        """Name of the data array."""
        return self._opened.root.variable

    @property
    def planes(self) -> tuple[Plane, ...]:
        """Those of "mask" and "coverage" that the store has."""
        return self._opened.root.planes

    @property
    def provenance(self) -> Provenance | None:
        """Where the pixels come from, where the store says so (3.8)."""
        return self._opened.root.provenance

"""What a store will be, before any pixel is known: all but the choice of `auto` and the lengths of shards."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from chronozarr_dask.format.arrays import ArrayMeta, data_meta, documents, plane_meta
from chronozarr_dask.format.attributes import Root, ShardBytes, mirror
from chronozarr_dask.format.bands import Band
from chronozarr_dask.format.codecs import Codec
from chronozarr_dask.format.dtypes import Number, fill_value
from chronozarr_dask.format.georef import Georeference
from chronozarr_dask.format.layout import MASK, Layout
from chronozarr_dask.format.planes import Plane
from chronozarr_dask.format.provenance import Provenance
from chronozarr_dask.format.temporal import Encoding, Selection, Temporal


@dataclass(frozen=True)
class StoreSpec:
    """A store to be made.

    Attributes
    ----------
    layout : Layout
    dtype : str
    codec : Codec
    nodata : number or None
    georef : Georeference
    times : tuple of int
        Milliseconds since the epoch.
    bands : tuple of Band
    planes : tuple of "mask" and "coverage"
    anchor_interval : int
    provenance : Provenance or None
    """

    layout: Layout
    dtype: str
    codec: Codec
    nodata: Number | None
    georef: Georeference
    times: tuple[int, ...]
    bands: tuple[Band, ...]
    planes: tuple[Plane, ...]
    anchor_interval: int
    provenance: Provenance | None = None

    @property
    def fill(self) -> Number:
        """``fill_value`` of the data arrays."""
        return fill_value(self.nodata)

    @property
    def no_value(self) -> Number | None:
        """What stands for no value among the pixels: nodata, or nothing where a mask tells (2.3)."""
        return None if MASK in self.planes else self.nodata

    @property
    def pixel_bytes(self) -> int:
        """Bytes of a pixel in one timestep: all bands, and the planes."""
        return self.layout.n_band * np.dtype(self.dtype).itemsize + len(self.planes)

    def raw_bytes(self, level: int) -> int:
        """Bytes of a level's pixels in all timesteps."""
        return self.layout.n_time * math.prod(self.layout.level_size(level)) * self.pixel_bytes

    def temporal(self, encoding: Encoding, selection: Selection | None = None) -> Temporal:
        """The ``temporal`` block for an encoding."""
        chosen = None if selection is None else selection.to_json()
        if encoding == "none":
            return Temporal.none(chosen)
        return Temporal.star_delta(self.layout.n_time, self.anchor_interval, chosen)

    def meta(self, level: int, name: str) -> ArrayMeta:
        """Metadata of the data array, mask or coverage of a level."""
        if name == self.layout.variable:
            return data_meta(self.layout, level, self.dtype, self.codec, self.nodata, self.georef)
        return plane_meta(self.layout, level, self.codec)

    def documents(self) -> dict[str, dict[str, Any]]:
        """Every document below the root."""
        return documents(self.layout, self.dtype, self.codec, self.nodata, self.georef, self.planes)

    def root(self, temporal: Temporal, shard_bytes: ShardBytes | None) -> Root:
        """The root attributes."""
        layout = self.layout
        return Root(
            variable=layout.variable,
            times=self.times,
            bands=self.bands,
            nodata=self.nodata,
            crs=self.georef.crs,
            temporal=temporal,
            planes=self.planes,
            level_paths=tuple(str(k) for k in range(layout.n_levels)),
            levels=mirror(layout, self.georef),
            provenance=self.provenance,
            shard_bytes=shard_bytes,
        )

    def identity(self) -> dict[str, Any]:
        """All of it as JSON, to tell whether a journal belongs to the same store."""
        names = ("n_time", "n_band", "height", "width", "chunk_size", "n_levels", "shard_time")
        return {
            **{n: getattr(self.layout, n) for n in names},
            "dtype": self.dtype,
            "codec": self.codec.to_json(self.dtype),
            "nodata": self.nodata,
            "crs": self.georef.crs,
            "transform": list(self.georef.transform),
            "times": list(self.times),
            "bands": [b.to_json() for b in self.bands],
            "planes": list(self.planes),
            "anchor_interval": self.anchor_interval,
            "provenance": None if self.provenance is None else self.provenance.to_json(),
        }

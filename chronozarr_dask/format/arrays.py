"""Sections 2.1, 2.2, 2.4, 2.5, 5 and 7.1: the ``zarr.json`` document of every array, written and read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from chronozarr_dask.errors import InputError, StoreError
from chronozarr_dask.format.codecs import Codec, chain, parse_chain
from chronozarr_dask.format.dtypes import PROFILES, Number, fill_value, is_finite_number, profile
from chronozarr_dask.format.georef import Georeference
from chronozarr_dask.format.layout import (
    COORDINATES,
    DATA_DIMS,
    PLANE_DIMS,
    VOLATILITY,
    VOLATILITY_DIMS,
    Layout,
    array_path,
)
from chronozarr_dask.format.planes import PLANE_DTYPE, PLANE_FILL, Plane
from chronozarr_dask.format.sharding import Sharding, parse_sharding
from chronozarr_dask.format.times import TIME_CALENDAR, TIME_UNITS

ZARR_FORMAT = 3
MAX_CHUNK_BYTES = 2**31 - 1
"""What blosc and every zstd binding take in one call; also a bound on what a malformed document can ask for."""
MAX_EDGE = 2**31 - 1
"""Pixels along an edge, as GDAL counts them: no raster has more, and a malformed document asks for no more."""


@dataclass(frozen=True)
class ArrayMeta:
    """What an array's document says, as far as this format uses it.

    Attributes
    ----------
    shape : tuple of int
    dtype : str
        The Zarr ``data_type``.
    chunk : tuple of int
        The inner chunk's shape: what is compressed.
    sharding : Sharding or None
    codec : Codec
    fill : number or str
    dims : tuple of str
        ``dimension_names``.
    attributes : mapping
    """

    shape: tuple[int, ...]
    dtype: str
    chunk: tuple[int, ...]
    codec: Codec
    fill: Number | str
    dims: tuple[str, ...]
    sharding: Sharding | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The ``zarr.json`` document."""
        string = self.dtype == "string"
        codecs = (
            [{"name": "vlen-utf8", "configuration": {}}, self.codec.to_json("uint8")]
            if string
            else chain(self.codec, self.dtype)
        )
        return {
            "zarr_format": ZARR_FORMAT,
            "node_type": "array",
            "shape": list(self.shape),
            "data_type": self.dtype,
            "chunk_grid": {
                "name": "regular",
                "configuration": {"chunk_shape": list(self.sharding.shape if self.sharding else self.chunk)},
            },
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": self.fill,
            "codecs": self.sharding.to_json(codecs) if self.sharding else codecs,
            "dimension_names": list(self.dims),
            "attributes": {"_ARRAY_DIMENSIONS": list(self.dims), **self.attributes},
        }

    @property
    def chunk_bytes(self) -> int:
        """Bytes of one decoded chunk."""
        return math.prod(self.chunk) * np.dtype(self.dtype).itemsize


def most_stored_bytes(chunk_bytes: int) -> int:
    """Most bytes that a stored chunk can sensibly have: no compressor of section 8 adds more than 1 % and a header.

    What a shard index says beyond that is no chunk, and is not fetched.
    """
    return 2 * chunk_bytes + 2**16


def check_data_document(doc: Any, where: str) -> ArrayMeta:
    """Parse the document of a data array, mask or coverage.

    Raises
    ------
    StoreError
        Naming the field: not a Zarr v3 array, an unsupported data_type or codec, a chunk that is not one timestep of a
        square even cell, a shard that is not a whole number of them.
    """
    if not isinstance(doc, Mapping) or doc.get("zarr_format") != ZARR_FORMAT or doc.get("node_type") != "array":
        raise StoreError(f"{where}: not the document of a Zarr v3 array (2)")
    dtype = doc.get("data_type")
    if not isinstance(dtype, str) or dtype not in PROFILES:
        raise StoreError(f"{where}: data_type {dtype!r} is not supported: {', '.join(PROFILES)} (2.3, 10)")
    shape = _positive_integers(doc.get("shape"), f"{where}: shape")
    grid = doc.get("chunk_grid")
    if (
        not isinstance(grid, Mapping)
        or grid.get("name") != "regular"
        or not isinstance(grid.get("configuration"), Mapping)
    ):
        raise StoreError(f"{where}: chunk_grid is not 'regular' (2.1)")
    outer = _positive_integers(grid["configuration"].get("chunk_shape"), f"{where}: chunk_shape")
    _check_keys(doc.get("chunk_key_encoding"), where)
    sharding, inner_codecs = parse_sharding(doc.get("codecs"), outer, where)
    chunk = sharding.inner if sharding else outer
    if len(shape) not in (3, 4) or len(outer) != len(shape):
        raise StoreError(f"{where}: shape {list(shape)} with chunks of {list(outer)}: 3 or 4 axes expected (2.1, 2.4)")
    if max(shape[-2:]) > MAX_EDGE:
        raise StoreError(f"{where}: shape {list(shape)} has more than {MAX_EDGE} pixels along an edge (2.1)")
    cs = chunk[-1]
    if chunk[0] != 1 or chunk[-2] != cs or cs % 2 or (len(shape) == 4 and chunk[1] != shape[1]):
        raise StoreError(
            f"{where}: chunk {list(chunk)} is not one timestep of an even square cell with all bands (2.1)"
        )
    if sharding and sharding.shape[1:] != chunk[1:]:
        raise StoreError(f"{where}: shard {list(sharding.shape)} is not one cell over whole timesteps (7.1)")
    if math.prod(chunk) * np.dtype(dtype).itemsize > MAX_CHUNK_BYTES:
        raise StoreError(f"{where}: chunk {list(chunk)} of {dtype} has more than {MAX_CHUNK_BYTES} bytes")
    attributes = doc.get("attributes", {})
    if not isinstance(attributes, Mapping):
        raise StoreError(f"{where}: attributes is not an object")
    dims = doc.get("dimension_names") or []
    if not isinstance(dims, list):
        raise StoreError(f"{where}: dimension_names is {dims!r}: a list expected (2.2)")
    return ArrayMeta(
        shape,
        dtype,
        chunk,
        parse_chain(inner_codecs, where),
        _fill(doc.get("fill_value"), dtype, where),
        tuple(str(d) for d in dims),
        sharding,
        attributes,
    )


def _check_keys(encoding: Any, where: str) -> None:
    ok = isinstance(encoding, Mapping) and encoding.get("name") == "default"
    config = encoding.get("configuration", {}) if ok else {}
    if not ok or not isinstance(config, Mapping) or config.get("separator", "/") != "/":
        raise StoreError(f"{where}: chunk_key_encoding is not 'default' with separator '/' (2.1)")


def _positive_integers(value: Any, where: str) -> tuple[int, ...]:
    if not isinstance(value, list) or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in value):
        raise StoreError(f"{where} is {value!r}: a list of positive integers expected (2.1)")
    return tuple(value)


def _fill(value: Any, dtype: str, where: str) -> Number:
    if not is_finite_number(value):
        raise StoreError(f"{where}: fill_value is {value!r}: a finite number expected (2.3)")
    if dtype == "float32":
        return float(value)
    info = np.iinfo(dtype)
    if value != int(value) or not info.min <= value <= info.max:
        raise StoreError(f"{where}: fill_value is {value!r}: out of the range of {dtype} (2.3)")
    return int(value)


def data_meta(
    layout: Layout, level: int, dtype: str, codec: Codec, nodata: Number | None, georef: Georeference
) -> ArrayMeta:
    """The data array of a level (2.1)."""
    fill = fill_value(nodata)
    if profile(dtype).is_float:
        fill = float(fill)
    attributes: dict[str, Any] = {} if nodata is None else {"nodata": fill}
    attributes |= georef.array_attributes(level, *layout.level_size(level))
    chunk = layout.chunk_shape
    return ArrayMeta(
        layout.data_shape(level), dtype, chunk, codec, fill, DATA_DIMS, _sharding(layout, chunk), attributes
    )


def plane_meta(layout: Layout, level: int, codec: Codec) -> ArrayMeta:
    """The mask or coverage array of a level (2.4, 2.5)."""
    chunk = (1, layout.chunk_size, layout.chunk_size)
    return ArrayMeta(
        layout.plane_shape(level), PLANE_DTYPE.name, chunk, codec, PLANE_FILL, PLANE_DIMS, _sharding(layout, chunk)
    )


def coordinate_metas(layout: Layout, level: int) -> dict[str, ArrayMeta]:
    """The four coordinate arrays of a level (2.2), each one chunk."""
    height, width = layout.level_size(level)
    codec = Codec()
    time = ArrayMeta(
        (layout.n_time,), "int64", (layout.n_time,), codec, 0, ("time",),
        attributes={"units": TIME_UNITS, "calendar": TIME_CALENDAR},
    )  # fmt: skip
    metas = (
        time,
        ArrayMeta((layout.n_band,), "string", (layout.n_band,), codec, "", ("band",)),
        ArrayMeta((height,), "float64", (height,), codec, 0.0, ("y",)),
        ArrayMeta((width,), "float64", (width,), codec, 0.0, ("x",)),
    )
    return dict(zip(COORDINATES, metas, strict=True))


def volatility_meta(layout: Layout) -> ArrayMeta:
    """The volatility array (5), one chunk."""
    grid = layout.grid(0)
    return ArrayMeta(grid, "float32", grid, Codec(), 0.0, VOLATILITY_DIMS)


def group(attributes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The document of a group."""
    return {"zarr_format": ZARR_FORMAT, "node_type": "group", "attributes": dict(attributes or {})}


def documents(
    layout: Layout, dtype: str, codec: Codec, nodata: Number | None, georef: Georeference, planes: tuple[Plane, ...]
) -> dict[str, dict[str, Any]]:
    """Every document below the root: node path (``0``, ``0/data``, ..., ``volatility``) to document."""
    out: dict[str, dict[str, Any]] = {}
    for level in range(layout.n_levels):
        out[str(level)] = group(georef.group_attributes(level))
        data = data_meta(layout, level, dtype, codec, nodata, georef)
        out[array_path(level, layout.variable)] = data.to_json()
        for plane in planes:
            out[array_path(level, plane)] = plane_meta(layout, level, codec).to_json()
        for name, meta in coordinate_metas(layout, level).items():
            out[array_path(level, name)] = meta.to_json()
    out[VOLATILITY] = volatility_meta(layout).to_json()
    return out


def grown(meta: ArrayMeta, n_time: int) -> ArrayMeta:
    """The same array after an append to `n_time` timesteps; `time` stays one chunk, of the new length (14)."""
    if n_time < meta.shape[0]:
        raise InputError(f"an array of {meta.shape[0]} timesteps cannot shrink to {n_time} (section 14)")
    chunk = (n_time,) if meta.dims == ("time",) else meta.chunk
    return replace(meta, shape=(n_time, *meta.shape[1:]), chunk=chunk)


def _sharding(layout: Layout, chunk: tuple[int, ...]) -> Sharding | None:
    return None if layout.shard_time is None else Sharding((layout.shard_time, *chunk[1:]), chunk)

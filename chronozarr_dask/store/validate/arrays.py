"""Sections 2.1 to 2.5, 3.6, 5, 6, 7.1 and 8: each array next to the rest of the store."""

from __future__ import annotations

from typing import Any

import numpy as np

from chronozarr_dask.format.dtypes import PROFILES
from chronozarr_dask.store.validate.documents import BLOCK
from chronozarr_dask.store.validate.facts import DATA, Facts
from chronozarr_dask.store.validate.model import Model, Nodes
from chronozarr_dask.store.validate.problem import Findings
from chronozarr_dask.store.validate.root import RootFacts
from chronozarr_dask.store.validate.values import is_number, same_json

CF_PACKING = {"scale_factor", "add_offset"}
_SIZES = {"uint8": 1, "uint16": 2, "int16": 2, "int32": 4, "float32": 4, "int64": 8, "float64": 8}


def check_arrays(root: RootFacts, nodes: Nodes, model: Model, out: Findings) -> None:
    """Every array against the model."""
    _check_dtype(nodes, model, out)
    _check_packing(nodes, out)
    _check_nodata(root, nodes, model, out)
    inner = [f.chunking.inner for _, f in nodes.chunked() if f.chunking]
    if model.cs is not None and model.cs % 2 and any(i[-2:] == (model.cs, model.cs) for i in inner):
        out.error("2.1", f"0/{nodes.variable}/zarr.json: chunk_shape", "cs is even", model.cs + 1, model.cs)
    early = [f for _, f in nodes.chunked() if f.chunking and f.chunking.location == "start"]
    if early:
        message = "an index at the start of a shard should not be written: some readers decode garbage from it"
        out.warn("7.2", f"{early[0].key}: codecs.index_location", message, "end", "start")
    for (level, name), facts in sorted(nodes.arrays.items()):
        if facts.role.is_chunked:
            _check_chunked(facts, level, model, out)
        else:
            _check_coordinate(facts, name, level, model, out)
    if nodes.volatility is not None:
        _check_volatility(nodes.volatility, model, out)


def _check_dtype(nodes: Nodes, model: Model, out: Findings) -> None:
    """2.3: a supported dtype; 2.1: the same at every level."""
    supported = " or ".join(PROFILES)
    if model.dtype is not None and model.dtype not in PROFILES:
        where = f"0/{nodes.variable}/zarr.json: data_type"
        out.error("2.3", where, "the format has four dtypes", supported, model.dtype)
    for _, facts in nodes.data():
        if facts.dtype not in (None, model.dtype):
            known = facts.dtype in PROFILES
            message = "the dtype is the same at every level" if known else f"the format has {supported}"
            out.error("2.1" if known else "2.3", f"{facts.key}: data_type", message, model.dtype, facts.dtype)


def _check_nodata(root: RootFacts, nodes: Nodes, model: Model, out: Findings) -> None:
    """2.3: nodata, fill_value and the attribute; planes have fill 0 (2.4, 2.5)."""
    for _, facts in nodes.chunked():
        fill = facts.document.get("fill_value")
        if facts.role is not DATA and not same_json(fill, 0):
            out.error(facts.role.section, f"{facts.key}: fill_value", "a plane has fill 0", 0, fill)
    if model.nodata is None:
        return
    (nodata,) = model.nodata
    where = f"{BLOCK}.nodata"
    if root.nodata is not None and root.nodata != model.nodata:
        out.error("2.3", where, "the data arrays have another value", nodata, root.nodata[0])
    if nodata is not None and not _holds(model.dtype, nodata):
        out.error("2.3", where, f"{model.dtype} cannot hold it", model.dtype, nodata)
    for _, facts in nodes.data():
        fill = facts.document.get("fill_value")
        expected = 0 if nodata is None else nodata
        if not _equal(fill, expected, model.dtype):
            out.error("2.3", f"{facts.key}: fill_value", "it is nodata, or 0 when nodata is null", expected, fill)
        if facts.attributes is None:
            continue
        found = facts.attributes.get("nodata")
        at = f"{facts.key}: attributes.nodata"
        if nodata is None and "nodata" in facts.attributes:
            if found is None:
                out.warn("2.3", at, "it is null: leave the attribute out when nodata is null", "absent", None)
            else:
                out.error("2.3", at, "nodata is null, so the attribute is absent", "absent", found)
        elif nodata is not None and not _equal(found, nodata, model.dtype):
            out.error("2.3", at, "it is the store's nodata", nodata, found)


def _check_packing(nodes: Nodes, out: Findings) -> None:
    """3.6: plain readers see stored values."""
    for _, facts in nodes.data():
        for name in sorted(CF_PACKING & facts.said.keys()):
            message = "scale and offset are in chronozarr.bands, never on the array; leave it out"
            out.error("3.6", f"{facts.key}: attributes.{name}", message, "absent", facts.said[name])


def _holds(dtype: str | None, value: int | float) -> bool:
    if dtype not in PROFILES:
        return True
    if dtype == "float32":
        return abs(value) <= float(np.finfo(np.float32).max)
    info = np.iinfo(str(dtype))
    return bool(info.min <= value <= info.max and value == int(value))


def _equal(found: Any, expected: int | float, dtype: str | None) -> bool:
    """Equal as values of the dtype: 0.1 may be written as the double or as the float32."""
    if not is_number(found):
        return False
    if dtype == "float32" and _holds(dtype, found) and _holds(dtype, expected):
        return bool(np.float32(found) == np.float32(expected))
    return bool(found == expected)


def _check_chunked(facts: Facts, level: int, model: Model, out: Findings) -> None:
    """Data and planes: shape, chunk, shard, compressor."""
    is_data = facts.role is DATA
    section = facts.role.section
    middle = (model.n_band,) if is_data else ()
    expected = (model.n_time, *middle, *(model.level_size(level) or (None, None)))
    if facts.shape is not None and _differ(facts.shape, expected):
        halves = is_data and level > 0 and not _differ(facts.shape[:2], expected[:2])
        message = "half of the level below, rounded up" if halves else "it differs from the rest of the store"
        out.error("6" if halves else section, f"{facts.key}: shape", message, expected, facts.shape)
    cut = facts.chunking
    if cut is not None:
        inner = (1, *middle, model.cs, model.cs)
        if _differ(cut.inner, inner):
            message = "a chunk is one timestep of one cell with all bands, the same at every level"
            out.error(section, f"{facts.key}: chunk_shape", message, inner, cut.inner)
        elif cut.sharded and cut.outer[1:] != cut.inner[1:]:
            message = "a shard is one cell over shard_time timesteps"
            out.error("7.1", f"{facts.key}: chunk_grid", message, (model.shard_time, *inner[1:]), cut.outer)
        elif model.shard_time is not None and (cut.outer[0] if cut.sharded else 0) != model.shard_time:
            message = "shard_time is the same for data and planes at every level (0: unsharded)"
            found = cut.outer[0] if cut.sharded else 0
            out.error("7.1" if is_data else section, f"{facts.key}: chunk_grid", message, model.shard_time, found)
    if facts.compressor is not None and model.chain is not None and facts.compressor.settings != model.chain:
        message = "data, mask and coverage have the same codecs at every level"
        out.error("8", f"{facts.key}: codecs", message, model.chain, facts.compressor.settings)
    _check_bytes(facts, model.dtype if is_data else facts.dtype, out)


def _differ(found: tuple[int, ...], expected: tuple[int | None, ...]) -> bool:
    return any(e is not None and f != e for f, e in zip(found, expected, strict=True))


def _check_coordinate(facts: Facts, name: str, level: int, model: Model, out: Findings) -> None:
    """2.2: length; SHOULD be a single chunk."""
    height, width = model.level_size(level) or (None, None)
    expected = {"time": model.n_time, "band": model.n_band, "y": height, "x": width}[name]
    if facts.shape is not None and _differ(facts.shape, (expected,)):
        out.error("2.2", f"{facts.key}: shape", "it has one value per element of the axis", expected, facts.shape[0])
    elif facts.shape is not None and facts.chunking is not None and facts.chunking.outer[0] < facts.shape[0]:
        message = "a coordinate should be a single chunk"
        out.warn("2.2", f"{facts.key}: chunk_shape", message, facts.shape[0], facts.chunking.outer[0])
    _check_bytes(facts, facts.dtype, out)


def _check_volatility(facts: Facts, model: Model, out: Findings) -> None:
    """5: one value per cell of level 0, a single chunk."""
    grid = model.grid(0)
    if facts.shape is not None and grid is not None and facts.shape != grid:
        out.error("5", f"{facts.key}: shape", "it has one value per cell of level 0", grid, facts.shape)
    elif facts.shape is not None and facts.chunking is not None and facts.chunking.outer != facts.shape:
        out.error("5", f"{facts.key}: chunk_shape", "volatility is a single chunk", facts.shape, facts.chunking.outer)
    _check_bytes(facts, facts.dtype, out)


def _check_bytes(facts: Facts, dtype: str | None, out: Findings) -> None:
    """8: values are little-endian, and blosc is told their size."""
    size = _SIZES.get(dtype or "")
    if facts.compressor is None or size is None:
        return
    if size > 1 and facts.compressor.endian is None:
        out.error("8", f"{facts.key}: codecs", "the bytes codec must say that values are little-endian", "little", None)
    found = facts.compressor.typesize
    if facts.compressor.codec.name == "blosc" and found != size:
        out.error("8", f"{facts.key}: codecs.typesize", "it is the dtype's size in bytes", size, found)

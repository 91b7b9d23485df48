"""Sections 2.2, 3.5 and 5: the values of coordinates and volatility, decoded from their chunks."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any

import numcodecs
import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import InputError, StoreError
from chronozarr_dask.format.arrays import MAX_CHUNK_BYTES
from chronozarr_dask.format.codecs import Codec
from chronozarr_dask.format.layout import centres
from chronozarr_dask.format.times import render_time
from chronozarr_dask.store.compress import decompress
from chronozarr_dask.store.target import Objects
from chronozarr_dask.store.validate.facts import STRING, Facts
from chronozarr_dask.store.validate.model import Model, Nodes
from chronozarr_dask.store.validate.problem import Findings
from chronozarr_dask.store.validate.documents import BLOCK
from chronozarr_dask.store.validate.root import RootFacts
from chronozarr_dask.store.validate.values import is_number, vote

MAX_CHUNKS = 10_000
"""Chunks of one coordinate that are read; each SHOULD be one."""
MAX_TEXT_BYTES = 1 << 24
_OFF = 0.001  # pixels: far above rounding, far below what moves a pixel
_Names = tuple[str, ...]


def check_values(objects: Objects, root: RootFacts, nodes: Nodes, model: Model, pool: Executor, out: Findings) -> None:
    """Values of every coordinate at every level, and of volatility."""
    facts = [f for _, f in sorted(nodes.arrays.items(), key=lambda item: item[0]) if not f.role.is_chunked]
    found_by = [Findings() for _ in facts]  # one each: threads finish in any order
    loaded = pool.map(lambda f, own: _load(objects, f, own), facts, found_by)
    values = dict(zip([f.path for f in facts], loaded, strict=True))
    for own in found_by:
        out.problems += own.problems

    def at(name: str) -> dict[int, Any]:
        found = {k: values.get(f.path) for (k, n), f in sorted(nodes.arrays.items()) if n == name}
        return {k: v for k, v in found.items() if v is not None and len(v) == _length(name, k, model)}

    _check_time(root, model, at("time"), out)
    _check_bands(root, model, at("band"), out)
    for level, found in at("y").items():
        _check_centres(found, level, "y", model, out)
    for level, found in at("x").items():
        _check_centres(found, level, "x", model, out)
    whole = nodes.volatility
    if whole is not None and whole.chunking is not None and whole.chunking.outer == whole.shape:
        _check_volatility(_load(objects, whole, out), out)


def _length(name: str, level: int, model: Model) -> int | None:
    size = model.level_size(level) or (None, None)
    return {"time": model.n_time, "band": model.n_band, "y": size[0], "x": size[1]}[name]


def _load(objects: Objects, facts: Facts, out: Findings) -> npt.NDArray[Any] | _Names | None:
    """The values of an array of one axis (or of one chunk), None after saying why they cannot be had."""
    if facts.shape is None or facts.dtype is None or facts.compressor is None or facts.chunking is None:
        return None
    chunk, ndim = facts.chunking.outer, len(facts.shape)
    count = -(-facts.shape[0] // chunk[0]) if ndim == 1 else 1
    if count > MAX_CHUNKS:
        out.warn("2.2", f"{facts.path}/c", f"{count} chunks are too many to be read; its values are not checked")
        return None
    parts: list[Any] = []
    for i in range(count):
        key = f"{facts.path}/c/{'/'.join([str(i)] + ['0'] * (ndim - 1))}"
        try:
            parts.append(_decode(objects.get(key), facts, chunk, key))
        except StoreError as error:
            out.error(facts.role.section, key, f"{error}; write the chunk again", "a chunk", None)
            return None
    if facts.dtype == STRING:
        return tuple(text for part in parts for text in part)[: facts.shape[0]]
    return np.asarray(np.concatenate(parts)[: facts.shape[0]])


def _decode(blob: bytes | None, facts: Facts, chunk: tuple[int, ...], key: str) -> Any:
    assert facts.compressor is not None
    fill = facts.document.get("fill_value")
    if facts.dtype == STRING:
        if chunk[0] > MAX_CHUNK_BYTES // 8:
            raise StoreError(f"{key}: {chunk[0]} texts are too many")
        return (
            [str(fill)] * chunk[0] if blob is None else texts(inflate(blob, facts.compressor.codec, key), chunk[0], key)
        )
    dtype = np.dtype(facts.dtype)
    nbytes = dtype.itemsize
    for n in chunk:
        nbytes *= n
    if nbytes > MAX_CHUNK_BYTES:
        raise StoreError(f"{key}: a chunk of {nbytes} bytes is more than the {MAX_CHUNK_BYTES} that codecs take")
    if blob is None:
        value = fill if is_number(fill) and (dtype.kind == "f" or -(2**63) <= fill < 2**63) else 0
        return np.full(chunk, value).astype(dtype)
    return decompress(blob, facts.compressor.codec, dtype.newbyteorder("<"), chunk, key)


def inflate(blob: bytes, codec: Codec, key: str) -> bytes:
    """Decompressed bytes of a chunk whose size is not known beforehand; StoreError if they cannot be had."""
    try:
        if codec.name == "gzip":
            decoder = zlib.decompressobj(zlib.MAX_WBITS | 16)
            data = decoder.decompress(blob, MAX_TEXT_BYTES)
            if not decoder.eof:
                raise ValueError("the stream is cut, or longer than band names are")
            return data
        if codec.name == "blosc":
            if len(blob) < 16 or int.from_bytes(blob[12:16], "little") != len(blob):
                raise ValueError("the frame is cut, or longer than its header says")
            if int.from_bytes(blob[4:8], "little") > MAX_TEXT_BYTES:
                raise ValueError("the frame announces more than band names take")
            return bytes(numcodecs.Blosc().decode(blob))
        return bytes(numcodecs.Zstd().decode(blob))
    except (RuntimeError, ValueError, TypeError, zlib.error, EOFError, MemoryError) as error:
        raise StoreError(f"{key}: its {len(blob)} bytes do not decode as {codec.name}: {error}") from error


def texts(data: bytes, n: int, key: str) -> list[str]:
    """The texts of a vlen-utf8 chunk: a count, then each text behind its length; all numbers uint32.

    Raises
    ------
    StoreError
        If the chunk is cut, holds another number of texts, or one that is no UTF-8.
    """
    count, at, out = int.from_bytes(data[:4], "little"), 4, []
    if len(data) < 4 or count != n:
        raise StoreError(f"{key}: the chunk holds {count} texts, {n} expected")
    for _ in range(n):
        size = int.from_bytes(data[at : at + 4], "little")
        text = data[at + 4 : at + 4 + size]
        if len(data) < at + 4 or len(text) < size:
            raise StoreError(f"{key}: the chunk is cut")
        try:
            out.append(text.decode())
        except UnicodeDecodeError as error:
            raise StoreError(f"{key}: {error}") from error
        at += 4 + size
    return out


def _check_time(root: RootFacts, model: Model, arrays: dict[int, Any], out: Findings) -> None:
    """2.2: identical at every level and increasing; 3.5: the mirror."""
    said = {k: tuple(int(v) for v in a) for k, a in arrays.items()}
    mirror = root.times if root.n_times == model.n_time else None
    times = vote([mirror, *said.values()])
    if times is None:
        return
    if mirror is not None and mirror != times:
        i = _first(mirror, times)
        out.error(
            "3.5", f"{BLOCK}.times[{i}]", "it is the rendering of the time coordinate", _iso(times[i]), _iso(mirror[i])
        )
    for level, found in said.items():
        if found != times:
            i = _first(found, times)
            message = f"time differs from the rest of the store at timestep {i}"
            out.error("2.2", f"{level}/time/c/0", message, _iso(times[i]), _iso(found[i]))
    for i in range(1, len(times)):
        if times[i] <= times[i - 1]:
            message = f"timesteps increase; number {i} is not after the one before"
            out.error("2.2", f"0/time/c/0: [{i}]", message, f"after {_iso(times[i - 1])}", _iso(times[i]))
            return


def _iso(ms: int) -> str:
    try:
        return render_time(ms)
    except InputError:
        return f"{ms} ms"


def _first(a: Sequence[Any], b: Sequence[Any]) -> int:
    return next(i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y)


def _check_bands(root: RootFacts, model: Model, arrays: dict[int, Any], out: Findings) -> None:
    """2.2, 3.5: names or indices, identical at every level; `band_names` and `bands` agree with them."""
    n = model.n_band
    names = {k: a for k, a in arrays.items() if isinstance(a, tuple)}
    mirrors = {"band_names": root.band_names, "bands": root.bands}
    known = {name: v for name, v in mirrors.items() if v is not None and len(v) == n}
    agreed = vote([*known.values(), *names.values()])
    for name, found in known.items():
        if found != agreed:
            out.error(
                "3.5", f"{BLOCK}.{name}", "bands, band_names and the band coordinate have the same names", agreed, found
            )
    for level, found in arrays.items():
        if isinstance(found, tuple):
            if found != agreed:
                out.error("2.2", f"{level}/band/c/0", "it holds the band names in array order", agreed, found)
        elif not np.array_equal(found, np.arange(n or 0)):
            out.error("2.2", f"{level}/band/c/0", "indices run from 0", list(range(n or 0)), found.tolist())
    if names and len(names) < len(arrays):
        level = min(arrays.keys() - names.keys()) if len(names) * 2 >= len(arrays) else min(names)
        out.error("2.2", f"{level}/band/zarr.json: data_type", "band is identical at every level", "one dtype", "two")


def _check_centres(found: npt.NDArray[Any], level: int, name: str, model: Model, out: Findings) -> None:
    """2.2: x increases, y decreases, both at the pixel centres of the level's transform."""
    key = f"{level}/{name}/c/0"
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.diff(found) * (1 if name == "x" else -1)
    if not np.all(steps > 0):
        i = int(np.argmin(steps > 0)) + 1
        direction = "increases" if name == "x" else "decreases"
        out.error("2.2", f"{key}: [{i}]", f"{name} {direction} everywhere", f"beyond {found[i - 1]}", float(found[i]))
        return
    transform = model.level_transform(level)
    if transform is None:
        return
    origin, step = (transform[2], transform[0]) if name == "x" else (transform[5], transform[4])
    expected = np.array(centres(origin, step, len(found)))
    with np.errstate(over="ignore", invalid="ignore"):
        off = ~(np.abs(found - expected) <= _OFF * abs(step))
    if off.any():
        i = int(np.argmax(off))
        message = f"{name} holds the pixel centres of the level's transform"
        out.error("2.2", f"{key}: [{i}]", message, float(expected[i]), float(found[i]))


def _check_volatility(values: Any, out: Findings) -> None:
    """5: clipped to 0..1."""
    if values is None:
        return
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        row, col = (int(i) for i in np.argwhere(wrong)[0])
        message = f"the value of cell ({row}, {col}) is not within 0 and 1"
        out.error("5", "volatility/c/0/0", message, "0 to 1", float(values[row, col]))

"""Stores written by hand for the reader's tests: documents as literals, chunks by direct calls, objects in a dict."""

import gzip
import json
import struct
from collections.abc import Callable, Mapping
from typing import Any

import google_crc32c
import numcodecs
import numpy as np

from chronozarr_dask.errors import StoreError
from chronozarr_dask.store.opening import open_documents
from chronozarr_dask.store.reader import Store

EMPTY = 2**64 - 1
ZSTD = {"name": "zstd", "configuration": {"level": 5, "checksum": False}}
GZIP = {"name": "gzip", "configuration": {"level": 6}}
LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}


class Memory:
    """Objects in a dict. Every request is in `log`."""

    url = "memory"

    def __init__(self, objects: Mapping[str, bytes] | None = None) -> None:
        self.objects = dict(objects or {})
        self.log: list[tuple[str, str]] = []

    def get(self, key: str) -> bytes | None:
        self.log.append(("get", key))
        return self.objects.get(key)

    def get_range(self, key: str, start: int, stop: int) -> bytes | None:
        self.log.append(("range", key))
        return None if key not in self.objects else self.objects[key][start:stop]

    def tail(self, key: str, nbytes: int) -> tuple[bytes, int] | None:
        self.log.append(("tail", key))
        return None if key not in self.objects else (self.objects[key][-nbytes:], len(self.objects[key]))

    def size(self, key: str) -> int | None:
        self.log.append(("size", key))
        return None if key not in self.objects else len(self.objects[key])

    def put(self, key: str, data: bytes) -> None:
        self.objects[key] = bytes(data)

    def put_json(self, key: str, document: Any) -> None:
        self.objects[key] = json.dumps(document).encode()

    def create(self, key: str, data: bytes) -> bool:
        return key not in self.objects and self.objects.setdefault(key, data) is data

    def delete(self, key: str) -> None:
        self.objects.pop(key, None)

    def delete_prefix(self, prefix: str) -> None:
        self.objects = {k: v for k, v in self.objects.items() if not k.startswith(prefix + "/")}

    def is_empty(self) -> bool:
        return not self.objects

    def child(self, name: str) -> "Memory":
        raise NotImplementedError

    def requests(self) -> list[tuple[str, str]]:
        """What was asked for since the last call."""
        log, self.log = self.log, []
        return log


def opened(objects: Memory) -> Store:
    """The store in `objects`; the requests of the opening are forgotten."""
    store = Store(objects, open_documents(objects))
    objects.requests()
    return store


def refused(read: Callable[[], Any]) -> str:
    """What a StoreError says; empty where there is none."""
    try:
        read()
    except StoreError as error:
        return str(error)
    return ""


def compressed(chunk: np.ndarray, codec: Mapping[str, Any] = ZSTD) -> bytes:
    """Stored bytes of a chunk."""
    if codec["name"] == "gzip":
        return gzip.compress(chunk.tobytes())
    if codec["name"] == "zstd":
        return bytes(numcodecs.Zstd(5).encode(np.ascontiguousarray(chunk)))
    c = codec["configuration"]
    shuffle = {"noshuffle": 0, "shuffle": 1}[c["shuffle"]]
    return bytes(numcodecs.Blosc(c["cname"], c["clevel"], shuffle).encode(np.ascontiguousarray(chunk)))


def shard(chunks: list[bytes | None], location: str = "end") -> bytes:
    """A shard object of compressed chunks, None where empty."""
    at = 16 * len(chunks) + 4 if location == "start" else 0
    index = b""
    for chunk in chunks:
        index += struct.pack("<QQ", EMPTY, EMPTY) if chunk is None else struct.pack("<QQ", at, len(chunk))
        at += len(chunk or b"")
    index += struct.pack("<I", google_crc32c.value(index))
    body = b"".join(c for c in chunks if c is not None)
    return index + body if location == "start" else body + index


def array_document(
    shape: tuple[int, ...],
    dtype: str,
    cs: int,
    *,
    fill: float = 0,
    codec: Mapping[str, Any] = ZSTD,
    shard_time: int | None = None,
    location: str = "end",
) -> dict[str, Any]:
    """The zarr.json of a data array (four axes) or a plane (three)."""
    inner = [1, *shape[1:-2], cs, cs]
    codecs: list[Any] = [LITTLE, codec]
    if shard_time is not None:
        index_codecs = [LITTLE, {"name": "crc32c"}]
        config = {"chunk_shape": inner, "codecs": codecs, "index_codecs": index_codecs, "index_location": location}
        codecs = [{"name": "sharding_indexed", "configuration": config}]
    dims = ["time", "band", "y", "x"] if len(shape) == 4 else ["time", "y", "x"]
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [shard_time or 1, *inner[1:]]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill,
        "codecs": codecs,
        "dimension_names": dims,
        "attributes": {"_ARRAY_DIMENSIONS": dims},
    }


def group_document(level: int = 0) -> dict[str, Any]:
    """The zarr.json of a level group: 10 m pixels from (500000, 5000000)."""
    size = 10.0 * 2**level
    attributes = {"crs": "EPSG:32631", "transform": [size, 0.0, 500000.0, 0.0, -size, 5000000.0], "resolution": size}
    return {"zarr_format": 3, "node_type": "group", "attributes": attributes}


NONE = {"encoding": "none"}


def root_document(arrays: Mapping[str, Mapping[str, Any]], temporal: Mapping[str, Any] = NONE, **block: Any) -> Any:
    """The root zarr.json of the arrays (``0/data``, ``0/mask``, ...), with mirrors and consolidated metadata.

    Timesteps are the first days of months from 2024-01; bands are b0, b1, ... `block` replaces fields of the
    ``chronozarr`` attribute; a field of None is left out, unless it is nodata.
    """
    n_time, n_band = arrays["0/data"]["shape"][:2]
    n_levels = sum(path.endswith("/data") for path in arrays)
    levels = []
    for k in range(n_levels):
        document = arrays[f"{k}/data"]
        cs = document["chunk_grid"]["configuration"]["chunk_shape"][-1]
        group = group_document(k)["attributes"]
        grid = [-(-n // cs) for n in document["shape"][-2:]]
        shape = list(document["shape"])
        levels.append({"path": str(k), **group, "shape": shape, "grid": grid})
        del levels[-1]["crs"]
    chronozarr: dict[str, Any] = {
        "spec_version": "0.2.0",
        "variable": "data",
        "times": [f"2024-{m:02d}-01T00:00:00Z" for m in range(1, n_time + 1)],
        "bands": [{"name": f"b{i}"} for i in range(n_band)],
        "band_names": [f"b{i}" for i in range(n_band)],
        "nodata": 0,
        "crs": "EPSG:32631",
        "temporal": temporal,
        "volatility_path": "volatility",
        **{f"{plane}_variable": plane for plane in ("mask", "coverage") if f"0/{plane}" in arrays},
        "levels": levels,
        **block,
    }
    chronozarr = {k: v for k, v in chronozarr.items() if v is not None or k == "nodata"}
    datasets = [{"path": str(k), "crs": "EPSG:32631"} for k in range(n_levels)]
    metadata = {"method": "block_mean", "version": "chronozarr 0.2.0", "args": []}
    below = {**{str(k): group_document(k) for k in range(n_levels)}, **arrays}
    return {
        "zarr_format": 3,
        "node_type": "group",
        "attributes": {
            "multiscales": [{"datasets": datasets, "type": "reduce", "metadata": metadata}],
            "chronozarr": chronozarr,
        },
        "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": below},
    }


def star(n: int, interval: int, references: Mapping[int, int]) -> dict[str, Any]:
    """A star-delta ``temporal`` block."""
    return {
        "encoding": "star-delta",
        "anchor_interval": interval,
        "anchor_indices": list(range(0, n, interval)),
        "delta_reference": {str(t): a for t, a in references.items()},
    }


def simple(arrays: Mapping[str, Mapping[str, Any]], chunks: Mapping[str, bytes], **root: Any) -> Memory:
    """A store out of array documents and objects."""
    objects = Memory(chunks)
    objects.put_json("zarr.json", root_document(arrays, **root))
    return objects


def px(*values: float, dtype: str = "<u2") -> np.ndarray:
    """A chunk of one band and 2 x 2 pixels."""
    return np.array(values, dtype).reshape(1, 2, 2)


def one_cell(
    chunks: dict[int, np.ndarray], n: int, temporal: Any = None, dtype: str = "uint16", **document: Any
) -> Memory:
    """A store of one cell of 2 x 2 pixels and `n` timesteps."""
    arrays = {"0/data": array_document((n, 1, 2, 2), dtype, 2, **document)}
    objects = {f"0/data/c/{t}/0/0/0": compressed(chunk) for t, chunk in chunks.items()}
    root = {"nodata": document.get("fill", 0)} | ({} if temporal is None else {"temporal": temporal})
    return simple(arrays, objects, **root)


def numbered(cs: int = 2, height: int = 5, width: int = 7, planes: tuple[str, ...] = ()) -> tuple[Memory, np.ndarray]:
    """Two timesteps, two bands; padding holds 60000, which must not be seen."""
    data = np.arange(2 * 2 * height * width, dtype="<u2").reshape(2, 2, height, width) + 1
    padded = np.pad(data, ((0, 0), (0, 0), (0, -height % cs), (0, -width % cs)), constant_values=60000)
    arrays = {"0/data": array_document(data.shape, "uint16", cs)}
    chunks = {}
    for t in range(2):
        for r in range(-(-height // cs)):
            for c in range(-(-width // cs)):
                box = padded[t, :, r * cs : (r + 1) * cs, c * cs : (c + 1) * cs]
                chunks[f"0/data/c/{t}/0/{r}/{c}"] = compressed(box)
                for plane in planes:
                    arrays[f"0/{plane}"] = array_document((2, height, width), "uint8", cs)
                    chunks[f"0/{plane}/c/{t}/{r}/{c}"] = compressed((box[0] % 2).astype("u1"))
    return simple(arrays, chunks), data


def two_levels() -> Memory:
    """One timestep, 3 x 3 and 2 x 2 pixels in cells of 2."""
    arrays = {f"{k}/data": array_document((1, 1, n, n), "uint16", 2) for k, n in enumerate((3, 2))}
    return simple(
        arrays, {"0/data/c/0/0/0/0": compressed(px(1, 2, 3, 4)), "1/data/c/0/0/0/0": compressed(px(5, 6, 7, 8))}
    )

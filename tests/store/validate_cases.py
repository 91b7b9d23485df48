"""Small stores of the reference encoder in memory, and the edits by which a test breaks one thing in them."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, cast

import chronozarr
import numcodecs
import numpy as np
import pytest

from chronozarr_dask.store.target import Objects
from chronozarr_dask.store.validate import Problem, validate_objects

CZ = "attributes.chronozarr"
MULTISCALES = "attributes.multiscales"
N_TIME, N_BAND, HEIGHT, WIDTH, CS = 7, 2, 37, 45, 16
LEVELS = ("0", "1", "2")
MONTHS = np.arange("2024-01", "2025-01", dtype="datetime64[M]").astype("datetime64[ns]")
PROVENANCE = {"sources": ["sentinel-2-l2a"], "composite": "monthly median", "gap_fill": "none", "notes": "a test"}


def _data(dtype: str, n_time: int = N_TIME) -> np.ndarray:
    return np.random.default_rng(1).integers(1, 90, (n_time, N_BAND, HEIGHT, WIDTH)).astype(dtype)


def _plane() -> np.ndarray:
    return np.random.default_rng(2).integers(0, 2, (N_TIME, HEIGHT, WIDTH)).astype(np.uint8)


STORES: dict[str, Callable[[], tuple[np.ndarray, dict[str, Any]]]] = {
    "none": lambda: (_data("uint16"), {"encoding": "none"}),
    "star": lambda: (_data("uint8"), {"encoding": "star-delta", "anchor_interval": 3}),
    "full": lambda: (
        _data("uint16"),
        {
            "encoding": "star-delta",
            "anchor_interval": 3,
            "shard": True,
            "shard_time": 3,
            "codec": "blosc-zstd-shuffle",
            "nodata": 0,
            "mask": iter(list(_plane())),
            "coverage": iter(list(_plane())),
            "provenance": PROVENANCE,
        },
    ),
    "null": lambda: (_data("int16"), {}),
    "float": lambda: (_data("float32"), {"nodata": -9999.5}),
    "single": lambda: (_data("uint16")[:, :, :CS, :CS], {"encoding": "none"}),
    "one-time": lambda: (_data("uint16", 1), {"encoding": "none"}),
}


def encode(name: str, folder: Path) -> Path:
    """Write the store `name` with the reference encoder."""
    data, options = STORES[name]()
    chronozarr.encode(
        iter(list(data)),
        folder,
        crs="EPSG:32631",
        transform=(10.0, 0.0, 500000.0, 0.0, -10.0, 5000000.0),
        times=MONTHS[: len(data)],
        bands=["B04", "B08"],
        chunk_size=CS,
        **options,
    )
    return folder


def append(name: str, folder: Path, n: int) -> None:
    """Append `n` timesteps to the store `name` with the reference encoder."""
    before = len(chronozarr.open_store(folder).times)
    planes = {k: iter(list(_plane()[:n])) for k in ("mask", "coverage") if k in STORES[name]()[1]}
    chronozarr.append(folder, iter(list(STORES[name]()[0][:n])), times=MONTHS[before : before + n], **planes)


@dataclass
class Memory:
    """Objects in a dict, with edits of documents: in the document and in the consolidated metadata alike."""

    objects: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def load(cls, folder: Path) -> Memory:
        return cls({p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()})

    def copy(self) -> Memory:
        return Memory(dict(self.objects))

    # What validation asks of a target.
    url = "memory"

    def get(self, key: str) -> bytes | None:
        return self.objects.get(key)

    def get_range(self, key: str, start: int, stop: int) -> bytes | None:
        blob = self.get(key)
        return None if blob is None else blob[start:stop]

    def tail(self, key: str, nbytes: int) -> tuple[bytes, int] | None:
        blob = self.get(key)
        return None if blob is None else (blob[-nbytes:], len(blob))

    def size(self, key: str) -> int | None:
        blob = self.get(key)
        return None if blob is None else len(blob)

    # Edits.
    def document(self, path: str) -> Any:
        return json.loads(self.objects[f"{path}/zarr.json" if path else "zarr.json"])

    def put_document(self, path: str, document: Any, *, consolidated: bool = True) -> None:
        self.objects[f"{path}/zarr.json" if path else "zarr.json"] = json.dumps(document).encode()
        if path and consolidated:
            root = self.document("")
            root["consolidated_metadata"]["metadata"][path] = document
            self.put_document("", root)

    def set(self, path: str, name: str, value: Any, *, consolidated: bool = True) -> None:
        """Set the value at the dotted `name` of a document; a function is called on the value that is there."""
        document = self.document(path)
        *parents, last = name.split(".")
        at = document
        for n in parents:
            at = at[_step(at, n)]
        last = _step(at, last)
        at[last] = value(copy.deepcopy(at[last])) if callable(value) else value
        self.put_document(path, document, consolidated=consolidated)

    def drop(self, path: str, name: str) -> None:
        """Remove the field at the dotted `name` of a document."""
        parent, _, last = name.rpartition(".")
        if parent:
            self.set(path, parent, lambda d: _without(d, last))
        else:
            self.put_document(path, _without(self.document(path), last))

    def every(self, name: str, value: Any, array: str = "data") -> None:
        """`set` at every level."""
        for level in LEVELS:
            self.set(f"{level}/{array}", name, value)

    def remove(self, prefix: str) -> None:
        """Remove an object, or all below a prefix, also from the consolidated metadata."""
        for key in [k for k in self.objects if k == prefix or k.startswith(f"{prefix}/")]:
            del self.objects[key]
        root = self.document("")
        listed = root["consolidated_metadata"]["metadata"]
        for path in [p for p in listed if p == prefix or p.startswith(f"{prefix}/") or f"{p}/zarr.json" == prefix]:
            del listed[path]
        self.put_document("", root)

    def move(self, old: str, new: str) -> None:
        """Rename a node, also in the consolidated metadata."""
        moved = {k.replace(old, new, 1): v for k, v in self.objects.items() if k.startswith(f"{old}/")}
        document = self.document(old)
        self.remove(old)
        self.objects |= moved
        self.put_document(new, document)

    def values(self, path: str, edit: Callable[[np.ndarray], Any]) -> None:
        """Decode the only chunk of a coordinate, edit it, store it again with the same codec."""
        document = self.document(path)
        key = next(k for k in self.objects if k.startswith(f"{path}/c"))
        raw = numcodecs.Zstd().decode(self.objects[key])
        if document["data_type"] == "string":
            values = numcodecs.VLenUTF8().decode(raw)
            raw = numcodecs.VLenUTF8().encode(np.array(edit(values), object))
        else:
            values = np.frombuffer(raw, document["data_type"]).reshape(document["shape"]).copy()
            raw = np.ascontiguousarray(edit(values), document["data_type"])
        self.objects[key] = numcodecs.Zstd(level=5).encode(raw)

    def json_values(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """(path, place) of every value in every document, the consolidated metadata left out."""
        for key in sorted(k for k in self.objects if k.endswith("zarr.json")):
            document = json.loads(self.objects[key])
            document.pop("consolidated_metadata", None)
            for place in _places(document):
                yield key.removesuffix("zarr.json").rstrip("/"), place


def _step(container: Any, name: str) -> Any:
    return int(name) if isinstance(container, list) else name


def _without(container: Any, name: str) -> Any:
    del container[_step(container, name)]
    return container


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*at, key)
        yield from _places(inner, (*at, key))


@cache
def base(name: str) -> Memory:
    """The store `name` as the text has it: the reference encoder's null `nodata` attributes are taken out."""
    with tempfile.TemporaryDirectory() as folder:
        store = Memory.load(encode(name, Path(folder) / name))
    if name == "null":
        for level in LEVELS:
            store.drop(f"{level}/data", "attributes.nodata")
    return store


def problems(store: Memory) -> list[Problem]:
    """What validation says of a store in memory."""
    return validate_objects(cast(Objects, store))


# ---- rows: one broken thing, one problem ---------------------------------------------------------------------------

Edit = Callable[[Memory], Any]


@dataclass(frozen=True)
class Row:
    """Break `store` by `edit`: exactly one problem of `section`, with `path` in its path."""

    what: str
    store: str
    edit: Edit
    section: str
    path: str
    severity: str = "error"

    def check(self) -> None:
        """Fail unless the one problem is all there is."""
        store = base(self.store).copy()
        self.edit(store)
        found = problems(store)
        named = [(p.severity, p.section, self.path if self.path in p.path else p.path) for p in found]
        assert named == [(self.severity, self.section, self.path)], "\n".join(map(str, found))


def each(rows: list[Row]) -> pytest.MarkDecorator:
    """A test over rows."""
    return pytest.mark.parametrize("row", rows, ids=lambda r: r.what)


def put(path: str, name: str, value: Any) -> Edit:
    return lambda s: s.set(path, name, value)


def drop(path: str, name: str) -> Edit:
    return lambda s: s.drop(path, name)


def root(name: str, value: Any) -> Edit:
    return put("", f"{CZ}.{name}", value)


def everywhere(name: str, value: Any, array: str = "data") -> Edit:
    return lambda s: s.every(name, value, array)


def values(path: str, edit: Callable[[np.ndarray], Any]) -> Edit:
    return lambda s: s.values(path, edit)


def remove(key: str) -> Edit:
    return lambda s: s.remove(key)


def write(key: str, blob: bytes) -> Edit:
    return lambda s: s.objects.__setitem__(key, blob)


def at(i: int, value: Any) -> Callable[[np.ndarray], np.ndarray]:
    def edit(a: np.ndarray) -> np.ndarray:
        a[i] = value
        return a

    return edit


def together(*edits: Edit) -> Edit:
    return lambda s: [edit(s) for edit in edits]

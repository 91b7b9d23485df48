"""What a fuzzer calls: bytes in, nothing out; an exception is a finding.

Each target turns bytes into a malformed store (or chunk) and uses it as a person would. Only this package's own errors
may come out, and no more memory may be taken than the store itself and a few of its declared chunks need. The same
functions run in the tests, fed by hypothesis, and in `make fuzz`, fed by atheris or by plain mutation.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import google_crc32c
import numpy as np

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.arrays import ArrayMeta
from chronozarr_dask.format.codecs import Codec
from chronozarr_dask.format.sharding import CHECKSUM_BYTES, Sharding, index_bytes
from chronozarr_dask.store.chunks import Chunks
from chronozarr_dask.store.compress import compress, decompress
from chronozarr_dask.store.inflate import DAMAGED, inflate_up_to
from chronozarr_dask.store.opening import open_documents
from chronozarr_dask.store.reader import Store
from chronozarr_dask.store.target import Objects as Target
from chronozarr_dask.store.validate import validate_objects
from tests.fuzz import stores
from tests.fuzz.stores import OPTIONS, Objects

SLACK = 8 * 2**20  # what opening, validating and their messages take beside pixels, and threads with them
READ_CHUNK_BYTES = 2**22  # of a chunk that is read in full: one that is declared larger is a user's own choice
MOST_SAID = 2000  # characters of an error
READ_PIXELS = 2**16  # of a frame or a coordinate, likewise
CODECS = (
    Codec("zstd", 1),
    Codec("gzip", 1),
    Codec("blosc", 1, "zstd", "shuffle"),
    Codec("blosc", 1, "lz4", "noshuffle"),
)
CHUNK = (2, 16, 16)
DTYPES = ("<u2", "<f4", "u1")


class TooMuchMemoryError(AssertionError):
    """More was allocated than the bound."""


@contextmanager
def bounded(nbytes: int) -> Iterator[None]:
    """Raise TooMuchMemoryError if Python and numpy allocate more at any one time."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    if peak > nbytes:
        raise TooMuchMemoryError(f"{peak} bytes were allocated, {nbytes} are allowed")


class Choices:
    """Decisions read off a fuzzer's bytes; the first of everything when they end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def below(self, n: int) -> int:
        """A number from 0 to n - 1."""
        size = 1 if n <= 256 else 2 if n <= 2**16 else 8
        return int.from_bytes(self.bytes(size), "little") % n

    def one(self, options: Any) -> Any:
        """One of a sequence."""
        return options[self.below(len(options))]

    def bytes(self, n: int) -> bytes:
        """The next `n` bytes, fewer at the end."""
        found = self._data[self._at : self._at + n]
        self._at += len(found)
        return found

    def rest(self) -> bytes:
        """All that is left."""
        return self.bytes(len(self._data))


# ---- metadata documents ---------------------------------------------------------------------------------------------

_DEEP = "@deep"  # a text that stands for lists in lists, which no encoder of JSON takes that deep
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 7, 8, 16, 256, 2**31 - 1, 2**31, 2**53, 2**63, 2**64 - 1, 10**19, 10**400),
    *(0.5, -0.0, 1e308, 1e-308, float("nan"), float("inf"), "", "0", "1", "-1", "data", "mask", "uint8", "string"),
    *("float32", "int64", "EPSG:4326", "EPSG:99999999999", "NaN", "/", "..", "\u0000", "\ud800", "x" * 300),
    *("9999-12-31T23:59:59.999Z", "0001-01-01T00:00:00+14:00", "0.3.0", "1.0.0", "star-delta", "none", "zstd"),
    *([], {}, [0], [[]], [1, 1], [2**62] * 4, [1, 2, 2**40, 2**40], [None] * 6, {"a": 1}, {"name": "crc32c"}),
    *(f"{_DEEP}50", f"{_DEEP}500", f"{_DEEP}900", f"{_DEEP}960", f"{_DEEP}100000"),
)


@cache
def _places(name: str) -> list[tuple[str, tuple[Any, ...]]]:
    """Every value of every document: (node path, the keys that lead to it)."""

    def walk(value: Any, place: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        if place:
            yield place
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if type(value) is list else ():
            yield from walk(inner, (*place, key))

    return [(path, place) for path, doc in sorted(stores.documents(name).items()) for place in walk(doc, ())]


def _edit(document: Any, place: tuple[Any, ...], choose: Choices) -> str | None:
    """Change one value of a document; a key that is to be there twice is returned."""
    at = document
    for step in place[:-1]:
        if not isinstance(at, (dict, list)) or (step not in at if isinstance(at, dict) else step >= len(at)):
            return None
        at = at[step]
    key = place[-1]
    if not isinstance(at, (dict, list)) or (key not in at if isinstance(at, dict) else key >= len(at)):
        return None
    action = choose.below(6)
    if action == 0:
        del at[key]
    elif action == 1 and isinstance(at, list):
        at.insert(key, at[key])
    elif action == 2 and isinstance(at, dict):
        at[str(choose.one(VALUES))] = at.pop(key)
    elif action == 3 and type(at[key]) in (int, float):
        at[key] = at[key] * choose.one((-1, 2, 10**6, 0.5)) + choose.below(3)
    elif action == 4 and isinstance(at, dict):
        return str(key)
    else:
        at[key] = choose.one(VALUES)
    return None


def _text(document: Any, twice: str | None) -> bytes:
    """A document as JSON text, NaN and all, with a key twice, and lists in lists as deep as they are asked for."""
    text = json.dumps(document)
    if twice is not None:
        text = text.replace(f"{json.dumps(twice)}:", f"{json.dumps(twice)}: 1, {json.dumps(twice)}:", 1)
    while (at := text.find(f'"{_DEEP}')) >= 0:
        end = text.index('"', at + 1)
        depth = int(text[at + 1 + len(_DEEP) : end])
        text = text[:at] + "[" * depth + "]" * depth + text[end + 1 :]
    return text.encode()


def documents(data: bytes) -> None:
    """A good store with up to four values of its documents changed, in the documents, the mirrors or both."""
    choose = Choices(data)
    name = choose.one(tuple(OPTIONS))
    blobs, parsed = dict(stores.good(name)), stores.documents(name)
    for _ in range(1 + choose.below(4)):
        path, place = choose.one(_places(name))
        where = choose.below(3) if path else 0
        twice = _edit(parsed[path], place, choose)
        inline = parsed[""].get("consolidated_metadata")
        mirror = inline.get("metadata") if isinstance(inline, dict) else None
        if where and isinstance(mirror, dict):
            mirror[path] = parsed[path]
        if where != 1:
            blobs[f"{path}/zarr.json".lstrip("/")] = _text(parsed[path], twice)
        blobs["zarr.json"] = _text(parsed[""], twice if not path else None)
    use(Objects(blobs))


# ---- objects --------------------------------------------------------------------------------------------------------


def objects(data: bytes) -> None:
    """A good store with one or two objects cut, flipped, replaced or gone; the index of a shard made right again."""
    choose = Choices(data)
    name = choose.one(tuple(OPTIONS))
    blobs = dict(stores.good(name))
    keys = sorted(blobs)
    for _ in range(1 + choose.below(2)):
        key = choose.one(keys)
        blob = bytearray(blobs.get(key, b""))
        action = choose.below(6)
        if action == 0:
            blobs.pop(key, None)
            continue
        if action == 1:
            del blob[choose.below(len(blob) + 1) :]
        elif action == 2:
            blob = bytearray(blobs.get(choose.one(keys), b""))
        elif action == 3:
            blob[choose.below(len(blob) + 1) :] = choose.bytes(choose.below(64))
        else:
            for _ in range(1 + choose.below(4)):
                at = choose.below(len(blob) + 1)
                blob[at : at + 1] = choose.bytes(1)
        if choose.below(2) and "/c/" in key and len(blob) > CHECKSUM_BYTES:
            n = min(len(blob), index_bytes(5 if name == "real" else 3))
            body = bytes(blob[-n:-CHECKSUM_BYTES])
            blob[-CHECKSUM_BYTES:] = google_crc32c.value(body).to_bytes(4, "little")
        blobs[key] = bytes(blob)
    use(Objects(blobs))


def use(target: Objects) -> None:
    """Validate a store, open it, and read from it. Raises only for a fault."""
    with bounded(SLACK + 8 * target.nbytes):
        for problem in validate_objects(cast(Target, target)):
            assert "\n" not in str(problem)
            json.dumps(problem.to_json())
    opened = None
    with bounded(SLACK + 8 * target.nbytes), _refusal():
        opened = open_documents(cast(Target, target))
    if opened is None:
        return
    declared = max(meta.chunk_bytes for meta in opened.arrays.values())
    if declared > READ_CHUNK_BYTES:
        return
    store = Store(cast(Target, target), opened)
    with bounded(SLACK + 8 * target.nbytes + 64 * declared):  # eight threads, each with a chunk and its anchor
        for level, entry in enumerate(store.levels[:3]):
            height, width = entry.shape[2:]
            for t in (0, -1):
                with _refusal():
                    store.read_cell(t, 0, 0, level=level)
                window = (max(height - 3, 0), height, max(width - 3, 0), width)
                with _refusal():
                    store.read_window(t, window, level=level)
            if height * width <= READ_PIXELS:
                with _refusal():
                    store.read_mask(0, level=level)
                with _refusal():
                    store.read_coverage(0, level=level)
                with _refusal():
                    store.to_xarray(level=level, physical=True).isel(time=0).load()
        a, _, c, _, e, f = store.levels[0].transform
        with _refusal():
            store.series(c + a / 2, f + e / 2)
        with _refusal():
            repr(store)


@contextmanager
def _refusal(begins: str = "") -> Iterator[None]:
    """What is done here may be refused, in this package's words: one paragraph about the store."""
    try:
        yield
    except StoreError as error:
        said = str(error)
        if "\n" in said or len(said) > MOST_SAID or not said.startswith(begins):
            raise AssertionError(f"an error that nobody wants to read: {said[:1000]}") from error


# ---- shard indexes --------------------------------------------------------------------------------------------------


def index(data: bytes) -> None:
    """A shard whose index is anything: beyond the object, overlapping, huge, negative; its crc32c right or not."""
    choose = Choices(data)
    shard_time = 1 + choose.below(8)
    at_start, lies, right = choose.below(2), choose.below(3), choose.below(4) > 0
    codec = choose.one(CODECS)
    chunk = compress(np.arange(64, dtype="<u2").reshape(1, 8, 8), codec)
    size = len(chunk)
    values = (0, 1, size - 1, size, size + 1, 2 * size, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - size, 2**64 - 1)
    body = b""
    for _ in range(shard_time):
        for _ in range(2):
            any_value = choose.below(4) == 0
            value = choose.below(2**64) if any_value else choose.one(values)
            body += value.to_bytes(8, "little")
    body += google_crc32c.value(body).to_bytes(4, "little") if right else choose.bytes(4).ljust(4, b"\0")
    blob = body + chunk if at_start else chunk + body
    if choose.below(4) == 0:
        blob = blob[: choose.below(len(blob) + 1)]
    listed = {} if not lies else {"0/0/0": choose.one((1, len(body), len(blob) + 1, 2**40, 2**53 - 1))}
    sharding = Sharding((shard_time, 1, 8, 8), (1, 1, 8, 8), "start" if at_start else "end")
    meta = ArrayMeta((shard_time, 1, 8, 8), "uint16", (1, 1, 8, 8), codec, 0, (), sharding)
    chunks = Chunks(cast(Target, Objects({"0/data/c/0/0/0/0": blob})), "0/data", meta, listed)
    with bounded(2**20):
        for t in range(shard_time):
            with _refusal():
                chunks.read(t, 0, 0)


# ---- chunk bytes ----------------------------------------------------------------------------------------------------


def chunk(data: bytes) -> None:
    """The first byte names a codec and a dtype; the rest are the stored bytes of a chunk."""
    choose = Choices(data)
    codec, dtype = choose.one(CODECS), np.dtype(choose.one(DTYPES))
    blob = choose.rest()
    nbytes = int(np.prod(CHUNK)) * dtype.itemsize
    with bounded(4 * nbytes + 4 * len(blob) + 2**18), _refusal("here: "):
        out = decompress(blob, codec, dtype, CHUNK, "here")
        assert (out.shape, out.dtype) == (CHUNK, dtype)
    with bounded(4 * nbytes + 4 * len(blob) + 2**18), suppress(DAMAGED):
        assert len(inflate_up_to(blob, codec.name, nbytes)) <= nbytes


@dataclass(frozen=True)
class Fuzzed:
    """A target and what a fuzzer may begin with."""

    run: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]


def chunk_seeds() -> list[bytes]:
    """Good chunks of every codec and dtype, behind the two bytes that name them."""
    out = []
    for i, codec in enumerate(CODECS):
        for j, dtype in enumerate(DTYPES):
            data = np.repeat(np.arange(2 * 16 * 4) % 9, 4).reshape(CHUNK).astype(dtype)
            out.append(bytes([i, j]) + compress(data, codec))
    return out


def counted_seeds() -> list[bytes]:
    """Bytes that make different choices."""
    rng = np.random.default_rng(0)
    return [rng.bytes(n) for n in (1, 8, 16, 24, 32, 48, 64, 128) for _ in range(4)]


TARGETS = {
    "documents": Fuzzed(documents, counted_seeds),
    "objects": Fuzzed(objects, counted_seeds),
    "index": Fuzzed(index, counted_seeds),
    "chunk": Fuzzed(chunk, chunk_seeds),
}

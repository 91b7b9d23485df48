"""Sections 2.1 to 2.5, 5, 7 and 8: one array's document, field by field. What is wrong alone is reported here.

What is wrong only next to the rest of the store (shapes, cs, nodata, codecs) is compared in `arrays`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.codecs import Codec, parse_chain
from chronozarr_dask.format.layout import COVERAGE, DATA_DIMS, MASK, PLANE_DIMS, VOLATILITY, VOLATILITY_DIMS
from chronozarr_dask.format.sharding import IndexLocation
from chronozarr_dask.format.times import TIME_CALENDAR, TIME_UNITS
from chronozarr_dask.store.validate.documents import Document, check_node
from chronozarr_dask.store.validate.problem import Findings
from chronozarr_dask.store.validate.values import as_mapping, is_sizes, same_json

ARRAY_DIMENSIONS = "_ARRAY_DIMENSIONS"
STRING = "string"
_CODEC_LEVELS = {"zstd": (-131072, 22), "blosc": (0, 9), "gzip": (1, 9)}


@dataclass(frozen=True)
class Role:
    """What an array is for.

    Attributes
    ----------
    name : str
    section : str
        That says what it looks like.
    dims : tuple of str
    dtypes : tuple of str
        Permitted; empty for the data array, whose dtype is compared over the levels.
    attributes : mapping
        That it must carry besides ``_ARRAY_DIMENSIONS``.
    """

    name: str
    section: str
    dims: tuple[str, ...]
    dtypes: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_chunked(self) -> bool:
        """Whether it is cut into cells: data and planes."""
        return self.name in ("data", MASK, COVERAGE)


DATA = Role("data", "2.1", DATA_DIMS)
PLANE_ROLES = {MASK: Role(MASK, "2.4", PLANE_DIMS, ("uint8",)), COVERAGE: Role(COVERAGE, "2.5", PLANE_DIMS, ("uint8",))}
COORDINATE_ROLES = {
    "time": Role("time", "2.2", ("time",), ("int64",), {"units": TIME_UNITS, "calendar": TIME_CALENDAR}),
    "band": Role("band", "2.2", ("band",), (STRING, "int32")),
    "y": Role("y", "2.2", ("y",), ("float64",)),
    "x": Role("x", "2.2", ("x",), ("float64",)),
}
VOLATILITY_ROLE = Role(VOLATILITY, "5", VOLATILITY_DIMS, ("float32",))


@dataclass(frozen=True)
class Chunking:
    """How an array is cut: a shard's shape and its inner chunk's, which are equal when unsharded."""

    outer: tuple[int, ...]
    inner: tuple[int, ...]
    sharded: bool = False
    location: IndexLocation | None = None


@dataclass(frozen=True)
class Facts:
    """What an array's document says; None where it says nothing that can be used (and that is reported)."""

    path: str
    role: Role
    document: Document
    shape: tuple[int, ...] | None
    dtype: str | None
    chunking: Chunking | None
    codec: Codec | None
    typesize: int | None
    attributes: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Key of the document."""
        return f"{self.path}/zarr.json"


def read_array(path: str, role: Role, document: Document, out: Findings) -> Facts:
    """The facts of a document, its faults reported."""
    key = f"{path}/zarr.json"
    section = role.section
    check_node(document, key, "array", out)
    ndim = len(role.dims)
    shape = document.get("shape")
    if not is_sizes(shape, ndim):
        out.error(section, f"{key}: shape", f"{ndim} positive integers expected", list(role.dims), shape)
        shape = None
    dtype = document.get("data_type")
    if not isinstance(dtype, str) or (role.dtypes and dtype not in role.dtypes):
        out.error(
            section, f"{key}: data_type", "write the array in this dtype", " or ".join(role.dtypes) or "a name", dtype
        )
        dtype = None
    _check_keys(document, key, section, out)
    attributes = document.get("attributes", {})
    if not isinstance(attributes, Mapping):
        out.error(section, f"{key}: attributes", "attributes must be an object", "an object", attributes)
        attributes = {ARRAY_DIMENSIONS: document.get("dimension_names"), **role.attributes}
    _check_dims(document, attributes, role, key, out)
    for name, value in role.attributes.items():
        if attributes.get(name) != value:
            found = attributes.get(name)
            out.error(section, f"{key}: attributes.{name}", "CF readers take the dates from it", value, found)
    outer = _chunk_shape(document, ndim, key, section, out)
    chunking, codecs = _read_sharding(document.get("codecs"), outer, role, key, out)
    codec, typesize = (None, None) if codecs is None else _read_chain(codecs, dtype, key, out)
    return Facts(path, role, document, tuple(shape) if shape else None, dtype, chunking, codec, typesize, attributes)


def _check_keys(document: Document, key: str, section: str, out: Findings) -> None:
    encoding = as_mapping(document.get("chunk_key_encoding"))
    configuration = encoding.get("configuration", {})
    found = as_mapping(configuration).get("separator", "/") if isinstance(configuration, Mapping) else configuration
    if encoding.get("name") != "default" or found != "/":
        message = "objects are named c/{t}/0/{r}/{c}, by the encoding 'default' with separator '/'"
        out.error(
            section, f"{key}: chunk_key_encoding", message, "default with '/'", document.get("chunk_key_encoding")
        )
    if document.get("storage_transformers", []):
        out.error(section, f"{key}: storage_transformers", "no reader of this format applies any; leave them out")


def _check_dims(document: Document, attributes: Mapping[str, Any], role: Role, key: str, out: Findings) -> None:
    """2.2: both lists on every array. Only volatility's names are not fixed by the text."""
    expected: Any = list(role.dims)
    names = document.get("dimension_names")
    if (
        role is VOLATILITY_ROLE
        and isinstance(names, list)
        and len(names) == 2
        and all(isinstance(n, str) for n in names)
    ):
        expected = names
    for where, found in (
        ("dimension_names", names),
        (f"attributes.{ARRAY_DIMENSIONS}", attributes.get(ARRAY_DIMENSIONS)),
    ):
        if not same_json(found, expected):
            out.error("2.2", f"{key}: {where}", "every array names its axes in both places", expected, found)


def _chunk_shape(document: Document, ndim: int, key: str, section: str, out: Findings) -> tuple[int, ...] | None:
    grid = as_mapping(document.get("chunk_grid"))
    shape = as_mapping(grid.get("configuration")).get("chunk_shape")
    if grid.get("name") != "regular" or not is_sizes(shape, ndim):
        message = f"a regular grid with a chunk_shape of {ndim} positive integers expected"
        out.error(section, f"{key}: chunk_grid", message, "regular", document.get("chunk_grid"))
        return None
    return tuple(shape)


def _read_sharding(
    codecs: Any, outer: tuple[int, ...] | None, role: Role, key: str, out: Findings
) -> tuple[Chunking | None, Any]:
    """(how the array is cut, codecs of one chunk)."""
    where = f"{key}: codecs"
    if not isinstance(codecs, list) or not all(isinstance(c, Mapping) for c in codecs):
        out.error(
            "8", where, "codecs must be a list of objects, 'bytes' and one compressor", "a list of objects", codecs
        )
        return None, None
    names = [c.get("name") for c in codecs]
    if "sharding_indexed" not in names or not role.is_chunked:
        return (Chunking(outer, outer) if outer else None), codecs
    if len(codecs) > 1:
        out.error(
            "7.1", where, "a shard is stored as it is: nothing around sharding_indexed", ["sharding_indexed"], names
        )
    configuration = as_mapping(codecs[names.index("sharding_indexed")].get("configuration"))
    inner = configuration.get("chunk_shape")
    ndim = len(role.dims)
    location = configuration.get("index_location", "end")
    if location not in ("start", "end"):
        out.error(
            "7.2", f"{where}.index_location", "the index is at the end (or the start) of a shard", "end", location
        )
        location = None
    if not _is_index_chain(configuration.get("index_codecs")):
        message = "a shard index is written by bytes (little-endian), then crc32c"
        out.error("7.2", f"{where}.index_codecs", message, ["bytes", "crc32c"], configuration.get("index_codecs"))
        location = None
    if not is_sizes(inner, ndim):
        out.error("7.1", f"{where}.chunk_shape", "the inner chunk is one timestep of a cell", list(role.dims), inner)
        return None, configuration.get("codecs", [])
    return (Chunking(outer, tuple(inner), True, location) if outer else None), configuration.get("codecs", [])


def _is_index_chain(codecs: Any) -> bool:
    if not isinstance(codecs, list) or [as_mapping(c).get("name") for c in codecs] != ["bytes", "crc32c"]:
        return False
    return bool(as_mapping(codecs[0].get("configuration")).get("endian") == "little")


def _read_chain(codecs: Any, dtype: str | None, key: str, out: Findings) -> tuple[Codec | None, int | None]:
    """Section 8: (the compressor, blosc's typesize)."""
    where = f"{key}: codecs"
    first = as_mapping(codecs[0]) if isinstance(codecs, list) and codecs else {}
    if dtype == STRING and isinstance(codecs, list):
        if first.get("name") != "vlen-utf8":
            out.error("8", where, "texts are stored by vlen-utf8, then one compressor", "vlen-utf8", first.get("name"))
            return None, None
        codecs = [{"name": "bytes"}, *codecs[1:]]
    elif first.get("name") == "bytes" and dtype == "uint8":
        codecs = [{"name": "bytes"}, *codecs[1:]]  # one byte has no order (2.3)
    elif first.get("name") == "bytes" and dtype and as_mapping(first.get("configuration")).get("endian") is None:
        out.error("8", where, "the bytes codec must say that values are little-endian", "little", None)
        return None, None
    try:
        codec = parse_chain(codecs, key)
    except StoreError as error:
        out.error("8", where, str(error), "bytes, then zstd, blosc or gzip", codecs)
        return None, None
    configuration = as_mapping(codecs[1].get("configuration"))
    low, high = _CODEC_LEVELS[codec.name]
    level_name = "clevel" if codec.name == "blosc" else "level"
    if not low <= codec.level <= high or level_name not in configuration:
        out.error(
            "8",
            f"{where}.{level_name}",
            f"{codec.name} takes {low} to {high}",
            [low, high],
            configuration.get(level_name),
        )
    if codec.name == "zstd" and configuration.get("checksum", False) is not False:
        out.warn("8", f"{where}.checksum", "chunks are written without a checksum", False, configuration["checksum"])
    if codec.name == "blosc" and not same_json(configuration.get("blocksize", 0), 0):
        out.error("8", f"{where}.blocksize", "blosc chooses the block size itself", 0, configuration["blocksize"])
    typesize = configuration.get("typesize")
    return codec, typesize if type(typesize) is int else None

"""Sections 2.1 to 2.5 and 5: one array's document, field by field. What is wrong alone is reported here.

What is wrong only next to the rest of the store (shapes, cs, nodata, codecs) is compared in `arrays`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chronozarr_dask.format.layout import COVERAGE, DATA_DIMS, MASK, PLANE_DIMS, VOLATILITY, VOLATILITY_DIMS
from chronozarr_dask.format.times import TIME_CALENDAR, TIME_UNITS
from chronozarr_dask.store.validate.codecs import Chunking, Compressor, read_codecs
from chronozarr_dask.store.validate.documents import Document, check_node
from chronozarr_dask.store.validate.problem import Findings
from chronozarr_dask.store.validate.values import as_mapping, is_number, is_sizes, is_text, same_json

ARRAY_DIMENSIONS = "_ARRAY_DIMENSIONS"
STRING = "string"
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")


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
class Facts:
    """What an array's document says; None where it says nothing that can be used (and that is reported)."""

    path: str
    role: Role
    document: Document
    shape: tuple[int, ...] | None
    dtype: str | None
    chunking: Chunking | None
    compressor: Compressor | None
    attributes: Mapping[str, Any] | None

    @property
    def key(self) -> str:
        """Key of the document."""
        return f"{self.path}/zarr.json"

    @property
    def said(self) -> Mapping[str, Any]:
        """The attributes, empty where there are none."""
        return self.attributes or {}


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
    _check_fill(document, role, dtype, key, out)
    attributes = document.get("attributes")
    if not isinstance(attributes, Mapping):
        message = f"every array has attributes, {ARRAY_DIMENSIONS} at least"
        out.error("2.2", f"{key}: attributes", message, "an object", attributes)
        attributes = None
    _check_dims(document, attributes, role, key, out)
    for name, value in role.attributes.items():
        if attributes is not None and attributes.get(name) != value:
            found = attributes.get(name)
            out.error(section, f"{key}: attributes.{name}", "CF readers take the dates from it", value, found)
    outer = _chunk_shape(document, ndim, key, section, out)
    chunking, compressor = read_codecs(document.get("codecs"), outer, dtype, role.is_chunked, key, out)
    return Facts(path, role, document, tuple(shape) if shape else None, dtype, chunking, compressor, attributes)


def _check_fill(document: Document, role: Role, dtype: str | None, key: str, out: Findings) -> None:
    """Every Zarr v3 array has a fill value of its dtype; that of data and planes is compared in `arrays`."""
    fill = document.get("fill_value")
    if role.is_chunked or dtype is None:
        return
    holds = isinstance(fill, str) if dtype == STRING else is_number(fill) or (dtype[0] == "f" and fill in _NOT_FINITE)
    if not holds:
        out.error(role.section, f"{key}: fill_value", f"a value of {dtype} is missing", dtype, fill)


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


def _check_dims(document: Document, attributes: Mapping[str, Any] | None, role: Role, key: str, out: Findings) -> None:
    """2.2: both lists on every array. Only volatility's names are not fixed by the text."""
    expected: Any = list(role.dims)
    names = document.get("dimension_names")
    if role is VOLATILITY_ROLE and isinstance(names, list) and len(names) == 2 and all(map(is_text, names)):
        expected = names
    found = {"dimension_names": names}
    if attributes is not None:
        found[f"attributes.{ARRAY_DIMENSIONS}"] = attributes.get(ARRAY_DIMENSIONS)
    for where, value in found.items():
        if not same_json(value, expected):
            out.error("2.2", f"{key}: {where}", "every array names its axes in both places", expected, value)


def _chunk_shape(document: Document, ndim: int, key: str, section: str, out: Findings) -> tuple[int, ...] | None:
    grid = as_mapping(document.get("chunk_grid"))
    shape = as_mapping(grid.get("configuration")).get("chunk_shape")
    if grid.get("name") != "regular" or not is_sizes(shape, ndim):
        message = f"a regular grid with a chunk_shape of {ndim} positive integers expected"
        out.error(section, f"{key}: chunk_grid", message, "regular", document.get("chunk_grid"))
        return None
    return tuple(shape)

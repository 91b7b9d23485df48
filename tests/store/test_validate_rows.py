"""One thing broken, one problem: each row breaks a store in one place and names the only problem that may be found."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import google_crc32c
import numpy as np
import pytest

from chronozarr_dask.store.target import Objects
from chronozarr_dask.store.validate import validate_objects
from tests.store.validate_cases import CZ, LEVELS, PROVENANCE, STORES, Memory, encode

MS = "attributes.multiscales"
TEMPORAL = f"{CZ}.temporal"
EMPTY = 2**64 - 1
MERCATOR = "EPSG:3857"


@dataclass(frozen=True)
class Row:
    """Break `store` by `edit`: exactly one problem of `section`, with `path` in its path."""

    what: str
    store: str
    edit: Callable[[Memory], Any]
    section: str
    path: str
    severity: str = "error"


def put(path: str, name: str, value: Any) -> Callable[[Memory], Any]:
    return lambda s: s.set(path, name, value)


def drop(path: str, name: str) -> Callable[[Memory], Any]:
    return lambda s: s.drop(path, name)


def root(name: str, value: Any) -> Callable[[Memory], Any]:
    return put("", f"{CZ}.{name}", value)


def everywhere(name: str, value: Any, array: str = "data") -> Callable[[Memory], Any]:
    return lambda s: s.every(name, value, array)


def values(path: str, edit: Callable[[np.ndarray], Any]) -> Callable[[Memory], Any]:
    return lambda s: s.values(path, edit)


def remove(key: str) -> Callable[[Memory], Any]:
    return lambda s: s.remove(key)


def write(key: str, blob: bytes) -> Callable[[Memory], Any]:
    return lambda s: s.objects.__setitem__(key, blob)


def at(i: int, value: Any) -> Callable[[np.ndarray], np.ndarray]:
    def edit(a: np.ndarray) -> np.ndarray:
        a[i] = value
        return a

    return edit


def together(*edits: Callable[[Memory], Any]) -> Callable[[Memory], Any]:
    return lambda s: [edit(s) for edit in edits]


def index(edit: Callable[[list[int]], Any], key: str = "0/data/c/0/0/0/0", n: int = 3) -> Callable[[Memory], Any]:
    """Edit the 2 n numbers of a shard's index (at its end), and write it with a right checksum."""

    def change(s: Memory) -> None:
        blob = s.objects[key]
        start = len(blob) - 16 * n - 4
        numbers = list(struct.unpack(f"<{2 * n}Q", blob[start:-4]))
        edit(numbers)
        body = struct.pack(f"<{2 * n}Q", *numbers)
        s.objects[key] = blob[:start] + body + struct.pack("<I", google_crc32c.value(body))

    return change


def twice_the_size(shape: list[int]) -> list[int]:
    return [*shape[:-1], shape[-1] + 1]


DOCUMENTS = [
    Row("no root document", "none", remove("zarr.json") if False else lambda s: s.objects.pop("zarr.json"), "2", "zarr.json"),
    Row("a root that is no JSON", "none", write("zarr.json", b"{"), "2", "zarr.json"),
    Row("a root that is a list", "none", write("zarr.json", b"[]"), "2", "zarr.json"),
    Row("a root of Zarr v2", "none", put("", "zarr_format", 2), "2", "zarr.json: zarr_format"),
    Row("a root that is an array", "none", put("", "node_type", "array"), "2", "zarr.json: node_type"),
    Row("a level that is an array", "none", put("1", "node_type", "array"), "2", "1/zarr.json: node_type"),
    Row("a level of Zarr v2", "none", put("1", "zarr_format", 2), "2", "1/zarr.json: zarr_format"),
    Row("a data array that is a group", "none", put("1/data", "node_type", "group"), "2", "1/data/zarr.json: node_type"),
    Row("a document that is no JSON", "none", write("1/data/zarr.json", b"\xff"), "2", "1/data/zarr.json"),
    Row("a document with NaN", "none", write("1/zarr.json", b'{"zarr_format": NaN}'), "2", "1/zarr.json"),
    Row("no group document", "none", remove("1/zarr.json"), "2", "1/zarr.json"),
    Row("a storage transformer", "none", put("0/data", "storage_transformers", [{"name": "x"}]), "2.1", "storage_transf"),
    Row("attributes that are a list", "none", put("0/y", "attributes", []), "2.2", "0/y/zarr.json: attributes"),
    Row("a whole level missing", "none", remove("1"), "6", "1/zarr.json"),
    Row("no multiscales", "none", drop("", MS), "3.1", "multiscales"),
    Row("two multiscales", "none", put("", MS, lambda m: [*m, *m]), "3.1", "multiscales"),
    Row("multiscales of the other convention", "none", put("", MS, {"layout": []}), "3.1", "multiscales"),
    Row("no chronozarr block", "none", drop("", CZ), "3.1", "chronozarr"),
    Row("a third block", "none", put("", "attributes.other", 1), "3.1", "attributes.other", "warning"),
    Row("no consolidated metadata", "none", drop("", "consolidated_metadata"), "3.1", "consolidated", "warning"),
    Row("consolidated metadata of another kind", "none", put("", "consolidated_metadata.kind", "x"), "3.1", "consolidated"),
    Row("consolidated metadata that is a list", "none", put("", "consolidated_metadata", []), "3.1", "consolidated"),
    Row(
        "consolidated metadata with another fill",
        "none",
        lambda s: s.set("", "consolidated_metadata.metadata", lambda m: m | {"0/y": m["0/y"] | {"fill_value": 1.0}}),
        "3.1",
        "metadata[0/y]",
    ),
    Row(
        "a document that the consolidated metadata does not follow",
        "none",
        lambda s: s.set("1/x", "attributes.note", "new", consolidated=False),
        "3.1",
        "metadata[1/x]",
    ),
    Row(
        "an array that is not consolidated",
        "none",
        lambda s: s.set("", "consolidated_metadata.metadata", lambda m: {k: v for k, v in m.items() if k != "2/x"}),
        "3.1",
        "metadata[2/x]",
    ),
    Row(
        "an array that is only consolidated",
        "none",
        lambda s: s.set("", "consolidated_metadata.metadata", lambda m: m | {"9/x": m["0/x"]}),
        "3.1",
        "metadata[9/x]",
    ),
]

ROOT = [
    Row("a version of the future", "none", root("spec_version", "0.3.0"), "3.2", "spec_version"),
    Row("no version", "none", drop("", f"{CZ}.spec_version"), "3.2", "spec_version"),
    Row("a variable that no level has", "none", root("variable", "reflectance"), "3.2", "variable"),
    Row("a variable that is a path", "none", root("variable", "a/b"), "3.2", "variable"),
    Row("no times", "none", drop("", f"{CZ}.times"), "3.2", "times"),
    Row("one time too few", "none", root("times", lambda t: t[:-1]), "3.2", "times"),
    Row("a time that is no ISO-8601", "none", root("times", lambda t: ["yesterday", *t[1:]]), "3.2", "times[0]"),
    Row("a time that is a number", "none", root("times", lambda t: [0, *t[1:]]), "3.2", "times[0]"),
    Row("a time that differs", "none", root("times", lambda t: ["2023-01-01T00:00:00Z", *t[1:]]), "3.5", "times[0]"),
    Row("no bands", "none", drop("", f"{CZ}.bands"), "3.2", "chronozarr.bands"),
    Row("one band too many", "none", root("bands", lambda b: [*b, {"name": "B11"}]), "3.2", "chronozarr.bands"),
    Row("a band that is a text", "none", root("bands", lambda b: ["B04", b[1]]), "3.6", "bands[0]"),
    Row("a band without a name", "none", drop("", f"{CZ}.bands.1.name"), "3.6", "bands[1]"),
    Row("two bands of one name", "none", root("bands.1.name", "B04"), "3.6", "bands[1].name"),
    Row("a scale that is a text", "none", root("bands", lambda b: [b[0] | {"scale": "1"}, b[1]]), "3.6", "bands[0].scale"),
    Row("an offset that is true", "none", root("bands", lambda b: [b[0] | {"offset": True}, b[1]]), "3.6", "bands[0].off"),
    Row("units that are a number", "none", root("bands", lambda b: [b[0] | {"units": 1}, b[1]]), "3.6", "bands[0].units"),
    Row("a common name that is a list", "none", root("bands", lambda b: [b[0] | {"common_name": []}, b[1]]), "3.6", "comm"),
    Row("a band that is renamed", "none", root("bands.0.name", "red"), "3.5", "chronozarr.bands"),
    Row("no band names", "none", drop("", f"{CZ}.band_names"), "3.2", "band_names"),
    Row("one band name too few", "none", root("band_names", ["B04"]), "3.2", "band_names"),
    Row("band names in another order", "none", root("band_names", ["B08", "B04"]), "3.5", "band_names"),
    Row("no nodata", "none", drop("", f"{CZ}.nodata"), "2.3", "chronozarr.nodata"),
    Row("a nodata that is a text", "none", root("nodata", "0"), "2.3", "chronozarr.nodata"),
    Row("no crs", "none", drop("", f"{CZ}.crs"), "3.2", "chronozarr.crs"),
    Row("a crs that is no EPSG code", "none", root("crs", "WGS 84"), "3.2", "chronozarr.crs"),
    Row("another crs in the root", "none", root("crs", "EPSG:32632"), "3.2", "chronozarr.crs"),
    Row("another crs in multiscales", "none", put("", f"{MS}.0.datasets.1.crs", "EPSG:32632"), "3.4", "datasets[1].crs"),
    Row("no crs in multiscales", "none", drop("", f"{MS}.0.datasets.0.crs"), "3.4", "datasets[0].crs"),
    Row("no volatility_path", "none", drop("", f"{CZ}.volatility_path"), "3.2", "volatility_path"),
    Row("another volatility_path", "none", root("volatility_path", "v"), "3.2", "volatility_path"),
    Row("provenance that is a text", "full", root("provenance", "x"), "3.8", "provenance"),
    Row("provenance without sources", "full", drop("", f"{CZ}.provenance.sources"), "3.8", "provenance.sources"),
    Row("provenance with one source", "full", root("provenance.sources", "s2"), "3.8", "provenance.sources"),
    Row("provenance without composite", "full", drop("", f"{CZ}.provenance.composite"), "3.8", "provenance.composite"),
    Row("provenance without gap_fill", "full", drop("", f"{CZ}.provenance.gap_fill"), "3.8", "provenance.gap_fill"),
    Row("an unknown gap_fill", "full", root("provenance", PROVENANCE | {"gap_fill": "linear"}), "3.8", "gap_fill"),
    Row("notes that are a list", "full", root("provenance.notes", []), "3.8", "provenance.notes"),
    Row("levels out of order", "none", put("", f"{MS}.0.datasets", lambda d: [d[1], d[0], d[2]]), "3.4", "datasets"),
    Row("a level left out", "none", put("", f"{MS}.0.datasets", lambda d: [d[0], d[2]]), "3.4", "datasets"),
    Row("a level too many", "none", put("", f"{MS}.0.datasets", lambda d: [*d, d[2] | {"path": "3"}]), "3.4", "datasets"),
    Row("no datasets", "none", put("", f"{MS}.0.datasets", []), "3.4", "datasets"),
    Row("a path that is a number", "none", put("", f"{MS}.0.datasets.0.path", 0), "3.4", "datasets"),
    Row("no type", "none", drop("", f"{MS}.0.type"), "3.4", "type"),
    Row("no metadata", "none", drop("", f"{MS}.0.metadata"), "3.4", "metadata"),
    Row("no method", "none", drop("", f"{MS}.0.metadata.method"), "3.4", "metadata.method"),
    Row("method beside metadata", "none", put("", f"{MS}.0.method", "mean") if False else lambda s: s.set("", f"{MS}.0", lambda m: m | {"method": "mean"}), "3.4", "[0].method"),
    Row("another version in metadata", "none", put("", f"{MS}.0.metadata.version", "1"), "3.4", "metadata.version"),
    Row("args that are no list", "none", put("", f"{MS}.0.metadata.args", {}), "3.4", "metadata.args"),
]

LEVEL_ROWS = [
    Row("no mirror of levels", "none", drop("", f"{CZ}.levels"), "3.7", "chronozarr.levels"),
    Row("a mirror that is an object", "none", root("levels", {}), "3.7", "chronozarr.levels"),
    Row("a level too few in the mirror", "none", root("levels", lambda v: v[:2]), "3.7", "chronozarr.levels"),
    Row("another path in the mirror", "none", root("levels.1.path", "2"), "3.7", "levels[1].path"),
    Row("another resolution in the mirror", "none", root("levels.1.resolution", 21.0), "3.7", "levels[1].resolution"),
    Row("no resolution in the mirror", "none", drop("", f"{CZ}.levels.1.resolution"), "3.7", "levels[1].resolution"),
    Row("another transform in the mirror", "none", root("levels.0.transform.2", 500010.0), "3.7", "levels[0].transform"),
    Row("five numbers in the mirror", "none", root("levels.0.transform", lambda t: t[:5]), "3.7", "levels[0].transform"),
    Row("another shape in the mirror", "none", root("levels.2.shape.3", 13), "3.7", "levels[2].shape"),
    Row("fewer timesteps in the mirror", "none", root("levels.0.shape.0", 6), "3.7", "levels[0].shape"),
    Row("another grid in the mirror", "none", root("levels.0.grid", [3, 4]), "3.7", "levels[0].grid"),
    Row("no grid in the mirror", "none", drop("", f"{CZ}.levels.0.grid"), "3.7", "levels[0].grid"),
    Row("no crs in a level", "none", drop("1", "attributes.crs"), "3.3", "1/zarr.json: attributes.crs"),
    Row("another crs in a level", "none", put("1", "attributes.crs", "EPSG:32632"), "3.3", "1/zarr.json: attributes.crs"),
    Row("no transform in a level", "none", drop("0", "attributes.transform"), "3.3", "0/zarr.json: attributes.transform"),
    Row("an unscaled transform", "none", put("1", "attributes.transform.0", 10.0), "3.3", "1/zarr.json: attributes.trans"),
    Row("a moved origin", "none", put("2", "attributes.transform.5", 5e6 + 10), "3.3", "2/zarr.json: attributes.trans"),
    Row("a resolution of another level", "none", put("2", "attributes.resolution", 20), "3.3", "2/zarr.json: attributes.reso"),
    Row("no resolution in a level", "none", drop("0", "attributes.resolution"), "3.3", "0/zarr.json: attributes.resolution"),
    Row("another proj:code", "none", put("0/data", "attributes.proj:code", "EPSG:4326"), "3.3", "proj:code"),
    Row("another crs on the array", "none", put("0/data", "attributes.crs", "EPSG:4326"), "3.3", "attributes.crs"),
    Row("another transform on the array", "none", put("1/data", "attributes.transform.0", 1.0), "3.3", "attributes.tran"),
    Row("another spatial:transform", "none", put("1/data", "attributes.spatial:transform.2", 0), "3.3", "spatial:transform"),
    Row("another spatial:shape", "none", put("1/data", "attributes.spatial:shape", [23, 19]), "3.3", "spatial:shape"),
    Row("another spatial:bbox", "none", put("1/data", "attributes.spatial:bbox.0", 0), "3.3", "spatial:bbox"),
    Row("other spatial:dimensions", "none", put("1/data", "attributes.spatial:dimensions", ["x", "y"]), "3.3", "spatial:dim"),
    Row("another _CRS", "none", put("0/data", "attributes._CRS.url", "http://example.org"), "3.3", "attributes._CRS"),
    Row("another crs on a mask", "full", put("0/mask", "attributes.crs", "EPSG:4326"), "3.3", "0/mask/zarr.json: attri"),
]

ARRAYS = [
    Row("no data array in a level", "none", remove("1/data"), "2.1", "1/data/zarr.json"),
    Row("a shape that is a text", "none", put("1/data", "shape", "7"), "2.1", "1/data/zarr.json: shape"),
    Row("a shape of three axes", "none", put("1/data", "shape", [7, 19, 23]), "2.1", "1/data/zarr.json: shape"),
    Row("more timesteps in a level", "none", put("1/data", "shape.0", 8), "2.1", "1/data/zarr.json: shape"),
    Row("more bands in a level", "none", put("2/data", "shape.1", 3), "2.1", "2/data/zarr.json: shape"),
    Row("another height at level 0", "none", put("0/data", "shape.2", 36), "2.1", "0/data/zarr.json: shape"),
    Row("a half rounded down", "none", put("1/data", "shape.2", 18), "6", "1/data/zarr.json: shape"),
    Row("a level that is no half", "none", put("2/data", "shape.3", 23), "6", "2/data/zarr.json: shape"),
    Row("a dtype that is not supported", "none", everywhere("data_type", "int32"), "2.3", "0/data/zarr.json: data_type"),
    Row("a dtype that is an object", "none", put("0/data", "data_type", {"name": "x"}), "2.1", "0/data/zarr.json: data_t"),
    Row("another dtype in a level", "none", put("1/data", "data_type", "uint8"), "2.1", "1/data/zarr.json: data_type"),
    Row("an unknown dtype in a level", "none", put("1/data", "data_type", "int64"), "2.3", "1/data/zarr.json: data_type"),
    Row("an irregular grid", "none", put("0/data", "chunk_grid.name", "rectilinear"), "2.1", "0/data/zarr.json: chunk_grid"),
    Row("no chunk shape", "none", put("0/data", "chunk_grid.configuration", {}), "2.1", "0/data/zarr.json: chunk_grid"),
    Row(
        "keys with a dot", "none", put("0/data", "chunk_key_encoding.configuration.separator", "."), "2.1", "chunk_key_enc"
    ),
    Row("keys of Zarr v2", "none", put("1/data", "chunk_key_encoding", {"name": "v2"}), "2.1", "1/data/zarr.json: chunk_key"),
    Row(
        "another cs in a level",
        "none",
        put("1/data", "chunk_grid.configuration.chunk_shape", [1, 2, 8, 8]),
        "2.1",
        "1/data/zarr.json: chunk_shape",
    ),
    Row(
        "chunks that are not square",
        "none",
        put("1/data", "chunk_grid.configuration.chunk_shape", [1, 2, 16, 8]),
        "2.1",
        "1/data/zarr.json: chunk_shape",
    ),
    Row(
        "two timesteps in a chunk",
        "none",
        put("1/data", "chunk_grid.configuration.chunk_shape", [2, 2, 16, 16]),
        "2.1",
        "1/data/zarr.json: chunk_shape",
    ),
    Row(
        "one band in a chunk",
        "none",
        put("1/data", "chunk_grid.configuration.chunk_shape", [1, 1, 16, 16]),
        "2.1",
        "1/data/zarr.json: chunk_shape",
    ),
    Row(
        "an odd cs",
        "single",
        together(
            put("0/data", "chunk_grid.configuration.chunk_shape", [1, 2, 17, 17]),
        ),
        "2.1",
        "0/data/zarr.json: chunk_shape",
    ),
    Row("no dimension names", "none", drop("0/data", "dimension_names"), "2.2", "0/data/zarr.json: dimension_names"),
    Row("other dimension names", "none", put("0/data", "dimension_names.2", "lat"), "2.2", "0/data/zarr.json: dimension_n"),
    Row("no _ARRAY_DIMENSIONS", "none", drop("1/data", "attributes._ARRAY_DIMENSIONS"), "2.2", "_ARRAY_DIMENSIONS"),
    Row("other _ARRAY_DIMENSIONS", "none", put("1/x", "attributes._ARRAY_DIMENSIONS", ["y"]), "2.2", "1/x/zarr.json: attr"),
    Row("no dimension names on x", "none", drop("1/x", "dimension_names"), "2.2", "1/x/zarr.json: dimension_names"),
    Row("no dimension names on volatility", "none", drop("volatility", "dimension_names"), "2.2", "volatility/zarr.json: d"),
    Row(
        "different names on volatility",
        "none",
        put("volatility", "attributes._ARRAY_DIMENSIONS", ["y", "x"]),
        "2.2",
        "volatility/zarr.json: attributes",
    ),
    Row("another fill in a level", "none", put("1/data", "fill_value", 1), "2.3", "1/data/zarr.json: fill_value"),
    Row("a fill that is null", "none", put("1/data", "fill_value", None), "2.3", "1/data/zarr.json: fill_value"),
    Row("a fill that is NaN", "float", put("1/data", "fill_value", "NaN"), "2.3", "1/data/zarr.json: fill_value"),
    Row("another nodata in a level", "none", put("1/data", "attributes.nodata", 1), "2.3", "1/data/zarr.json: attributes.no"),
    Row("no nodata in a level", "none", drop("1/data", "attributes.nodata"), "2.3", "1/data/zarr.json: attributes.nodata"),
    Row("another nodata in the root", "none", root("nodata", 7), "2.3", "chronozarr.nodata"),
    Row("a nodata of null in the root", "none", root("nodata", None), "2.3", "chronozarr.nodata"),
    Row("a fill that is not 0 beside null", "null", put("0/data", "fill_value", -1), "2.3", "0/data/zarr.json: fill_value"),
    Row("a nodata beside null", "null", put("0/data", "attributes.nodata", 5), "2.3", "0/data/zarr.json: attributes.nodata"),
    Row(
        "a nodata of null beside null", "null", put("0/data", "attributes.nodata", None), "2.3", "attributes.nodata", "warning"
    ),
    Row(
        "a nodata beyond the dtype",
        "none",
        together(root("nodata", 65536), everywhere("fill_value", 65536), everywhere("attributes.nodata", 65536)),
        "2.3",
        "chronozarr.nodata",
    ),
    Row(
        "a nodata between two integers",
        "none",
        together(root("nodata", 0.5), everywhere("fill_value", 0.5), everywhere("attributes.nodata", 0.5)),
        "2.3",
        "chronozarr.nodata",
    ),
    Row("no mask in one level", "full", remove("1/mask"), "2.4", "1/mask/zarr.json"),
    Row("no coverage in one level", "full", remove("2/coverage"), "2.5", "2/coverage/zarr.json"),
    Row("a mask that is not named", "full", drop("", f"{CZ}.mask_variable"), "2.4", "mask_variable"),
    Row("coverage that is not named", "full", drop("", f"{CZ}.coverage_variable"), "2.5", "coverage_variable"),
    Row("a mask that is not there", "none", root("mask_variable", "mask"), "2.4", "mask_variable"),
    Row("a mask of another name", "full", root("mask_variable", "valid"), "2.4", "mask_variable"),
    Row("a mask of uint16", "full", put("0/mask", "data_type", "uint16"), "2.4", "0/mask/zarr.json: data_type"),
    Row("a mask with fill 1", "full", put("0/mask", "fill_value", 1), "2.4", "0/mask/zarr.json: fill_value"),
    Row("coverage with fill 255", "full", put("1/coverage", "fill_value", 255), "2.5", "1/coverage/zarr.json: fill_value"),
    Row("a mask of another shape", "full", put("1/mask", "shape.1", 18), "2.4", "1/mask/zarr.json: shape"),
    Row("coverage of fewer timesteps", "full", put("1/coverage", "shape.0", 6), "2.5", "1/coverage/zarr.json: shape"),
    Row(
        "a mask in other shards",
        "full",
        put("0/mask", "chunk_grid.configuration.chunk_shape", [4, 16, 16]),
        "2.4",
        "0/mask/zarr.json: chunk_grid",
    ),
    Row("no volatility", "none", remove("volatility"), "5", "volatility/zarr.json"),
    Row("volatility of float64", "none", put("volatility", "data_type", "float64"), "5", "volatility/zarr.json: data_type"),
    Row("volatility of another shape", "none", put("volatility", "shape", [3, 4]), "5", "volatility/zarr.json: shape"),
    Row(
        "volatility in several chunks",
        "none",
        put("volatility", "chunk_grid.configuration.chunk_shape", [2, 3]),
        "5",
        "volatility/zarr.json: chunk_shape",
    ),
    Row("volatility above 1", "none", values("volatility", at(1, 1.5)), "5", "volatility/c/0/0"),
    Row("volatility of NaN", "none", values("volatility", at(1, np.nan)), "5", "volatility/c/0/0"),
    Row("volatility that is cut", "none", write("volatility/c/0/0", b"\x28\xb5\x2f\xfd"), "5", "volatility/c/0/0"),
]

COORDINATES = [
    Row("no time", "none", remove("1/time"), "2.2", "1/time/zarr.json"),
    Row("time in seconds", "none", put("0/time", "attributes.units", "seconds since 1970-01-01"), "2.2", "attributes.units"),
    Row("no calendar", "none", drop("0/time", "attributes.calendar"), "2.2", "0/time/zarr.json: attributes.calendar"),
    Row("time of int32", "none", put("0/time", "data_type", "int32"), "2.2", "0/time/zarr.json: data_type"),
    Row("y of float32", "none", put("0/y", "data_type", "float32"), "2.2", "0/y/zarr.json: data_type"),
    Row("x of another length", "none", put("1/x", "shape", [24]), "2.2", "1/x/zarr.json: shape"),
    Row("another time in a level", "none", values("1/time", at(2, 0)), "2.2", "1/time/c/0"),
    Row("a time chunk that is missing", "none", remove("1/time/c"), "2.2", "1/time/c/0"),
    Row("a time chunk that is cut", "none", write("1/time/c/0", b""), "2.2", "1/time/c/0"),
    Row(
        "times that do not increase",
        "none",
        together(root("times", lambda t: [t[1], *t[1:]]), *(values(f"{k}/time", lambda a: a[[1, 1, *range(2, 7)]]) for k in LEVELS)),
        "2.2",
        "0/time/c/0: [1]",
    ),
    Row("other band names in a level", "none", values("1/band", lambda a: ["B08", "B04"]), "2.2", "1/band/c/0"),
    Row("a band chunk that is no text", "none", write("0/band/c/0", b"x"), "2.2", "0/band/c/0"),
    Row("x that decreases", "none", values("0/x", lambda a: a[::-1]), "2.2", "0/x/c/0"),
    Row("y that increases", "none", values("0/y", lambda a: a[::-1]), "2.2", "0/y/c/0"),
    Row("x that stands still", "none", values("1/x", at(1, 500010.0)), "2.2", "1/x/c/0: [1]"),
    Row("x of NaN", "none", values("1/x", at(3, np.nan)), "2.2", "1/x/c/0: [3]"),
    Row("x at the corners", "none", values("0/x", lambda a: a - 5), "2.2", "0/x/c/0: [0]"),
    Row("y of another level", "none", values("1/y", lambda a: a - 5), "2.2", "1/y/c/0: [0]"),
    Row(
        "time in two chunks",
        "none",
        lambda s: (
            s.set("0/time", "chunk_grid.configuration.chunk_shape", [4]),
            _two_time_chunks(s),
        ),
        "2.2",
        "0/time/zarr.json: chunk_shape",
        "warning",
    ),
]

TEMPORAL_ROWS = [
    Row("no temporal block", "none", drop("", TEMPORAL), "4.1", "temporal"),
    Row("an unknown encoding", "none", root("temporal.encoding", "chain"), "4.1", "temporal.encoding"),
    Row("no encoding", "none", drop("", f"{TEMPORAL}.encoding"), "4.1", "temporal.encoding"),
    Row("anchors in a store of true values", "star", root("temporal.encoding", "none"), "4.1", "temporal"),
    Row("no anchors in a star-delta store", "none", root("temporal.encoding", "star-delta"), "4.1", "temporal"),
    Row(
        "star-delta on int16",
        "null",
        lambda s: s.set("", TEMPORAL, {"encoding": "star-delta", "anchor_interval": 1,
                                       "anchor_indices": list(range(7)), "delta_reference": {}}),
        "4.1",
        "temporal.encoding",
    ),
    Row("no delta_reference", "star", drop("", f"{TEMPORAL}.delta_reference"), "4.1", "temporal"),
    Row("an interval of 0", "star", root("temporal.anchor_interval", 0), "4.1", "anchor_interval"),
    Row("an interval that is a text", "star", root("temporal.anchor_interval", "3"), "4.1", "anchor_interval"),
    Row("another interval", "star", root("temporal.anchor_interval", 2), "4.1", "anchor_indices"),
    Row("an anchor left out", "star", root("temporal.anchor_indices", [0, 6]), "4.1", "anchor_indices"),
    Row("an anchor beyond the end", "star", root("temporal.anchor_indices", [0, 3, 6, 9]), "4.1", "anchor_indices"),
    Row("a timestep without a reference", "star", drop("", f"{TEMPORAL}.delta_reference.1"), "4.1", "delta_reference"),
    Row("a reference of an anchor", "star", root("temporal.delta_reference", lambda d: d | {"3": 0}), "4.1", "delta_refer"),
    Row("a key with a leading zero", "star", root("temporal.delta_reference", lambda d: d | {"01": 0}), "4.1", "delta_ref"),
    Row("a reference to no anchor", "star", root("temporal.delta_reference.1", 2), "4.2", "delta_reference[1]"),
    Row("a reference that is too far", "star", root("temporal.delta_reference.1", 6), "4.2", "delta_reference[1]"),
    Row("a reference that is a text", "star", root("temporal.delta_reference.1", "0"), "4.2", "delta_reference[1]"),
    Row("a selection of another mode", "none", root("temporal", lambda t: t | {"selection": {"mode": "x"}}), "4.1", "selec"),
    Row(
        "a selection without a ratio",
        "none",
        root("temporal", lambda t: t | {"selection": {"mode": "auto", "sampled_cells": 3}}),
        "4.1",
        "selection.ratio",
    ),
    Row(
        "a selection of no cell",
        "none",
        root("temporal", lambda t: t | {"selection": {"mode": "auto", "sampled_cells": 0, "ratio": 0.9}}),
        "4.1",
        "selection.sampled_cells",
    ),
    Row(
        "a selection of two cells of nine",
        "none",
        root("temporal", lambda t: t | {"selection": {"mode": "auto", "sampled_cells": 2, "ratio": 0.9}}),
        "4.3",
        "selection.sampled_cells",
    ),
    Row(
        "star-delta in spite of the ratio",
        "star",
        root("temporal", lambda t: t | {"selection": {"mode": "auto", "sampled_cells": 3, "ratio": 0.9}}),
        "4.3",
        "selection.ratio",
    ),
    Row(
        "a selection for int16",
        "null",
        root("temporal", lambda t: t | {"selection": {"mode": "auto", "sampled_cells": 3, "ratio": 0.9}}),
        "4.3",
        "selection",
    ),
]

SHARDING = "codecs.0.configuration"
SHARDS = [
    Row("a codec around a shard", "full", put("0/data", "codecs", lambda c: [*c, {"name": "crc32c"}]), "7.1", "codecs"),
    Row("no inner chunk shape", "full", drop("0/data", f"{SHARDING}.chunk_shape"), "7.1", "codecs.chunk_shape"),
    Row(
        "a shard of four cells",
        "full",
        put("0/data", "chunk_grid.configuration.chunk_shape", [3, 2, 32, 32]),
        "7.1",
        "0/data/zarr.json: chunk_grid",
    ),
    Row(
        "another shard_time in a level",
        "full",
        put("2/data", "chunk_grid.configuration.chunk_shape", [4, 2, 16, 16]),
        "7.1",
        "2/data/zarr.json: chunk_grid",
    ),
    Row("an index without crc32c", "full", put("0/data", f"{SHARDING}.index_codecs", [{"name": "bytes"}]), "7.2", "index_cod"),
    Row(
        "a big-endian index",
        "full",
        put("0/data", f"{SHARDING}.index_codecs.0.configuration.endian", "big"),
        "7.2",
        "index_codecs",
    ),
    Row("an index in the middle", "full", put("0/data", f"{SHARDING}.index_location", "middle"), "7.2", "index_location"),
    Row("a shard shorter than its index", "full", write("0/data/c/0/0/0/0", b"12"), "7.2", "0/data/c/0/0/0/0"),
    Row(
        "a torn shard",
        "full",
        lambda s: s.objects.update({"0/data/c/0/0/0/0": s.objects["0/data/c/0/0/0/0"][:-7]}),
        "7.2",
        "0/data/c/0/0/0/0",
    ),
    Row(
        "a wrong checksum",
        "full",
        lambda s: s.objects.update({"1/data/c/1/0/0/1": s.objects["1/data/c/1/0/0/1"][:-1] + b"\0"}),
        "7.2",
        "1/data/c/1/0/0/1",
    ),
    Row("a torn shard of a mask", "full", write("1/mask/c/0/0/0", b"12"), "7.2", "1/mask/c/0/0/0"),
    Row("an entry beyond the object", "full", index(lambda e: e.__setitem__(1, 10**6)), "7.2", "0/data/c/0/0/0/0"),
    Row("an entry that would overflow", "full", index(lambda e: e.__setitem__(0, EMPTY - 1)), "7.2", "0/data/c/0/0/0/0"),
    Row("entries that overlap", "full", index(lambda e: e.__setitem__(2, e[2] - 1)), "7.2", "0/data/c/0/0/0/0"),
    Row("an entry that reaches into the index", "full", index(lambda e: e.__setitem__(5, e[5] + 1)), "7.2", "0/data/c/0/0"),
    Row("an entry of no bytes", "full", index(lambda e: e.__setitem__(1, 0)), "7.2", "0/data/c/0/0/0/0"),
    Row(
        "an entry beyond the last timestep",
        "full",
        index(lambda e: e.__setitem__(slice(2, 6), [e[0], 1, EMPTY, EMPTY]) or e.__setitem__(slice(0, 2), [EMPTY, EMPTY]),
              "0/data/c/2/0/0/0"),
        "7.2",
        "0/data/c/2/0/0/0",
    ),
    Row("shard_bytes in an unsharded store", "none", root("shard_bytes", {}), "7.3", "shard_bytes"),
    Row("shard_bytes that is a list", "full", root("shard_bytes", []), "7.3", "shard_bytes"),
    Row("a level that is a list", "full", root("shard_bytes.2", {"0/0/0": 1}) if False else root("shard_bytes.2", lambda d: d | {"9/0/0": 5}), "7.3", "shard_bytes[2][9/0/0]"),
    Row("a level that there is not", "full", root("shard_bytes", lambda d: d | {"3": {}}), "7.3", "shard_bytes[3]"),
    Row("a key of another form", "full", root("shard_bytes.0", lambda d: d | {"0/0": 5}), "7.3", "shard_bytes[0][0/0]"),
    Row("a length that differs", "full", root("shard_bytes.1.0/0/1", lambda n: n + 1), "7.3", "shard_bytes[1][0/0/1]"),
    Row("a length that is a text", "full", root("shard_bytes.1.0/0/1", str), "7.3", "shard_bytes[1][0/0/1]"),
    Row("a shard that is not listed", "full", drop("", f"{CZ}.shard_bytes.0.2/1/1"), "7.3", "shard_bytes[0][2/1/1]"),
    Row("a shard that does not exist", "full", lambda s: s.objects.pop("0/data/c/1/0/2/0"), "7.3", "shard_bytes[0][1/2/0]"),
]

CODEC = "codecs.1.configuration"
CODECS = [
    Row("codecs that are a text", "none", put("0/data", "codecs", "zstd"), "8", "0/data/zarr.json: codecs"),
    Row("no compressor", "none", drop("0/data", "codecs.1"), "8", "0/data/zarr.json: codecs"),
    Row("no bytes codec", "none", drop("0/data", "codecs.0"), "8", "0/data/zarr.json: codecs"),
    Row("a third codec", "none", put("0/data", "codecs", lambda c: [*c, {"name": "crc32c"}]), "8", "0/data/zarr.json: codecs"),
    Row("a compressor that is not permitted", "none", put("0/data", "codecs.1.name", "lz4"), "8", "0/data/zarr.json: codecs"),
    Row("big-endian values", "none", put("0/data", "codecs.0.configuration.endian", "big"), "8", "0/data/zarr.json: codecs"),
    Row("no byte order", "none", drop("0/data", "codecs.0.configuration"), "8", "0/data/zarr.json: codecs"),
    Row("another level of compression", "none", put("1/data", f"{CODEC}.level", 6), "8", "1/data/zarr.json: codecs"),
    Row("zstd at level 23", "none", everywhere(f"{CODEC}.level", 23) if False else put("volatility", f"{CODEC}.level", 23), "8", "codecs.level"),
    Row("a level that is a text", "none", put("0/data", f"{CODEC}.level", "5"), "8", "0/data/zarr.json: codecs"),
    Row("zstd with a checksum", "none", put("0/data", f"{CODEC}.checksum", True), "8", "codecs.checksum", "warning"),
    Row("gzip at level 0", "none", put("1/y", "codecs.1", {"name": "gzip", "configuration": {"level": 0}}), "8", "codecs.lev")
    if False
    else Row(
        "gzip at level 0",
        "single",
        put("0/data", "codecs.1", {"name": "gzip", "configuration": {"level": 0}}),
        "8",
        "0/data/zarr.json: codecs.level",
    ),
    Row("another codec in a mask", "full", put("0/mask", f"{SHARDING}.{CODEC}.clevel", 3), "8", "0/mask/zarr.json: codecs"),
    Row("blosc of another cname", "full", put("0/data", f"{SHARDING}.{CODEC}.cname", "zlib"), "8", "0/data/zarr.json: codecs"),
    Row("blosc with bitshuffle", "full", put("0/data", f"{SHARDING}.{CODEC}.shuffle", "bitshuffle"), "8", "0/data/zarr"),
    Row("blosc of another typesize", "full", put("0/data", f"{SHARDING}.{CODEC}.typesize", 4), "8", "codecs.typesize"),
    Row("blosc without typesize", "full", drop("0/data", f"{SHARDING}.{CODEC}.typesize"), "8", "codecs.typesize"),
    Row("blosc in blocks", "full", put("0/data", f"{SHARDING}.{CODEC}.blocksize", 512), "8", "codecs.blocksize"),
    Row("texts without vlen-utf8", "none", put("0/band", "codecs.0.name", "bytes"), "8", "0/band/zarr.json: codecs"),
    Row("a shard inside a shard", "full", put("0/data", f"{SHARDING}.codecs.1.name", "sharding_indexed"), "8", "codecs"),
]

ROWS = [
    *DOCUMENTS,
    *ROOT,
    *LEVEL_ROWS,
    *ARRAYS,
    *COORDINATES,
    *TEMPORAL_ROWS,
    *SHARDS,
    *CODECS,
]


def _two_time_chunks(s: Memory) -> None:
    import numcodecs

    raw = numcodecs.Zstd().decode(s.objects["0/time/c/0"])
    s.objects["0/time/c/0"] = numcodecs.Zstd().encode(raw[:32])
    s.objects["0/time/c/1"] = numcodecs.Zstd().encode(raw[32:] + bytes(8))


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Memory]:
    """Every store as the text has it: the reference encoder's null `nodata` attributes taken out."""
    out = {name: Memory.load(encode(name, tmp_path_factory.mktemp("stores") / name)) for name in STORES}
    for level in LEVELS:
        out["null"].drop(f"{level}/data", "attributes.nodata")
    return out


def problems(store: Memory) -> list[Any]:
    return validate_objects(cast(Objects, store))


@pytest.mark.oracle
@pytest.mark.parametrize("name", STORES)
def test_a_store_of_the_reference_encoder_conforms(stores: dict[str, Memory], name: str) -> None:
    assert problems(stores[name]) == []


@pytest.mark.oracle
@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.what)
def test_one_broken_thing_is_one_problem(stores: dict[str, Memory], row: Row) -> None:
    store = stores[row.store].copy()
    row.edit(store)
    found = problems(store)
    assert [(p.severity, p.section, row.path in p.path or p.path) for p in found] == [(row.severity, row.section, True)], (
        "\n".join(map(str, found))
    )


def test_every_section_that_has_a_must_has_a_row() -> None:
    sections = "2 2.1 2.2 2.3 2.4 2.5 3.1 3.2 3.3 3.4 3.5 3.6 3.7 3.8 4.1 4.2 4.3 5 6 7.1 7.2 7.3 8".split()
    assert sorted({r.section for r in ROWS}) == sorted(sections)

"""Arrays: one broken thing, one problem."""

from __future__ import annotations

import numcodecs
import numpy as np
import pytest

from tests.store.validate_cases import (
    CZ,
    Memory,
    Row,
    at,
    drop,
    each,
    everywhere,
    put,
    remove,
    root,
    together,
    values,
    write,
)


def volatility_of_one(s: Memory) -> None:
    s.objects["volatility/c/0/0"] = numcodecs.Zstd().encode(np.full((3, 3), 0.5, "<f4"))


ARRAYS = [
    Row("no data array in a level", "none", remove("1/data"), "2.1", "1/data/zarr.json"),
    Row("a shape that is a text", "none", put("1/data", "shape", "7"), "2.1", "1/data/zarr.json: shape"),
    Row("a shape of three axes", "none", put("1/data", "shape", [7, 19, 23]), "2.1", "1/data/zarr.json: shape"),
    Row("more timesteps in a level", "none", put("1/data", "shape.0", 8), "2.1", "1/data/zarr.json: shape"),
    Row("more bands in a level", "none", put("2/data", "shape.1", 3), "2.1", "2/data/zarr.json: shape"),
    Row("another height at level 0", "none", put("0/data", "shape.2", 36), "2.1", "0/data/zarr.json: shape"),
    Row("a half rounded down", "none", put("1/data", "shape.2", 18), "6", "1/data/zarr.json: shape"),
    Row("a level that is no half", "none", put("2/data", "shape.3", 23), "6", "2/data/zarr.json: shape"),
    Row(
        "a dtype that is not supported", "none", everywhere("data_type", "int32"), "2.3", "0/data/zarr.json: data_type"
    ),
    Row(
        "a dtype that is an object",
        "none",
        put("0/data", "data_type", {"name": "x"}),
        "2.1",
        "0/data/zarr.json: data_t",
    ),
    Row("another dtype in a level", "none", put("1/data", "data_type", "uint8"), "2.1", "1/data/zarr.json: data_type"),
    Row(
        "an unknown dtype in a level", "none", put("1/data", "data_type", "int64"), "2.3", "1/data/zarr.json: data_type"
    ),
    Row(
        "an irregular grid",
        "none",
        put("0/data", "chunk_grid.name", "rectilinear"),
        "2.1",
        "0/data/zarr.json: chunk_grid",
    ),
    Row("no chunk shape", "none", put("0/data", "chunk_grid.configuration", {}), "2.1", "0/data/zarr.json: chunk_grid"),
    Row(
        "keys with a dot",
        "none",
        put("0/data", "chunk_key_encoding.configuration.separator", "."),
        "2.1",
        "chunk_key_enc",
    ),
    Row(
        "keys of Zarr v2",
        "none",
        put("1/data", "chunk_key_encoding", {"name": "v2"}),
        "2.1",
        "1/data/zarr.json: chunk_key",
    ),
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
        put("0/data", "chunk_grid.configuration.chunk_shape", [1, 2, 17, 17]),
        "2.1",
        "0/data/zarr.json: chunk_shape",
    ),
    Row("no dimension names", "none", drop("0/data", "dimension_names"), "2.2", "0/data/zarr.json: dimension_names"),
    Row(
        "other dimension names",
        "none",
        put("0/data", "dimension_names.2", "lat"),
        "2.2",
        "0/data/zarr.json: dimension_n",
    ),
    Row("no _ARRAY_DIMENSIONS", "none", drop("1/data", "attributes._ARRAY_DIMENSIONS"), "2.2", "_ARRAY_DIMENSIONS"),
    Row(
        "other _ARRAY_DIMENSIONS",
        "none",
        put("1/x", "attributes._ARRAY_DIMENSIONS", ["y"]),
        "2.2",
        "1/x/zarr.json: attr",
    ),
    Row("no dimension names on x", "none", drop("1/x", "dimension_names"), "2.2", "1/x/zarr.json: dimension_names"),
    Row(
        "no dimension names on volatility",
        "none",
        drop("volatility", "dimension_names"),
        "2.2",
        "volatility/zarr.json: d",
    ),
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
    Row(
        "another nodata in a level",
        "none",
        put("1/data", "attributes.nodata", 1),
        "2.3",
        "1/data/zarr.json: attributes.no",
    ),
    Row(
        "no nodata in a level",
        "none",
        drop("1/data", "attributes.nodata"),
        "2.3",
        "1/data/zarr.json: attributes.nodata",
    ),
    Row("another nodata in the root", "none", root("nodata", 7), "2.3", "chronozarr.nodata"),
    Row("a nodata of null in the root", "none", root("nodata", None), "2.3", "chronozarr.nodata"),
    Row(
        "a fill that is not 0 beside null",
        "null",
        put("0/data", "fill_value", -1),
        "2.3",
        "0/data/zarr.json: fill_value",
    ),
    Row(
        "a nodata beside null",
        "null",
        put("0/data", "attributes.nodata", 5),
        "2.3",
        "0/data/zarr.json: attributes.nodata",
    ),
    Row(
        "a nodata of null beside null",
        "null",
        put("0/data", "attributes.nodata", None),
        "2.3",
        "attributes.nodata",
        "warning",
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
    Row("a mask with fill false", "full", put("0/mask", "fill_value", False), "2.4", "0/mask/zarr.json: fill_value"),
    Row("a mask with fill 1", "full", put("0/mask", "fill_value", 1), "2.4", "0/mask/zarr.json: fill_value"),
    Row(
        "coverage with fill 255",
        "full",
        put("1/coverage", "fill_value", 255),
        "2.5",
        "1/coverage/zarr.json: fill_value",
    ),
    Row("a mask of another shape", "full", put("1/mask", "shape.1", 18), "2.4", "1/mask/zarr.json: shape"),
    Row("coverage of fewer timesteps", "full", put("1/coverage", "shape.0", 6), "2.5", "1/coverage/zarr.json: shape"),
    Row(
        "a mask in other shards",
        "full",
        put("0/mask", "chunk_grid.configuration.chunk_shape", [4, 16, 16]),
        "2.4",
        "0/mask/zarr.json: chunk_grid",
    ),
    Row("CF packing", "none", put("0/data", "attributes", lambda a: a | {"scale_factor": 0.1}), "3.6", "scale_factor"),
    Row("no fill value", "none", drop("0/x", "fill_value"), "2.2", "0/x/zarr.json: fill_value"),
    Row("no attributes", "none", drop("0/time", "attributes"), "2.2", "0/time/zarr.json: attributes"),
    Row("no attributes on data", "none", drop("1/data", "attributes"), "2.2", "1/data/zarr.json: attributes"),
    Row("volatility of one timestep", "one-time", volatility_of_one, "5", "volatility/c/0/0"),
    Row("no volatility", "none", remove("volatility"), "5", "volatility/zarr.json"),
    Row(
        "volatility of float64",
        "none",
        put("volatility", "data_type", "float64"),
        "5",
        "volatility/zarr.json: data_type",
    ),
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


@pytest.mark.oracle
@each(ARRAYS)
def test_arrays(row: Row) -> None:
    row.check()

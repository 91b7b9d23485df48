"""Sections 2.1, 2.2, 2.4, 2.5, 5, 7.1 and 14: the document of every array."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.errors import InputError, StoreError
from chronozarr_dask.format.arrays import (
    check_data_document,
    coordinate_metas,
    data_meta,
    documents,
    group,
    grown,
    plane_meta,
    volatility_meta,
)
from chronozarr_dask.format.codecs import Codec
from chronozarr_dask.format.georef import Georeference
from chronozarr_dask.format.layout import Layout
from chronozarr_dask.format.planes import PLANES, Plane
from tests.format import example
from tests.format.strategies import codecs, dtypes, georeferences, json_values, layouts, nodatas, paths

DOCUMENTS = documents(example.LAYOUT, "uint16", example.CODEC, example.NODATA, example.GEOREF, PLANES)

# What section 3.3 recommends for the data array beside the attributes that section 2.1 asks for.
RECOMMENDED = {
    "crs",
    "transform",
    "proj:code",
    "spatial:dimensions",
    "spatial:shape",
    "spatial:transform",
    "spatial:bbox",
    "_CRS",
}


# ---- the complete example, 3.9 -------------------------------------------------------------------------------------


def test_nodes_of_the_example() -> None:
    members = ("", "/data", "/mask", "/coverage", "/time", "/band", "/y", "/x")
    assert set(DOCUMENTS) == {f"{k}{m}" for k in (0, 1) for m in members} | {"volatility"}


@pytest.mark.parametrize("key", [k for k in example.DATA if k != "attributes"])
def test_data_document_of_the_example(key: str) -> None:
    assert DOCUMENTS["0/data"][key] == example.DATA[key]


def test_data_document_has_the_examples_keys_and_no_other() -> None:
    assert set(DOCUMENTS["0/data"]) == set(example.DATA)


def test_data_attributes_are_the_examples_and_the_recommended_ones() -> None:
    attributes = DOCUMENTS["0/data"]["attributes"]
    required = example.DATA["attributes"]
    assert {k: attributes[k] for k in required} == required
    assert set(attributes) - set(required) == RECOMMENDED


@pytest.mark.parametrize("plane", ["mask", "coverage"])
def test_plane_documents_of_the_example(plane: str) -> None:
    assert DOCUMENTS[f"0/{plane}"] == example.MASK


def test_time_document_of_the_example() -> None:
    assert DOCUMENTS["0/time"] == example.TIME
    assert DOCUMENTS["1/time"] == example.TIME


def test_level_1_arrays_differ_in_shape_only() -> None:
    for name, shape in (("data", [5, 2, 350, 300]), ("mask", [5, 350, 300]), ("coverage", [5, 350, 300])):
        one, zero = copy.deepcopy(DOCUMENTS[f"1/{name}"]), copy.deepcopy(DOCUMENTS[f"0/{name}"])
        assert one.pop("shape") == shape
        zero.pop("shape")
        for attribute in RECOMMENDED:
            one["attributes"].pop(attribute, None)
            zero["attributes"].pop(attribute, None)
        assert one == zero


def test_level_groups_of_the_example() -> None:
    assert DOCUMENTS["0"] == example.LEVEL_0
    assert DOCUMENTS["1"]["attributes"]["resolution"] == 20.0


def test_volatility_document_of_the_example() -> None:
    doc = DOCUMENTS["volatility"]
    assert doc["shape"] == [2, 2]
    assert doc["data_type"] == "float32"
    assert doc["chunk_grid"]["configuration"]["chunk_shape"] == [2, 2]
    assert doc["fill_value"] == 0.0
    assert doc["dimension_names"] == doc["attributes"]["_ARRAY_DIMENSIONS"] == ["row", "col"]


@pytest.mark.parametrize(
    ("name", "length", "dtype", "first"),
    [
        ("time", 5, "int64", "bytes"),
        ("band", 2, "string", "vlen-utf8"),
        ("y", 700, "float64", "bytes"),
        ("x", 600, "float64", "bytes"),
    ],
)
def test_each_coordinate_is_one_chunk(name: str, length: int, dtype: str, first: str) -> None:
    doc = DOCUMENTS[f"0/{name}"]
    assert doc["shape"] == doc["chunk_grid"]["configuration"]["chunk_shape"] == [length]
    assert doc["data_type"] == dtype
    assert [c["name"] for c in doc["codecs"]] == [first, "zstd"]
    assert doc["dimension_names"] == doc["attributes"]["_ARRAY_DIMENSIONS"] == [name]


# ---- the rules -----------------------------------------------------------------------------------------------------


def test_unsharded_chunk_is_one_timestep_of_one_cell() -> None:
    layout = Layout(5, 2, 700, 600, 512, 1)
    data = data_meta(layout, 0, "uint16", Codec(), 0, example.GEOREF).to_json()
    assert data["chunk_grid"]["configuration"]["chunk_shape"] == [1, 2, 512, 512]
    assert [c["name"] for c in data["codecs"]] == ["bytes", "zstd"]
    mask = plane_meta(layout, 0, Codec()).to_json()
    assert mask["chunk_grid"]["configuration"]["chunk_shape"] == [1, 512, 512]


def test_nodata_null_leaves_the_attribute_out_and_fill_is_0() -> None:
    doc = data_meta(example.LAYOUT, 0, "int16", Codec(), None, example.GEOREF).to_json()
    assert doc["fill_value"] == 0
    assert "nodata" not in doc["attributes"]


def test_nodata_is_the_fill_value_and_the_attribute() -> None:
    doc = data_meta(example.LAYOUT, 0, "float32", Codec(), -9999.0, example.GEOREF).to_json()
    assert doc["fill_value"] == doc["attributes"]["nodata"] == -9999.0


def test_float32_is_filled_with_a_float() -> None:
    fill = data_meta(example.LAYOUT, 0, "float32", Codec(), None, example.GEOREF).to_json()["fill_value"]
    assert json.dumps(fill) == "0.0"


def test_planes_have_the_codec_of_the_data() -> None:
    """Section 8; the typesize of blosc follows the dtype."""
    blosc = Codec("blosc", 1)
    below = documents(Layout(1, 1, 8, 8, 8, 1), "float32", blosc, None, example.GEOREF, ("mask",))
    sizes = {n: below[f"0/{n}"]["codecs"][1]["configuration"]["typesize"] for n in ("data", "mask")}
    assert sizes == {"data": 4, "mask": 1}


def test_chunk_bytes() -> None:
    assert data_meta(example.LAYOUT, 0, "uint16", Codec(), 0, example.GEOREF).chunk_bytes == 2 * 512 * 512 * 2


@pytest.mark.parametrize("sharded", [False, True])
def test_zarr_opens_every_document(tmp_path: Path, sharded: bool) -> None:
    layout = Layout(5, 2, 70, 60, 32, 2, 4 if sharded else None)
    below = documents(layout, "uint16", Codec("gzip", 6), 0, example.GEOREF, PLANES)
    for path, doc in {"": group(), **below}.items():
        (tmp_path / path).mkdir(exist_ok=True)
        (tmp_path / path / "zarr.json").write_text(json.dumps(doc))
    for path, doc in below.items():
        node = zarr.open(tmp_path, path=path, mode="r")
        if doc["node_type"] == "array":
            assert isinstance(node, zarr.Array)
            assert list(node.shape) == doc["shape"]
            assert np.asarray(node[...]).shape == node.shape
            assert node.dtype.itemsize >= 1


# ---- appending, 14 -------------------------------------------------------------------------------------------------


def test_arrays_grow_along_time_and_keep_their_chunks() -> None:
    data = data_meta(example.LAYOUT, 0, "uint16", Codec(), 0, example.GEOREF)
    doc = grown(data, 9).to_json()
    assert doc["shape"] == [9, 2, 700, 600]
    doc["shape"] = [5, 2, 700, 600]
    assert doc == DOCUMENTS["0/data"]


def test_time_is_one_chunk_of_the_new_length() -> None:
    """Case 9: after an append `time/c/0` is still the only object."""
    doc = grown(coordinate_metas(example.LAYOUT, 0)["time"], 9).to_json()
    assert doc["shape"] == doc["chunk_grid"]["configuration"]["chunk_shape"] == [9]


def test_arrays_do_not_shrink() -> None:
    with pytest.raises(InputError, match="5 timesteps cannot shrink to 4"):
        grown(plane_meta(example.LAYOUT, 0, Codec()), 4)


# ---- reading -------------------------------------------------------------------------------------------------------


def changed(**change: Any) -> dict[str, Any]:
    return copy.deepcopy(example.DATA) | change


def grid(shape: Any) -> dict[str, Any]:
    return {"name": "regular", "configuration": {"chunk_shape": shape}}


def inner(shape: list[int]) -> list[dict[str, Any]]:
    codecs_ = copy.deepcopy(example.DATA["codecs"])
    codecs_[0]["configuration"]["chunk_shape"] = shape
    return codecs_  # type: ignore[no-any-return]


def test_cell_size_is_the_inner_chunks_edge() -> None:
    meta = check_data_document(example.DATA, "0/data")
    assert meta.chunk == (1, 2, 512, 512)
    assert meta.sharding is not None
    assert meta.sharding.shape == (4, 2, 512, 512)
    assert (meta.fill, meta.dtype, meta.dims) == (0, "uint16", ("time", "band", "y", "x"))


@pytest.mark.parametrize("cs", [2, 32, 510, 1024])
def test_any_even_cell_size_is_read(cs: int) -> None:
    doc = changed(chunk_grid=grid([4, 2, cs, cs]), codecs=inner([1, 2, cs, cs]))
    assert check_data_document(doc, "0/data").chunk[-1] == cs


@pytest.mark.parametrize(
    ("doc", "message"),
    [
        (None, "not the document of a Zarr v3 array"),
        ([], "not the document of a Zarr v3 array"),
        (changed(zarr_format=2), "not the document of a Zarr v3 array"),
        (changed(node_type="group"), "not the document of a Zarr v3 array"),
        (changed(data_type="uint32"), "data_type 'uint32' is not supported"),
        (changed(data_type={"name": "uint16"}), "data_type .* is not supported"),
        (changed(shape=[5, 2, 700]), "shape .* with chunks of"),
        (changed(shape=[5, 2, 700, -1]), "shape is"),
        (changed(shape=None), "shape is None"),
        (changed(chunk_grid={"name": "rectilinear"}), "chunk_grid is not 'regular'"),
        (changed(chunk_grid=grid([4, 2, 512, True])), "chunk_shape is"),
        (changed(chunk_key_encoding={"name": "v2"}), "chunk_key_encoding"),
        (changed(chunk_key_encoding={"name": "default", "configuration": {"separator": "."}}), "chunk_key_encoding"),
        (changed(codecs=None), "codecs is not a list"),
        (changed(codecs=inner([2, 2, 512, 512])), "not one timestep"),
        (changed(codecs=inner([1, 1, 512, 512])), "not one timestep"),
        (changed(codecs=inner([1, 2, 512, 256])), "not one timestep"),
        (changed(codecs=inner([1, 2, 256, 256])), "shard .* is not one cell"),
        (changed(chunk_grid=grid([4, 2, 511, 511]), codecs=inner([1, 2, 511, 511])), "even square cell"),
        (
            changed(chunk_grid=grid([4, 2, 2**20, 2**20]), codecs=inner([1, 2, 2**20, 2**20])),
            "more than 2147483647 bytes",
        ),
        (changed(fill_value="NaN"), "fill_value is 'NaN'"),
        (changed(fill_value=None), "fill_value is None"),
        (changed(fill_value=True), "fill_value is True"),
        (changed(fill_value=-1), "out of the range of uint16"),
        (changed(fill_value=0.5), "out of the range of uint16"),
        (changed(fill_value=float("inf")), "finite number"),
        (changed(data_type="float32", fill_value=10**400), "finite number"),
        (changed(dimension_names=5), "dimension_names is 5"),
        (changed(attributes=[]), "attributes is not an object"),
    ],
    ids=lambda v: v[:30] if isinstance(v, str) else "",
)
def test_document_that_cannot_be_read_is_named(doc: Any, message: str) -> None:
    with pytest.raises(StoreError, match=rf"^0/data: .*{message}"):
        check_data_document(doc, "0/data")


@given(st.sampled_from(paths(example.DATA)), json_values)
def test_no_document_causes_another_error_than_ours(path: list[Any], value: Any) -> None:
    doc = copy.deepcopy(example.DATA)
    node: Any = doc
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    with suppress(StoreError):
        check_data_document(doc, "0/data")


@given(layouts(), dtypes.flatmap(lambda d: st.tuples(st.just(d), nodatas(d))), codecs(), georeferences(), st.data())
def test_documents_round_trip_through_json(
    layout: Layout, pixels: tuple[str, Any], codec: Codec, georef: Georeference, data: st.DataObject
) -> None:
    dtype, nodata = pixels
    level = data.draw(st.integers(0, layout.n_levels - 1))
    plane: Plane | None = data.draw(st.sampled_from([None, *PLANES]))
    meta = plane_meta(layout, level, codec) if plane else data_meta(layout, level, dtype, codec, nodata, georef)
    doc = json.loads(json.dumps(meta.to_json()))
    parsed = check_data_document(doc, "0/data")
    assert parsed.to_json() == doc
    assert (parsed.shape, parsed.chunk, parsed.sharding, parsed.codec) == (
        meta.shape,
        meta.chunk,
        meta.sharding,
        meta.codec,
    )
    assert (parsed.dtype, parsed.fill, parsed.dims) == (meta.dtype, meta.fill, meta.dims)
    assert grown(parsed, layout.n_time + 3).shape == (layout.n_time + 3, *meta.shape[1:])
    assert volatility_meta(layout).shape == layout.grid(0)

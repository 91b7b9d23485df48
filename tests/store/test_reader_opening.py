"""Opening: one GET, what is missing is read from the levels, and every answer that is no store is named."""

import copy
import json
from pathlib import Path
from typing import Any

import fsspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronozarr_dask.errors import NotCompleteError, StoreError
from chronozarr_dask.store.opening import open_documents, parse_document
from chronozarr_dask.store.reader import Store, open_store
from tests.store.stores import Memory, array_document, group_document, refused, root_document, star

ARRAYS = {
    "0/data": array_document((3, 2, 6, 5), "uint16", 4, shard_time=2),
    "0/mask": array_document((3, 6, 5), "uint8", 4, shard_time=2),
    "1/data": array_document((3, 2, 3, 3), "uint16", 4, shard_time=2),
    "1/mask": array_document((3, 3, 3), "uint8", 4, shard_time=2),
}
PROVENANCE = {"sources": ["s2"], "composite": "median", "gap_fill": "none"}
ROOT = root_document(ARRAYS, star(3, 2, {1: 0}), shard_bytes={"0": {"0/0/0": 90}}, provenance=PROVENANCE)
LEVELS = {**{str(k): group_document(k) for k in range(2)}, **ARRAYS}


def objects(root: Any, *paths: str) -> Memory:
    """A root document and the documents of some paths."""
    out = Memory()
    out.put_json("zarr.json", root)
    for path in paths:
        out.put_json(f"{path}/zarr.json", LEVELS[path])
    return out


def without(*fields: str, consolidated: bool = False) -> Any:
    """The root document without some fields of the chronozarr block, and without consolidated metadata."""
    root = copy.deepcopy(ROOT)
    for field in fields:
        del root["attributes"]["chronozarr"][field]
    if not consolidated:
        del root["consolidated_metadata"]
    return root


def test_one_get_opens_a_store():
    memory = objects(ROOT)
    opened = open_documents(memory)
    assert memory.log == [("get", "zarr.json")]
    assert sorted(opened.arrays) == sorted(ARRAYS)


def test_levels_come_from_consolidated_groups_where_there_is_no_mirror():
    memory = objects(without("levels", consolidated=True))
    assert open_documents(memory).levels == open_documents(objects(ROOT)).levels
    assert memory.log == [("get", "zarr.json")]


def test_with_the_mirror_only_the_arrays_are_read():
    memory = objects(without(), *ARRAYS)
    assert open_documents(memory).arrays == open_documents(objects(ROOT)).arrays
    assert sorted(memory.log) == sorted([("get", "zarr.json"), *(("get", f"{p}/zarr.json") for p in ARRAYS)])


def test_with_neither_groups_and_arrays_are_read():
    memory = objects(without("levels"), *LEVELS)
    opened = open_documents(memory)
    assert (opened.levels, opened.arrays) == (
        open_documents(objects(ROOT)).levels,
        open_documents(objects(ROOT)).arrays,
    )
    assert len(memory.log) == 1 + len(LEVELS)


def test_consolidated_metadata_may_be_null_or_lack_an_array():
    partial = copy.deepcopy(ROOT)
    del partial["consolidated_metadata"]["metadata"]["1/mask"]
    memory = objects(partial, "1/mask")
    assert open_documents(memory).arrays == open_documents(objects(ROOT)).arrays
    assert memory.log == [("get", "zarr.json"), ("get", "1/mask/zarr.json")]
    assert open_documents(objects({**ROOT, "consolidated_metadata": None}, *ARRAYS)).arrays


def test_a_document_that_is_nowhere_is_named():
    with pytest.raises(StoreError, match=r"memory/1/data/zarr\.json: the document is missing"):
        open_documents(objects(without(), "0/data", "0/mask", "1/mask"))


def test_arrays_may_have_grown_since_the_root_was_written():
    """An append stores the root document last: who still has the old one reads every timestep that it lists."""
    grown = copy.deepcopy(ROOT)
    for path in ARRAYS:
        grown["consolidated_metadata"]["metadata"][path]["shape"][0] = 5
    assert len(Store(Memory(), open_documents(objects(grown))).times) == 3


# ---- what is no store ------------------------------------------------------------------------------------------------


def test_nothing_there(tmp_path: Path):
    with pytest.raises(StoreError, match=r"there is no store.*zarr\.json") as caught:
        open_store(tmp_path / "cube")
    assert not isinstance(caught.value, NotCompleteError)


def test_a_run_that_was_not_committed(tmp_path: Path):
    (tmp_path / "cube.run").mkdir()
    (tmp_path / "cube.run" / "claim.json").write_text("{}")
    with pytest.raises(NotCompleteError, match=r"not complete.*cube\.run.*chronozarr-dask resume .*/cube`"):
        open_store(tmp_path / "cube")


def test_a_journal_without_a_claim_says_nothing(tmp_path: Path):
    (tmp_path / "cube.run").mkdir()
    with pytest.raises(StoreError, match="there is no store"):
        open_store(tmp_path / "cube")


def test_a_run_in_a_bucket():
    fs = fsspec.filesystem("memory")
    fs.pipe_file("/bucket/cube.run/claim.json", b"{}")
    try:
        with pytest.raises(NotCompleteError, match="memory://bucket/cube is not complete"):
            open_store("memory://bucket/cube")
        with pytest.raises(StoreError, match="there is no store"):  # nothing lies beside a bucket's root
            open_store("memory://bucket")
    finally:
        fs.rm("/bucket", recursive=True)


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        (b"<!DOCTYPE html>\n<html>", "web page.*404"),
        (b"\xef\xbb\xbf  <HTML>", "web page"),
        (b"<?xml version='1.0'?><Error/>", "web page"),
        (b"", "not a JSON document"),
        (b"{", "not a JSON document"),
        (b"\xff\xfe", "not a JSON document"),
        (b"[" * 100_000, "not a JSON document"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b'{"a": 1e999}', "out of range"),
        (b'{"a": 123456789012345678901}', "out of range"),
        (b"[]", "not the document of a Zarr v3 group"),
        (b'{"zarr_format": 2}', "not the document of a Zarr v3 group"),
        (b'{"zarr_format": 3, "node_type": "group", "attributes": {}}', "no attribute 'chronozarr'"),
    ],
)
def test_an_answer_that_is_no_root_document(blob: bytes, message: str):
    with pytest.raises(StoreError, match=rf"memory/zarr\.json.*{message}"):
        open_documents(Memory({"zarr.json": blob}))


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("0.3.0", "v0.3.0, newer than this reader"),
        ("1.0.0", "newer than this reader"),
        ("0.0.9", "knows 0.1.x and 0.2.x"),
        ("two", "knows 0.1.x and 0.2.x"),
        (2, "knows 0.1.x and 0.2.x"),
    ],
)
def test_a_version_that_cannot_be_read(version: Any, message: str):
    root = copy.deepcopy(ROOT)
    root["attributes"]["chronozarr"]["spec_version"] = version
    with pytest.raises(StoreError, match=message):
        open_documents(objects(root))


@pytest.mark.parametrize("version", ["0.2.7", "0.1.0"])
def test_versions_that_can_be_read(version: str):
    root = copy.deepcopy(ROOT)
    root["attributes"]["chronozarr"]["spec_version"] = version
    assert open_documents(objects(root)).root.spec_version == version


def put(root: Any, path: str, value: Any) -> Any:
    """A copy of the root document in which the field at a dotted path is another; `...` removes it."""
    root = copy.deepcopy(root)
    *above, last = path.split("|")
    place = root
    for name in above:
        place = place[int(name) if isinstance(place, list) else name]
    if value is ...:
        del place[last]
    else:
        place[int(last) if isinstance(place, list) else last] = value
    return root


BLOCK, BELOW = "attributes|chronozarr", "consolidated_metadata|metadata"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (f"{BLOCK}|temporal|encoding", "chain", "encoding is 'chain'"),
        (f"{BLOCK}|temporal", ..., "temporal is missing"),
        (f"{BLOCK}|temporal|delta_reference", {}, "timestep 1 must be"),
        (f"{BLOCK}|temporal|delta_reference|1", 5, "delta_reference maps 1 to 5"),
        (f"{BLOCK}|times", [], "times is missing or empty"),
        (f"{BLOCK}|times|1", "yesterday", "times has 'yesterday'"),
        (f"{BLOCK}|bands|0", 7, "bands has 7"),
        (f"{BLOCK}|bands", [{"name": "only"}], "0/data/zarr.json: shape"),
        (f"{BLOCK}|nodata", "0", "nodata is '0'"),
        (f"{BLOCK}|nodata", 70000, "nodata is 70000"),
        (f"{BLOCK}|crs", None, "crs is None"),
        (f"{BLOCK}|variable", "a/b", "variable is 'a/b'"),
        (f"{BLOCK}|mask_variable", "valid", "mask_variable is 'valid'"),
        (f"{BLOCK}|levels|1|transform", [1, 2], r"levels\[1\].transform"),
        (f"{BLOCK}|levels|1|transform|1", 0.5, "transform of level 1 is not north-up"),
        (f"{BLOCK}|levels|0|shape|2", 7, "0/data/zarr.json: shape"),
        (f"{BLOCK}|levels|0|grid", [9, 9], r"levels\[0\] has shape .* and grid \(9, 9\)"),
        (f"{BLOCK}|levels|0|shape|0", 2, r"levels\[0\] has shape \(2, 2, 6, 5\)"),
        (f"{BLOCK}|levels", [], "levels are .*multiscales has"),
        (f"{BLOCK}|shard_bytes|0", 5, "shard_bytes"),
        ("attributes|multiscales", [], "multiscales"),
        ("consolidated_metadata|metadata", [], "consolidated_metadata has no object 'metadata'"),
        (f"{BELOW}|0/data|data_type", "float64", "0/data/zarr.json: data_type 'float64' is not supported"),
        (f"{BELOW}|0/data|data_type", "int16", "encoding is star-delta, the data are int16"),
        (f"{BELOW}|1/data|data_type", "uint8", "1/data/zarr.json: shape .* of uint8"),
        (f"{BELOW}|0/mask|data_type", "uint16", "0/mask/zarr.json: shape .* of uint16"),
        (f"{BELOW}|0/mask|shape", [3, 2, 6, 5], "0/mask/zarr.json"),
        (f"{BELOW}|0/data|shape|0", 2, "0/data/zarr.json: shape"),
        (f"{BELOW}|0/data|codecs|0|configuration|codecs|1|name", "lz4", "codec 'lz4' is not permitted"),
        (f"{BELOW}|0/data|codecs|0|configuration|index_codecs|1|name", "crc32", "index_codecs"),
        (f"{BELOW}|0/data|chunk_grid|configuration|chunk_shape", [2, 2, 4], "3 or 4 axes|chunk_shape"),
        (f"{BELOW}|0/data|chunk_key_encoding|name", "v2", "chunk_key_encoding"),
        (f"{BELOW}|0/data|fill_value", "0x00", "fill_value"),
    ],
)
def test_a_malformed_field_is_named(path: str, value: Any, message: str):
    with pytest.raises(StoreError, match=rf"memory(/[01]/\w+)?/zarr\.json.*({message})|memory/({message})"):
        open_documents(objects(put(ROOT, path, value)))


def places(node: Any, path: str = "") -> list[str]:
    """The dotted path of everything below a node."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    out = []
    for name, value in items:
        here = f"{path}|{name}" if path else str(name)
        out += [here, *places(value, here)]
    return out


JUNK = st.sampled_from(
    [
        None,
        True,
        -1,
        0,
        1,
        3,
        2.5,
        10**15,
        -1e300,
        "",
        "x",
        "0",
        [],
        {},
        [0],
        [[]],
        {"a": 1},
        [-1, "x"],
        {"name": {}},
        ["a"] * 4,
    ]
)


@settings(max_examples=400)
@given(st.sampled_from(places(ROOT)), JUNK)
def test_any_field_replaced_is_a_store_error_or_harmless(path: str, value: Any):
    said = refused(lambda: repr(Store(Memory(), open_documents(objects(put(ROOT, path, value), *LEVELS)))))
    assert said == "" or "memory/" in said


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)
    )
)
def test_documents_are_parsed_as_json_does(value: Any):
    text = json.dumps(value)
    try:
        expected = json.loads(text, parse_constant=lambda _: 1 / 0)
    except ZeroDivisionError:
        with pytest.raises(StoreError, match="is not JSON"):
            parse_document(text.encode(), "here")
    else:
        assert parse_document(text.encode(), "here") == expected

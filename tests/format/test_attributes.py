"""Sections 3.1, 3.2, 3.4, 3.5 and 3.7: the root document."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.arrays import documents
from chronozarr_dask.format.attributes import LevelMirror, Root, check_version, mirror
from chronozarr_dask.format.bands import Band
from chronozarr_dask.format.georef import Georeference
from chronozarr_dask.format.layout import Layout
from chronozarr_dask.format.provenance import Provenance
from chronozarr_dask.format.temporal import Selection, Temporal
from tests.format import example
from tests.format.strategies import json_values, paths, roots

ROOT = Root(
    variable="data",
    times=example.MILLISECONDS,
    bands=tuple(Band(n, c, 0.0001, 0, "reflectance") for n, c in (("B04", "red"), ("B08", "nir"))),
    nodata=0,
    crs="EPSG:32631",
    temporal=Temporal.star_delta(5, 2),
    planes=("mask", "coverage"),
    level_paths=("0", "1"),
    levels=mirror(example.LAYOUT, example.GEOREF),
    provenance=Provenance.parse(example.CHRONOZARR["provenance"]),
    shard_bytes=example.SHARD_BYTES,
)
DOCUMENT: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "group",
    "attributes": {"multiscales": example.MULTISCALES, "chronozarr": example.CHRONOZARR},
}


# ---- the complete example, 3.9 -------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", list(example.CHRONOZARR))
def test_field_of_the_example(key: str) -> None:
    assert ROOT.to_json()["chronozarr"][key] == example.CHRONOZARR[key]


def test_root_attributes_are_two_blocks_with_the_examples_fields() -> None:
    attributes = ROOT.to_json()
    assert set(attributes) == {"multiscales", "chronozarr"}
    assert list(attributes["chronozarr"]) == list(example.CHRONOZARR)


def test_multiscales_of_the_example() -> None:
    assert ROOT.to_json()["multiscales"] == example.MULTISCALES


def test_the_example_is_read() -> None:
    assert Root.from_document(DOCUMENT) == ROOT


def test_a_none_store_differs_in_the_temporal_block_only() -> None:
    selection = Selection(4, 95, 100).to_json()
    block = replace(ROOT, temporal=Temporal.none(selection)).to_json()["chronozarr"]
    temporal = {"encoding": "none", "selection": {"mode": "auto", "sampled_cells": 4, "ratio": 0.95}}
    assert block == example.CHRONOZARR | {"temporal": temporal}


# ---- 3.1 root group ------------------------------------------------------------------------------------------------


def test_root_document_holds_the_consolidated_metadata() -> None:
    below = documents(example.LAYOUT, "uint16", example.CODEC, 0, example.GEOREF, ("mask", "coverage"))
    doc = ROOT.document(below)
    assert {k: doc[k] for k in DOCUMENT} == DOCUMENT
    assert doc["consolidated_metadata"]["metadata"] == below
    assert set(doc) == {*DOCUMENT, "consolidated_metadata"}


# ---- 3.2 and 3.5 the chronozarr block and its mirrors --------------------------------------------------------------


def test_planes_that_a_store_does_not_have_are_not_named() -> None:
    block = replace(ROOT, planes=("coverage",)).to_json()["chronozarr"]
    assert "mask_variable" not in block
    assert block["coverage_variable"] == "coverage"


def test_optional_fields_are_left_out_when_there_is_nothing_to_say() -> None:
    bare = replace(ROOT, provenance=None, shard_bytes=None, planes=()).to_json()["chronozarr"]
    optional = {"provenance", "shard_bytes", "mask_variable", "coverage_variable"}
    assert set(bare) == set(example.CHRONOZARR) - optional


def test_nodata_null_is_written_as_null() -> None:
    block = replace(ROOT, nodata=None).to_json()["chronozarr"]
    assert block["nodata"] is None
    assert Root.from_document(json.loads(json.dumps(replace(ROOT, nodata=None).document({})))).nodata is None


def test_mirrors_agree_with_their_sources() -> None:
    block = ROOT.to_json()["chronozarr"]
    assert block["band_names"] == [b["name"] for b in block["bands"]]
    assert len(block["times"]) == len(ROOT.times)
    below = documents(example.LAYOUT, "uint16", example.CODEC, 0, example.GEOREF, ())
    for entry in block["levels"]:
        attributes = below[entry["path"]]["attributes"]
        assert entry["resolution"] == attributes["resolution"]
        assert entry["transform"] == attributes["transform"]
        assert entry["shape"] == below[f"{entry['path']}/data"]["shape"]


# ---- 3.4 multiscales -----------------------------------------------------------------------------------------------


def test_there_is_no_pixels_per_tile() -> None:
    """Case 25."""
    text = json.dumps(ROOT.document(documents(example.LAYOUT, "uint16", example.CODEC, 0, example.GEOREF, ())))
    assert "pixels_per_tile" not in text


def test_method_is_under_metadata() -> None:
    """Case 25."""
    (entry,) = ROOT.to_json()["multiscales"]
    assert set(entry) == {"datasets", "type", "metadata"}
    assert entry["metadata"]["method"] == "block_mean"
    assert all(set(d) == {"path", "crs"} for d in entry["datasets"])


def test_pixels_per_tile_of_an_older_store_is_passed_over() -> None:
    doc = copy.deepcopy(DOCUMENT)
    for dataset in doc["attributes"]["multiscales"][0]["datasets"]:
        dataset["pixels_per_tile"] = 128
    assert Root.from_document(doc) == ROOT


# ---- 3.7 the levels mirror -----------------------------------------------------------------------------------------


def test_levels_of_the_example_are_read() -> None:
    entries = tuple(LevelMirror.from_json(e) for e in example.CHRONOZARR["levels"])
    assert entries == mirror(example.LAYOUT, example.GEOREF)


def test_levels_may_be_absent() -> None:
    doc = copy.deepcopy(DOCUMENT)
    del doc["attributes"]["chronozarr"]["levels"]
    assert Root.from_document(doc).levels is None
    assert Root.from_document(doc).level_paths == ("0", "1")


# ---- 7.3 shard_bytes -----------------------------------------------------------------------------------------------


def test_shard_bytes_lists_data_shards_by_time_row_and_column() -> None:
    """Case 22: the keys are the data shards of the example without their band index, at every level."""
    listed = ROOT.to_json()["chronozarr"]["shard_bytes"]
    keys = [f"0/data/c/{t}/0/{r}/{c}" for t, r, c in (key.split("/") for key in listed["0"])]
    assert sorted(keys) == sorted(example.DATA_SHARDS)
    assert set(listed["1"]) == {"0/0/0", "1/0/0"}


# ---- reading -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["0.1.0", "0.1.9", "0.2.0", "0.2.17", "0.2.1-rc.1"])
def test_versions_0_1_and_0_2_are_read(version: str) -> None:
    assert check_version(version) == version


@pytest.mark.parametrize("version", ["0.3.0", "1.0.0", "0.10.0", "0.20.0"])
def test_newer_versions_are_refused_as_such(version: str) -> None:
    with pytest.raises(StoreError, match=f"v{version}, newer than this reader"):
        check_version(version)


@pytest.mark.parametrize("version", [None, 2, "", "0.2", "0.0.1", "two", "0.2.x"])
def test_what_is_no_version_is_refused(version: Any) -> None:
    with pytest.raises(StoreError, match="spec_version is"):
        check_version(version)


def test_a_store_of_v0_1_is_read() -> None:
    """Bands are strings; there is no levels, band_names or planes; it is star-delta (10, 13)."""
    block = {
        "spec_version": "0.1.0",
        "variable": "data",
        "times": ["2024-01-01T00:00:00Z", "2024-02-01T00:00:00Z"],
        "bands": ["B04", "B08"],
        "nodata": 0,
        "crs": "EPSG:32631",
        "temporal": {"anchor_interval": 6, "anchor_indices": [0], "delta_reference": {"1": 0}},
        "volatility_path": "volatility",
    }
    root = Root.from_document(DOCUMENT | {"attributes": {"multiscales": example.MULTISCALES, "chronozarr": block}})
    assert root.bands == (Band("B04"), Band("B08"))
    assert root.temporal == Temporal.star_delta(2, 6)
    assert (root.levels, root.planes, root.shard_bytes, root.spec_version) == (None, (), None, "0.1.0")
    del block["nodata"]
    root = Root.from_document(DOCUMENT | {"attributes": {"multiscales": example.MULTISCALES, "chronozarr": block}})
    assert root.nodata == 0, "what v0.1 had for uint16 (2.3)"


def with_block(**change: Any) -> dict[str, Any]:
    attributes = {"multiscales": example.MULTISCALES, "chronozarr": example.CHRONOZARR | change}
    return DOCUMENT | {"attributes": attributes}


def with_multiscales(value: Any) -> dict[str, Any]:
    return DOCUMENT | {"attributes": {"multiscales": value, "chronozarr": example.CHRONOZARR}}


def with_level(**change: Any) -> dict[str, Any]:
    return with_block(levels=[example.CHRONOZARR["levels"][0] | change])


@pytest.mark.parametrize(
    ("doc", "message"),
    [
        (None, "not the document of a Zarr v3 group"),
        (DOCUMENT | {"zarr_format": 2}, "not the document of a Zarr v3 group"),
        (DOCUMENT | {"attributes": {}}, "no attribute 'chronozarr'"),
        (DOCUMENT | {"attributes": None}, "no attribute 'chronozarr'"),
        (with_block(spec_version="0.3.0"), "newer"),
        (with_block(times=[]), "times is missing"),
        (with_block(times=["soon"]), "times has 'soon'"),
        (with_block(bands=None), "bands is missing"),
        (with_block(bands=[{}]), "bands has"),
        (with_block(nodata="0"), "nodata is '0'"),
        (with_block(nodata=float("nan")), "nodata is nan"),
        (with_block(crs=32631), "crs is 32631"),
        (with_block(variable="a/b"), "variable is 'a/b'"),
        (with_block(temporal={"encoding": "chain"}), "encoding is 'chain'"),
        (with_block(mask_variable="cloud"), "mask_variable is 'cloud'"),
        (with_block(provenance={}), "provenance.sources"),
        (with_block(levels={}), "levels is not a list"),
        (with_block(levels=[3]), "levels has 3"),
        (with_level(resolution="10"), "resolution is '10'"),
        (with_level(transform=[1, 2]), "transform is"),
        (with_level(shape=[5, 2, 700]), "shape"),
        (with_level(grid=[0, 2]), "grid"),
        (with_block(shard_bytes=[]), "shard_bytes is not an object"),
        (with_block(shard_bytes={"0": {"0/0/0": -1}}), "shard_bytes"),
        (with_multiscales(None), "multiscales is not"),
        (with_multiscales(example.MULTISCALES * 2), "exactly one entry"),
        (with_multiscales([{"datasets": []}]), "datasets is not"),
        (with_multiscales([{"datasets": [{"path": "1"}]}]), "in order and without gaps"),
        (with_multiscales([{"datasets": [{"path": "0"}, {"path": "2"}]}]), "in order and without gaps"),
    ],
    ids=lambda v: v[:30] if isinstance(v, str) else "",
)
def test_root_that_cannot_be_read_is_named(doc: Any, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        Root.from_document(doc)


@given(st.sampled_from(paths(DOCUMENT)), json_values)
def test_no_root_causes_another_error_than_ours(path: list[Any], value: Any) -> None:
    doc = copy.deepcopy(DOCUMENT)
    node: Any = doc
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    with suppress(StoreError):
        Root.from_document(doc)


@given(roots())
def test_roots_round_trip_through_json(case: tuple[Root, Layout, Georeference]) -> None:
    root, layout, georef = case
    below = documents(layout, "float32", example.CODEC, root.nodata, georef, root.planes)
    doc = json.loads(json.dumps(root.document(below)))
    assert Root.from_document(doc) == root
    assert Root.from_document(doc).document(below) == doc

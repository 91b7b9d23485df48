"""Malformed stores, one literal fault each: the reader says what is wrong, and neither crashes nor eats the memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import google_crc32c
import numpy as np
import pytest

from chronozarr_dask import open_store
from chronozarr_dask.errors import StoreError
from chronozarr_dask.store.opening import open_documents
from chronozarr_dask.store.reader import Store
from chronozarr_dask.store.target import Objects as Target
from chronozarr_dask.store.validate import validate, validate_objects
from tests.fuzz.stores import CS, Objects, documents, good
from tests.fuzz.targets import bounded

MIB = 2**20
SHARD = "0/data/c/0/0/0/0"


def changed(name: str, path: str, place: str, value: Any) -> Objects:
    """The store `name` with the value at the dotted `place` of a document set, in the document and in the mirror."""
    docs = documents(name)
    *outer, last = place.split(".")
    at = docs[path]
    for step in outer:
        at = at[int(step)] if isinstance(at, list) else at[step]
    if isinstance(at, list):
        at[int(last)] = value
    else:
        at[last] = value
    if path:
        docs[""]["consolidated_metadata"]["metadata"][path] = docs[path]
    return Objects(dict(good(name)) | {f"{p}/zarr.json".lstrip("/"): json.dumps(d).encode() for p, d in docs.items()})


def opened(objects: Objects) -> Store:
    return Store(cast(Target, objects), open_documents(cast(Target, objects)))


def refusal(objects: Objects) -> str:
    """What the reader says to a store whose metadata or first cell are malformed, within 4 MiB."""
    with bounded(4 * MIB), pytest.raises(StoreError) as caught:
        opened(objects).read_cell(0, 0, 0)
    with bounded(16 * MIB):
        found = validate_objects(cast(Target, objects))
    assert found or "do not decode" in str(caught.value)  # without --deep pixels are not read
    return str(caught.value)


# ---- documents ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [65, 300, 900, 940, 950, 960, 970, 980, 990, 1000, 10**6])
def test_documents_nested_without_end(depth: int):
    objects = changed("plain", "", "attributes.chronozarr.bands", "HERE")
    text = objects.blobs["zarr.json"].decode().replace('"HERE"', "[" * depth + "]" * depth)
    objects.blobs["zarr.json"] = text.encode()
    assert "nested deeper than 64 levels" in refusal(objects)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999", "1" * 30, "1" * 5000])
def test_numbers_that_are_none(text: str):
    objects = changed("plain", "", "attributes.chronozarr.nodata", "HERE")
    objects.blobs["zarr.json"] = objects.blobs["zarr.json"].replace(b'"HERE"', text.encode())
    assert "not a JSON document" in refusal(objects)


def test_of_a_key_that_is_there_twice_the_last_counts():
    objects = Objects(dict(good("plain")))
    objects.blobs["zarr.json"] = objects.blobs["zarr.json"].replace(
        b'"spec_version"', b'"spec_version":3,"spec_version"', 1
    )
    assert opened(objects).read_cell(0, 0, 0).shape == (2, CS, CS)


@pytest.mark.parametrize("edge", [2**31, 2**53, 10**19])
def test_edges_beyond_any_raster(edge: int):
    objects = changed("plain", "", "attributes.chronozarr.levels.0.shape.3", edge)
    docs = {p: json.loads(objects.blobs[f"{p}/zarr.json".lstrip("/")]) for p in ("", "0/data")}
    docs["0/data"]["shape"][3] = edge
    docs[""]["attributes"]["chronozarr"]["levels"][0]["grid"][1] = -(-edge // CS)
    docs[""]["consolidated_metadata"]["metadata"]["0/data"] = docs["0/data"]
    objects.blobs |= {f"{p}/zarr.json".lstrip("/"): json.dumps(d).encode() for p, d in docs.items()}
    assert "pixels" in refusal(objects)


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("codecs.0.configuration.index_codecs.1", {"name": "crc32"}, "index_codecs"),
        ("codecs.0.configuration.index_codecs.1", {"name": "zstd", "configuration": {"level": 1}}, "zstd"),
        ("codecs.0.configuration.index_codecs", [{"name": "bytes"}], "index_codecs"),
        ("codecs.0.configuration.index_codecs.0", {"name": "bytes", "configuration": {"endian": "big"}}, "little"),
        ("codecs", [{"name": "bytes"}, {"name": "sharding_indexed", "configuration": {}}], "'bytes'"),
        ("codecs.0.configuration.codecs.1.name", "crc32c", "'crc32c'"),
        ("codecs.0.configuration.codecs.1.name", "numcodecs.lzma", "'numcodecs.lzma'"),
        ("codecs.0.configuration.codecs.0.name", "transpose", "'transpose'"),
        ("codecs.0.configuration.index_location", "middle", "'middle'"),
        ("codecs.0.configuration.chunk_shape.0", 2, "one timestep"),
        ("codecs.0.configuration.chunk_shape.3", 2**40, "one timestep"),
    ],
)
def test_codecs_are_refused_by_name(place: str, value: Any, said: str):
    assert said in refusal(changed("sharded", "0/data", place, value))


def test_codecs_around_a_shard_are_refused_by_name():
    document = documents("sharded")["0/data"]
    for around in ({"name": "gzip", "configuration": {"level": 1}}, {"name": "crc32c"}, {"name": "sharding_indexed"}):
        for codecs in ([*document["codecs"], around], [around, *document["codecs"]]):
            assert repr(around["name"]) in refusal(changed("sharded", "0/data", "codecs", codecs))


# ---- shards ---------------------------------------------------------------------------------------------------------


def with_entry(offset: int, nbytes: int) -> Objects:
    """The sharded store with the first entry of its first shard's index set, its crc32c made right."""
    blobs = dict(good("sharded"))
    blob = bytearray(blobs[SHARD])
    index = len(blob) - 16 * 3 - 4
    blob[index : index + 16] = offset.to_bytes(8, "little") + nbytes.to_bytes(8, "little")
    blob[-4:] = google_crc32c.value(bytes(blob[index:-4])).to_bytes(4, "little")
    return Objects(blobs | {SHARD: bytes(blob)})


@pytest.mark.parametrize(
    ("offset", "nbytes", "said"),
    [
        (0, 2**20, "index entry 0 says bytes 0 to 1048576 of"),
        (0, 2**63, "index entry 0 says"),
        (2**63, 5, "index entry 0 says"),
        (2**64 - 8, 16, "index entry 0 says"),  # the sum is 8 more than 2^64
        (2**64 - 2, 2**64 - 2, "index entry 0 says"),
        (2**64 - 1, 5, "half empty"),
        (5, 2**64 - 1, "half empty"),
        (5, 0, "has no bytes"),
        (0, 5, "do not decode"),
    ],
)
def test_index_entries_that_lie(offset: int, nbytes: int, said: str):
    assert said in refusal(with_entry(offset, nbytes))


def test_an_entry_that_takes_in_its_neighbours_is_no_chunk():
    objects = with_entry(0, len(good("sharded")[SHARD]) - 16 * 3 - 4)
    assert "do not decode" in refusal(objects)


@pytest.mark.parametrize("length", [2**40, 2**53])
def test_shard_bytes_that_lie_are_not_allocated(tmp_path: Path, length: int):
    objects = changed("sharded", "", "attributes.chronozarr.shard_bytes.0.0/0/0", length)
    for path in ("0/data", "1/data", "2/data"):
        if path in documents("sharded"):
            objects_of = json.loads(objects.blobs[f"{path}/zarr.json"])
            assert objects_of["shape"]
    for key, blob in objects.blobs.items():
        (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / key).write_bytes(blob)
    with bounded(4 * MIB), pytest.raises(StoreError, match="index has 0 bytes"):
        open_store(tmp_path).read_cell(0, 0, 0)
    assert validate(tmp_path)


@pytest.mark.parametrize("length", [0, -1, 2**53 + 1, 2**63, 10**19, 1.5, True, "5"])
def test_shard_bytes_that_are_no_lengths(length: Any):
    objects = changed("sharded", "", "attributes.chronozarr.shard_bytes.0.0/0/0", length)
    assert "does not map shards to lengths" in refusal(objects)


def test_a_shard_longer_than_its_cell_could_be_is_not_fetched():
    """One entry that spans 64 MiB of a shard whose chunks are 256 bytes."""
    blobs = dict(good("sharded"))
    junk = bytes(64 * MIB)
    index = (0).to_bytes(8, "little") + len(junk).to_bytes(8, "little") + b"\xff" * 32
    blobs[SHARD] = junk + index + google_crc32c.value(index).to_bytes(4, "little")
    objects = changed("sharded", "", "attributes.chronozarr.shard_bytes.0.0/0/0", len(blobs[SHARD]))
    objects.blobs[SHARD] = blobs[SHARD]
    assert "index entry 0 has 67108864 bytes, where a whole chunk has 256" in refusal(objects)


# ---- coordinates ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [[2**27], [2**40], [2**53]])
@pytest.mark.parametrize("chunk", [[2**27], [2**20], [1]])
def test_coordinates_declared_beyond_memory(shape: list[int], chunk: list[int]):
    objects = changed("plain", "0/x", "shape", shape)
    blobs = {k: v for k, v in objects.blobs.items() if not k.startswith("0/x/c")}
    doc = json.loads(blobs["0/x/zarr.json"])
    doc["chunk_grid"]["configuration"]["chunk_shape"] = chunk
    blobs["0/x/zarr.json"] = json.dumps(doc).encode()
    root = json.loads(blobs["zarr.json"])
    root["consolidated_metadata"]["metadata"]["0/x"] = doc
    blobs["zarr.json"] = json.dumps(root).encode()
    with bounded(16 * MIB):
        assert validate_objects(cast(Target, Objects(blobs)))


def test_good_stores_are_good():
    for name in ("plain", "sharded", "planes", "real"):
        objects = Objects(dict(good(name)))
        assert not validate_objects(cast(Target, objects))
        assert np.isfinite(opened(objects).read_cell(0, 0, 0).astype("f8")).all()

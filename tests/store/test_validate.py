"""What validation is as a function: conforming stores, old stores, other targets, many problems, JSON."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import numcodecs
import numpy as np
import pytest
import xarray as xr

import chronozarr_dask
from chronozarr_dask.store.validate import chunks, shards, validate
from chronozarr_dask.store.validate.problem import REPEATS
from tests.services.seaweedfs import S3Server
from tests.store import (
    test_validate_levels,
)
from tests.store.validate_cases import CZ, LEVELS, MONTHS, STORES, Memory, append, base, encode, problems

# ---- stores that conform -------------------------------------------------------------------------------------------


@pytest.mark.oracle
@pytest.mark.parametrize("name", STORES)
def test_a_store_of_the_reference_encoder_conforms(name: str) -> None:
    assert problems(base(name)) == []


@pytest.mark.oracle
def test_the_reference_encoder_writes_a_null_nodata_attribute_which_is_a_warning_per_level(tmp_path: Path) -> None:
    found = validate(encode("null", tmp_path / "store"))
    assert [(p.severity, p.section, p.path) for p in found] == [
        ("warning", "2.3", f"{k}/data/zarr.json: attributes.nodata") for k in LEVELS
    ]


@pytest.mark.parametrize(
    ("dtype", "options"),
    [
        ("int16", {"nodata": None, "codec": "gzip"}),
        ("float32", {"nodata": 0.1, "shard_time": "all", "codec": "blosc"}),
        ("uint16", {"encoding": "star-delta", "anchor_interval": 3, "shard_time": 2}),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_a_store_of_this_encoder_conforms(tmp_path: Path, dtype: str, options: dict[str, Any]) -> None:
    cube = xr.DataArray(
        np.random.default_rng(3).integers(0, 90, (5, 2, 37, 45)).astype(dtype),
        dims=("time", "band", "y", "x"),
        coords={
            "time": MONTHS[:5],
            "band": ["B04", "B08"],
            "y": 5e6 - 5 - 10.0 * np.arange(37),
            "x": 5e5 + 5 + 10.0 * np.arange(45),
        },
    )
    chronozarr_dask.encode(cube, tmp_path / "store", crs="EPSG:32631", chunk_size=16, **options)
    assert validate(tmp_path / "store") == []


def _old(store: Memory) -> None:
    store.set("", f"{CZ}.spec_version", "0.1.0")
    store.set("", f"{CZ}.bands", ["B04", "B08"])
    for name in ("levels", "band_names", "nodata", "volatility_path", "variable"):
        store.drop("", f"{CZ}.{name}")


def _tiles(store: Memory) -> None:
    for k in LEVELS:
        store.set("", f"attributes.multiscales.0.datasets.{k}", lambda d: d | {"pixels_per_tile": 16})


def _index_first(store: Memory) -> None:
    """Move the only shard index that is looked at to the start: every offset grows by its length."""
    store.drop("", f"{CZ}.shard_bytes")
    for k in LEVELS:
        for array in ("data", "mask", "coverage"):
            store.set(f"{k}/{array}", "codecs.0.configuration.index_location", "start")
    n = 16 * 3 + 4
    for key in [k for k in store.objects if "/c/" in k and k.split("/")[1] in ("data", "mask", "coverage")]:
        blob = store.objects[key]
        entries = np.frombuffer(blob[-n:-4], "<u8").copy()
        entries[::2][entries[::2] != 2**64 - 1] += n
        body = entries.tobytes()
        checksum = numcodecs.CRC32C().encode(np.frombuffer(body, "u1"))
        store.objects[key] = body + bytes(checksum[-4:]) + blob[:-n]


def _indices(store: Memory) -> None:
    """A band coordinate of indices."""
    for k in LEVELS:
        test_validate_levels.band_indices(store, k, [0, 1])


def _renamed(store: Memory) -> None:
    store.set("", f"{CZ}.variable", "reflectance")
    for k in LEVELS:
        store.move(f"{k}/data", f"{k}/reflectance")


def _appended(store: Memory) -> None:
    """References that an append has kept: 2 still refers to 0, where 3 is nearer."""
    store.set("", f"{CZ}.temporal.delta_reference.2", 0)


def _gzip(store: Memory) -> None:
    for k in LEVELS:
        store.set(f"{k}/data", "codecs.1", {"name": "gzip", "configuration": {"level": 6}})


def _missing_volatility_chunk(store: Memory) -> None:
    store.remove("volatility/c")


def _rounded_nodata(store: Memory) -> None:
    """A tenth, written as the double and as the float32 next to it."""
    store.set("", f"{CZ}.nodata", 0.1)
    store.every("attributes.nodata", 0.1)
    store.every("fill_value", float(np.float32(0.1)))


def _no_shard(store: Memory) -> None:
    """A shard of fill only is not stored, and not listed."""
    del store.objects["0/data/c/1/0/2/0"]
    store.drop("", f"{CZ}.shard_bytes.0.1/2/0")


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("star", _old),
        ("none", _tiles),
        ("none", _indices),
        ("none", _renamed),
        ("star", _appended),
        ("none", _gzip),
        ("none", _missing_volatility_chunk),
        ("full", _no_shard),
        ("float", _rounded_nodata),
    ],
    ids=lambda v: getattr(v, "__name__", v),
)
def test_what_the_text_allows_is_no_problem(name: str, edit: Callable[[Memory], Any]) -> None:
    store = base(name).copy()
    edit(store)
    assert list(map(str, problems(store))) == []


@pytest.mark.oracle
def test_an_index_at_the_start_is_read_and_is_a_warning() -> None:
    store = base("full").copy()
    _index_first(store)
    assert [(p.severity, p.section) for p in problems(store)] == [("warning", "7.2")]
    key = "0/data/c/0/0/0/0"
    store.objects[key] = b"\0" + store.objects[key][1:]
    assert [(p.severity, p.path) for p in problems(store) if p.severity == "error"] == [("error", key)]


@pytest.mark.oracle
@pytest.mark.parametrize("crs", ["EPSG:3857", "EPSG:4326", "EPSG:9999999"])
def test_a_crs_that_is_not_projected_for_the_area_is_a_warning(crs: str) -> None:
    store = base("none").copy()
    store.set("", f"{CZ}.crs", crs)
    for k in LEVELS:
        store.set("", f"attributes.multiscales.0.datasets.{k}.crs", crs)
        store.set(k, "attributes.crs", crs)
        for name in ("crs", "proj:code", "_CRS"):
            store.drop(f"{k}/data", f"attributes.{name}")
    assert [(p.severity, p.section, p.path) for p in problems(store)] == [
        ("warning", "3.2", "zarr.json: chronozarr.crs")
    ]


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["star", "full", "none"])
def test_a_store_that_was_appended_to_conforms(tmp_path: Path, name: str) -> None:
    folder = encode(name, tmp_path / "store")
    append(name, folder, 2)
    append(name, folder, 3)
    assert validate(folder) == []


@pytest.mark.oracle
def test_levels_that_no_list_names_are_found_by_their_groups() -> None:
    store = base("star").copy()
    _old(store)
    store.drop("", "attributes.multiscales")
    assert [(p.section, p.path) for p in problems(store)] == [("3.1", "zarr.json: multiscales")]


# ---- other targets -------------------------------------------------------------------------------------------------


@pytest.mark.oracle
def test_a_store_in_a_bucket() -> None:
    fs = fsspec.filesystem("memory")
    for key, blob in base("full").objects.items():
        fs.pipe_file(f"/bucket/store/{key}", blob)
    assert validate("memory://bucket/store") == []
    fs.rm_file("/bucket/store/0/data/c/1/0/2/0")
    assert [p.section for p in validate("memory://bucket/store")] == ["7.3"]


@pytest.mark.oracle
@pytest.mark.s3
def test_a_store_on_s3(s3_server: S3Server, s3_bucket: str) -> None:
    client = s3_server.client()
    for key, blob in base("full").objects.items():
        client.put_object(Bucket=s3_bucket, Key=f"store/{key}", Body=blob)
    assert validate(f"s3://{s3_bucket}/store", s3_server.storage_options) == []
    client.put_object(Bucket=s3_bucket, Key="store/1/data/c/1/0/0/1", Body=b"torn")
    assert [p.section for p in validate(f"s3://{s3_bucket}/store", s3_server.storage_options)] == ["7.2"]


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 300, "../x", "..", "a//b"])
def test_a_name_that_no_target_takes_is_a_problem(tmp_path: Path, name: str) -> None:
    store = base("none").copy()
    store.set("", f"{CZ}.variable", name)
    store.set("", "consolidated_metadata.metadata", lambda m: m | {name: m["0"]})
    for key, blob in store.objects.items():
        (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / key).write_bytes(blob)
    assert [p.section for p in validate(tmp_path)] == ["3.2", "3.1"]


def test_an_empty_folder_and_no_folder_have_no_root(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nothing"):
        assert [(p.section, p.path) for p in validate(folder)] == [("2", "zarr.json")]


# ---- many problems -------------------------------------------------------------------------------------------------


@pytest.mark.oracle
def test_problems_of_one_kind_are_counted_after_the_first() -> None:
    store = base("full").copy()
    keys = [k for k in store.objects if k.startswith("0/data/c/")]
    for key in keys:
        store.objects[key] = b"torn"
    found = problems(store)
    assert len(found) == REPEATS + 1
    assert found[-1].message.startswith(f"{len(keys) - REPEATS} more of the same kind")


@pytest.mark.oracle
def test_shards_beyond_the_limit_are_not_looked_at_and_a_warning_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "MAX_SHARDS", 5)
    store = base("full").copy()
    store.objects["0/data/c/1/0/0/0"] = b"torn, and the tenth"
    assert [(p.severity, p.section) for p in problems(store)] == [("warning", "7.2")]


@pytest.mark.oracle
def test_a_coordinate_in_too_many_chunks_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MAX_CHUNKS", 3)
    store = base("none").copy()
    store.set("0/time", "chunk_grid.configuration.chunk_shape", [2])
    assert [(p.severity, p.section) for p in problems(store)] == [("warning", "2.2"), ("warning", "2.2")]

"""Each keyword does what it says, and the report says what was done."""

from __future__ import annotations

import dataclasses
import inspect
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import chronozarr_dask as czd
from chronozarr_dask.options import EncodeOptions
from chronozarr_dask.run.progress import Progress, Step
from tests.encode import cubes

SHAPE = (7, 2, 70, 45)


def encode(of: Any, target: Path, **options: Any) -> czd.RunReport:
    how: dict[str, Any] = {"chunk_size": 16, "encoding": "none"}
    return czd.encode(of, target, **(how | options))


def same_data(target: Path, data: Any, nodata: Any = 0, **planes: Any) -> None:
    cubes.assert_levels(target, cubes.levels(data, planes, nodata, n_levels=4))


def codec_of(target: Path) -> dict[str, Any]:
    codec: dict[str, Any] = json.loads((target / "0/data/zarr.json").read_text())["codecs"][-1]
    return codec


# ---- the signature ---------------------------------------------------------------------------------------------------


def test_the_signature_shows_every_option_with_its_default():
    parameters = inspect.signature(czd.encode).parameters
    assert list(parameters)[:2] == ["cube", "target"]
    for name, field in EncodeOptions.model_fields.items():
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[name].default == field.default
    shown = {
        name: parameters[name].default for name in ("chunk_size", "anchor_interval", "codec", "encoding", "nodata")
    }
    expected = {"chunk_size": 512, "anchor_interval": 6, "codec": "zstd", "encoding": "auto", "nodata": "default"}
    assert shown == expected
    assert "options" not in parameters


def test_every_option_says_what_it_is_for():
    assert [name for name, field in EncodeOptions.model_fields.items() if not field.description] == []


# ---- what the store says ---------------------------------------------------------------------------------------------


def test_bands_are_names_or_band_objects(tmp_path: Path):
    red = czd.Band("red", "red", 1e-4, -0.1, "reflectance")
    encode(cubes.cube(shape=SHAPE), tmp_path / "s", bands=[red, "nir"])
    bands = cubes.root(tmp_path / "s")["bands"]
    assert bands[0] == {
        "name": "red", "common_name": "red", "scale": 1e-4, "offset": -0.1, "units": "reflectance"
    }  # fmt: skip
    assert bands[1]["name"] == "nir"
    assert cubes.root(tmp_path / "s")["band_names"] == ["red", "nir"]
    assert [b.name for b in czd.open_store(tmp_path / "s").bands] == ["red", "nir"]


@pytest.mark.parametrize("nodata", [None, 5, 65535, "default"])
def test_nodata_is_a_number_null_or_the_default(nodata: Any, tmp_path: Path):
    data = cubes.pixels(shape=SHAPE)
    encode(cubes.as_cube(data), tmp_path / "s", nodata=nodata)
    expected = 0 if nodata == "default" else nodata
    assert cubes.root(tmp_path / "s")["nodata"] == expected
    document = json.loads((tmp_path / "s/0/data/zarr.json").read_text())
    assert document["fill_value"] == (expected or 0)
    assert document["attributes"].get("nodata", "absent") == ("absent" if nodata is None else expected)
    same_data(tmp_path / "s", data, expected)


@pytest.mark.parametrize("levels", [1, 2, 4, 6])
def test_levels_is_their_number(levels: int, tmp_path: Path):
    data = cubes.pixels(shape=SHAPE)
    encode(cubes.as_cube(data), tmp_path / "s", levels=levels)
    cubes.assert_levels(tmp_path / "s", cubes.levels(data, n_levels=levels))


def test_levels_go_to_the_grid_of_one_cell_when_left_out(tmp_path: Path):
    encode(cubes.cube(shape=SHAPE), tmp_path / "s")
    assert [level["grid"] for level in cubes.root(tmp_path / "s")["levels"]] == [[5, 3], [3, 2], [2, 1], [1, 1]]


def test_a_variable_of_a_dataset(tmp_path: Path):
    whole = xr.Dataset({"a": cubes.cube(shape=SHAPE), "b": cubes.cube(shape=SHAPE, seed=1)})
    encode(whole, tmp_path / "s", variable="b")
    same_data(tmp_path / "s", whole.b.values)


def test_a_mask_and_a_coverage_by_the_name_of_a_variable(tmp_path: Path):
    of = cubes.cube(shape=SHAPE)
    whole = xr.Dataset({"data": of, "valid": cubes.mask(of), "n": cubes.coverage(of)})
    encode(whole, tmp_path / "s", variable="data", mask="valid", coverage="n")
    same_data(tmp_path / "s", of.values, mask=whole["valid"].values, coverage=whole.n.values)


def test_a_crs_for_an_input_that_has_none(tmp_path: Path):
    encode(cubes.as_cube(cubes.pixels(shape=SHAPE), crs=None), tmp_path / "s", crs=32632)
    assert cubes.root(tmp_path / "s")["crs"] == "EPSG:32632"


def test_provenance_is_written_down(tmp_path: Path):
    given = {"sources": ["sentinel-2-l2a"], "composite": "monthly median", "gap_fill": "none", "notes": "by hand"}
    encode(cubes.cube(shape=SHAPE), tmp_path / "s", provenance=given)
    assert cubes.root(tmp_path / "s")["provenance"] == given


def test_an_anchor_interval_and_the_encoding(tmp_path: Path):
    data = cubes.pixels(shape=SHAPE)
    report = encode(cubes.as_cube(data), tmp_path / "s", encoding="star-delta", anchor_interval=3)
    assert report.encoding == "star-delta"
    assert cubes.root(tmp_path / "s")["temporal"]["anchor_indices"] == [0, 3, 6]
    same_data(tmp_path / "s", data)


def test_auto_takes_what_is_smaller_by_enough(tmp_path: Path):
    rng = np.random.default_rng(3)
    still = (rng.integers(1, 60000, (1, 1, 64, 64)) + np.zeros((7, 1, 1, 1), int)).astype(np.uint16)
    noise = rng.integers(1, 60000, (7, 1, 64, 64)).astype(np.uint16)
    for name, data, encoding in (("still", still, "star-delta"), ("noise", noise, "none")):
        report = encode(cubes.as_cube(data), tmp_path / name, encoding="auto")
        assert report.encoding == encoding
        assert report.selection == cubes.root(tmp_path / name)["temporal"]["selection"]
        assert report.selection["sampled_cells"] == 3
        assert (report.selection["ratio"] <= 0.85) == (encoding == "star-delta")


@pytest.mark.parametrize("how", [{"anchor_interval": 1}, {"dtype": "float32"}, {"n_time": 1}])
def test_auto_has_nothing_to_measure(how: dict[str, Any], tmp_path: Path):
    shape = (how.get("n_time", 7), *SHAPE[1:])
    data = cubes.pixels(how.get("dtype", "uint16"), shape)
    report = encode(cubes.as_cube(data), tmp_path / "s", encoding="auto", anchor_interval=how.get("anchor_interval", 6))
    assert (report.encoding, report.selection) == ("none", None)
    assert "selection" not in cubes.root(tmp_path / "s")["temporal"]


# ---- codecs ----------------------------------------------------------------------------------------------------------

CODECS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"name": "zstd", "configuration": {"level": 5, "checksum": False}}),
    ({"codec_level": 1}, {"name": "zstd", "configuration": {"level": 1, "checksum": False}}),
    ({"codec": "gzip"}, {"name": "gzip", "configuration": {"level": 6}}),
    ({"codec": "gzip", "codec_level": 9}, {"name": "gzip", "configuration": {"level": 9}}),
    (
        {"codec": "blosc", "codec_level": 3, "codec_options": {"cname": "lz4", "shuffle": "shuffle"}},
        {
            "name": "blosc",
            "configuration": {"cname": "lz4", "clevel": 3, "shuffle": "shuffle", "typesize": 2, "blocksize": 0},
        },
    ),
    (
        {"codec": "blosc", "codec_options": {"cname": "zstd", "shuffle": "noshuffle"}},
        {
            "name": "blosc",
            "configuration": {"cname": "zstd", "clevel": 1, "shuffle": "noshuffle", "typesize": 2, "blocksize": 0},
        },
    ),
]


@pytest.mark.parametrize(("how", "expected"), CODECS, ids=[str(i) for i in range(len(CODECS))])
def test_codecs_say_what_they_are_and_give_back_what_went_in(
    how: dict[str, Any], expected: dict[str, Any], tmp_path: Path
):
    data = cubes.pixels(shape=SHAPE)
    encode(cubes.as_cube(data), tmp_path / "s", **how)
    assert codec_of(tmp_path / "s") == expected
    same_data(tmp_path / "s", data)
    assert czd.validate(tmp_path / "s") == []


@pytest.mark.parametrize("codec", ["gzip", "blosc"])
def test_a_codec_writes_the_same_bytes_at_another_time(codec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """gzip has a field for the time of day."""
    of = cubes.cube(shape=(2, 1, 40, 40))
    encode(of, tmp_path / "a", codec=codec)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 10**6)
    encode(of, tmp_path / "b", codec=codec)
    assert cubes.objects(tmp_path / "a") == cubes.objects(tmp_path / "b")


# ---- masks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint16", "float32"])
def test_fill_masked_stores_the_fill_value_where_the_mask_is_0(dtype: str, tmp_path: Path):
    of = cubes.cube(dtype, SHAPE)
    mask = cubes.mask(of)
    encode(of, tmp_path / "s", mask=mask, fill_masked=True, nodata=3)
    filled = np.where(mask.values[:, None] == 0, of.dtype.type(3), of.values)
    same_data(tmp_path / "s", filled, 3, mask=mask.values)


def test_values_under_a_mask_are_left_alone_by_default(tmp_path: Path):
    of = cubes.cube(shape=SHAPE)
    encode(of, tmp_path / "s", mask=cubes.mask(of))
    same_data(tmp_path / "s", of.values, mask=cubes.mask(of).values)


@pytest.mark.parametrize("fill_masked", [False, True])
@pytest.mark.parametrize("nodata", [None, -9999.0])
def test_nan_to_mask_makes_a_mask_of_nan(fill_masked: bool, nodata: float | None, tmp_path: Path):
    """A pixel with NaN in any band is invalid; NaN becomes the fill value, and so do the other bands if asked for."""
    data = cubes.pixels("float32", SHAPE)
    is_nan = np.random.default_rng(4).random(SHAPE) < 0.1
    data[is_nan] = np.nan
    encode(cubes.as_cube(data), tmp_path / "s", nan_to_mask=True, fill_masked=fill_masked, nodata=nodata)
    mask = (~is_nan.any(axis=1)).astype(np.uint8)
    gone = np.broadcast_to(mask[:, None] == 0, SHAPE) if fill_masked else is_nan
    same_data(tmp_path / "s", np.where(gone, np.float32(nodata or 0), data), nodata, mask=mask)


# ---- shards ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shard_time", "in_grid"), [(3, 3), (7, 7), (9, 9), ("all", 7), (None, 1)])
def test_shard_time_is_a_number_or_all(shard_time: Any, in_grid: int, tmp_path: Path):
    data = cubes.pixels(shape=SHAPE)
    encode(cubes.as_cube(data), tmp_path / "s", shard_time=shard_time)
    document = json.loads((tmp_path / "s/0/data/zarr.json").read_text())
    assert document["chunk_grid"]["configuration"]["chunk_shape"] == [in_grid, 2, 16, 16]
    same_data(tmp_path / "s", data)


def test_shard_bytes_are_left_out_beyond_their_limit(tmp_path: Path):
    of = cubes.cube(shape=SHAPE)
    encode(of, tmp_path / "a", shard_time=4)
    n = sum(map(len, cubes.root(tmp_path / "a")["shard_bytes"].values()))
    encode(of, tmp_path / "b", shard_time=4, shard_bytes_limit=n)
    encode(of, tmp_path / "c", shard_time=4, shard_bytes_limit=n - 1)
    assert cubes.root(tmp_path / "b")["shard_bytes"] == cubes.root(tmp_path / "a")["shard_bytes"]
    assert "shard_bytes" not in cubes.root(tmp_path / "c")


# ---- where the work is cut -------------------------------------------------------------------------------------------


def test_region_cells_time_slab_and_memory_change_no_byte(tmp_path: Path):
    of = cubes.cube(shape=SHAPE)
    reports = {
        "a": encode(of, tmp_path / "a", region_cells=2, time_slab=3),
        "b": encode(of, tmp_path / "b", region_cells=(4, 2), memory="1GB"),
        "c": encode(of, tmp_path / "c", memory=10**8),
    }
    assert len({r.regions for r in reports.values()}) == 3
    assert cubes.objects(tmp_path / "a") == cubes.objects(tmp_path / "b") == cubes.objects(tmp_path / "c")


def test_the_journal_may_lie_elsewhere(tmp_path: Path):
    report = encode(cubes.cube(shape=SHAPE), tmp_path / "s", journal=tmp_path / "elsewhere" / "run")
    assert report.journal == str(tmp_path / "elsewhere" / "run")
    assert [p.name for p in (tmp_path / "s.run").iterdir()] == ["claim.json"], "beside the store lies its claim alone"
    names = {k.split("/")[0] for k in cubes.objects(tmp_path / "elsewhere" / "run")}
    assert names == {
        "claim.json", "estimate.json", "heartbeat.json", "plan.json", "receipts", "report.html", "report.json"
    }  # fmt: skip


# ---- the report ------------------------------------------------------------------------------------------------------


def test_the_report_is_frozen_and_tells_what_was_stored(tmp_path: Path):
    of = cubes.cube(shape=SHAPE)
    report = encode(of, tmp_path / "s", mask=cubes.mask(of))
    stored = cubes.chunk_objects(tmp_path / "s")
    by_level = {str(k): sum(len(v) for key, v in stored.items() if key.startswith(f"{k}/")) for k in range(4)}
    assert report.target == str(tmp_path / "s")
    assert report.journal == str(tmp_path / "s.run")
    assert report.objects == len(stored)
    assert dict(report.bytes_by_level) == by_level
    assert {"plan", "run", "commit"} <= set(report.seconds_by_stage)
    assert (report.encoding, report.selection, report.failures, report.warnings) == ("none", None, (), ())
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.objects = 0  # type: ignore[misc]


def test_the_report_is_json_and_stays_in_the_journal(tmp_path: Path):
    report = encode(cubes.cube(shape=SHAPE), tmp_path / "s", encoding="auto")
    doc = json.loads(json.dumps(report.to_json()))
    assert set(doc) == {f.name for f in dataclasses.fields(report)}
    kept = json.loads((tmp_path / "s.run/report.json").read_text())
    assert kept.pop("journal_version") == 1
    assert doc.items() <= kept.items()


def test_progress_goes_up_to_the_end_of_each_stage(tmp_path: Path):
    told: list[Step] = []
    progress: Progress = told.append
    encode(cubes.cube(shape=SHAPE), tmp_path / "s", encoding="auto", progress=progress)
    for stage in ("select", "run", "commit"):
        steps = [s for s in told if s.stage == stage]
        assert [s.done for s in steps] == sorted(s.done for s in steps)
        assert steps[-1].done == steps[-1].total

"""Cases from the field and from the specification, end to end: what pure functions cannot show by themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import pytest
import zarr

import chronozarr_dask as czd
from chronozarr_dask.errors import NotCompleteError, RunError
from chronozarr_dask.format.sharding import index_bytes, parse_index
from chronozarr_dask.format.temporal import residual
from chronozarr_dask.format.volatility import change_sum, volatility
from chronozarr_dask.store.compress import crc32c
from tests.encode import cubes
from tests.format import slow

CS = cubes.CS


def root(folder: Path) -> dict[str, Any]:
    return cubes.root(folder)


def encode(data: Any, target: Path, **options: Any) -> czd.RunReport:
    return czd.encode(cubes.as_cube(data), target, **({"chunk_size": CS, "encoding": "none"} | options))


@pytest.fixture(scope="module")
def cluster() -> Iterator[distributed.Client]:
    """Four workers of one thread each."""
    how: dict[str, Any] = {"dashboard_address": ":0", "silence_logs": "ERROR"}
    with (
        distributed.LocalCluster(n_workers=4, threads_per_worker=1, processes=False, **how) as local,
        distributed.Client(local) as client,
    ):
        yield client


# ---- 15 and 16: levels -----------------------------------------------------------------------------------------------


@pytest.mark.cluster
@pytest.mark.parametrize("dtype", ["uint16", "float32"])
def test_15_four_workers_make_the_levels_of_the_whole_array(cluster: distributed.Client, dtype: str, tmp_path: Path):
    """97 x 65 pixels: odd at every level, one column and one row beyond the last whole cell."""
    data = cubes.pixels(dtype, (10, 2, 97, 65))
    of = cubes.as_cube(data)
    planes = {"mask": cubes.mask(of), "coverage": cubes.coverage(of)}
    report = czd.encode(of, tmp_path / "s", chunk_size=CS, region_cells=2, nodata=0, client=cluster, **planes)
    assert report.regions > 4
    expected = cubes.levels(data, {k: v.values for k, v in planes.items()})
    assert [a["data"].shape[2:] for a in expected] == [(97, 65), (49, 33), (25, 17)]
    cubes.assert_levels(tmp_path / "s", expected)


@pytest.mark.parametrize("chunks", [(1, 1, 7, 5), (3, 2, 33, 31), (10, 2, 97, 1), (4, 1, 50, 65)])
def test_16_odd_blocks_within_a_dask_array_are_no_edge(chunks: tuple[int, ...], tmp_path: Path):
    """A block of 7 x 5 pixels is padded nowhere: only the raster's own edge is repeated, and validity with it."""
    data = cubes.pixels("uint16", (4, 2, 97, 65))
    lazy = cubes.computed_by(data, chunks, lambda _: None)
    encode(lazy, tmp_path / "s")
    cubes.assert_levels(tmp_path / "s", cubes.levels(data))


def test_15_small_blocks_literally(tmp_path: Path):
    """[[1000, 0], [0, 0]] under nodata 0; four times 65535; [[1, 2], [2, 2]]; nothing valid."""
    data = np.zeros((1, 1, 2, 8), np.uint16)
    data[0, 0] = [[1000, 0, 65535, 65535, 1, 2, 0, 0], [0, 0, 65535, 65535, 2, 2, 0, 0]]
    encode(data, tmp_path / "s", chunk_size=8, levels=2)
    assert czd.open_store(tmp_path / "s").read(0, level=1).tolist() == [[[1000, 65535, 1, 0]]]


def test_15_int16_means_are_floored(tmp_path: Path):
    data = np.array([[[[-1, -2], [-2, -2]]]], np.int16)
    encode(data, tmp_path / "s", chunk_size=2, levels=2)
    assert czd.open_store(tmp_path / "s").read(0, level=1).tolist() == [[[-2]]]


def test_15_a_raster_of_7_by_5_pixels_becomes_4_by_3_by_repeating_its_edge(tmp_path: Path):
    data = np.arange(1, 36, dtype=np.uint16).reshape(1, 1, 7, 5)
    encode(data, tmp_path / "s", chunk_size=2)
    store = czd.open_store(tmp_path / "s")
    assert store.read(0, level=1).shape == (1, 4, 3)
    assert store.read(0, level=1)[0, 3, 2] == 35  # the corner, four times
    assert np.array_equal(store.read(0, level=1), slow.next_level(data[0], None, 0))


# ---- 17: the order of a sum ------------------------------------------------------------------------------------------


def test_17_float_means_are_summed_in_the_order_of_the_section(tmp_path: Path):
    data = np.array([[[[1e30, 1], [1, -1e30]]]], np.float32)
    encode(data, tmp_path / "s", chunk_size=2, levels=2)
    assert czd.open_store(tmp_path / "s").read(0, level=1).tolist() == [[[0.0]]]


# ---- 18 to 20: star-delta --------------------------------------------------------------------------------------------


def test_18_omission_is_decided_on_the_stored_bytes(tmp_path: Path):
    """Nodata throughout, against an anchor with values, is a residual that is stored; no change is none."""
    data = np.full((3, 1, 8, 8), 5, np.uint16)
    data[1] = 0
    encode(data, tmp_path / "s", chunk_size=8, encoding="star-delta")
    found = cubes.chunk_objects(tmp_path / "s")
    assert sorted(found) == ["0/data/c/0/0/0/0", "0/data/c/1/0/0/0"]
    cubes.assert_levels(tmp_path / "s", cubes.levels(data, n_levels=1))


def test_18_residuals_that_are_all_fill_are_left_out_and_read_back(tmp_path: Path):
    """Under nodata 7 a chunk is left out where every residual is 7, whatever the true values are."""
    data = np.full((2, 1, 8, 8), 20, np.uint8)
    data[1] = 27
    encode(data, tmp_path / "s", chunk_size=8, encoding="star-delta", nodata=7)
    assert sorted(cubes.chunk_objects(tmp_path / "s")) == ["0/data/c/0/0/0/0"]
    assert residual(data[1], data[0]).max() == 7
    cubes.assert_levels(tmp_path / "s", cubes.levels(data, n_levels=1))


def test_19_the_recorded_references(tmp_path: Path):
    encode(cubes.pixels(shape=(10, 1, 33, 40)), tmp_path / "s", encoding="star-delta")
    temporal = root(tmp_path / "s")["temporal"]
    assert temporal["anchor_indices"] == [0, 6]
    assert temporal["delta_reference"] == {"1": 0, "2": 0, "3": 0, "4": 6, "5": 6, "7": 6, "8": 6, "9": 6}


@pytest.mark.parametrize("dtype", ["uint16", "float32"])
@pytest.mark.parametrize(
    ("encoding", "interval", "used"), [("none", 6, 6), ("none", 3, 6), ("star-delta", 3, 3), ("star-delta", 6, 6)]
)
def test_20_volatility_counts_invalid_pixels_and_never_padding(
    dtype: str, encoding: str, interval: int, used: int, tmp_path: Path
):
    if dtype == "float32":
        encoding, used = "none", 6  # the nominal schedule
    data = cubes.pixels(dtype, (10, 2, 97, 65))
    encode(data, tmp_path / "s", encoding=encoding, anchor_interval=interval, nodata=0)
    anchors = range(0, 10, used)
    refs = [slow.nearest_anchor(t, list(anchors)) for t in range(10)]
    deltas = [(t, a) for t, a in enumerate(refs) if t != a]
    expected = np.zeros((4, 3), np.float32)
    for r, c in np.ndindex(4, 3):
        cell = data[:, :, r * CS : (r + 1) * CS, c * CS : (c + 1) * CS]
        sums = [change_sum(cell[t], cell[a]) for t, a in deltas]
        expected[r, c] = volatility(sums, len(deltas) * cell[0].size)
    stored = zarr.open_group(tmp_path / "s", mode="r")["volatility"]
    assert np.array_equal(stored[:], expected)


# ---- 21 to 23: shards ------------------------------------------------------------------------------------------------


def test_21_a_partial_last_shard_keeps_all_its_entries(tmp_path: Path):
    data = cubes.pixels(shape=(10, 1, 20, 20)) | 200
    encode(data, tmp_path / "s", shard_time=4)
    blob = cubes.objects(tmp_path / "s")["0/data/c/2/0/0/0"]
    entries = parse_index(blob[-index_bytes(4) :], 4, crc32c, "0/data")
    assert [e is None for e in entries] == [False, False, True, True]


def test_22_shard_bytes_lists_just_the_data_shards_that_exist(tmp_path: Path):
    data = cubes.pixels(shape=(10, 1, 97, 65))
    data[:4, :, :CS] = 0  # shard 0 of the first row of cells; cell (0, 0) has no shard at all
    of = cubes.as_cube(data)
    planes = {"mask": cubes.mask(of), "coverage": cubes.coverage(of)}
    report = czd.encode(of, tmp_path / "s", chunk_size=CS, shard_time=4, encoding="none", nodata=0, **planes)
    stored = cubes.chunk_objects(tmp_path / "s", ("data",))
    expected: dict[str, dict[str, int]] = {"0": {}, "1": {}, "2": {}}
    for key, blob in stored.items():
        level, _, _, t, _, r, c = key.split("/")
        expected[level][f"{t}/{r}/{c}"] = len(blob)
    assert root(tmp_path / "s")["shard_bytes"] == expected
    assert "0/0/1" not in expected["0"]
    assert "1/0/1" in expected["0"]
    assert not any(k.endswith("0/0") and k.count("/") == 2 for k in expected["0"])
    assert report.objects == len(cubes.chunk_objects(tmp_path / "s"))


def test_22_an_unsharded_store_has_no_shard_bytes(tmp_path: Path):
    encode(cubes.pixels(shape=(2, 1, 20, 20)), tmp_path / "s")
    assert "shard_bytes" not in root(tmp_path / "s")


def test_23_a_shard_may_need_an_anchor_of_the_next(tmp_path: Path):
    """shard_time 3, interval 4: timestep 2 is in shard 0, and timestep 3 refers to anchor 4 in shard 1."""
    data = cubes.pixels(shape=(9, 1, 40, 33))
    encode(data, tmp_path / "s", shard_time=3, encoding="star-delta", anchor_interval=4, time_slab=3)
    assert root(tmp_path / "s")["temporal"]["delta_reference"]["3"] == 4
    cubes.assert_levels(tmp_path / "s", cubes.levels(data, n_levels=2))


# ---- 24: the root is last --------------------------------------------------------------------------------------------


def broken_at(data: Any, chunks: Any, axis: int, at: int, switch: dict[str, bool]) -> Any:
    """A Dask array of which one block raises while the switch is on."""

    def check(place: tuple[int, ...]) -> None:
        if switch["on"] and place[axis] == at:
            raise ConnectionResetError("the source went away")

    return cubes.computed_by(data, chunks, check)


@pytest.mark.parametrize("shard_time", [None, 4])
def test_24_there_is_no_root_before_the_end(shard_time: int | None, tmp_path: Path):
    data = cubes.pixels(shape=(10, 1, 97, 65)) | 1
    switch = {"on": True}
    how: dict[str, Any] = {"shard_time": shard_time, "region_cells": 2}
    source = broken_at(data, (10, 1, 64, 64), 2, 1, switch)
    with pytest.raises(RunError, match=r"ConnectionResetError: the source went away.*resume"):
        encode(source, tmp_path / "s", **how)
    left = cubes.objects(tmp_path / "s")
    assert left  # the first row of regions is stored
    assert [k for k in left if k.endswith("zarr.json")] == []
    with pytest.raises(NotCompleteError):
        czd.open_store(tmp_path / "s")
    switch["on"] = False
    report = encode(source, tmp_path / "s", resume=True, **how)
    assert report.regions_resumed > 0
    encode(data, tmp_path / "other", **how)
    assert cubes.objects(tmp_path / "s") == cubes.objects(tmp_path / "other")


def test_24_documents_come_after_every_chunk_and_the_root_after_all(tmp_path: Path):
    encode(cubes.pixels(shape=(4, 1, 97, 65)), tmp_path / "s")
    stamps = {p.relative_to(tmp_path / "s").as_posix(): p.stat().st_mtime_ns for p in (tmp_path / "s").rglob("*")}
    chunks = [
        t for k, t in stamps.items() if k.startswith(("0/data/c/", "1/data/c/")) and (tmp_path / "s" / k).is_file()
    ]
    documents = [t for k, t in stamps.items() if k.endswith("zarr.json") and k != "zarr.json"]
    assert max(chunks) <= min(documents)
    assert max(documents) <= stamps["zarr.json"]


# ---- 27: the sign of zero --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{}, {"shard_time": 2}, {"nodata": None}, {"nodata": 0}])
def test_27_a_chunk_of_negative_zeros_is_stored_and_keeps_its_sign(how: dict[str, Any], tmp_path: Path):
    data = np.zeros((2, 1, 8, 8), np.float32)
    data[1] = -0.0
    encode(data, tmp_path / "s", chunk_size=8, **how)
    stored = sorted(cubes.chunk_objects(tmp_path / "s"))
    assert stored == (["0/data/c/0/0/0/0"] if how.get("shard_time") else ["0/data/c/1/0/0/0"])
    found = czd.open_store(tmp_path / "s").read(1)
    assert np.signbit(found).all()
    assert not np.signbit(czd.open_store(tmp_path / "s").read(0)).any()


# ---- 28: slabs -------------------------------------------------------------------------------------------------------

N = 20


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, str], dict[str, bytes]]:
    """The objects of one region over the whole axis, by shard_time and encoding."""
    data = cubes.pixels("uint16", (N, 1, 65, 40))
    out = {}
    for shard_time in (3, 4, 12, 13):
        for encoding in ("none", "star-delta"):
            target = tmp_path_factory.mktemp("whole") / "s"
            report = encode(data, target, shard_time=shard_time, encoding=encoding, region_cells=4, time_slab=N)
            assert report.regions == 1
            out[shard_time, encoding] = cubes.objects(target)
    return out


@pytest.mark.parametrize("encoding", ["none", "star-delta"])
@pytest.mark.parametrize("shard_time", [3, 4, 12, 13])
def test_28_slabs_make_the_bytes_of_the_whole_axis_killed_between_them_or_not(
    shard_time: int, encoding: str, whole: dict[tuple[int, str], dict[str, bytes]], tmp_path: Path
):
    """Interval 6. Killed in the last slab: what the slab before handed over is found by the resume."""
    data = cubes.pixels("uint16", (N, 1, 65, 40))
    switch = {"on": True}
    source = broken_at(data, (1, 1, 65, 40), 0, N - 1, switch)
    how: dict[str, Any] = {"shard_time": shard_time, "encoding": encoding, "region_cells": 4, "time_slab": shard_time}
    with pytest.raises(RunError, match="the source went away"):
        encode(source, tmp_path / "s", **how)
    journal = cubes.objects(tmp_path / "s.run")
    plan = json.loads(journal["plan.json"])["plan"]
    n_slabs = len(plan["passes"][0]["time_cuts"]) - 1
    assert n_slabs == -(-N // shard_time)
    assert sum(k.startswith("receipts/0/") for k in journal) >= n_slabs - 2
    switch["on"] = False
    report = encode(source, tmp_path / "s", resume=True, **how)
    assert report.regions_resumed >= n_slabs - 2
    assert cubes.objects(tmp_path / "s") == whole[shard_time, encoding]
    left = cubes.objects(tmp_path / "s.run")
    assert not any(k.startswith(("handover/", "staging/")) for k in left)

"""Each block of the input is computed once, each object stored once, with no read before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from distributed import Client, LocalCluster

import chronozarr_dask as czd
from tests.encode.counting import CountTarget, counted, notes

N_TIME, N_BAND, HEIGHT, WIDTH, CS = 20, 2, 150, 100, 16

BLOCKS = {
    "whole maps": (1, N_BAND, HEIGHT, WIDTH),
    "whole series": (N_TIME, N_BAND, 50, 50),
    "cells": (N_TIME, N_BAND, CS, CS),
    "single cells and timesteps": (1, 1, CS, CS),
    "boxes that fit no region": (7, 1, 41, 37),
}
SMALL = {"region_cells": 2, "time_slab": 6}
"""What whole maps and boxes cannot follow: they are staged."""


def make_cube(log: Path, chunks: Any) -> tuple[xr.DataArray, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(5)
    values = rng.integers(100, 3000, (1, N_BAND, HEIGHT, WIDTH)) + rng.integers(0, 9, (N_TIME, N_BAND, HEIGHT, WIDTH))
    values = values.astype("uint16")
    coords = {
        "time": np.datetime64("2022-01-01", "ns") + np.arange(N_TIME) * np.timedelta64(5, "D"),
        "band": ["a", "b"],
        "y": 900 - 10 * (np.arange(HEIGHT) + 0.5),
        "x": 10 * (np.arange(WIDTH) + 0.5),
    }
    return xr.DataArray(counted(values, chunks, log), coords, ("time", "band", "y", "x"), name="data"), values


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def assert_blocks_once(log: Path, cube: xr.DataArray) -> None:
    computed = Counter(words[2] for words in notes(log) if words[1] == "block")
    assert len(computed) == np.prod([len(c) for c in cube.chunks])
    assert set(computed.values()) == {1}, f"computed more than once: {[k for k, n in computed.items() if n > 1][:5]}"


@pytest.mark.parametrize("encoding", ["none", "auto"])
@pytest.mark.parametrize(
    "options", [{}, SMALL, {"shard_time": 6}, {"shard_time": 8, "region_cells": 2, "time_slab": 8}]
)
@pytest.mark.parametrize("blocks", BLOCKS)
def test_each_block_is_computed_once(blocks: str, options: dict[str, Any], encoding: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    cube, values = make_cube(log, BLOCKS[blocks])
    report = czd.encode(cube, tmp_path / "s", crs="EPSG:32631", chunk_size=CS, encoding=encoding, **options)
    assert_blocks_once(log, cube)
    assert np.array_equal(czd.open_store(tmp_path / "s").read(7), values[7])
    if blocks == "boxes that fit no region" and options == SMALL:
        assert report.staged_bytes > 0


@pytest.mark.cluster
@pytest.mark.parametrize("options", [{}, {"shard_time": 6, "region_cells": 2}], ids=["unsharded", "sharded"])
@pytest.mark.parametrize("blocks", BLOCKS)
def test_on_a_cluster_blocks_and_objects_once(
    blocks: str, options: dict[str, Any], tmp_path: Path, client: Client
) -> None:
    log, target = tmp_path / "log", tmp_path / "s"
    cube, values = make_cube(log, BLOCKS[blocks])
    plugin = CountTarget(str(log), str(target))
    client.register_plugin(plugin)
    try:
        report = czd.encode(cube, target, client=client, crs="EPSG:32631", chunk_size=CS, **options)
    finally:
        client.unregister_worker_plugin(plugin.name)
    assert_blocks_once(log, cube)
    lines = notes(log)
    workers = {str(pid) for pid in client.run(__import__("os").getpid).values()}
    silent = workers - {words[0] for words in lines}
    assert not silent or report.regions < 4, f"workers {silent} reported nothing"
    assert_objects_once(lines, target)
    assert np.array_equal(czd.open_store(target).read(13), values[13])


def assert_objects_once(lines: list[list[str]], target: Path) -> None:
    """Every chunk and shard of the store was put once; what was read of one was read after that."""
    stored: set[str] = set()
    for _, operation, key in (words for words in lines if words[1] != "block"):
        if "/c/" not in key:
            continue
        if operation in ("put", "create"):
            assert key not in stored, f"{key} was stored twice"
            stored.add(key)
        else:
            assert key in stored, f"{operation} of {key} before it was stored"
    there = {str(p.relative_to(target)) for p in target.rglob("*") if p.is_file() and "/c/" in str(p)}
    coordinates = {k for k in there if k.split("/")[1] in ("time", "band", "x", "y") or k.startswith("volatility")}
    assert stored == there - coordinates


@pytest.mark.parametrize("options", [{}, {"shard_time": 6}], ids=["unsharded", "sharded"])
def test_in_threads_objects_once(options: dict[str, Any], tmp_path: Path) -> None:
    log, target = tmp_path / "log", tmp_path / "s"
    cube, _ = make_cube(log, BLOCKS["cells"])
    plugin = CountTarget(str(log), str(target))
    plugin.setup()
    try:
        czd.encode(cube, target, crs="EPSG:32631", chunk_size=CS, region_cells=2, **options)
    finally:
        plugin.teardown()
    assert_objects_once([words for words in notes(log) if "/data/c/" in words[2]], target)

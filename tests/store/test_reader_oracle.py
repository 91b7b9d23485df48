"""Stores written and appended to by chronozarr 0.2.1: read equal to the input, every level equal to a slow reading."""

import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chronozarr
import numpy as np
import numpy.typing as npt
import pytest
import xarray as xr
import zarr

from chronozarr_dask.store.reader import open_store

pytestmark = pytest.mark.oracle

N, H, W, CS = 10, 21, 35, 16


@dataclass(frozen=True)
class Case:
    """What to write; the name of a case says it."""

    dtype: str = "uint16"
    encoding: str = "star-delta"
    shard_time: int | None = None
    codec: str = "zstd"
    planes: tuple[str, ...] = ()
    nodata: Any = "default"
    appended: int = 0

    def __str__(self) -> str:
        parts = [self.dtype, self.encoding, f"shard{self.shard_time}", self.codec, *self.planes, f"+{self.appended}"]
        return "-".join(parts) + ("" if self.nodata == "default" else f"-nodata{self.nodata}")


CASES = [
    Case(),
    Case("uint8", shard_time=3),
    Case("uint16", "none", shard_time=10, planes=("mask", "coverage")),
    Case("uint16", shard_time=13, codec="blosc-zstd-shuffle", planes=("coverage",)),
    Case("int16", "none", nodata=-32768),
    Case("float32", "none", shard_time=4, codec="blosc-zstd-shuffle"),
    Case("float32", "none", planes=("mask",)),
    Case("uint8", planes=("mask", "coverage"), appended=4),
    Case("uint16", shard_time=4, appended=3),
    Case("uint16", "none", shard_time=12, appended=5),
]


def cube(case: Case) -> tuple[xr.DataArray, dict[str, xr.DataArray]]:
    """The data, with gaps and one timestep of nothing, and its planes."""
    rng = np.random.default_rng(7)
    base = rng.integers(0, 250, (1, 2, H, W)) + rng.integers(-3, 4, (N, 2, H, W))
    data = (base % 256 if case.dtype == "uint8" else base * 37.5).astype(case.dtype)
    data[rng.random(data.shape) < 0.1] = 0
    data[4, :, :CS, :CS] = 0
    coords = {
        "time": np.array("2023-11-01", "datetime64[M]").astype("datetime64[ns]")
        + np.arange(N) * np.timedelta64(30, "D"),
        "band": ["red", "nir"],
        "y": 5_000_000 - 10 * (np.arange(H) + 0.5),
        "x": 500_000 + 10 * (np.arange(W) + 0.5),
    }
    plane_coords = {k: v for k, v in coords.items() if k != "band"}
    values = {"mask": rng.random((N, H, W)) < 0.8, "coverage": rng.integers(0, 5, (N, H, W))}
    planes = {
        p: xr.DataArray(values[p].astype("uint8"), dims=("time", "y", "x"), coords=plane_coords) for p in case.planes
    }
    return xr.DataArray(data, dims=("time", "band", "y", "x"), coords=coords), planes


def write(case: Case, path: Path) -> tuple[npt.NDArray[Any], dict[str, npt.NDArray[Any]]]:
    """Write a store with the oracle, in two batches where some timesteps are appended."""
    data, planes = cube(case)
    first = slice(0, N - case.appended)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chronozarr.encode(
            data.isel(time=first),
            path,
            crs="EPSG:32631",
            encoding=case.encoding,
            codec=case.codec,
            nodata=case.nodata,
            chunk_size=CS,
            shard=case.shard_time is not None,
            shard_time=case.shard_time,
            anchor_interval=4,
            **{p: v.isel(time=first) for p, v in planes.items()},
        )
        for t in range(N - case.appended, N):
            one = slice(t, t + 1)
            chronozarr.append(path, data.isel(time=one), **{p: v.isel(time=one) for p, v in planes.items()})
    return data.values, {p: v.values for p, v in planes.items()}


def slow_level(path: Path, level: int) -> npt.NDArray[Any]:
    """A level read with zarr-python, residuals added by the recorded map in Python integers."""
    stored = zarr.open_array(path / str(level) / "data", mode="r")[:]
    temporal = json.loads((path / "zarr.json").read_text())["attributes"]["chronozarr"]["temporal"]
    out = stored.copy()
    for t, anchor in temporal.get("delta_reference", {}).items():
        total = stored[int(t)].astype(object) + stored[anchor].astype(object)
        out[int(t)] = (total % 2 ** (8 * stored.dtype.itemsize)).astype(stored.dtype)
    return out


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_store_of_the_oracle_reads_equal_to_its_input(case: Case, tmp_path: Path):
    path = tmp_path / "cube"
    data, planes = write(case, path)
    store = open_store(path)
    assert store.dtype == case.dtype
    assert store.planes == case.planes
    assert store.times.tolist() == cube(case)[0].time.values.astype("datetime64[ms]").tolist()
    assert [b.name for b in store.bands] == ["red", "nir"]
    for t in range(N):
        assert np.array_equal(store.read(t), data[t])
        for plane, read in (("mask", store.read_mask), ("coverage", store.read_coverage)):
            assert np.array_equal(read(t), planes[plane][t]) if plane in planes else read(t) is None
    assert np.array_equal(store.read_cell(5, 1, 2), data[5, :, CS:, 2 * CS :])
    for level, entry in enumerate(store.levels):
        expected = slow_level(path, level)
        assert expected.shape == entry.shape
        assert np.array_equal(store.to_xarray(level).data.values, expected)
        for plane in planes:
            stored = zarr.open_array(path / str(level) / plane, mode="r")[:]
            assert np.array_equal(store.to_xarray(level)[plane].values, stored)


def test_an_append_leaves_holes_in_a_star(tmp_path: Path):
    """7 timesteps, then 3 one by one, interval 4: 7 refers to 4, a fresh encode would have it refer to 8."""
    case = Case("uint16", appended=3)
    data, _ = write(case, tmp_path / "cube")
    store = open_store(tmp_path / "cube")
    assert store.temporal.reference(7) == 4
    assert np.array_equal(store.read(7), data[7])

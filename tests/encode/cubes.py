"""Small cubes for the tests of `encode`, and what they look at afterwards: objects, the root, whole levels."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from chronozarr_dask.format.layout import Layout
from chronozarr_dask.format.planes import PLANES, next_coverage, next_mask
from chronozarr_dask.format.pyramid import next_level
from chronozarr_dask.store.reader import open_store

Array = npt.NDArray[Any]

CRS = "EPSG:32631"
CS = 32
DIMS = ("time", "band", "y", "x")


def months(n: int) -> npt.NDArray[np.datetime64]:
    """The first day of `n` months from November 2023."""
    return (np.datetime64("2023-11", "M") + np.arange(n).astype("timedelta64[M]")).astype("datetime64[ns]")


def pixels(dtype: str = "uint16", shape: tuple[int, int, int, int] = (10, 2, 97, 65), seed: int = 7) -> Array:
    """Values that change slowly along time, with holes of 0 and three cells that are 0 for some of the time.

    float32 has -0.0 and fractions; int16 has negative values.
    """
    rng = np.random.default_rng(seed)
    n = shape[0]
    base = rng.integers(0, 200, (1, *shape[1:])) + rng.integers(-3, 4, shape)
    data: Array = {
        "uint8": base % 256,
        "uint16": base * 37 % 65536,
        "int16": (base - 100) * 37,
        "float32": (base - 100) * 3.7,
    }[dtype].astype(dtype)
    data[rng.random(shape) < 0.1] = 0
    data[:, :, :CS, :CS] = 0  # never anything
    data[n // 2, :, :CS, CS : 2 * CS] = 0  # a timestep of nothing
    data[1:, :, CS : 2 * CS, :CS] = data[0, :, CS : 2 * CS, :CS]  # nothing changes
    return data


def as_cube(data: Any, *, crs: str | None = CRS, **coords: Any) -> xr.DataArray:
    """A cube (time, band, y, x) of 10 m pixels, upper-left corner (500000, 5000000); keywords replace coordinates."""
    n, n_band, height, width = data.shape
    every = {
        "time": months(n),
        "band": [f"B{i:02}" for i in range(n_band)],
        "y": 5_000_000 - 10 * (np.arange(height) + 0.5),
        "x": 500_000 + 10 * (np.arange(width) + 0.5),
    }
    array = xr.DataArray(data, dims=DIMS, coords=every | coords)
    return array.assign_attrs(crs=crs) if crs else array


def cube(dtype: str = "uint16", shape: tuple[int, int, int, int] = (10, 2, 97, 65), seed: int = 7) -> xr.DataArray:
    """`pixels` as a cube."""
    return as_cube(pixels(dtype, shape, seed))


def plane(of: xr.DataArray, values: Array) -> xr.DataArray:
    """A plane (time, y, x) on the grid of a cube."""
    return xr.DataArray(values, dims=("time", "y", "x"), coords={k: of[k] for k in ("time", "y", "x")})


def mask(of: xr.DataArray, seed: int = 8) -> xr.DataArray:
    """A mask with one pixel in five invalid, and one cell that is invalid throughout."""
    n, _, height, width = of.shape
    values = (np.random.default_rng(seed).random((n, height, width)) < 0.8).astype(np.uint8)
    values[:, :CS, :CS] = 0
    return plane(of, values)


def coverage(of: xr.DataArray, seed: int = 9) -> xr.DataArray:
    """Counts from 0 to 4, none in one cell."""
    n, _, height, width = of.shape
    values = np.random.default_rng(seed).integers(0, 5, (n, height, width)).astype(np.uint8)
    values[:, :CS, :CS] = 0
    return plane(of, values)


def objects(folder: Path) -> dict[str, bytes]:
    """All files below a folder: key to bytes."""
    files = (Path(at) / name for at, _, names in os.walk(folder) for name in names)
    return {f.relative_to(folder).as_posix(): f.read_bytes() for f in files}


def chunk_objects(folder: Path, names: tuple[str, ...] = ("data", *PLANES)) -> dict[str, bytes]:
    """Chunk and shard objects of the data and the planes."""
    return {k: v for k, v in objects(folder).items() if "/c/" in k and k.split("/")[1] in names}


def root(folder: Path) -> dict[str, Any]:
    """The `chronozarr` attributes of a store."""
    block: dict[str, Any] = json.loads((folder / "zarr.json").read_text())["attributes"]["chronozarr"]
    return block


def levels(
    data: Array, planes: Mapping[str, Array] | None = None, nodata: float | None = 0, n_levels: int = 3
) -> list[dict[str, Array]]:
    """Every level of whole arrays by the reference functions of the format: a store must give back just these."""
    out = [{"data": data, **(planes or {})}]
    for _ in range(n_levels - 1):
        below = out[-1]
        above = {"data": next_level(below["data"], below.get("mask"), nodata)}
        for name, reduce in (("mask", next_mask), ("coverage", next_coverage)):
            if name in below:
                above[name] = np.stack([reduce(frame) for frame in below[name]])
        out.append(above)
    return out


def assert_levels(folder: Path | str, expected: list[dict[str, Array]]) -> None:
    """The store has these levels, bit for bit."""
    store = open_store(folder)
    assert len(store.levels) == len(expected)
    for level, arrays in enumerate(expected):
        dataset = store.to_xarray(level)
        for name, values in arrays.items():
            found = dataset[store.variable if name == "data" else name].values
            assert found.dtype == values.dtype
            assert found.tobytes() == values.tobytes(), f"level {level}, {name}"


def layout_of(data: Array, cs: int = CS, n_levels: int = 3, shard_time: int | None = None) -> Layout:
    """The layout of a store of `data`."""
    n, n_band, height, width = data.shape
    return Layout(n, n_band, height, width, cs, n_levels, shard_time)


def computed_by(data: Array, chunks: Any, before: Callable[[tuple[int, ...]], None]) -> Any:
    """A Dask array of `data` whose blocks call `before` with their position, then give their pixels."""
    import dask.array as da

    def block(pixels: Array, block_info: Any = None) -> Array:
        before(tuple(block_info[0]["chunk-location"]))
        return pixels

    source = da.from_array(data, chunks=chunks)
    return source.map_blocks(block, dtype=data.dtype, meta=np.empty((0,) * data.ndim, data.dtype))

"""The inputs: rasters with the texture of a satellite image, of which zstd at level 5 keeps 0.60 to 0.66.

Band by band a smooth surface, bent out of a coarse grid of random heights, with the noise of a sensor on top; from
month to month the level shifts and the noise is new. Cheap to make, so that what is measured is the encoder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

N_BAND = 4
BANDS = ["B02", "B03", "B04", "B08"]
CRS = "EPSG:32631"
ROWS = 2048
"""Rows of a block of the lazy cube."""

KEPT = (0.60, 0.66)
"""What zstd at level 5 has to keep of a chunk for the input to count as textured."""

_STEP, _HEIGHT, _NOISE = 64, 400.0, 20.0
_TILE = 1024


def surface(rng: np.random.Generator, height: int, width: int) -> npt.NDArray[np.float32]:
    """Smooth heights (height, width), bilinear between random ones that lie 64 pixels apart."""
    coarse = rng.normal(size=(height // _STEP + 2, width // _STEP + 2)).astype(np.float32)
    y, x = (np.arange(n, dtype=np.float32) / _STEP for n in (height, width))
    iy, ix = y.astype(int), x.astype(int)
    fy, fx = (y - iy)[:, None], x - ix
    rows = coarse[iy] * (1 - fy) + coarse[iy + 1] * fy
    out: npt.NDArray[np.float32] = 3000 + _HEIGHT * (rows[:, ix] * (1 - fx) + rows[:, ix + 1] * fx)
    return out


def textured(heights: npt.NDArray[np.float32], rng: np.random.Generator) -> npt.NDArray[np.uint16]:
    """The surface with noise, uint16, nowhere 0."""
    noise = rng.standard_normal(heights.shape, np.float32) * np.float32(_NOISE)
    return np.clip(heights + noise, 1, 10000).astype(np.uint16)


def kept(pixels: npt.NDArray[np.uint16], level: int = 5) -> float:
    """Share of the bytes of a (band, y, x) chunk that zstd leaves."""
    import numcodecs

    chunk = np.ascontiguousarray(pixels[:, :512, :512])
    return len(numcodecs.Zstd(level).encode(chunk)) / chunk.nbytes


def coordinates(n_time: int, height: int, width: int) -> dict[str, Any]:
    """Months, bands and pixel centres of 10 m."""
    return {
        "time": np.datetime64("2020-01-01", "ns") + np.arange(n_time) * np.timedelta64(30, "D"),
        "band": BANDS,
        "y": 5_000_000 - 10 * (np.arange(height) + 0.5),
        "x": 500_000 + 10 * (np.arange(width) + 0.5),
    }


def write_input(path: Path, n_time: int, height: int, width: int) -> dict[str, float]:
    """Write a Zarr v3 of (1, 4, 512, 512) chunks under lz4, month by month; gives what zstd keeps and the raw bytes."""
    import xarray as xr
    import zarr
    from zarr.codecs import BloscCodec

    rng = np.random.default_rng(0)
    surfaces = [surface(rng, height, width) for _ in BANDS]
    xr.Dataset(coords=coordinates(n_time, height, width)).to_zarr(path, zarr_format=3, consolidated=False)
    data = zarr.open_group(path, mode="r+").create_array(
        "data",
        shape=(n_time, N_BAND, height, width),
        chunks=(1, N_BAND, min(512, height), min(512, width)),
        dtype="uint16",
        compressors=[BloscCodec(cname="lz4", clevel=1)],
        dimension_names=("time", "band", "y", "x"),
    )
    for t in range(n_time):
        month = np.stack([textured(s + np.float32(300 * np.sin(t / 4 + b)), rng) for b, s in enumerate(surfaces)])
        data[t] = month
    return {"kept": kept(month), "raw": data.nbytes}


def open_input(path: str, chunks: dict[str, int] | None) -> Any:
    """The cube that `write_input` wrote: read by window where `chunks` is None, a Dask array of its chunks for {}."""
    import xarray as xr

    cube = xr.open_zarr(path, chunks=chunks, consolidated=False, mask_and_scale=False)["data"]
    return cube.assign_attrs(crs=CRS)


def lazy_cube(n_time: int, height: int, width: int) -> tuple[Any, float]:
    """A Dask cube of blocks of one timestep x 4 bands x 2048 rows x the full width, and what zstd keeps of a chunk.

    Each block is new memory, filled from one 1024 x 1024 texture that is shifted from block to block.
    """
    import dask.array as da
    import xarray as xr

    rng = np.random.default_rng(0)
    tile = np.stack([textured(surface(rng, _TILE, _TILE), rng) for _ in BANDS])

    def block(block_info: Any = None) -> npt.NDArray[np.uint16]:
        (t, _), _, (y0, y1), _ = block_info[None]["array-location"]
        here = np.roll(tile, (37 * t + y0 // ROWS, 53 * t), axis=(1, 2))
        out = np.empty((1, N_BAND, y1 - y0, width), np.uint16)
        for y in range(0, y1 - y0, _TILE):
            for x in range(0, width, _TILE):
                part = out[0, :, y : y + _TILE, x : x + _TILE]
                np.add(here[:, : part.shape[1], : part.shape[2]], np.uint16(t % 50), out=part)
        return out

    rows = [min(ROWS, height - y) for y in range(0, height, ROWS)]
    chunks = ((1,) * n_time, (N_BAND,), tuple(rows), (width,))
    data = da.map_blocks(block, chunks=chunks, dtype=np.uint16, meta=np.empty((0,) * 4, np.uint16))
    cube = xr.DataArray(data, coordinates(n_time, height, width), ("time", "band", "y", "x"), attrs={"crs": CRS})
    return cube, kept(tile)

"""Level 0 of a `none` store for readers that know nothing of the format: values, dates and CRS, without a warning.

GDAL is not among them: 3.10, in the wheel of rasterio 1.4, reads Zarr v3 as drafted and refuses the `bytes` codec.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import rioxarray  # noqa: F401  (registers the accessor)
import xarray as xr
import zarr

import chronozarr_dask as czd
from tests.encode import cubes

# rasterio and rioxarray multiply affine transforms in a way that affine 3.1 advises against.
pytestmark = pytest.mark.filterwarnings("ignore:Use `@` matmul:PendingDeprecationWarning")

DATA = cubes.pixels(shape=(5, 2, 70, 45))
TRANSFORM = (10.0, 0.0, 500_000.0, 0.0, -10.0, 5_000_000.0)


@pytest.fixture(scope="module", params=[None, 3], ids=["unsharded", "sharded"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a mask."""
    target = tmp_path_factory.mktemp("plain") / "s"
    of = cubes.as_cube(DATA)
    how = {"chunk_size": 32, "encoding": "none", "nodata": 0, "shard_time": request.param}
    czd.encode(of, target, mask=cubes.mask(of), **how)
    return target


def test_zarr_python_reads_values_and_coordinates(store: Path):
    level = zarr.open_group(store, mode="r")["0"]
    assert np.array_equal(level["data"][:], DATA)
    assert np.array_equal(level["mask"][:], cubes.mask(cubes.as_cube(DATA)).values)
    assert level["band"][:].tolist() == ["B00", "B01"]
    assert level["data"].attrs["nodata"] == 0
    assert np.array_equal(level["time"][:].astype("datetime64[ms]"), cubes.months(5).astype("datetime64[ms]"))


@pytest.mark.parametrize("consolidated", [True, False, None])
def test_xarray_reads_values_dates_and_places(store: Path, consolidated: bool | None):
    with xr.open_zarr(store, group="0", consolidated=consolidated) as level:
        assert level.data.dims == ("time", "band", "y", "x")
        assert np.array_equal(level.data.values, DATA)
        assert np.array_equal(level.time.values.astype("datetime64[ms]"), cubes.months(5).astype("datetime64[ms]"))
        assert level.band.values.tolist() == ["B00", "B01"]
        assert level.y.values[:2].tolist() == [4_999_995.0, 4_999_985.0]
        assert level.x.values[:2].tolist() == [500_005.0, 500_015.0]
        assert level.data.sel(time="2024-02-01", band="B01", x=500_105, y=4_999_695).values == DATA[3, 1, 30, 10]


def test_xarray_reads_higher_levels_too(store: Path):
    for k, expected in enumerate(cubes.levels(DATA, {"mask": cubes.mask(cubes.as_cube(DATA)).values})):
        with xr.open_zarr(store, group=str(k)) as level:
            assert np.array_equal(level.data.values, expected["data"])
            assert np.array_equal(level["mask"].values, expected["mask"])


def test_rioxarray_finds_crs_transform_and_nodata(store: Path):
    with xr.open_zarr(store, group="0") as level:
        data = level.data
        assert data.rio.transform()[:6] == TRANSFORM
        assert data.rio.bounds() == (500_000.0, 4_999_300.0, 500_450.0, 5_000_000.0)
        assert data.rio.crs.to_epsg() == 32631
        assert data.rio.nodata == 0


def test_rioxarray_finds_the_crs_of_our_own_reader(store: Path):
    data = czd.open_store(store).to_xarray(0).data
    assert data.rio.crs.to_epsg() == 32631
    assert data.rio.transform()[:6] == TRANSFORM
    assert data.rio.nodata == 0

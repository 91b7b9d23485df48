"""Small inputs whose pixels encode their own position, and arrays that tell on whoever reads them."""

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

TIMES = np.array(["2024-01-01", "2024-02-01", "2024-03-01"], "datetime64[ns]")
Y = np.array([4_999_995.0, 4_999_985.0, 4_999_975.0, 4_999_965.0])
X = np.array([500_005.0, 500_015.0, 500_025.0, 500_035.0, 500_045.0])
TRANSFORM = (10.0, 0.0, 500_000.0, 0.0, -10.0, 5_000_000.0)
BANDS = ["B04", "B08"]


def pixels(n_time: int = 3, n_band: int = 2, height: int = 4, width: int = 5) -> np.ndarray[Any, Any]:
    """uint16 (time, band, y, x): 1000 t + 100 b + 10 y + x."""
    t, b, y, x = np.indices((n_time, n_band, height, width))
    return (1000 * t + 100 * b + 10 * y + x).astype(np.uint16)


def make(data: Any = None, *, crs: str | None = "EPSG:32631", name: str | None = None, **coords: Any) -> xr.DataArray:
    """A cube (time, band, y, x) in UTM with all coordinates; keywords replace coordinates, None leaves one out."""
    every = {"time": TIMES, "band": BANDS, "y": Y, "x": X} | coords
    kept = {k: v for k, v in every.items() if v is not None}
    array = xr.DataArray(pixels() if data is None else data, dims=("time", "band", "y", "x"), coords=kept, name=name)
    return array.assign_attrs(crs=crs) if crs else array


def one_band(name: str | None = None, **how: Any) -> xr.DataArray:
    """A cube (time, y, x)."""
    return make(name=name, **how).isel(band=0, drop=True)


def bomb(shape: tuple[int, ...], chunks: Any, dtype: str = "uint16") -> da.Array:
    """A dask array whose blocks raise when they are computed."""

    def explode(_: Any) -> Any:
        raise AssertionError("a block was computed")

    return da.zeros(shape, chunks=chunks, dtype=dtype).map_blocks(
        explode, dtype=dtype, meta=np.empty((0,) * len(shape), dtype)
    )


class Counting(BackendArray):
    """A lazily indexed array, as a file is, that records the shape of every window that is read."""

    def __init__(self, data: np.ndarray[Any, Any]) -> None:
        self.data, self.shape, self.dtype = data, data.shape, data.dtype
        self.windows: list[tuple[int, ...]] = []

    def __getitem__(self, key: Any) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: Any) -> np.ndarray[Any, Any]:
        out = self.data[np.ix_(*(np.atleast_1d(np.arange(n)[k]) for n, k in zip(self.shape, key, strict=True)))]
        if out.size:  # an empty window reads nothing; it is how numpy is told from a file
            self.windows.append(out.shape)
        return out.reshape([n for n, k in zip(out.shape, key, strict=True) if not isinstance(k, int | np.integer)])

    @property
    def n_read(self) -> int:
        return sum(int(np.prod(w)) for w in self.windows)


def lazily(array: xr.DataArray) -> tuple[xr.DataArray, Counting]:
    """The same array as if it came out of a file."""
    counting = Counting(np.asarray(array.values))
    variable = xr.Variable(array.dims, indexing.LazilyIndexedArray(counting), array.attrs)
    return xr.DataArray(variable, coords=array.coords, name=array.name), counting


Change = Callable[[xr.DataArray], xr.DataArray]

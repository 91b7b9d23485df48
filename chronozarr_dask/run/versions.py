"""The versions that a run is made with: what its bytes depend on."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from chronozarr_dask._version import __version__

TOLD = (
    "numpy", "numcodecs", "zarr", "dask", "distributed", "xarray", "numba", "rasterio", "pyproj", "pystac-client",
    "fsspec", "s3fs",
)  # fmt: skip


@cache
def _found() -> tuple[tuple[str, str], ...]:
    out = [("python", platform.python_version()), ("chronozarr-dask", __version__)]
    for name in TOLD:
        try:
            out.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return tuple(out)


def versions() -> dict[str, str]:
    """Name to version of Python, this package and what it computes and stores with, as far as they are installed."""
    return dict(_found())

"""The installed package: its version, its quiet import, its types."""

import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import chronozarr_dask

HEAVY = {"dask", "distributed", "ipywidgets", "matplotlib", "rasterio", "rioxarray", "zarr"}


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def test_version_is_one() -> None:
    assert chronozarr_dask.__version__ == metadata.version("chronozarr-dask")


def test_script_prints_the_version() -> None:
    script = Path(sysconfig.get_path("scripts")) / "chronozarr-dask"
    assert run(str(script), "--version").split()[-1] == chronozarr_dask.__version__


def test_import_is_quiet() -> None:
    """No cluster, no GDAL, no widgets: what is heavy is imported when it is used."""
    loaded = run(sys.executable, "-c", "import sys, chronozarr_dask; print(*sys.modules)").split()
    assert "chronozarr_dask" in loaded
    assert HEAVY.isdisjoint(loaded), sorted(HEAVY.intersection(loaded))


def test_reading_loads_nothing_that_encodes() -> None:
    """A store can be opened, and an unfinished run be told from one, without compiled kernels, xarray or pyproj."""
    loaded = run(sys.executable, "-c", "import sys, chronozarr_dask.store.reader; print(*sys.modules)").split()
    encoding = HEAVY | {"numba", "pyproj", "xarray"}
    assert "chronozarr_dask.store.journal" in loaded
    assert encoding.isdisjoint(loaded), sorted(encoding.intersection(loaded))


def test_package_is_typed() -> None:
    assert (Path(chronozarr_dask.__file__).parent / "py.typed").is_file()

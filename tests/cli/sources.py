"""Small sources on disk, and the program in this process and in its own."""

import hashlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import xarray as xr
from typer.testing import CliRunner

from chronozarr_dask.cli import app
from chronozarr_dask.run import lines

RUN = "from chronozarr_dask.cli import main; main()"


def dataset(n_time: int = 5, height: int = 70, width: int = 50, **attrs: Any) -> xr.Dataset:
    """B04 and B08, uint16, and `valid`, uint8: monthly in UTM 31N, 10 m."""
    t, y, x = np.indices((n_time, height, width))
    red = (1000 + 100 * t + 7 * y + 3 * x + (y * x) % 11).astype("uint16")
    dims = ("time", "y", "x")
    times = np.arange("2023-01", np.datetime64("2023-01") + n_time, dtype="datetime64[M]").astype("datetime64[ns]")
    return xr.Dataset(
        {"B04": (dims, red), "B08": (dims, red + 7), "valid": (dims, ((y + x + t) % 5 > 0).astype("uint8"))},
        coords={"time": times, "y": 5e6 - 5 - 10.0 * np.arange(height), "x": 5e5 + 5 + 10.0 * np.arange(width)},
    ).assign_attrs({"crs": "EPSG:32631", **attrs})


def zarr(path: Path, cube: xr.Dataset | None = None, zarr_format: int = 3) -> str:
    """The dataset as a Zarr store."""
    whole = dataset() if cube is None else cube
    whole.to_zarr(path, zarr_format=zarr_format, consolidated=zarr_format == 2)  # type: ignore[call-overload]
    return str(path)


def netcdf(path: Path, cube: xr.Dataset | None = None) -> str:
    """The dataset as a NetCDF file."""
    (dataset() if cube is None else cube).to_netcdf(path, engine="netcdf4")
    return str(path)


def invoke(*arguments: str) -> Any:
    """The program in this process: exit_code, stdout, stderr; but for the lines of its progress, see test_progress."""
    with mock.patch.object(lines, "to_stderr", return_value=None):
        return CliRunner().invoke(app, list(arguments), prog_name="chronozarr-dask")


def start(*arguments: str, **how: Any) -> "subprocess.Popen[str]":
    """The program in a process of its own."""
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", RUN, *arguments], text=True, preexec_fn=_heed, **(piped | how))


def _heed() -> None:
    """A shell has what it runs in the background ignore Ctrl-C, and the program keeps to that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the program in a process of its own.

    The lines of its progress are left out.
    """
    process = start(*arguments)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, without_progress(err)


def without_progress(err: str) -> str:
    """Standard error without the lines of the progress, which begin with the date."""
    return "".join(line for line in err.splitlines(keepends=True) if not re.match(r"\d{4}-\d{2}-\d{2} ", line))


def objects(store: Path) -> dict[str, str]:
    """Hash of each object by its key."""
    found = {}
    for folder, _, names in os.walk(store):
        for name in names:
            path = Path(folder) / name
            found[path.relative_to(store).as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found

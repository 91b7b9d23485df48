"""Runs that were interrupted, and what is left of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import chronozarr_dask as czd

OPTIONS: dict[str, Any] = {"crs": "EPSG:32631", "chunk_size": 16, "region_cells": 2}


class Stop(Exception):
    """Ends a run from within."""


def make_cube(n_time: int = 4) -> xr.DataArray:
    """uint16 (time, 2, 70, 50)."""
    rng = np.random.default_rng(0)
    data = (rng.integers(10, 900, (1, 2, 70, 50)) + rng.integers(0, 5, (n_time, 2, 70, 50))).astype("uint16")
    coords = {
        "time": np.datetime64("2022-01-01", "ns") + np.arange(n_time) * np.timedelta64(5, "D"),
        "y": 900 - 10 * (np.arange(70) + 0.5),
        "x": 10 * (np.arange(50) + 0.5),
    }
    return xr.DataArray(data, coords, ("time", "band", "y", "x"), name="data")


def stop_in(stage: str, done: int = 0) -> Any:
    """A progress that ends the run when so much of a stage is done."""

    def progress(step: Any) -> None:
        if step.stage == stage and step.done >= done:
            raise Stop

    return progress


def interrupt(target: str | Path, stage: str = "run", done: int = 3, cube: Any = None, **how: Any) -> None:
    """Begin a run and end it."""
    with pytest.raises(Stop):
        czd.encode(make_cube() if cube is None else cube, target, progress=stop_in(stage, done), **{**OPTIONS, **how})


def files(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}

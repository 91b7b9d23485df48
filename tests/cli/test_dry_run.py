"""``encode --dry-run`` and prices: what would be done is printed, and nothing is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from chronozarr_dask.cli.app import app

PRICES = Path(__file__).resolve().parents[2] / "deploy" / "prices.yaml"


@pytest.fixture
def source(tmp_path: Path) -> str:
    """Three months of 40 x 40 pixels."""
    cube = xr.DataArray(
        np.arange(3 * 40 * 40, dtype="uint16").reshape(3, 40, 40),
        {
            "time": np.array(["2024-01", "2024-02", "2024-03"], "datetime64[ns]"),
            "y": 5_000_000.0 - 10 * np.arange(40),
            "x": 500_000.0 + 10 * np.arange(40),
        },
        ("time", "y", "x"),
        name="red",
    )
    cube.to_dataset().to_zarr(tmp_path / "in.zarr", zarr_format=3, consolidated=False)
    return str(tmp_path / "in.zarr")


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["encode", *arguments, "--crs", "EPSG:32631", "--chunk-size", "16"])


def test_it_is_told_and_nothing_is_written(source: str, tmp_path: Path) -> None:
    done = run(source, str(tmp_path / "s"), "--dry-run", "--prices", str(PRICES))
    assert done.exit_code == 0, done.output
    for part in ("1 band", "at most", "stage", "commit", "core-hours", "time", "USD once", "a month"):
        assert part in done.output
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.zarr"]


def test_json(source: str, tmp_path: Path) -> None:
    done = run(source, str(tmp_path / "s"), "--dry-run", "--json")
    doc = json.loads(done.stdout)
    assert doc["shape"] == [3, 1, 40, 40]
    assert doc["read_bytes"] == 3 * 40 * 40 * 2
    assert doc["estimate"]["stages"]["run"]["objects"] == doc["objects"]
    assert doc["cost"] is None


def test_what_would_be_refused_is_told_with_exit_code_1(source: str, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "mine").write_text("mine")
    done = run(source, str(tmp_path / "s"), "--dry-run")
    assert done.exit_code == 1
    assert "refused" in done.output
    done = run(source, str(tmp_path / "t"), "--dry-run", "--max-objects", "5")
    assert done.exit_code == 1
    assert "--max-objects is 5" in done.output


def test_bad_usage(source: str, tmp_path: Path) -> None:
    assert run(source, str(tmp_path / "s"), "--dry-run", "--resume").exit_code == 2
    assert run(source, str(tmp_path / "s"), "--prices", str(PRICES)).exit_code == 2
    assert not (tmp_path / "s").exists()

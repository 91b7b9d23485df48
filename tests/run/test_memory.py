"""Memory while composites are made follows the region's own stack, not the number of scenes read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from tests.run.made import CORNER, World

SIZE, N_SCENES, BANDS = 512, 40, ("B02", "B03", "B04", "B08")
STACK = N_SCENES * len(BANDS) * SIZE * SIZE * 2
"""Bytes of all observations of the region, uint16."""

RUN = """
import json, sys, warnings
from pathlib import Path
from chronozarr_dask.run.produce import run_document
from chronozarr_dask.run.recipes import Document

warnings.simplefilter("ignore")

def run(path):
    document = Document.parse(Path(path).read_text(), "recipe.yaml")
    return run_document(document, document.recipe())

def status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

run(sys.argv[1])  # imports, compiled kernels, threads
before = status("VmRSS:")
Path("/proc/self/clear_refs").write_text("5")  # the peak from here on
report = run(sys.argv[2])
print(json.dumps({"grown": status("VmHWM:") - before, "regions": report.regions}))
"""


def scenes(world: World, n: int, size: int, *, shift: float = 0.0) -> World:
    rng = np.random.default_rng(1)
    ground = {b: rng.integers(1, 9000, (size, size)).astype("uint16") for b in BANDS}
    scl = rng.choice(np.array([4, 5, 9], "uint8"), (size // 2, size // 2))
    for i in range(n):
        corner = (CORNER[0] + shift, CORNER[1] - shift)
        world.add(f"S{i:02d}", f"2024-01-{1 + i // 2:02d}T10:00:{i:02d}Z", ground, scl, size=size, corner=corner)
    return world


def recipe(world: World, size: int) -> str:
    bounds = [CORNER[0], CORNER[1] - 10 * size, CORNER[0] + 10 * size, CORNER[1]]
    changes = {"grid__crs": "EPSG:32631", "grid__resolution": 10, "grid__bounds": bounds, "source__offset": "none"}
    changes |= {"encode__chunk_size": 256, "encode__region_cells": 2}
    path = world.folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(world.recipe(**changes)))
    return str(path)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak is read from /proc")
@pytest.mark.slow
@pytest.mark.parametrize("is_nested", [True, False], ids=["on the grid", "resampled"])
def test_forty_scenes_stay_within_three_stacks(is_nested: bool, tmp_path: Path) -> None:
    folders = [tmp_path / "small", tmp_path / "large"]
    for folder in folders:
        folder.mkdir()
    shift = 0.0 if is_nested else 3.0
    small = recipe(scenes(World(folders[0]), 2, 64, shift=shift), 64)
    large = recipe(scenes(World(folders[1]), N_SCENES, SIZE, shift=shift), SIZE)
    command = [sys.executable, "-W", "ignore", "-c", RUN, small, large]
    environment = {**os.environ, "MALLOC_ARENA_MAX": "2"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["regions"] == 1
    assert found["grown"] <= 3 * STACK, f"{found['grown'] / STACK:.2f} stacks of {STACK / 2**20:.0f} MiB"
    print(f"{found['grown'] / STACK:.2f} stacks of {STACK / 2**20:.0f} MiB")

"""The plan of a continental store, 150,000 cells x 120 months: small in memory, small on disk, quickly made."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).resolve().parents[2]
LEAST, MOST_MIB, MOST_SECONDS, MOST_JSON = 150_000, 500, 120, 20_000
"""Cells, peak memory, and what a machine under load may take; on an idle one it is ten seconds, all regions listed."""

SCRIPT = """
import json, sys, time
begun = time.monotonic()
from tests.scale.continental import continental
from chronozarr_dask.plan.limits import count_tasks
from chronozarr_dask.run.order import Order
plan, spec = continental(json.loads(sys.argv[1]))
made = time.monotonic() - begun
order = Order(plan, "star-delta", iter(lambda: False, None))
objects = sum(len(a) for region in plan.regions() for a in plan.arrays(region))
print(json.dumps({
    "made": made, "seconds": time.monotonic() - begun, "cells": plan.layout.grid(0), "regions": plan.n_regions,
    "left": order.n_left, "json": len(json.dumps(plan.to_json())), "objects": objects, "tasks": count_tasks(plan),
    # Of this program alone: ru_maxrss begins with what the process that started it had.
    "peak": next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM:")) / 1024,
}))
"""


@pytest.mark.parametrize("shard_time", [None, 12])
def test_it_is_small_and_quick(shard_time: int | None) -> None:
    """Peak memory of a process of its own, with the order of all regions and the objects of each."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(shard_time)],
        cwd=REPO, capture_output=True, text=True, check=True, timeout=MOST_SECONDS,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    rows, cols = found["cells"]
    assert rows * cols >= LEAST
    assert found["objects"] == 2 * (2_001_650 if shard_time else 24_019_800)  # data and coverage
    assert found["left"] == found["regions"]
    assert found["peak"] < MOST_MIB
    assert found["json"] < MOST_JSON  # cuts, and not regions

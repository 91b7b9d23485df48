"""Stores with a journal for the tests of reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import chronozarr_dask as czd
from tests.encode import cubes

SHAPE = (8, 2, 40, 52)
HOSTILE = "</script><img src=x onerror=\"document.title='hacked'\"><b>&amp;'"


def encoded(folder: Path, dtype: str = "uint16", encoding: str = "star-delta", **options: Any) -> Path:
    """A store of 8 timesteps, its values changing slowly; `planes` of the cube by name."""
    of = cubes.cube(dtype, SHAPE)
    given = {name: getattr(cubes, name)(of) for name in options.pop("planes", ())}
    czd.encode(of, folder, encoding=encoding, chunk_size=16, **given, **options)
    return folder


def interrupted(store: Path, at: int, **how: Any) -> None:
    """An encode that is interrupted once `at` regions are there."""

    def stop(step: Any) -> None:
        if step.stage == "run" and step.done == at:
            raise KeyboardInterrupt

    fixed: dict[str, Any] = {"chunk_size": 16, "region_cells": 2, "encoding": "none"}
    czd.encode(cubes.as_cube(np.maximum(cubes.pixels(shape=SHAPE), 1)), store, progress=stop, **fixed, **how)


def receipts_of(store: Path) -> list[Any]:
    """The receipts in the journal beside a store."""
    return [json.loads(p.read_text()) for p in Path(f"{store}.run/receipts").rglob("*") if p.is_file()]


def report_of(store: Path) -> dict[str, Any]:
    """report.json of the run that made a store."""
    doc: dict[str, Any] = json.loads(Path(f"{store}.run", "report.json").read_text())
    return doc


def page_of(store: Path) -> Path:
    """report.html of the run that made a store."""
    return Path(f"{store}.run", "report.html")


def means(plane: Any, places: int = 4) -> list[list[float]]:
    """Means by place, one pixel after another."""
    height, width = plane.shape
    rows = [len(part) for part in np.array_split(range(height), min(places, height))]
    cols = [len(part) for part in np.array_split(range(width), min(places, width))]
    out, y = [], 0
    for h in rows:
        line, x = [], 0
        for w in cols:
            line.append(round(sum(float(v) for row in plane[y : y + h, x : x + w] for v in row) / (h * w), 6))
            x += w
        out.append(line)
        y += h
    return out

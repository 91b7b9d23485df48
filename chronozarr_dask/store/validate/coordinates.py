"""Sections 2.2, 3.5 and 5: the values of coordinates and volatility, decoded from their chunks."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.layout import centres
from chronozarr_dask.format.times import render_time
from chronozarr_dask.store.target import Objects
from chronozarr_dask.store.validate.chunks import load
from chronozarr_dask.store.validate.documents import BLOCK
from chronozarr_dask.store.validate.model import Model, Nodes
from chronozarr_dask.store.validate.problem import Findings
from chronozarr_dask.store.validate.root import RootFacts
from chronozarr_dask.store.validate.values import as_mapping, vote

_OFF = 0.001  # pixels: far above rounding, far below what moves a pixel


def check_values(objects: Objects, root: RootFacts, nodes: Nodes, model: Model, pool: Executor, out: Findings) -> None:
    """Values of every coordinate at every level, and of volatility."""
    facts = [f for _, f in sorted(nodes.arrays.items(), key=lambda item: item[0]) if not f.role.is_chunked]
    found_by = [Findings() for _ in facts]  # one each: threads finish in any order
    loaded = pool.map(lambda f, own: load(objects, f, own), facts, found_by)
    values = dict(zip([f.path for f in facts], loaded, strict=True))
    for own in found_by:
        out.problems += own.problems

    def at(name: str) -> dict[int, Any]:
        found = {k: values.get(f.path) for (k, n), f in sorted(nodes.arrays.items()) if n == name}
        return {k: v for k, v in found.items() if v is not None and len(v) == _length(name, k, model)}

    _check_time(root, model, at("time"), out)
    _check_bands(root, model, at("band"), out)
    for level, found in at("y").items():
        _check_centres(found, level, "y", model, out)
    for level, found in at("x").items():
        _check_centres(found, level, "x", model, out)
    whole = nodes.volatility
    if whole is not None and whole.chunking is not None and whole.chunking.outer == whole.shape:
        _check_volatility(load(objects, whole, out), _has_changes(root, model), out)


def _length(name: str, level: int, model: Model) -> int | None:
    size = model.level_size(level) or (None, None)
    return {"time": model.n_time, "band": model.n_band, "y": size[0], "x": size[1]}[name]


def _check_time(root: RootFacts, model: Model, arrays: dict[int, Any], out: Findings) -> None:
    """2.2: identical at every level and increasing; 3.5: the mirror."""
    said = {k: tuple(int(v) for v in a) for k, a in arrays.items()}
    mirror = root.times if root.n_times == model.n_time else None
    times = vote([mirror, *said.values()])
    if times is None:
        return
    if mirror is not None and mirror != times:
        i = _first(mirror, times)
        message = "it is the rendering of the time coordinate"
        out.error("3.5", f"{BLOCK}.times[{i}]", message, _iso(times[i]), _iso(mirror[i]))
    for level, found in said.items():
        if found != times:
            i = _first(found, times)
            message = f"time differs from the rest of the store at timestep {i}"
            out.error("2.2", f"{level}/time/c/0", message, _iso(times[i]), _iso(found[i]))
    for i in range(1, len(times)):
        if times[i] <= times[i - 1]:
            message = f"timesteps increase; number {i} is not after the one before"
            out.error("2.2", f"0/time/c/0: [{i}]", message, f"after {_iso(times[i - 1])}", _iso(times[i]))
            return


def _iso(ms: int) -> str:
    try:
        return render_time(ms)
    except InputError:
        return f"{ms} ms"


def _first(a: Sequence[Any], b: Sequence[Any]) -> int:
    return next(i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y)


def _check_bands(root: RootFacts, model: Model, arrays: dict[int, Any], out: Findings) -> None:
    """2.2, 3.5: names or indices, identical at every level; `band_names` and `bands` agree with them."""
    n = model.n_band
    names = {k: a for k, a in arrays.items() if isinstance(a, tuple)}
    mirrors = {"band_names": root.band_names, "bands": root.bands}
    known = {name: v for name, v in mirrors.items() if v is not None and len(v) == n}
    agreed = vote([*known.values(), *names.values()])
    for name, found in known.items():
        if found != agreed:
            message = "bands, band_names and the band coordinate have the same names"
            out.error("3.5", f"{BLOCK}.{name}", message, agreed, found)
    for level, found in arrays.items():
        if isinstance(found, tuple):
            if found != agreed:
                out.error("2.2", f"{level}/band/c/0", "it holds the band names in array order", agreed, found)
        elif not np.array_equal(found, np.arange(n or 0)):
            out.error("2.2", f"{level}/band/c/0", "indices run from 0", list(range(n or 0)), found.tolist())
    if names and len(names) < len(arrays):
        level = min(arrays.keys() - names.keys()) if len(names) * 2 >= len(arrays) else min(names)
        out.error("2.2", f"{level}/band/zarr.json: data_type", "band is identical at every level", "one dtype", "two")


def _check_centres(found: npt.NDArray[Any], level: int, name: str, model: Model, out: Findings) -> None:
    """2.2: x increases, y decreases, both at the pixel centres of the level's transform."""
    key = f"{level}/{name}/c/0"
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.diff(found) * (1 if name == "x" else -1)
    if not np.all(steps > 0):
        i = int(np.argmin(steps > 0)) + 1
        direction = "increases" if name == "x" else "decreases"
        out.error("2.2", f"{key}: [{i}]", f"{name} {direction} everywhere", f"beyond {found[i - 1]}", float(found[i]))
        return
    transform = model.level_transform(level)
    if transform is None:
        return
    origin, step = (transform[2], transform[0]) if name == "x" else (transform[5], transform[4])
    expected = np.array(centres(origin, step, len(found)))
    with np.errstate(over="ignore", invalid="ignore"):
        off = ~(np.abs(found - expected) <= _OFF * abs(step))
    if off.any():
        i = int(np.argmax(off))
        message = f"{name} holds the pixel centres of the level's transform"
        out.error("2.2", f"{key}: [{i}]", message, float(expected[i]), float(found[i]))


def _has_changes(root: RootFacts, model: Model) -> bool:
    """Whether there is a timestep that is no anchor."""
    temporal = as_mapping(root.block.get("temporal"))
    return model.n_time != 1 and (temporal.get("anchor_interval") != 1 or bool(temporal.get("delta_reference")))


def _check_volatility(values: Any, has_changes: bool, out: Findings) -> None:
    """5: clipped to 0..1, and 0 where nothing can change."""
    if values is None:
        return
    highest = 1 if has_changes else 0
    wrong = ~((values >= 0) & (values <= highest))
    if wrong.any():
        row, col = (int(i) for i in np.argwhere(wrong)[0])
        message = f"the value of cell ({row}, {col}) is out of range"
        if not has_changes:
            message = f"cell ({row}, {col}) has no timestep but anchors, so nothing in it changes"
        out.error("5", "volatility/c/0/0", message, [0, highest], float(values[row, col]))

"""Sections 3.2 to 3.7: what is written twice. Each place is compared with what most places say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.georef import check_transform
from chronozarr_dask.store.validate.documents import BLOCK, MULTISCALES
from chronozarr_dask.store.validate.model import Model, Nodes
from chronozarr_dask.store.validate.problem import Findings
from chronozarr_dask.store.validate.root import RootFacts, is_epsg
from chronozarr_dask.store.validate.values import close, is_number, is_numbers, is_sizes, same_json

CRS_URL = "http://www.opengis.net/def/crs/EPSG/0/"


def check_counts(root: RootFacts, model: Model, out: Findings) -> None:
    """3.2: one entry per timestep and per band."""
    if root.n_times is not None and model.n_time is not None and root.n_times != model.n_time:
        out.error("3.2", f"{BLOCK}.times", "list one text per timestep", model.n_time, root.n_times)
    for name, entries in (("bands", root.bands), ("band_names", root.band_names)):
        if entries is not None and model.n_band is not None and len(entries) != model.n_band:
            out.error("3.2", f"{BLOCK}.{name}", "list one entry per band", model.n_band, len(entries))


def check_datasets(root: RootFacts, model: Model, out: Findings) -> None:
    """3.4, 3.2: the levels in order, with the store's crs."""
    if model.crs is not None and is_epsg(root.block.get("crs")) and root.block["crs"] != model.crs:
        out.error("3.2", f"{BLOCK}.crs", "every level has another crs", model.crs, root.block["crs"])
    if root.datasets is None:
        return
    where = f"{MULTISCALES}[0].datasets"
    paths = [d.get("path") for d in root.datasets]
    expected = [str(k) for k in range(model.n_levels)]
    if paths != expected:
        out.error("3.4", where, "list the level groups in order, from '0' without gaps", expected, paths)
    for i, dataset in enumerate(root.datasets[: model.n_levels]):
        if model.crs is not None and dataset.get("crs") != model.crs:
            out.error("3.4", f"{where}[{i}].crs", "it is the store's crs", model.crs, dataset.get("crs"))


def check_groups(nodes: Nodes, model: Model, out: Findings) -> None:
    """3.3: crs, transform and resolution of every level group."""
    if model.transform is not None:
        try:
            check_transform(model.transform)
        except InputError as error:
            out.error("3.3", "0/zarr.json: attributes.transform", str(error), None, model.transform)
    for level, attributes in sorted(nodes.groups.items()):
        where = f"{level}/zarr.json: attributes"
        if not isinstance(attributes.get("crs"), str) or (model.crs and attributes["crs"] != model.crs):
            out.error("3.3", f"{where}.crs", "it is the store's crs", model.crs, attributes.get("crs"))
        _check_grid(attributes, level, model, where, "3.3", out)


def _check_grid(entry: Mapping[str, Any], level: int, model: Model, where: str, section: str, out: Findings) -> None:
    """Transform and resolution of a level, in its group or in the mirror."""
    transform = model.level_transform(level)
    found = entry.get("transform")
    if not is_numbers(found, 6) or (transform and not close(found, transform, abs(transform[0]))):
        message = f"six numbers [a*2^{level}, b, c, d, e*2^{level}, f] in Affine order"
        out.error(section, f"{where}.transform", message, transform, found)
    resolution = entry.get("resolution")
    expected = None if transform is None else abs(transform[0])
    if not is_number(resolution) or (expected is not None and not close([float(resolution)], [expected], expected)):
        out.error(section, f"{where}.resolution", f"it is abs(a) * 2^{level}", expected, resolution)


def check_mirror(root: RootFacts, nodes: Nodes, model: Model, out: Findings) -> None:
    """3.7: path, resolution, transform, shape and grid of each level."""
    if root.mirror is None:
        return
    where = f"{BLOCK}.levels"
    if len(root.mirror) != model.n_levels:
        out.error("3.7", where, "it has one entry per level", model.n_levels, len(root.mirror))
        return
    for k, entry in enumerate(root.mirror):
        at = f"{where}[{k}]"
        if entry.get("path") != str(k):
            out.error("3.7", f"{at}.path", "entries are in level order", str(k), entry.get("path"))
        _check_grid(entry, k, model, at, "3.7", out)
        size, grid, data = model.level_size(k), model.grid(k), nodes.arrays.get((k, "data"))
        expected = None if size is None or not model.n_time or not model.n_band else [model.n_time, model.n_band, *size]
        actual = list(data.shape) if data is not None and data.shape else expected
        shape = entry.get("shape")
        if not is_sizes(shape, 4) or (expected and shape not in (expected, actual)):
            out.error("3.7", f"{at}.shape", "it is the shape of the data array", expected, shape)
        if not is_sizes(entry.get("grid"), 2) or (grid and entry["grid"] != list(grid)):
            out.error("3.7", f"{at}.grid", "it is [ceil(H / cs), ceil(W / cs)]", grid, entry.get("grid"))


def check_repeats(nodes: Nodes, model: Model, out: Findings) -> None:
    """3.3: what data arrays and planes repeat for other tools has the same values; no reader requires it."""
    for level, facts in nodes.chunked():
        size, transform = model.level_size(level), model.level_transform(level)
        expected: dict[str, Any] = {"crs": model.crs, "proj:code": model.crs, "spatial:dimensions": ["y", "x"]}
        expected["spatial:shape"] = None if size is None else list(size)
        for name, value in expected.items():
            found = facts.said.get(name, value)
            if value is not None and not same_json(found, value):
                out.error("3.3", f"{facts.key}: attributes.{name}", "it repeats what the level says", value, found)
        if "_CRS" in facts.said:
            _check_url(facts.said["_CRS"], f"{facts.key}: attributes._CRS", model.crs, out)
        if transform is None or size is None:
            continue
        a, _, c, _, e, f = transform
        numbers: dict[str, tuple[float, ...]] = {
            "transform": transform,
            "spatial:transform": transform,
            "spatial:bbox": (c, f + e * size[0], c + a * size[1], f),
        }
        for name, values in numbers.items():
            found = facts.said.get(name, list(values))
            if not (is_numbers(found, len(values)) and close(found, values, abs(a))):
                out.error("3.3", f"{facts.key}: attributes.{name}", "it repeats what the level says", values, found)


def _check_url(value: Any, where: str, crs: str | None, out: Findings) -> None:
    """GDAL takes the CRS from ``_CRS``."""
    if not is_epsg(crs):
        return
    expected = CRS_URL + str(crs).removeprefix("EPSG:")
    if not isinstance(value, Mapping) or value.get("url", expected) != expected:
        out.error("3.3", where, "it names the store's crs", {"url": expected}, value)

"""Sections 3.1, 3.2, 3.4, 3.6 and 3.8: the fields of the root's two blocks, each by itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from chronozarr_dask.errors import InputError, StoreError
from chronozarr_dask.format.attributes import METHOD, READABLE
from chronozarr_dask.format.georef import check_crs
from chronozarr_dask.format.layout import COVERAGE, DEFAULT_VARIABLE, MASK, VOLATILITY, check_variable
from chronozarr_dask.format.provenance import GAP_FILLS
from chronozarr_dask.format.times import parse_time
from chronozarr_dask.store.validate.documents import Document
from chronozarr_dask.store.validate.problem import Findings
from chronozarr_dask.store.validate.values import as_mapping, is_number, is_text

BLOCK = "zarr.json: chronozarr"
MULTISCALES = "zarr.json: multiscales"
BLOCKS = ("multiscales", "chronozarr")
WEB_MERCATOR = ("EPSG:3857", "EPSG:3785", "EPSG:900913", "EPSG:102100")
_VERSION = re.compile(r"chronozarr \d+\.\d+\.\d+.*")


@dataclass(frozen=True)
class RootFacts:
    """What the root says; None where it says nothing that can be used (and that is reported).

    Attributes
    ----------
    block : mapping
        ``chronozarr`` as it is.
    old : bool
        A v0.1 store: strings for bands, no mirrors of levels and band names.
    variable : str or None
    n_times : int or None
        Number of entries of `times`.
    times : tuple of int or None
        Milliseconds, when each entry can be read.
    bands, band_names : tuple of str or None
    nodata : tuple or None
        ``(number,)`` or ``(None,)``.
    datasets, mirror : list or None
        Objects of `multiscales` and of `levels`.
    """

    block: Mapping[str, Any]
    old: bool
    variable: str | None
    n_times: int | None
    times: tuple[int, ...] | None
    bands: tuple[str, ...] | None
    band_names: tuple[str, ...] | None
    nodata: tuple[int | float | None] | None
    datasets: list[Mapping[str, Any]] | None
    mirror: list[Mapping[str, Any]] | None


def read_blocks(root: Document, out: Findings) -> RootFacts | None:
    """The root's facts, its faults reported; None where nothing else can be checked."""
    attributes = as_mapping(root.get("attributes"))
    block = attributes.get("chronozarr")
    if not isinstance(block, Mapping):
        out.error("3.1", BLOCK, "the root has no block 'chronozarr': this is no chronozarr store", "an object", block)
        return None
    version = block.get("spec_version")
    if not isinstance(version, str) or not READABLE.fullmatch(version):
        message = "the version is none that this checker knows, so nothing else is checked"
        out.error("3.2", f"{BLOCK}.spec_version", message, "0.1.x or 0.2.x", version)
        return None
    old = version.startswith("0.1.")
    for name in attributes.keys() - set(BLOCKS):
        out.warn(
            "3.1",
            f"zarr.json: attributes.{name}",
            "the root carries exactly two blocks; move it elsewhere",
            BLOCKS,
            name,
        )
    n_times, times = _read_times(block.get("times"), out)
    facts = RootFacts(
        block=block,
        old=old,
        variable=_read_variable(block.get("variable", DEFAULT_VARIABLE), out),
        n_times=n_times,
        times=times,
        bands=_read_bands(block.get("bands"), old, out),
        band_names=_read_band_names(block, old, out),
        nodata=_read_nodata(block, old, out),
        datasets=_read_multiscales(attributes, old, out),
        mirror=_read_mirror(block, old, out),
    )
    _check_crs(block.get("crs"), out)
    _check_names(block, old, out)
    _check_provenance(block.get("provenance"), out)
    return facts


def _read_variable(name: Any, out: Findings) -> str | None:
    try:
        if isinstance(name, str):
            return check_variable(name)
    except InputError:
        pass
    out.error("3.2", f"{BLOCK}.variable", "name the data array of each level group", "the name of an array", name)
    return None


def _read_times(value: Any, out: Findings) -> tuple[int | None, tuple[int, ...] | None]:
    where = f"{BLOCK}.times"
    if not isinstance(value, list) or not value:
        out.error("3.2", where, "list one ISO-8601 text per timestep", "a list of texts", value)
        return None, None
    times = []
    for i, text in enumerate(value):
        try:
            times.append(parse_time(text))
        except StoreError:
            message = "write the timestep in ISO-8601, in UTC"
            out.error("3.2", f"{where}[{i}]", message, "YYYY-MM-DDTHH:MM:SSZ", text)
            return len(value), None
    return len(value), tuple(times)


def _read_bands(value: Any, old: bool, out: Findings) -> tuple[str, ...] | None:
    """3.6; a v0.1 store has plain texts."""
    where = f"{BLOCK}.bands"
    if not isinstance(value, list) or not value:
        out.error("3.2", where, "list one band object per band", "a list of objects", value)
        return None
    names: list[Any] = []
    for i, band in enumerate(value):
        if old and is_text(band):
            names.append(band)
            continue
        if not isinstance(band, Mapping) or not is_text(band.get("name")):
            out.error("3.6", f"{where}[{i}]", "a band is an object with a name", "{name: ...}", band)
            names.append(None)
            continue
        names.append(band["name"])
        _check_band(band, f"{where}[{i}]", out)
    for i, name in enumerate(names):
        if name is not None and name in names[:i]:
            out.error("3.6", f"{where}[{i}].name", "band names are unique in a store; rename one", "another name", name)
            return None
    return None if None in names else tuple(names)


def _check_band(band: Mapping[str, Any], where: str, out: Findings) -> None:
    for name in ("common_name", "units"):
        if name in band and not isinstance(band[name], str):
            out.error("3.6", f"{where}.{name}", "give a text, or leave it out", "a text", band[name])
    for name in ("scale", "offset"):
        if name in band and not is_number(band[name]):
            out.error("3.6", f"{where}.{name}", "give a finite number, or leave it out", "a number", band[name])


def _read_band_names(block: Mapping[str, Any], old: bool, out: Findings) -> tuple[str, ...] | None:
    value = block.get("band_names")
    if value is None and old and "band_names" not in block:
        return None
    if not isinstance(value, list) or not value or not all(isinstance(n, str) for n in value):
        message = "writers must mirror the names of the bands here"
        out.error("3.2", f"{BLOCK}.band_names", message, "a list of texts", value)
        return None
    return tuple(value)


def _read_nodata(block: Mapping[str, Any], old: bool, out: Findings) -> tuple[int | float | None] | None:
    if "nodata" not in block and old:
        return (0,)
    value = block.get("nodata", "nothing")
    if value is not None and not is_number(value):
        out.error("2.3", f"{BLOCK}.nodata", "name one finite number, or null for none", "a number or null", value)
        return None
    return (value,)


def _read_multiscales(attributes: Mapping[str, Any], old: bool, out: Findings) -> list[Mapping[str, Any]] | None:
    value = attributes.get("multiscales")
    if not isinstance(value, list) or len(value) != 1 or not isinstance(value[0], Mapping):
        out.error("3.1", MULTISCALES, "multiscales is a list of exactly one object", "[{...}]", value)
        return None
    entry = value[0]
    if not old:
        _check_method(entry, out)
    datasets = entry.get("datasets")
    where = f"{MULTISCALES}[0].datasets"
    if not isinstance(datasets, list) or not datasets or not all(isinstance(d, Mapping) for d in datasets):
        out.error("3.4", where, "list one object with path and crs per level", "a list of objects", datasets)
        return None
    return datasets


def _check_method(entry: Mapping[str, Any], out: Findings) -> None:
    """3.4: type, and metadata.{method, version, args} as ndpyramid has them."""
    where = f"{MULTISCALES}[0]"
    if not is_text(entry.get("type")):
        out.error("3.4", f"{where}.type", "ndpyramid's schema names the type", "reduce", entry.get("type"))
    if "method" in entry:
        out.error("3.4", f"{where}.method", "method sits under metadata, not beside it", None, entry["method"])
    metadata = entry.get("metadata")
    if not isinstance(metadata, Mapping):
        out.error("3.4", f"{where}.metadata", "ndpyramid's schema has it", METHOD, metadata)
        return
    checks: tuple[tuple[str, Callable[[Any], bool]], ...] = (
        ("method", is_text),
        ("version", lambda v: isinstance(v, str) and bool(_VERSION.fullmatch(v))),
        ("args", lambda v: isinstance(v, list)),
    )
    for name, holds in checks:
        if not holds(metadata.get(name)):
            out.error("3.4", f"{where}.metadata.{name}", "ndpyramid's schema has it", METHOD[name], metadata.get(name))


def _read_mirror(block: Mapping[str, Any], old: bool, out: Findings) -> list[Mapping[str, Any]] | None:
    value = block.get("levels")
    if value is None and old and "levels" not in block:
        return None
    if not isinstance(value, list) or not value or not all(isinstance(e, Mapping) for e in value):
        message = "writers must mirror each level's path, resolution, transform, shape and grid here"
        out.error("3.7", f"{BLOCK}.levels", message, "a list of objects", value)
        return None
    return value


def is_epsg(crs: Any) -> bool:
    """Whether `crs` reads ``EPSG:<code>``."""
    try:
        check_crs(crs)
    except InputError:
        return False
    return True


def _check_crs(crs: Any, out: Findings) -> None:
    where = f"{BLOCK}.crs"
    if not is_epsg(crs):
        out.error("3.2", where, "name the CRS by its EPSG code", "EPSG:<code>", crs)
        return
    if crs in WEB_MERCATOR:
        out.warn(
            "3.2",
            where,
            "Web Mercator should not be used: its pixels differ in size; use the area's UTM zone",
            None,
            crs,
        )


def _check_names(block: Mapping[str, Any], old: bool, out: Findings) -> None:
    for name, value in (("volatility_path", VOLATILITY),):
        if block.get(name) != value and not (old and name not in block):
            out.error("3.2", f"{BLOCK}.{name}", "the array has this name in every store", value, block.get(name))
    for name, section in ((MASK, "2.4"), (COVERAGE, "2.5")):
        key = f"{name}_variable"
        if key in block and block[key] != name:
            out.error(section, f"{BLOCK}.{key}", f"it is '{name}', or absent in a store without", name, block[key])


def _check_provenance(value: Any, out: Findings) -> None:
    where = f"{BLOCK}.provenance"
    if value is None:
        return
    if not isinstance(value, Mapping):
        out.error("3.8", where, "provenance is an object, or absent", "an object", value)
        return
    sources = value.get("sources")
    if not isinstance(sources, list) or not all(isinstance(s, str) for s in sources):
        out.error("3.8", f"{where}.sources", "list collection ids or URLs", "a list of texts", sources)
    if not is_text(value.get("composite")):
        out.error("3.8", f"{where}.composite", "say how the values were made", "monthly median", value.get("composite"))
    if value.get("gap_fill") not in GAP_FILLS:
        out.error("3.8", f"{where}.gap_fill", "say how gaps were filled", GAP_FILLS, value.get("gap_fill"))
    if "notes" in value and not isinstance(value["notes"], str):
        out.error("3.8", f"{where}.notes", "give a text, or leave it out", "a text", value["notes"])

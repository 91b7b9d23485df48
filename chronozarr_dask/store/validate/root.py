"""Sections 3.1 and 3.2: the fields of the root's two blocks, each by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chronozarr_dask.errors import InputError, StoreError
from chronozarr_dask.format.attributes import READABLE
from chronozarr_dask.format.georef import check_crs
from chronozarr_dask.format.layout import COVERAGE, DEFAULT_VARIABLE, MASK, VOLATILITY, check_variable
from chronozarr_dask.format.times import parse_time
from chronozarr_dask.store.validate.bands import check_provenance, read_band_names, read_bands
from chronozarr_dask.store.validate.documents import BLOCK, Document
from chronozarr_dask.store.validate.multiscales import read_mirror, read_multiscales
from chronozarr_dask.store.validate.problem import Findings
from chronozarr_dask.store.validate.values import as_mapping, is_key, is_number

BLOCKS = ("multiscales", "chronozarr")
WEB_MERCATOR = ("EPSG:3857", "EPSG:3785", "EPSG:900913", "EPSG:102100")


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
    for name in sorted(attributes.keys() - set(BLOCKS)):
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
        bands=read_bands(block.get("bands"), old, out),
        band_names=read_band_names(block, old, out),
        nodata=_read_nodata(block, old, out),
        datasets=read_multiscales(attributes, old, out),
        mirror=read_mirror(block, old, out),
    )
    _check_crs(block.get("crs"), out)
    _check_names(block, old, out)
    if "provenance" in block:
        check_provenance(block["provenance"], out)
    return facts


def _read_variable(name: Any, out: Findings) -> str | None:
    try:
        if is_key(name):
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


def _read_nodata(block: Mapping[str, Any], old: bool, out: Findings) -> tuple[int | float | None] | None:
    if "nodata" not in block and old:
        return (0,)
    value = block.get("nodata", "nothing")
    if value is not None and not is_number(value):
        out.error("2.3", f"{BLOCK}.nodata", "name one finite number, or null for none", "a number or null", value)
        return None
    return (value,)


def is_epsg(crs: Any) -> bool:
    """Whether `crs` reads ``EPSG:<code>``."""
    try:
        check_crs(crs)
    except InputError:
        return False
    return True


def _check_crs(crs: Any, out: Findings) -> None:
    """3.2: an EPSG code, which SHOULD be of a projected CRS of the area."""
    where = f"{BLOCK}.crs"
    if not is_epsg(crs):
        out.error("3.2", where, "name the CRS by its EPSG code", "EPSG:<code>", crs)
        return
    advice = "a projected CRS of the area should be used, its UTM zone for example"
    if crs in WEB_MERCATOR:
        out.warn("3.2", where, f"Web Mercator's pixels differ in size; {advice}", "another crs", crs)
        return
    import pyproj  # here, since its database takes longer to open than all else that is imported

    try:
        known = pyproj.CRS.from_user_input(crs)
    except pyproj.exceptions.CRSError:
        out.warn("3.2", where, "PROJ does not know this code; check it", "a known code", crs)
        return
    if known.is_geographic:
        out.warn("3.2", where, f"degrees are no lengths; {advice}", "another crs", crs)


def _check_names(block: Mapping[str, Any], old: bool, out: Findings) -> None:
    for name, value in (("volatility_path", VOLATILITY),):
        if block.get(name) != value and not (old and name not in block):
            out.error("3.2", f"{BLOCK}.{name}", "the array has this name in every store", value, block.get(name))
    for name, section in ((MASK, "2.4"), (COVERAGE, "2.5")):
        key = f"{name}_variable"
        if key in block and block[key] != name:
            out.error(section, f"{BLOCK}.{key}", f"it is '{name}', or absent in a store without", name, block[key])

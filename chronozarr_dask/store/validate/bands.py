"""Sections 3.2, 3.6 and 3.8: band objects, their names, and where the pixels come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chronozarr_dask.format.provenance import GAP_FILLS
from chronozarr_dask.store.validate.documents import BLOCK
from chronozarr_dask.store.validate.problem import Findings
from chronozarr_dask.store.validate.values import is_number, is_text


def read_bands(value: Any, old: bool, out: Findings) -> tuple[str, ...] | None:
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


def read_band_names(block: Mapping[str, Any], old: bool, out: Findings) -> tuple[str, ...] | None:
    """3.2: the mirror of the names; None where it is absent (v0.1) or no list of texts."""
    value = block.get("band_names")
    if value is None and old and "band_names" not in block:
        return None
    if not isinstance(value, list) or not value or not all(isinstance(n, str) for n in value):
        message = "writers must mirror the names of the bands here"
        out.error("3.2", f"{BLOCK}.band_names", message, "a list of texts", value)
        return None
    return tuple(value)


def check_provenance(value: Any, out: Findings) -> None:
    """3.8: sources, composite and gap_fill are required."""
    where = f"{BLOCK}.provenance"
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

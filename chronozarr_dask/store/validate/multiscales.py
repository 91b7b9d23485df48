"""Sections 3.1, 3.4 and 3.7: the two lists of levels in the root, `multiscales` and ``levels``, by themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from chronozarr_dask.format.attributes import METHOD
from chronozarr_dask.store.validate.documents import BLOCK, MULTISCALES
from chronozarr_dask.store.validate.problem import Findings
from chronozarr_dask.store.validate.values import is_text

_VERSION = re.compile(r"chronozarr \d+\.\d+\.\d+.*")


def read_multiscales(attributes: Mapping[str, Any], old: bool, out: Findings) -> list[Mapping[str, Any]] | None:
    """3.1, 3.4: the datasets of the one entry; None where there are none."""
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


def read_mirror(block: Mapping[str, Any], old: bool, out: Findings) -> list[Mapping[str, Any]] | None:
    """3.7: the entries of the mirror; None where it is absent (v0.1) or no list of objects."""
    value = block.get("levels")
    if value is None and old and "levels" not in block:
        return None
    if not isinstance(value, list) or not value or not all(isinstance(e, Mapping) for e in value):
        message = "writers must mirror each level's path, resolution, transform, shape and grid here"
        out.error("3.7", f"{BLOCK}.levels", message, "a list of objects", value)
        return None
    return value

"""Section 10, rules 1 and 2: what is read before any pixel.

One GET of the root document where it has consolidated metadata and the mirrors; what they lack is read from the
documents of the levels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from chronozarr_dask.errors import InputError, NotCompleteError, StoreError
from chronozarr_dask.format.arrays import ArrayMeta, check_data_document
from chronozarr_dask.format.attributes import LevelMirror, Root
from chronozarr_dask.format.dtypes import check_nodata, profile
from chronozarr_dask.format.layout import ROOT_DOCUMENT, ceil_div
from chronozarr_dask.format.planes import PLANE_DTYPE
from chronozarr_dask.store.answers import HTML_ANSWER, looks_like_html
from chronozarr_dask.store.parsing import parse_json
from chronozarr_dask.store.target import Objects

_DOCUMENTS_AT_ONCE = 8


@dataclass(frozen=True)
class Opened:
    """A store's metadata.

    Attributes
    ----------
    root : Root
    attributes : mapping
        The root attributes as they are stored.
    levels : tuple of LevelMirror
    arrays : mapping of str to ArrayMeta
        Path (``0/data``, ``0/mask``, ...) to what the array's document says.
    """

    root: Root
    attributes: Mapping[str, Any]
    levels: tuple[LevelMirror, ...]
    arrays: Mapping[str, ArrayMeta]


def parse_document(blob: bytes, where: str) -> Any:
    """JSON out of bytes; StoreError where it is none, or has a number that no float64 or int64 holds."""
    if looks_like_html(blob):
        raise StoreError(f"{where}: {HTML_ANSWER}")
    try:
        return parse_json(blob, parse_float=_finite, parse_int=_bounded)
    except ValueError as error:
        raise StoreError(f"{where}: not a JSON document: {error}") from error


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text} is out of range")
    return value


def _bounded(text: str) -> int:
    if len(text) > 20:
        raise ValueError(f"the number {text[:20]}... is out of range")
    return int(text)


def open_documents(objects: Objects, unfinished: Callable[[], str | None] = lambda: None) -> Opened:
    """Read and check the metadata of a store.

    Parameters
    ----------
    objects : Objects
        The store's.
    unfinished : callable, optional
        URL of the journal of an unfinished run, None where there is none: asked only when there is no root document.

    Raises
    ------
    NotCompleteError
        If there is no root document, and a journal.
    StoreError
        If there is no store, it has another version or encoding, or a document is malformed.
    """
    blob = objects.get(ROOT_DOCUMENT)
    if blob is None:
        raise _absent(objects, unfinished())
    where = f"{objects.url}/{ROOT_DOCUMENT}"
    document = parse_document(blob, where)
    try:
        root = Root.from_document(document)
    except StoreError as error:
        raise StoreError(f"{where}: {error}") from error
    known = _consolidated(document, where)
    wanted = [f"{k}/{name}" for k in root.level_paths for name in (root.variable, *root.planes)]
    if root.levels is None:
        wanted += root.level_paths
    documents = _fetch(objects, wanted, known)
    paths = [p for p in wanted if p not in root.level_paths]
    arrays = {p: check_data_document(documents[p], _where(objects, p)) for p in paths}
    levels = root.levels
    if levels is None:
        levels = tuple(_level(documents[k], arrays[f"{k}/{root.variable}"], objects, k) for k in root.level_paths)
    _check(root, levels, arrays, objects)
    return Opened(root, document["attributes"], levels, arrays)


def _absent(objects: Objects, journal: str | None) -> StoreError:
    if journal is not None:
        return NotCompleteError(
            f"{objects.url} is not complete: its run ({journal}) has not been committed, and there is no root "
            f"document yet; go on with `chronozarr-dask resume {objects.url}`, or, where it was begun from Python, "
            f"with the same call and resume=True"
        )
    return StoreError(
        f"{objects.url}: there is no store: no object {ROOT_DOCUMENT} is there; check the path or URL, and the rights "
        f"to it"
    )


def _where(objects: Objects, path: str) -> str:
    return f"{objects.url}/{path}/{ROOT_DOCUMENT}"


def _consolidated(document: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    block = document.get("consolidated_metadata")
    if block is None:
        return {}
    documents = block.get("metadata") if isinstance(block, Mapping) else None
    if not isinstance(documents, Mapping):
        raise StoreError(f"{where}: consolidated_metadata has no object 'metadata' (3.1)")
    return documents


def _fetch(objects: Objects, paths: list[str], known: Mapping[str, Any]) -> dict[str, Any]:
    """Documents by path: the consolidated ones, the others read a few at a time."""

    def one(path: str) -> Any:
        blob = objects.get(f"{path}/{ROOT_DOCUMENT}")
        if blob is None:
            raise StoreError(
                f"{_where(objects, path)}: the document is missing, and is not in the consolidated metadata (2)"
            )
        return parse_document(blob, _where(objects, path))

    missing = [p for p in paths if p not in known]
    out = {p: known[p] for p in paths if p in known}
    if missing:
        with ThreadPoolExecutor(_DOCUMENTS_AT_ONCE) as pool:
            out |= dict(zip(missing, pool.map(one, missing), strict=True))
    return out


def _level(group: Any, data: ArrayMeta, objects: Objects, path: str) -> LevelMirror:
    """The mirror's entry out of the level group and its data array (3.3), for a store without the mirror."""
    attributes = group.get("attributes") if isinstance(group, Mapping) else None
    if not isinstance(attributes, Mapping):
        raise StoreError(f"{_where(objects, path)}: the level group has no attributes (3.3)")
    cs = data.chunk[-1]
    entry = {
        "path": path,
        "resolution": attributes.get("resolution"),
        "transform": attributes.get("transform"),
        "shape": list(data.shape),
        "grid": [ceil_div(n, cs) for n in data.shape[-2:]],
    }
    try:
        return LevelMirror.from_json(entry)
    except StoreError as error:
        raise StoreError(f"{_where(objects, path)}: {error}") from error


def _check(root: Root, levels: tuple[LevelMirror, ...], arrays: Mapping[str, ArrayMeta], objects: Objects) -> None:
    """Raise StoreError where two documents disagree on what every read rests on."""
    where = f"{objects.url}/{ROOT_DOCUMENT}"
    paths = tuple(entry.path for entry in levels)
    if paths != root.level_paths:
        raise StoreError(f"{where}: chronozarr.levels are {paths}, multiscales has {root.level_paths} (3.7)")
    dtype = arrays[f"{paths[0]}/{root.variable}"].dtype
    if root.temporal.encoding == "star-delta" and not profile(dtype).star_delta:
        raise StoreError(f"{where}: chronozarr.temporal.encoding is star-delta, the data are {dtype} (4.1)")
    try:
        check_nodata(root.nodata, dtype)
    except InputError as error:
        raise StoreError(f"{where}: chronozarr.{error}") from error
    for entry in levels:
        data = (len(root.times), len(root.bands), *entry.shape[2:])
        a, b, _, d, e, _ = entry.transform
        if b or d or a <= 0 or e >= 0:
            raise StoreError(f"{where}: transform of level {entry.path} is not north-up: {entry.transform} (3.3)")
        _check_array(arrays, f"{entry.path}/{root.variable}", data, dtype, objects)
        for plane in root.planes:
            _check_array(arrays, f"{entry.path}/{plane}", (data[0], *data[2:]), PLANE_DTYPE.name, objects)
        cs = arrays[f"{entry.path}/{root.variable}"].chunk[-1]
        expected = (*data, *(ceil_div(n, cs) for n in data[2:]))
        if root.levels is not None and (*entry.shape, *entry.grid) != expected:
            raise StoreError(
                f"{where}: chronozarr.levels[{entry.path}] has shape {entry.shape} and grid {entry.grid}, the times, "
                f"bands and chunks make {expected[:4]} and {expected[4:]} (3.7)"
            )


def _check_array(
    arrays: Mapping[str, ArrayMeta], path: str, shape: tuple[int, ...], dtype: str, objects: Objects
) -> None:
    """An array may be longer in time than the root document says: an append stores the root last (14)."""
    meta = arrays[path]
    same = len(meta.shape) == len(shape) and meta.shape[1:] == shape[1:] and meta.dtype == dtype
    if not same or meta.shape[0] < shape[0]:
        raise StoreError(
            f"{_where(objects, path)}: shape {meta.shape} of {meta.dtype}, where the root document has {shape} of "
            f"{dtype} (2.1, 2.4, 3.7)"
        )

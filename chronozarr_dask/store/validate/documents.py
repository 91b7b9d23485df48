"""Sections 2 and 3.1: every ``zarr.json`` of a store, and the consolidated metadata beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from typing import Any

from chronozarr_dask.format.arrays import ZARR_FORMAT
from chronozarr_dask.format.layout import ROOT_DOCUMENT
from chronozarr_dask.store.parsing import parse_json
from chronozarr_dask.store.target import Objects
from chronozarr_dask.store.validate.problem import Findings, short
from chronozarr_dask.store.validate.values import as_mapping, is_key, same_json

BLOCK = f"{ROOT_DOCUMENT}: chronozarr"
MULTISCALES = f"{ROOT_DOCUMENT}: multiscales"
Document = Mapping[str, Any]


class Documents:
    """The documents of nodes, by path (``0``, ``0/data``). Each is read once.

    Attributes
    ----------
    found : dict
        Path to document, for those that are JSON objects.
    broken : set
        Paths whose document is reported as no JSON object.
    """

    def __init__(self, objects: Objects, pool: Executor, out: Findings) -> None:
        self.found: dict[str, Document] = {}
        self.broken: set[str] = set()
        self._asked: set[str] = set()
        self._objects, self._pool, self._out = objects, pool, out

    def read(self, paths: Iterable[str]) -> None:
        """Read the documents of these nodes, those that are there."""
        new = [p for p in dict.fromkeys(paths) if p not in self._asked]
        self._asked.update(new)
        blobs = self._pool.map(lambda p: self._objects.get(f"{p}/{ROOT_DOCUMENT}"), new)
        for path, blob in zip(new, blobs, strict=True):
            if blob is None:
                continue
            document = parse(blob, f"{path}/{ROOT_DOCUMENT}", self._out)
            if document is None:
                self.broken.add(path)
            else:
                self.found[path] = document

    def absent(self, path: str) -> bool:
        """Whether there is no such document."""
        return path not in self.found and path not in self.broken


def parse(blob: bytes, key: str, out: Findings) -> Document | None:
    """A document, or None after saying that the object is no JSON object."""
    try:
        document = parse_json(blob)
    except ValueError as error:
        out.error("2", key, f"this is not JSON ({error}); write the document again")
        return None
    if not isinstance(document, Mapping):
        out.error("2", key, "this is not a JSON object; write the document again", "an object", type(document).__name__)
        return None
    return document


def check_node(document: Document, key: str, node_type: str, out: Findings) -> None:
    """Section 2: a node of a Zarr v3 hierarchy, of the right type."""
    for name, expected in (("zarr_format", ZARR_FORMAT), ("node_type", node_type)):
        if not same_json(document.get(name), expected):
            out.error(
                "2",
                f"{key}: {name}",
                f"a chronozarr {node_type} is a Zarr v3 {node_type}",
                expected,
                document.get(name),
            )


def read_root(objects: Objects, out: Findings) -> Document | None:
    """The root document, or None after saying why there is none."""
    blob = objects.get(ROOT_DOCUMENT)
    if blob is None:
        out.error("2", ROOT_DOCUMENT, "there is no root document: this is no store, or its run is not finished")
        return None
    root = parse(blob, ROOT_DOCUMENT, out)
    if root is not None:
        check_node(root, ROOT_DOCUMENT, "group", out)
    return root


def check_consolidated(root: Document, documents: Documents, out: Findings) -> None:
    """3.1: the consolidated metadata SHOULD be there, and says what the documents say."""
    key = f"{ROOT_DOCUMENT}: consolidated_metadata"
    value = root.get("consolidated_metadata")
    if value is None:
        out.warn("3.1", key, "there is none, so a reader needs one GET per array; consolidate the metadata")
        return
    entries = as_mapping(value).get("metadata")
    if not isinstance(entries, Mapping) or as_mapping(value).get("kind") != "inline":
        out.error("3.1", key, "it is not of kind 'inline' with an object 'metadata'; consolidate the metadata again")
        return
    for path in [p for p in entries if not is_key(p)]:
        out.error("3.1", f"{key}.metadata[{short(path)}]", "this is no path of a node; consolidate the metadata again")
    entries = {p: e for p, e in entries.items() if is_key(p)}
    documents.read(entries)
    for path in sorted({*documents.found, *entries}):
        where = f"{key}.metadata[{path}]"
        if path in documents.broken:
            continue
        if path not in entries:
            out.error("3.1", where, f"{path}/zarr.json exists and is not listed; consolidate the metadata again")
        elif path not in documents.found:
            out.error("3.1", where, f"{path}/zarr.json is listed and does not exist; consolidate the metadata again")
        elif not same_json(_essence(entries[path]), _essence(documents.found[path])):
            field = _first_difference(_essence(entries[path]), _essence(documents.found[path]))
            out.error("3.1", where, f"{field} differs from {path}/zarr.json; consolidate the metadata again")


def _essence(document: Any) -> Any:
    """A document without what zarr-python adds to a group in consolidated metadata, and with the defaults filled in."""
    if not isinstance(document, Mapping):
        return document
    return {"attributes": {}, "storage_transformers": []} | {
        k: v for k, v in document.items() if k != "consolidated_metadata"
    }


def _first_difference(a: Any, b: Any) -> str:
    if not isinstance(a, Mapping) or not isinstance(b, Mapping):
        return "the entry"
    return next(str(k) for k in sorted({*a, *b}) if k not in a or k not in b or not same_json(a[k], b[k]))

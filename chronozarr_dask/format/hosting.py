"""Sections 9 and 14: the order in which a store's objects are uploaded, the root document last.

Whoever reads the root document takes it as the sign that the store exists. Nothing is ever listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from chronozarr_dask.format.layout import ROOT_DOCUMENT, VOLATILITY


def is_metadata(key: str) -> bool:
    """Whether a key is a ``zarr.json`` of any depth."""
    return key == ROOT_DOCUMENT or key.endswith("/" + ROOT_DOCUMENT)


def upload_rank(key: str) -> int:
    """Place in the order: 0 chunks and shards, 1 time and volatility, 2 documents below the root, 3 the root document.

    Section 9 has time and volatility among the chunks; an append uploads them after the shards (14).
    """
    if is_metadata(key):
        return 3 if key == ROOT_DOCUMENT else 2
    parts = key.split("/")
    return 1 if parts[0] == VOLATILITY or parts[1:2] == ["time"] else 0


def upload_order(keys: Iterable[str]) -> list[str]:
    """`keys` in upload order; within a rank as they come."""
    return sorted(keys, key=upload_rank)


def consolidated(documents: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The ``consolidated_metadata`` of the root document (3.1).

    Parameters
    ----------
    documents : mapping
        Path of each node below the root (``0``, ``0/data``, ...) to its document.
    """
    return {"kind": "inline", "must_understand": False, "metadata": {k: dict(documents[k]) for k in sorted(documents)}}

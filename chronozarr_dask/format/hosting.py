"""Section 9: the order in which a store's objects are uploaded, the root document last.

Whoever reads the root document takes it as the sign that the store exists. Nothing is ever listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from chronozarr_dask.format.layout import ROOT_DOCUMENT


def is_metadata(key: str) -> bool:
    """Whether a key is a ``zarr.json`` of any depth."""
    return key == ROOT_DOCUMENT or key.endswith("/" + ROOT_DOCUMENT)


def upload_rank(key: str) -> int:
    """0 for chunk and shard objects, 1 for documents below the root, 2 for the root document."""
    return 2 if key == ROOT_DOCUMENT else 1 if is_metadata(key) else 0


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

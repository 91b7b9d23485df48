"""Every MUST of sections 2 to 8 that documents, coordinates and shard indexes can show; pixels are not read.

One thing is written in several places of a store. They vote on what it is (`model`), and each place that differs is
one problem, in the section that the place belongs to. So one fault is one problem, and a problem names the place to
mend::

    documents.py    every zarr.json, consolidated metadata         2 3.1
    root.py         the two blocks of the root, field by field     3.1 3.2
    bands.py        band objects, provenance                       3.6 3.8
    multiscales.py  the two lists of levels                        3.4 3.7
    facts.py        each array's document by itself                2.1 to 2.5, 5
    codecs.py       its codecs                                     7.1 7.2 8
    hierarchy.py    which groups and arrays there are              2 2.4 2.5 3.2 3.4 5 6
    model.py        the vote
    arrays.py       arrays against the vote                        2.1 to 2.5, 5, 6, 7.1, 8
    mirrors.py      levels and mirrors against the vote            3.2 3.3 3.4 3.7
    temporal.py     the temporal block                             4
    coordinates.py  values of coordinates and volatility           2.2 3.5 5
    chunks.py       their chunks decoded
    shards.py       shard_bytes and shard indexes                  7.2 7.3
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from chronozarr_dask.store.target import Objects, open_target
from chronozarr_dask.store.validate import (
    arrays,
    coordinates,
    documents,
    hierarchy,
    mirrors,
    model,
    root,
    shards,
    temporal,
)
from chronozarr_dask.store.validate.problem import Findings, Problem, Severity

__all__ = ["Problem", "Severity", "validate", "validate_objects"]

THREADS = 16


def validate(url: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None) -> list[Problem]:
    """Check a store of v0.1 or v0.2 against the specification.

    Parameters
    ----------
    url : str or path
        Of the store: a folder, or any fsspec URL.
    storage_options : mapping, optional
        For fsspec.

    Returns
    -------
    list of Problem
        Errors (a MUST is broken) and warnings (a SHOULD is); empty when the store conforms.

    Raises
    ------
    TargetError
        If the place cannot be read at all: no permission, no such bucket.
    """
    return validate_objects(open_target(url, storage_options))


def validate_objects(objects: Objects) -> list[Problem]:
    """As `validate`, for objects that are already open. Keys are derived, nothing is listed."""
    out = Findings()
    document = documents.read_root(objects, out)
    facts = None if document is None else root.read_blocks(document, out)
    if document is None or facts is None:
        return out.problems
    with ThreadPoolExecutor(THREADS) as pool:
        below = documents.Documents(objects, pool, out)
        nodes = hierarchy.read_nodes(facts, below, out)
        documents.check_consolidated(document, below, out)
        agreed = model.build(facts, nodes)
        mirrors.check_counts(facts, agreed, out)
        mirrors.check_datasets(facts, agreed, out)
        mirrors.check_groups(nodes, agreed, out)
        mirrors.check_mirror(facts, nodes, agreed, out)
        mirrors.check_repeats(nodes, agreed, out)
        temporal.check_temporal(facts, agreed, out)
        arrays.check_arrays(facts, nodes, agreed, out)
        coordinates.check_values(objects, facts, nodes, agreed, pool, out)
        shards.check_shards(objects, facts, nodes, agreed, pool, out)
    return out.problems

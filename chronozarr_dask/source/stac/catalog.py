"""Items out of files: an ItemCollection, one item, a list of items, or a catalog whose links are walked.

Works on whatever fsspec reads: a path, a bucket, a web server. The walk goes by `item` and `child` links and meets
every file once, however the links go round.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import fsspec

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.access import options_for
from chronozarr_dask.source.stac.hrefs import redacted, resolve, unsigned

_WALKED = ("item", "child")


def read_items(source: str, storage_options: Mapping[str, Any] | None = None) -> Iterator[tuple[dict[str, Any], str]]:
    """Every item and the file that holds it.

    Parameters
    ----------
    source : str
        Path or URL of a JSON file.
    storage_options : mapping, optional
        For fsspec.

    Raises
    ------
    InputError
        If a file cannot be read, or is none of these.
    """
    # Workers may stand in another folder: hrefs of the items must be absolute.
    source = source if "://" in source or source.startswith("file:") else os.path.abspath(source)
    waiting, seen = deque([(source, "the source")]), {unsigned(source)}
    while waiting:
        path, named_by = waiting.popleft()
        document = _read(path, named_by, storage_options or {})
        kind = document.get("type") if isinstance(document, Mapping) else None
        if isinstance(document, list) or kind == "FeatureCollection":
            features = document if isinstance(document, list) else document.get("features") or []
            yield from ((feature, path) for feature in features)
        elif kind == "Feature":
            yield document, path
        elif isinstance(document, Mapping) and ("links" in document or kind in ("Catalog", "Collection")):
            for link in document.get("links") or []:
                href = resolve(str(link.get("href", "")), path)
                if link.get("rel") in _WALKED and unsigned(href) not in seen:
                    seen.add(unsigned(href))
                    waiting.append((href, f"a link of {path}"))
        else:
            raise InputError(f"{redacted(path)} is JSON, and no STAC ItemCollection, item, list of items or catalog")


def _read(path: str, named_by: str, storage_options: Mapping[str, Any]) -> Any:
    try:
        with fsspec.open(path, "rb", **options_for(path, storage_options)) as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        reason = redacted(str(error))
    raise InputError(f"the STAC file {redacted(path)} (named by {named_by}) cannot be read: {reason}")

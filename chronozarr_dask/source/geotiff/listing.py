"""Files named by a glob or one by one, with the moment, and the band where a moment has several files, in each name."""

from __future__ import annotations

import glob
import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import PurePosixPath
from typing import Any

import fsspec

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.dates import date_in
from chronozarr_dask.source.manifest import Entry
from chronozarr_dask.source.remote import told_of

SUFFIXES = (".tif", ".tiff")
_EPOCH = datetime(1970, 1, 1)


def is_geotiff_name(path: str) -> bool:
    """Whether a path, or a URL before its query, is named as a TIFF."""
    return (path.split("?")[0] if "://" in path else path).lower().endswith(SUFFIXES)


def is_glob(source: str) -> bool:
    """Whether a text is a pattern of names: one with ``*``, or of a local path with ``?`` or ``[`` that is no file."""
    if "://" in source and not source.startswith("file://"):
        return "*" in source
    return glob.has_magic(source) and not os.path.lexists(source)


def list_files(pattern: str, storage_options: Mapping[str, Any]) -> list[str]:
    """Files that a glob finds, sorted; InputError if there are none. ``**`` goes into folders."""
    local = "://" not in pattern or pattern.startswith("file://")
    if local and storage_options:
        raise InputError(f"storage_options are for remote URLs; {pattern} is a path on this machine")
    if local:
        found = glob.glob(os.path.expanduser(pattern.removeprefix("file://")), recursive=True)
        found = [path for path in found if os.path.isfile(path)]
    else:
        found = _remote(pattern, dict(storage_options))
    if not found:
        raise InputError(f"no file is named like {pattern}: check the folder, and quote the pattern for the shell")
    return sorted(found)


def _remote(pattern: str, options: dict[str, Any]) -> list[str]:
    with told_of(f"the files of {pattern} cannot be listed"):
        fs, path = fsspec.core.url_to_fs(pattern, **options)
        return [str(fs.unstrip_protocol(p)) for p in fs.glob(path)]


def entries_by_name(paths: Sequence[str], date_format: str | None) -> list[Entry]:
    """Each file with the moment in its name, in order of time; files of one moment with what tells them apart.

    Raises
    ------
    InputError
        If a name has no date or several, or names of one moment do not differ by a part of them.
    """
    moments: dict[int, list[Entry]] = defaultdict(list)
    for path in paths:
        ms = (date_in(path, date_format).moment - _EPOCH) // timedelta(milliseconds=1)
        moments[ms].append(Entry(path, ms))
    return [entry for ms in sorted(moments) for entry in _labelled(moments[ms])]


def _labelled(entries: list[Entry]) -> list[Entry]:
    """The names' parts between ``_``, ``-`` and ``.`` that are not at the beginning or the end of all of them."""
    if len(entries) == 1:
        return entries
    parts = [re.split(r"[_\-.\s]+", PurePosixPath(e.uri.split("?")[0]).stem) for e in entries]
    shortest = min(map(len, parts))
    head = next((i for i in range(shortest) if len({p[i] for p in parts}) > 1), shortest)
    tail = next((i for i in range(shortest - head) if len({p[-1 - i] for p in parts}) > 1), shortest - head)
    labels = ["_".join(p[head : len(p) - tail]) for p in parts]
    for i, label in enumerate(labels):
        if not label or label in labels[:i]:
            other = entries[labels.index(label) if label in labels[:i] else i - 1]
            raise InputError(
                f"{other.uri} and {entries[i].uri} have one moment in their names, and nothing that tells which band "
                f"each is: name them as in ..._B04.tif, or list the files and their bands in a manifest"
            )
    return [replace(e, label=label) for e, label in zip(entries, labels, strict=True)]

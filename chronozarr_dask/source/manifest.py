"""A manifest: which file is which moment, and which bands it has, as rows of a CSV or JSON document.

CSV has a header; JSON is a list of objects. Both have these columns, and may have others, which are not looked at::

    uri,datetime,bands
    2024/a.tif,2024-01-31T10:43:21Z,B04 B08
    https://example.org/b.tif,2024-02-05,

A relative `uri` is relative to the manifest. `bands` (optional) are the names of the file's bands in order: a list in
JSON, or a text with blanks, commas, semicolons or bars between them.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import fsspec
import xarray as xr

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.access import options_for
from chronozarr_dask.source.remote import told_of
from chronozarr_dask.source.times import decode_times

SUFFIXES = (".csv", ".json")


@dataclass(frozen=True)
class Entry:
    """One file.

    Attributes
    ----------
    uri : str
        Path or URL.
    time : int
        Milliseconds since the Unix epoch, UTC.
    bands : tuple of str, or None
        Names of its bands in order, None where the file says them.
    label : str or None
        What tells its name from those of the other files of its moment, where there are any.
    """

    uri: str
    time: int
    bands: tuple[str, ...] | None = None
    label: str | None = None


def is_manifest(source: str) -> bool:
    """Whether a path or URL is named as a manifest."""
    return source.lower().endswith(SUFFIXES)


def read_manifest(source: str, storage_options: Mapping[str, Any] | None = None) -> list[Entry]:
    """The files of a manifest, in its order.

    Parameters
    ----------
    source : str
        A path, or a URL that fsspec knows, of a .csv or .json document in UTF-8.
    storage_options : mapping, optional
        For fsspec, of the manifest and of the files.

    Raises
    ------
    InputError
        With the row, if the manifest is not one.
    """
    text = _text(source, dict(storage_options or {}))
    rows = list(_csv_rows(text, source) if source.lower().endswith(".csv") else _json_rows(text, source))
    if not rows:
        raise InputError(f"{source} has no rows: a manifest lists one file in each, with uri and datetime")
    return [_entry(row, f"{where} of {source}", source) for where, row in rows]


def _text(source: str, options: dict[str, Any]) -> str:
    with told_of(f"the manifest {source} cannot be read"):
        try:
            with fsspec.open(source, "rb", **options_for(source, options)) as file:
                return bytes(file.read()).decode("utf-8-sig")
        except FileNotFoundError as error:
            raise InputError(f"the manifest {source} does not exist") from error


def _csv_rows(text: str, source: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
    reader = csv.DictReader(text.splitlines(), skipinitialspace=True, strict=True)
    try:
        missing = [c for c in ("uri", "datetime") if c not in (reader.fieldnames or ())]
        if missing:
            raise InputError(
                f"{source} has no column {' and no column '.join(missing)}: the first line of a manifest names the "
                f"columns uri, datetime and, if wanted, bands; it is {','.join(reader.fieldnames or ()) or 'empty'}"
            )
        return [(f"line {reader.line_num}", row) for row in reader]
    except csv.Error as error:
        raise InputError(f"line {reader.reader.line_num} of {source} is not CSV: {error}") from error


def _json_rows(text: str, source: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
    try:
        rows = json.loads(text)
    except ValueError as error:
        raise InputError(f"the manifest {source} is not JSON: {error}") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(
            f'the manifest {source} is not a list of objects: write [{{"uri": "a.tif", "datetime": "2024-01-31"}}, ...]'
        )
    return [(f"row {i + 1}", row) for i, row in enumerate(rows)]


def _entry(row: Mapping[str, Any], where: str, source: str) -> Entry:
    said = {key: row.get(key) for key in ("uri", "datetime")}
    for key, value in said.items():
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{where} has {key} {value!r}: give each file a {key}")
    if None in row:
        raise InputError(f"{where} has more values than there are columns: put bands with commas in quotes")
    try:
        (time,) = decode_times(xr.DataArray([str(said["datetime"]).strip()], dims="time"), 1)
    except InputError as error:
        raise InputError(f"{where}: its datetime cannot be taken: {error}") from error
    return Entry(_resolved(str(said["uri"]).strip(), source), time, _bands(row.get("bands"), where))


def _resolved(uri: str, source: str) -> str:
    if "://" in uri or os.path.isabs(uri):
        return uri
    folder = source.rpartition("/")[0] if "://" in source else os.path.dirname(os.path.abspath(source))
    return f"{folder}/{uri.removeprefix('./')}"


def _bands(given: Any, where: str) -> tuple[str, ...] | None:
    if given is None or given == "":
        return None
    names = re.split(r"[\s,;|]+", given.strip()) if isinstance(given, str) else given
    if not isinstance(names, list) or not all(isinstance(n, str) and n for n in names):
        raise InputError(f"{where} has bands {given!r}: give the names of the file's bands, as in 'B04 B08'")
    return tuple(names)

"""NetCDF and GRIB files, Zarr stores and stacks of GeoTIFFs as lazy xarray datasets of the stored numbers.

Nothing is scaled, masked or decoded in time by xarray: that is `as_cube`'s part, from the attributes. What a path is,
is told by its first bytes or its metadata objects, not by its name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import fsspec
import xarray as xr
import zarr
from fsspec import AbstractFileSystem
from fsspec.asyn import AsyncFileSystem

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.access import Access
from chronozarr_dask.source.datasets import open_dataset, open_file
from chronozarr_dask.source.dates import has_date
from chronozarr_dask.source.geotiff.listing import entries_by_name, is_geotiff_name, is_glob, list_files
from chronozarr_dask.source.geotiff.stack import open_geotiffs
from chronozarr_dask.source.manifest import Entry, is_manifest, read_manifest
from chronozarr_dask.source.remote import told_of
from chronozarr_dask.store.secrets import redacted_url, redacted_urls
from chronozarr_dask.store.target import secret_options

ZARR_DOCUMENTS = ("zarr.json", ".zgroup", ".zmetadata", ".zarray")


def open_source(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    variable: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    date_format: str | None = None,
    given: Collection[str] = (),
    travels: bool = False,
) -> xr.Dataset:
    """Open a file, a store or a stack of files, lazily; reads metadata only.

    Parameters
    ----------
    source : str or path, or a list of them
        A NetCDF or GRIB file or a Zarr store (v2 or v3: a folder, a .zip, a URL). GeoTIFFs: a glob or a list of files
        with a date in each name, or a manifest of them (.csv or .json, see `source.manifest`). Paths, or URLs that
        fsspec, and for GeoTIFFs GDAL, knows.
    variable : str, optional
        A variable that must be there.
    storage_options : mapping, optional
        For fsspec; not for a path. Of GeoTIFFs they serve to list and to read the manifest: GDAL has its own ways to
        find credentials, such as AWS_PROFILE.
    date_format : str, optional
        Where the date is in the names of GeoTIFFs, see `source.dates`.
    given : names of options, optional
        Of GeoTIFFs: what the caller of `as_cube` says in place of the files ("crs", "nodata", "bands", "variable").
    travels : bool
        Whether it will be read on a cluster: what takes a secret of this process is refused then.

    Returns
    -------
    Dataset
        Stored numbers, times undecoded, read by window. The variables are in the file's order; in order of their names
        where a Zarr store has no consolidated metadata that gives them one. Of GeoTIFFs: `data`, and `mask` if they
        have one; ``encoding["mask"]`` is its name then.

    Raises
    ------
    InputError
        If it does not exist, is none of these, has no arrays, is a chronozarr store, or the reader is not installed.
    """
    if travels:
        check_may_travel([source] if isinstance(source, (str, os.PathLike)) else source, storage_options or {})
    try:
        return _open_source(source, variable, dict(storage_options or {}), date_format, given, travels=travels)
    except InputError as error:
        told = str(error)
        if redacted_urls(told) == told:
            raise
        kind = type(error)
    raise kind(redacted_urls(told))  # no cause: it quotes what is secret in the URL


def check_may_travel(urls: Iterable[str | os.PathLike[str]], storage_options: Mapping[str, Any]) -> None:
    """Raise InputError where a source could be read on a cluster only by secrets that travel in tasks."""
    secret = [f"storage_options of the source has {name}" for name in secret_options(storage_options)]
    signed = [clean for url in urls if (clean := redacted_url(os.fspath(url))) != os.fspath(url)]
    secret += [f"{url} holds a password, a token or a signature" for url in signed]
    if secret:
        raise InputError(
            f"{secret[0]}: secrets do not travel to the workers; let them find credentials by themselves "
            f"(environment, profile or role) and leave these out, or run without a scheduler"
        )


def _open_source(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    variable: str | None,
    options: dict[str, Any],
    date_format: str | None,
    given: Collection[str],
    *,
    travels: bool,
) -> xr.Dataset:
    paths = [source] if isinstance(source, (str, os.PathLike)) else source
    text = ", ".join(os.fspath(path) for path in paths)
    entries = _geotiffs(source, options, date_format)
    if entries is not None:
        if travels:
            check_may_travel([e.uri for e in entries], {})
        dataset = open_geotiffs(entries, given, Access.of(options))
    elif "://" in text and not text.startswith("file://"):
        dataset = _open_url(text, options)
    elif options:
        raise InputError(f"storage_options are for remote URLs; {text} is a path on this machine")
    else:
        dataset = _open_path(Path(text.removeprefix("file://")).expanduser().absolute())
    if not dataset.data_vars:
        raise InputError(f"{text} has no data variable: it holds {', '.join(map(str, dataset.variables)) or 'nothing'}")
    if variable is not None and variable not in dataset.data_vars:
        names = ", ".join(map(str, dataset.data_vars))
        raise InputError(f"{text} has no variable {variable!r}: it has {names}")
    return dataset


def _geotiffs(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    options: dict[str, Any],
    date_format: str | None,
) -> list[Entry] | None:
    """The files of a stack of GeoTIFFs; None if the source is something else."""
    if not isinstance(source, (str, os.PathLike)):
        return entries_by_name([os.fspath(path) for path in source], date_format)
    text = os.fspath(source)
    if is_manifest(text):
        return read_manifest(text, options)
    if is_glob(text):
        return entries_by_name(list_files(text, options), date_format)
    if is_geotiff_name(text) and (date_format is not None or has_date(text)):
        return entries_by_name([text], date_format)
    if date_format is not None:
        raise InputError(f"--date-format (date_format=) is for GeoTIFFs with a date in their names; {text} is none")
    return None


def _open_path(path: Path) -> xr.Dataset:
    if not path.exists():
        raise InputError(f"{path} does not exist: give a NetCDF file, or a Zarr store (a folder or a .zip)")
    if path.is_dir():
        documents = {name: path / name for name in ZARR_DOCUMENTS}
        present = {name: p.read_bytes() for name, p in documents.items() if p.is_file()}
        above = path.parent / "zarr.json"
        return _open_zarr(str(path), str(path), present, above.read_bytes() if above.is_file() else None)
    with path.open("rb") as file:
        head = file.read(8)
    if head.startswith(b"PK"):
        return _open_zip(path)
    return open_file(str(path), str(path), head)


def _open_url(url: str, options: dict[str, Any]) -> xr.Dataset:
    with told_of(f"{url} cannot be read"):
        try:
            return _open_remote(url, options)
        except FileNotFoundError as error:
            raise InputError(
                f"{url} is neither an object nor a Zarr store: check the URL and storage_options"
            ) from error


def _open_remote(url: str, options: dict[str, Any]) -> xr.Dataset:
    fs, root = fsspec.core.url_to_fs(url, **options)
    root = root.rstrip("/")
    parent = root.rpartition("/")[0]
    above = [f"{parent}/zarr.json"] if parent.strip("/") else []
    paths = [*(f"{root}/{name}" for name in ZARR_DOCUMENTS), *above]
    # Not fs.cat: of several paths it takes one with a bracket for a pattern. And simplecache's own cat_ranges raises
    # where one is absent: all that does not ask at once asks one by one.
    asks = type(fs) if issubclass(type(fs), AsyncFileSystem) else AbstractFileSystem
    answers = asks.cat_ranges(fs, paths, None, None, on_error="return")
    found = {path: a for path, a in zip(paths, answers, strict=True) if not isinstance(a, BaseException)}
    present = {name: found[f"{root}/{name}"] for name in ZARR_DOCUMENTS if f"{root}/{name}" in found}
    if present:
        return _open_zarr(url, url, present, next((found[a] for a in above if a in found), None), options)
    head = fs.cat_file(root, 0, 8)
    return open_file(url, fs.open(root, "rb"), head)


def _open_zip(path: Path) -> xr.Dataset:
    """A zipped store, at the top of the archive or in its one folder."""
    try:
        with ZipFile(path) as archive:
            names = [n for n in archive.namelist() if n.rsplit("/", 1)[-1] in ZARR_DOCUMENTS]
            root = min((n.rpartition("/")[0] for n in names), key=len, default="")
            present = {n.rpartition("/")[2]: archive.read(n) for n in names if n.rpartition("/")[0] == root}
    except BadZipFile as error:
        raise InputError(
            f"{path} begins like a .zip and is none that can be read ({error}): it may be cut short"
        ) from error
    return _open_zarr(str(path), zarr.storage.ZipStore(path, mode="r"), present, None, group=root or None)


def _open_zarr(
    where: str,
    store: Any,
    documents: Mapping[str, bytes],
    above: bytes | None,
    options: dict[str, Any] | None = None,
    group: str | None = None,
) -> xr.Dataset:
    if not documents:
        raise InputError(f"{where} is not a Zarr store: it has none of {', '.join(ZARR_DOCUMENTS)}")
    for document in (documents.get("zarr.json"), above):
        if document is not None and "chronozarr" in _json(document, where).get("attributes", {}):
            raise InputError(
                f"{where} is a chronozarr store already, or a level of one: to encode it anew, give encode() "
                f"chronozarr_dask.open_store(...).to_xarray(level=0)"
            )
    if ".zarray" in documents or _json(documents.get("zarr.json", b"{}"), where).get("node_type") == "array":
        raise InputError(
            f"{where} is a single Zarr array: it has no coordinates; give the group that it belongs to, or build a "
            f"DataArray with time, y and x of it and pass that to encode()"
        )
    more = {"storage_options": options} if options else {}
    # Consolidated metadata spares requests; zarr looks for it at the top of an archive only.
    own = _json(documents.get("zarr.json", b"{}"), where)
    consolidated = group is None and (".zmetadata" in documents or bool(own.get("consolidated_metadata")))
    dataset = open_dataset(where, store, engine="zarr", group=group, consolidated=consolidated, **more)
    if not dataset.variables:
        raise InputError(f"{where} is a Zarr group without arrays: give the group below it that has them")
    # Without consolidated metadata the order is that of a listing, which is another one on every disk.
    return dataset if consolidated else dataset[sorted(dataset.variables, key=str)]


def _json(document: bytes, where: str) -> dict[str, Any]:
    try:
        parsed = json.loads(document)
    except ValueError as error:
        raise InputError(f"{where}: its zarr.json is not JSON ({error})") from error
    return parsed if isinstance(parsed, dict) else {}

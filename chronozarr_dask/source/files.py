"""NetCDF files and Zarr stores as lazy xarray datasets whose numbers are the stored ones.

Nothing is scaled, masked or decoded in time by xarray: that is `as_cube`'s part, from the attributes. What a path is,
is told by its first bytes or its metadata objects, not by its name.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import fsspec
import xarray as xr
import zarr

from chronozarr_dask.errors import InputError

ZARR_DOCUMENTS = ("zarr.json", ".zgroup", ".zmetadata", ".zarray")
_HDF5 = b"\x89HDF\r\n\x1a\n"
_TIFF = (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")
# As stored: mask_and_scale; times stay numbers with units; grid mappings and bounds come along as coordinates.
_AS_STORED: dict[str, Any] = {
    "mask_and_scale": False,
    "decode_times": False,
    "decode_coords": "all",
    "chunks": None,
    "cache": False,
}
# What the engines raise on files and stores that are not what they take them for.
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, RuntimeError)


def open_source(
    source: str | os.PathLike[str], *, variable: str | None = None, storage_options: Mapping[str, Any] | None = None
) -> xr.Dataset:
    """Open a NetCDF file or a Zarr store (v2 or v3: a folder, a .zip, a URL), lazily; reads metadata only.

    Parameters
    ----------
    source : str or path
        A path, or a URL that fsspec knows.
    variable : str, optional
        A variable that must be there.
    storage_options : mapping, optional
        For fsspec; not for a path.

    Returns
    -------
    Dataset
        Stored numbers, times undecoded, read by window. The variables are in the file's order; in order of their names
        where a Zarr store has no consolidated metadata that gives them one.

    Raises
    ------
    InputError
        If it does not exist, is neither, has no arrays, is a chronozarr store, or the reader is not installed.
    """
    text = os.fspath(source)
    if "://" in text and not text.startswith("file://"):
        dataset = _open_url(text, dict(storage_options or {}))
    elif storage_options:
        raise InputError(f"storage_options are for remote URLs; {text} is a path on this machine")
    else:
        dataset = _open_path(Path(text.removeprefix("file://")).expanduser().absolute())
    if not dataset.data_vars:
        raise InputError(f"{text} has no data variable: it holds {', '.join(map(str, dataset.variables)) or 'nothing'}")
    if variable is not None and variable not in dataset.data_vars:
        names = ", ".join(map(str, dataset.data_vars))
        raise InputError(f"{text} has no variable {variable!r}: it has {names}")
    return dataset


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
    return _open_netcdf(str(path), str(path), head)


def _open_url(url: str, options: dict[str, Any]) -> xr.Dataset:
    try:
        fs, root = fsspec.core.url_to_fs(url, **options)
        root = root.rstrip("/")
        parent = root.rpartition("/")[0]
        above = [f"{parent}/zarr.json"] if parent.strip("/") else []
        found = fs.cat([*(f"{root}/{name}" for name in ZARR_DOCUMENTS), *above], on_error="omit")
        present = {name: found[f"{root}/{name}"] for name in ZARR_DOCUMENTS if f"{root}/{name}" in found}
        if present:
            return _open_zarr(url, url, present, next((found[a] for a in above if a in found), None), options)
        head = fs.cat_file(root, 0, 8)
    except FileNotFoundError as error:
        raise InputError(f"{url} is neither an object nor a Zarr store: check the URL and storage_options") from error
    except ImportError as error:
        raise InputError(f"{url}: {error}; install the extra for it, such as chronozarr-dask[s3]") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{url} cannot be read: {type(error).__name__}: {error}") from error
    return _open_netcdf(url, fs.open(root, "rb"), head)


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
    dataset = _opened(where, store, engine="zarr", group=group, consolidated=consolidated, **more)
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


def _engines(head: bytes, remote: bool) -> list[str]:
    """Engines of xarray that can read the file and are installed, the one that the extra ``netcdf`` brings first."""
    hdf5 = ["h5netcdf"] if find_spec("h5netcdf") and (find_spec("h5py") or find_spec("pyfive")) else []
    every = ["netcdf4"] if find_spec("netCDF4") and not remote else []
    if head == _HDF5:
        return hdf5 + every
    return every + (["scipy"] if find_spec("scipy") else [])


def _open_netcdf(where: str, file: Any, head: bytes) -> xr.Dataset:
    if head.startswith(_TIFF):
        raise InputError(
            f"{where} is a TIFF: open it with rioxarray, give it a time with expand_dims and pass the cube to encode()"
        )
    if head != _HDF5 and not head.startswith(b"CDF"):
        raise InputError(f"{where} is neither a NetCDF file nor a Zarr store: it begins with {head!r}")
    engines = _engines(head, remote=not isinstance(file, str))
    if not engines:
        raise InputError(
            f"{where} is a NetCDF file, for which no reader is installed: pip install 'chronozarr-dask[netcdf]', or "
            f"netCDF4 for a local file of an older kind"
        )
    return _opened(where, file, engine=engines[0])


def _opened(where: str, store: Any, **how: Any) -> xr.Dataset:
    with warnings.catch_warnings():
        # Of bounds that are named and missing, of stores without consolidated metadata: nothing that a person must do.
        warnings.simplefilter("ignore")
        try:
            return xr.open_dataset(store, **_AS_STORED, **how)
        except _UNREADABLE as error:
            raise InputError(f"{where} cannot be read as {how['engine']}: {type(error).__name__}: {error}") from error

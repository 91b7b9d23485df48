"""One NetCDF or GRIB file, or one Zarr group, by xarray: lazy, as it is stored; one clear error for all else."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any

import xarray as xr

from chronozarr_dask.errors import InputError

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
_UNREADABLE = (EOFError, OSError, ValueError, KeyError, TypeError, RuntimeError)


def engines_for(head: bytes, remote: bool) -> list[str]:
    """Engines of xarray that can read the file and are installed, the one that the extra ``netcdf`` brings first."""
    hdf5 = ["h5netcdf"] if find_spec("h5netcdf") and (find_spec("h5py") or find_spec("pyfive")) else []
    every = ["netcdf4"] if find_spec("netCDF4") and not remote else []
    if head == _HDF5:
        return hdf5 + every
    return every + (["scipy"] if find_spec("scipy") else [])


def open_file(where: str, file: Any, head: bytes) -> xr.Dataset:
    """A NetCDF or GRIB file, told by its first bytes; InputError where it is neither, or no reader is installed."""
    if head.startswith(_TIFF):
        raise InputError(
            f"{where} is a TIFF that is no step of time: name its date with --date-format (date_format=) or in a "
            f"manifest; or open it with rioxarray, give it a time with expand_dims and pass the cube to encode()"
        )
    if head.startswith(b"GRIB"):
        return _open_grib(where, file)
    if head != _HDF5 and not head.startswith(b"CDF"):
        raise InputError(f"{where} is neither a NetCDF file nor a Zarr store: it begins with {head!r}")
    engines = engines_for(head, remote=not isinstance(file, str))
    if not engines:
        raise InputError(
            f"{where} is a NetCDF file, for which no reader is installed: pip install 'chronozarr-dask[netcdf]', or "
            f"netCDF4 for a local file of an older kind"
        )
    return open_dataset(where, file, engine=engines[0])


def _open_grib(where: str, file: Any) -> xr.Dataset:
    if not isinstance(file, str):
        raise InputError(f"{where} is a GRIB file on another machine, which cfgrib cannot read: download it first")
    if find_spec("cfgrib") is None:
        # The wheel of eccodes 2.50 has a PROJ of its own, which breaks pyproj's if loaded first; that of 2.40 has none.
        raise InputError(
            f"{where} is a GRIB file, for which no reader is installed: pip install 'chronozarr-dask[grib]'"
        )
    # No index file is left beside the input; a message or a variable that cannot be read is an error, not left out.
    how: Any = {"engine": "cfgrib", "backend_kwargs": {"indexpath": "", "errors": "raise"}}
    import eccodes  # its errors are none of Python's

    try:
        return open_dataset(where, file, **how)
    except eccodes.GribInternalError as error:
        raise InputError(f"{where} cannot be read as cfgrib: {type(error).__name__}: {error}") from error


def open_dataset(where: str, store: Any, **how: Any) -> xr.Dataset:
    """What xarray's engine makes of a file or store; InputError where that is not what it takes it for."""
    with warnings.catch_warnings():
        # Of bounds that are named and missing, of stores without consolidated metadata: nothing that a person must do.
        warnings.simplefilter("ignore")
        try:
            return xr.open_dataset(store, **_AS_STORED, **how)
        except _UNREADABLE as error:
            raise InputError(f"{where} cannot be read as {how['engine']}: {type(error).__name__}: {error}") from error

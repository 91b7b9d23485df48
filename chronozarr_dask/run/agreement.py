"""Whether client, scheduler and workers run the same programs: what differs there, could differ in the store.

A task travels as a pickle, which another version may not read; and the bytes of a store are a function of input and
options only within one set of versions.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chronozarr_dask._version import __version__
from chronozarr_dask.errors import ChronozarrWarning, InputError

PACKAGE = "chronozarr-dask"
PICKLES = ("python", "dask", "distributed", "cloudpickle", "numpy")
"""A scheduler unpickles graphs, a worker tasks."""

BYTES = ("numcodecs", "numba", "pyproj", "rasterio", "xarray", "zarr")
"""What a worker computes with: encoders, compiled kernels, positions of pixels, lazy sources."""

OTHERS = ("fsspec", "s3fs", "gcsfs", "adlfs", "msgpack", "tornado", "toolz", "lz4")

OPTIONAL = ("rasterio",)
"""Packages that not every source needs: where a worker has none, it is a warning."""

REMEDY = "let the client, the scheduler and all workers run one image, or one environment"
SHOWN = 5


@dataclass(frozen=True)
class Difference:
    """A package that is not the client's.

    Attributes
    ----------
    where : str
        "scheduler", or a worker's address.
    package : str
    there, here : str or None
        Versions; None where it is not installed.
    is_error : bool
        Whether it can change bytes, or break a pickle.
    """

    where: str
    package: str
    there: str | None
    here: str | None
    is_error: bool

    def __str__(self) -> str:
        return f"{self.where} has {self.package} {self.there or 'not installed'}, the client {self.here}"


def check_versions(client: Any, workers: Collection[str] | None = None) -> None:
    """Compare the versions of a cluster with those of this process.

    Parameters
    ----------
    client : distributed.Client
    workers : collection of str, optional
        Addresses that are looked at; all when left out.

    Raises
    ------
    InputError
        If a worker cannot import this package, or a difference can change bytes or break pickles. Others are a warning.
    """
    _check_imports(client, workers)
    found = list(differences(client.get_versions(packages=[PACKAGE, *BYTES, *OTHERS]), workers))
    if errors := [str(d) for d in found if d.is_error]:
        raise InputError(f"the cluster runs other versions than this process: {_listed(errors)}; {REMEDY}")
    if found:
        warnings.warn(
            f"the cluster runs other versions than this process: {_listed([str(d) for d in found])}; this is no error "
            f"where everything works, but {REMEDY}",
            ChronozarrWarning,
            stacklevel=2,
        )


def _check_imports(client: Any, workers: Collection[str] | None) -> None:
    """Have each worker import this package and tell its version: it need not be installed to be there."""
    told = client.run(package_version, workers=None if workers is None else sorted(workers), on_error="return")
    for address, version in sorted(told.items()):
        if isinstance(version, OSError):  # it has gone meanwhile
            continue
        if isinstance(version, BaseException):
            raise InputError(
                f"worker {address} cannot import chronozarr_dask ({version}): install {PACKAGE} {__version__} there; "
                f"{REMEDY}"
            )
        if version != __version__:
            raise InputError(
                f"worker {address} has {PACKAGE} {version}, the client {__version__}, and two versions may write "
                f"other bytes; {REMEDY}"
            )


def package_version() -> str:
    """The version of this package, in the process that is asked."""
    return __version__


def differences(found: Mapping[str, Any], workers: Collection[str] | None = None) -> Iterator[Difference]:
    """What differs from the client in the answer of `Client.get_versions`; this package on the scheduler only."""
    here = found["client"]["packages"]
    scheduler = (found["scheduler"] or {}).get("packages")
    if scheduler is not None:
        yield from _between("scheduler", here, scheduler, (PACKAGE, *PICKLES), OTHERS)
    for address, told in sorted(found["workers"].items()):
        if isinstance(told, Mapping) and (workers is None or address in workers):
            yield from _between(f"worker {address}", here, told["packages"], (*PICKLES, *BYTES), OTHERS)


def _between(
    where: str, here: Mapping[str, Any], there: Mapping[str, Any], strict: Collection[str], others: Collection[str]
) -> Iterator[Difference]:
    for package in (*strict, *others):
        mine, its = _version(package, here), _version(package, there)
        if mine is not None and mine != its and (its is not None or package in strict):
            is_error = package in strict and not (its is None and package in OPTIONAL)
            yield Difference(where, package, its, mine, is_error)


def _version(package: str, packages: Mapping[str, Any]) -> str | None:
    """The version; of Python without its patch, which changes no pickle."""
    version = packages.get(package)
    if version is None:
        return None
    return ".".join(str(version).split(".")[:2]) if package == "python" else str(version)


def _listed(texts: list[str]) -> str:
    more = f"; and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
    return "; ".join(texts[:SHOWN]) + more

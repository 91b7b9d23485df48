"""GDAL through rasterio: one open for one use, with what GDAL may keep and look for settled, and remote hosts retried.

rasterio is imported when the first file is opened, never by `import chronozarr_dask`.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from typing import Any, TypeVar

from chronozarr_dask.errors import InputError, ReadError
from chronozarr_dask.source.access import Access
from chronozarr_dask.source.stac.hrefs import redacted
from chronozarr_dask.store.secrets import clean_record, redacted_url, redacted_urls

T = TypeVar("T")

# No listing of folders, no sidecar files read or left behind, and a block cache (MB) that does not grow with the
# machine: the file alone says what is in it.
CONFIG: dict[str, Any] = {
    "GDAL_DISABLE_READDIR_ON_OPEN": "EMPTY_DIR",
    "GDAL_PAM_ENABLED": False,
    "GDAL_CACHEMAX": 32,
}
NO_ACCESS = Access()
LOGGERS = (
    "rasterio",
    "rasterio._base",
    "rasterio._io",
    "rasterio._env",
    "rasterio._err",
    "rasterio.env",
    "rasterio._path",
)
TRIES = 6
FIRST_DELAY = 0.25
"""Seconds, doubled at each try."""

_VSI = {"http": "/vsicurl/http://", "https": "/vsicurl/https://", "s3": "/vsis3/", "gs": "/vsigs/", "az": "/vsiaz/"}
# A host that answers these will answer them again.
_FINAL = (
    "code: 400",
    "code: 401",
    "code: 403",
    "code: 404",
    "code: 410",
    "does not exist",
    "AccessDenied",
    "NoSuchKey",
    "AWS_SECRET_ACCESS_KEY",
)


def load_rasterio() -> Any:
    """The module rasterio; InputError, with the extra that brings it, if it is not installed."""
    try:
        import rasterio
    except ImportError as error:
        raise InputError(
            f"GeoTIFFs need rasterio, which is not installed ({error}): pip install 'chronozarr-dask[geotiff]'"
        ) from error
    for name in LOGGERS:
        logging.getLogger(name).addFilter(clean_record)  # once: a filter that is there is not added again
    return rasterio


def is_remote(uri: str) -> bool:
    """Whether a file is read over a network, where a failure may pass."""
    return ("://" in uri and not uri.startswith("file://")) or uri.startswith("/vsi")


def with_file(
    uri: str,
    use: Callable[[Any], T],
    doing: Callable[[], str],
    *,
    shown: str | None = None,
    driver: str = "GTiff",
    access: Access = NO_ACCESS,
) -> T:
    """What `use` makes of an open file; each call opens and closes it, so threads share nothing.

    A failure of a remote file is tried again after a growing, jittered delay. GDAL remembers that an open failed, and
    would not ask the host again: a try after the first takes nothing from its memory.

    Parameters
    ----------
    uri : str
    use : callable
        Takes the rasterio dataset.
    doing : callable
        What was tried, for the message, as in "cannot be opened as a GeoTIFF".
    shown : str, optional
        What stands for `uri` in messages, where that was signed: without, `uri` with what is secret in it cut out. No
        message and no cause has a signature then.
    driver : str
        GDAL's name of the format.
    access : Access
        How a remote file is reached.

    Raises
    ------
    ReadError
        If the file cannot be opened or read.
    """
    rasterio = load_rasterio()
    tries = TRIES if is_remote(uri) else 1
    shown = redacted_url(uri) if shown is None else shown
    for attempt in range(tries):
        config = {**CONFIG, "CPL_VSIL_CURL_NON_CACHED": _vsi(uri)} if attempt else CONFIG
        try:
            with access.env(rasterio, config), rasterio.open(uri, driver=driver, sharing=False) as file:
                return use(file)
        except rasterio.errors.RasterioError as error:
            why = _why(error)
        why = redacted_urls(why.replace(uri, shown))
        if shown != uri:
            why = redacted(why)
        if attempt + 1 == tries or any(sign in why for sign in _FINAL):
            tried = f" (tried {attempt + 1} times)" if attempt else ""
            # No cause: `why` has its words, and GDAL's errors cannot be unpickled where a worker's are received.
            raise ReadError(f"{shown} {doing()}{tried}: {why}{_remedy(why)}")
        time.sleep(FIRST_DELAY * 2**attempt * random.uniform(0.5, 1.5))
    raise AssertionError("the last try returns or raises")


def _vsi(uri: str) -> str:
    scheme, _, rest = uri.partition("://")
    return f"{_VSI[scheme]}{rest}" if scheme in _VSI else uri


def _remedy(why: str) -> str:
    if "AWS_SECRET_ACCESS_KEY" not in why:
        return ""
    return (
        "; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, in the environment, or read a public "
        "bucket without any: anon=True in the source's storage_options (--source-option anon=true, in a recipe "
        "source.storage_options: {anon: true})"
    )


def _why(error: BaseException) -> str:
    """An error of rasterio with GDAL's own words, which are its causes, in one line."""
    texts: list[str] = []
    at: BaseException | None = error
    while at is not None:
        texts.append(" ".join(str(at).split()))
        at = at.__cause__
    return "; ".join(dict.fromkeys(t for t in texts if t and "previous exception" not in t)) or type(error).__name__

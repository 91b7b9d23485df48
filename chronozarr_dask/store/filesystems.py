"""The fsspec file system behind a URL, with what a client library does by itself settled: tries, checksums, sockets.

Of S3 the retries of botocore and of s3fs are off: each request is sent once, and `retries` alone decides on the next.
Newer botocore sends a checksum with each PUT, as a trailer of a chunked body, which many S3-compatible servers refuse
or store with the object; it is left out where the endpoint is not that of AWS, unless the user says otherwise. Of
Google the MD5 that the store answers with is compared.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

import fsspec

from chronozarr_dask.errors import TargetError
from chronozarr_dask.store.secrets import clean_record, redacted_urls

CONNECTIONS = 32
"""Connections to a host that are kept open: one for each thread of a store's reader."""

EXTRAS = {"s3": "s3", "gs": "gcs", "gcs": "gcs", "az": "azure", "abfs": "azure", "http": "http", "https": "http"}
"""URL scheme -> the extra of this package that brings its file system."""

LOGGERS = ("botocore.auth", "botocore.endpoint")
"""Loggers that tell at DEBUG of the headers of a request, and so of a session's token."""

_ACCOUNT = (
    "name the account: account_name in storage_options (--storage-option account_name=NAME), or "
    "AZURE_STORAGE_ACCOUNT_NAME in the environment"
)
_CHECK = "check storage_options (--storage-option) and what the environment says for it"

_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "FSSPEC_S3_ENDPOINT_URL")
_CHECKSUMS = {
    "request_checksum_calculation": "AWS_REQUEST_CHECKSUM_CALCULATION",
    "response_checksum_validation": "AWS_RESPONSE_CHECKSUM_VALIDATION",
}
"""Field of botocore's configuration -> the variable by which a user settles it."""


def is_s3(url: str) -> bool:
    """Whether a URL is of S3."""
    return url.startswith(("s3://", "s3a://"))


def file_system(url: str, storage_options: Mapping[str, Any]) -> Any:
    """The file system of a URL; fsspec gives the same one for the same options.

    Raises
    ------
    TargetError
        If it is not installed, or does not take an option.
    """
    protocol = url.split("://", 1)[0]
    options: dict[str, Any] = {"use_listings_cache": False, **storage_options}
    if is_s3(url):
        return _s3(url, options)
    if protocol in ("gs", "gcs"):
        options.setdefault("consistency", "md5")
    return _made(url, protocol, options)


def _made(url: str, protocol: str, options: Mapping[str, Any]) -> Any:
    try:
        kind = fsspec.get_filesystem_class(protocol)
    except ImportError as error:
        extra = EXTRAS.get(protocol)
        raise TargetError(f"{url}: {error}" + (f"; install chronozarr-dask[{extra}]" if extra else "")) from error
    except ValueError as error:
        raise TargetError(f"{url}: {error}; {', '.join(EXTRAS)} are known") from error
    # A URL may name a host or an account, as abfs://container@account.dfs.core.windows.net does; options go before it.
    all_options = {**kind._get_kwargs_from_urls(url), **options}
    try:
        return fsspec.filesystem(protocol, **all_options)
    except ImportError as error:
        raise TargetError(f"{url}: {error}") from error
    except ValueError as error:
        is_azure = EXTRAS.get(protocol) == "azure" and not all_options.get("account_name")
        raise TargetError(f"{url}: {error}; {_ACCOUNT if is_azure else _CHECK}") from error


def _s3(url: str, options: Mapping[str, Any]) -> Any:
    for name in LOGGERS:
        logging.getLogger(name).addFilter(clean_record)  # once: a filter that is there is not added again
    try:
        fs = _made(url, "s3", {**options, "config_kwargs": s3_config(options)})
        if fs._s3 is None:
            fs.connect()  # only now botocore looks at what it was given
    except (TypeError, ValueError, AttributeError) as error:
        raise TargetError(
            f"{url}: storage_options, or the environment, have what S3 does not take: {redacted_urls(str(error))}. "
            f'endpoint_url is as in "https://host:9000"; config_kwargs and client_kwargs are those of botocore'
        ) from error
    fs.retries = 1
    return fs


def upload(fs: Any, path: str, data: bytes, **how: str) -> None:
    """Store an object by one request, or by few where it is large.

    gcsfs sends an object as a part between boundaries that bare line feeds lead in. A carriage return at the end of the
    object reads as one half of the boundary's line break then, and is lost: it is sent apart, without boundaries.
    """
    apart: dict[str, Any] = {"chunksize": len(data)} if data.endswith(b"\r") and fs.protocol[0] in ("gs", "gcs") else {}
    fs.pipe_file(path, data, **how, **apart)


def s3_config(storage_options: Mapping[str, Any]) -> dict[str, Any]:
    """botocore's configuration: `config_kwargs` of the options, and ours where those say nothing."""
    config: dict[str, Any] = {
        "retries": {"total_max_attempts": 1, "mode": "standard"},
        "max_pool_connections": CONNECTIONS,
    }
    if _has_own_endpoint(storage_options):
        config |= {name: "when_required" for name, variable in _CHECKSUMS.items() if not os.environ.get(variable)}
    return config | dict(storage_options.get("config_kwargs") or {})


def _has_own_endpoint(storage_options: Mapping[str, Any]) -> bool:
    """Whether the endpoint is named, and is not that of AWS."""
    client = storage_options.get("client_kwargs") or {}
    named = (storage_options.get("endpoint_url"), client.get("endpoint_url"), *map(os.environ.get, _ENDPOINTS))
    endpoint = next((str(url) for url in named if url), "")
    return bool(endpoint) and ".amazonaws.com" not in endpoint

"""How remote sources are reached: fsspec's storage options, and the same said to GDAL.

GDAL is told by its configuration around each open (`rasterio.Env`), never by the environment of the process: a public
bucket is read without credentials while the target in the same process uses its own.

    anon: true                 AWS_NO_SIGN_REQUEST, GS_NO_SIGN_REQUEST, AZURE_NO_SIGN_REQUEST
    requester_pays: true       AWS_REQUEST_PAYER=requester; of Google a project's name: GS_USER_PROJECT
    endpoint_url               AWS_S3_ENDPOINT, AWS_HTTPS, AWS_VIRTUAL_HOSTING
    region_name, region        AWS_REGION
    account_name               AZURE_STORAGE_ACCOUNT
    key, secret, token         of this process only; they do not travel in tasks
    profile                    AWS_PROFILE
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from chronozarr_dask.errors import InputError

OF_HTTP = ("headers", "encoded", "ssl", "block_size", "cache_type", "cache_options", "client_kwargs", "size_policy")
"""Options that fsspec's file system of the web knows; others go on to its client library, which refuses them."""


@dataclass(frozen=True)
class Access:
    """What GDAL is told around each open: configuration options, and keys where they were given."""

    config: tuple[tuple[str, str], ...] = ()
    keys: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, storage_options: Mapping[str, Any] | None) -> Access:
        """GDAL's configuration for fsspec's options; options that say nothing to GDAL are left out.

        Raises
        ------
        InputError
            If only one of key and secret is there.
        """
        given = dict(storage_options or {})
        client = dict(given.get("client_kwargs") or {})
        config: dict[str, str] = {}
        if given.get("anon") or given.get("token") == "anon":
            config |= dict.fromkeys(("AWS_NO_SIGN_REQUEST", "GS_NO_SIGN_REQUEST", "AZURE_NO_SIGN_REQUEST"), "YES")
        payer = given.get("requester_pays")
        if payer:
            config["AWS_REQUEST_PAYER"] = "requester"
        if isinstance(payer, str):
            config["GS_USER_PROJECT"] = payer
        config |= _endpoint(given.get("endpoint_url") or client.get("endpoint_url"), given)
        config |= {
            name: str(value)
            for name, value in (
                ("AWS_REGION", given.get("region_name") or given.get("region") or client.get("region_name")),
                ("AWS_PROFILE", given.get("profile")),
                ("AZURE_STORAGE_ACCOUNT", given.get("account_name")),
            )
            if value
        }
        return cls(tuple(sorted(config.items())), _keys(given))

    def env(self, rasterio: Any, config: Mapping[str, Any]) -> Any:
        """rasterio's environment for one open."""
        if not self.keys:
            return rasterio.Env(**config, **dict(self.config))
        try:
            from rasterio.session import AWSSession

            session = AWSSession(**dict(self.keys))
        except ImportError as error:
            raise InputError(
                f"key and secret of a source of GeoTIFFs need boto3, which is not installed ({error}): pip install "
                f"boto3, or leave them out and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment"
            ) from error
        return rasterio.Env(session, **config, **dict(self.config))


def _endpoint(url: Any, given: Mapping[str, Any]) -> dict[str, str]:
    if not url:
        return {}
    parts = urlsplit(str(url) if "://" in str(url) else f"https://{url}")
    style = ((given.get("config_kwargs") or {}).get("s3") or {}).get("addressing_style")
    is_virtual = style == "virtual" or (style is None and parts.netloc.endswith(".amazonaws.com"))
    return {
        "AWS_S3_ENDPOINT": f"{parts.netloc}{parts.path.rstrip('/')}",
        "AWS_HTTPS": "NO" if parts.scheme == "http" else "YES",
        "AWS_VIRTUAL_HOSTING": "TRUE" if is_virtual else "FALSE",
    }


def _keys(given: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    key, secret = given.get("key"), given.get("secret")
    if not key and not secret:
        return ()
    if not key or not secret:
        raise InputError("a source has one of key and secret: give both, or neither")
    named = (("aws_access_key_id", key), ("aws_secret_access_key", secret), ("aws_session_token", given.get("token")))
    return tuple((name, str(value)) for name, value in named if value)


def options_for(url: str, storage_options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Those of a source's options that are for a document at `url`: none for a path, no bucket's for a web server.

    The document may lie elsewhere than what it names, as a list on a web server or on disk of files in a bucket.
    """
    options = dict(storage_options or {})
    if "://" not in url or url.startswith("file:"):
        return {}
    if not url.startswith(("http://", "https://")):
        return options
    own = {name: value for name, value in options.items() if name in OF_HTTP}
    if {"endpoint_url", "region_name"} & dict(own.get("client_kwargs") or {}).keys():
        del own["client_kwargs"]
    return own

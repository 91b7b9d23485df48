"""Hrefs: resolved against the file that names them, and free of signatures and passwords before they are kept."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

from chronozarr_dask.errors import InputError
from chronozarr_dask.store.secrets import redacted_urls, secret_parameters

_QUERY_IN_TEXT = re.compile(r"\?[^\s'\"<>]*")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # two letters at least: C: is a drive


def unsigned(href: str) -> str:
    """`href` without its signature and its fragment; other parameters (a version, a format) stay as they are.

    Raises
    ------
    InputError
        If it holds a user name or a password, or is a path of GDAL's with a URL inside; the message has neither.
    """
    if href.startswith("/vsi") and "://" in href:
        raise InputError(
            f"an href begins with {href[: href.index('/', 1)]}/, a path of GDAL's with a URL in it: give the URL itself"
        )
    if not _SCHEME.match(href):
        return href
    parts = urlsplit(href)
    if "@" in parts.netloc:
        raise InputError(
            f"an href on host {parts.hostname} holds a user name or a password, which must not get into the run's "
            f"journal: take it out of the item and give credentials by the environment of the workers"
        )
    pairs = [pair for pair in parts.query.split("&") if pair]
    secret = secret_parameters(parts.query)
    kept = [pair for pair in pairs if pair not in secret]
    fragment = "" if parts.scheme in ("http", "https") else parts.fragment  # in a bucket # is a part of the key
    if len(kept) == len(pairs) and fragment == parts.fragment:
        return href
    return urlunsplit(parts._replace(query="&".join(kept), fragment=fragment))


def redacted(text: str) -> str:
    """`text` without the query and the password of any URL: for messages of libraries that quote what they got."""
    return _QUERY_IN_TEXT.sub("?...", redacted_urls(text))


def resolve(href: str, base: str | None) -> str:
    """Absolute href: relative ones against `base`, the path or URL of the file that holds the item.

    ``file:`` URLs become paths. Without a base a relative href stays as it is.
    """
    if href.startswith("file:"):
        return unquote(urlsplit(href).path)
    if base is None or _SCHEME.match(href) or href.startswith("/"):
        return href
    if base.startswith(("http:", "https:")):
        return urljoin(base, href)
    if base.startswith("file:"):
        base = unquote(urlsplit(base).path)
    # urljoin does not know s3:, gs: and other schemes of buckets.
    scheme, mark, path = base.rpartition("://")
    return scheme + mark + posixpath.normpath(posixpath.join(posixpath.dirname(path), href))

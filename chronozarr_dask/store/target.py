"""Where objects go and come from: a folder, or a prefix of a bucket behind any fsspec URL. Keys to bytes.

Nothing here lists a store: every key is derived. The one listing is `Objects.is_empty`, which looks for one key.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Protocol

from chronozarr_dask.errors import TargetError
from chronozarr_dask.store.bucket import Bucket
from chronozarr_dask.store.folder import Folder
from chronozarr_dask.store.secrets import check_no_secrets, redacted_url
from chronozarr_dask.store.web import Web, is_plain

__all__ = ["Bucket", "Folder", "Objects", "Web", "open_target", "secret_options"]

SECRET_WORDS = (
    "key", "secret", "token", "password", "passwd", "passphrase", "credential", "sas", "connection_string", "auth",
    "cookie", "signature",
)  # fmt: skip


class Objects(Protocol):
    """Keys to bytes under one prefix."""

    @property
    def url(self) -> str:
        """Path or URL of the prefix."""

    def get(self, key: str) -> bytes | None:
        """The object's bytes, None where there is none."""

    def get_range(self, key: str, start: int, stop: int) -> bytes | None:
        """Bytes `start` to `stop` (exclusive); fewer where the object ends, None where there is none."""

    def tail(self, key: str, nbytes: int) -> tuple[bytes, int] | None:
        """The last `nbytes` bytes, all where the object is shorter, and its length; None where there is none."""

    def size(self, key: str) -> int | None:
        """Length of the object, None where there is none."""

    def put(self, key: str, data: bytes | memoryview) -> None:
        """Store an object, in place of any that is there. `data` is the caller's, and may change after the call."""

    def create(self, key: str, data: bytes) -> bool:
        """Store an object only if there is none. False if there is one; in a bucket, if there is one of other bytes."""

    def delete(self, key: str) -> None:
        """Remove an object; nothing happens where there is none."""

    def delete_prefix(self, prefix: str) -> None:
        """Remove all that is below a prefix; nothing happens where there is nothing."""

    def is_empty(self) -> bool:
        """Whether nothing is there."""

    def child(self, name: str) -> Objects:
        """The prefix `name` below this one."""


def open_target(url: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None) -> Objects:
    """The objects under a path or an fsspec URL; nothing is touched yet.

    Parameters
    ----------
    url : str or path
    storage_options : mapping, optional
        For fsspec; not for a path.
    """
    text = os.fspath(url)
    if "://" not in text or text.startswith("file://"):
        if storage_options:
            raise TargetError(f"storage_options are for remote URLs; {text} is a path on this machine")
        return Folder(os.path.realpath(os.path.expanduser(text.removeprefix("file://"))))
    check_no_secrets(text)
    options = dict(storage_options or {})
    is_web = text.startswith(("http://", "https://")) and is_plain(options)
    return (Web if is_web else Bucket)(text.rstrip("/"), options)


def secret_options(storage_options: Mapping[str, Any]) -> list[str]:
    """Dotted names of the options that may hold a secret, at any depth: by the name, or by a URL that holds one."""
    out = []
    for name, value in storage_options.items():
        if isinstance(value, Mapping):
            out += [f"{name}.{inner}" for inner in secret_options(value)]
        elif value is not None and (
            any(word in name.lower() for word in SECRET_WORDS) or redacted_url(str(value)) != str(value)
        ):
            out.append(name)
    return out

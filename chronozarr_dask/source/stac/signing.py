"""Signed hrefs of Planetary Computer, made in the worker at the moment of reading and never kept.

A signature is a token per storage account and container, which the service gives to anyone for under an hour. Tokens
live in this module, one cache a process; a `Signer` holds the address of the service alone, so what is pickled to a
worker, printed or logged has no token in it. A read that is refused (403) is tried once more with a fresh token.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import quote, urlsplit

from chronozarr_dask.errors import InputError, ReadError
from chronozarr_dask.source.stac.hrefs import redacted, unsigned
from chronozarr_dask.source.stac.moments import parse_moment

ENDPOINT = "https://planetarycomputer.microsoft.com/api/sas/v1/token"
_API_HOST = "planetarycomputer.microsoft.com"
_BLOBS = ".blob.core.windows.net"
_PUBLIC_ACCOUNTS = frozenset({"ai4edatasetspublicassets"})
_RENEW_BEFORE_S = 120.0
_TRIES = 6
_TIMEOUT_S = 30.0
_FORBIDDEN = ("403", "forbidden", "authenticationfailed", "signature not valid")

T = TypeVar("T")


@dataclass(repr=False)
class _Slot:
    """Token of one container; the lock lets one thread fetch while the others wait."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    token: str | None = None
    expires: float = 0.0


_slots: dict[tuple[str, str, str], _Slot] = {}
_slots_lock = threading.Lock()


@dataclass(frozen=True)
class Signer:
    """Signs hrefs of Azure storage by the token service of Planetary Computer.

    Attributes
    ----------
    endpoint : str
        Address of the service; ``/<account>/<container>`` is put behind it.
    blobs : str
        How the host names of storage accounts end.
    pause : float
        Seconds before the second try at the service, doubled for each further one.
    """

    endpoint: str = ENDPOINT
    blobs: str = _BLOBS
    pause: float = 0.5

    def needs_signing(self, href: str) -> bool:
        """Whether `href` is a blob of an account that wants a signature."""
        parts = urlsplit(href)
        host = parts.hostname or ""
        account = host.removesuffix(self.blobs)
        return parts.scheme == "https" and host.endswith(self.blobs) and account not in _PUBLIC_ACCOUNTS

    def sign(self, href: str) -> str:
        """`href` with a token that is good for the next minutes; other hrefs as they are.

        Raises
        ------
        InputError
            If the service refuses or cannot be reached.
        """
        return self._signed(href)[0]

    def read(self, href: str, read: Callable[[str], T]) -> T:
        """``read(signed href)``, once more with a fresh token where the answer is 403.

        Raises
        ------
        OSError
            What `read` raised, its text without the query of any URL and without a cause that has it.
        """
        if not self.needs_signing(href):
            return read(href)
        signed, token = self._signed(href)
        try:
            return read(signed)
        except (OSError, ReadError) as error:
            first = OSError(redacted(str(error)))
        if not is_forbidden(first):
            raise first
        self._forget(href, token)
        signed, _ = self._signed(href)
        try:
            return read(signed)
        except (OSError, ReadError) as error:
            second = OSError(redacted(str(error)))
        raise second

    # ---- tokens ----

    def _signed(self, href: str) -> tuple[str, str | None]:
        if not self.needs_signing(href):
            return href, None
        href = unsigned(href)
        token = self._token(href)
        return f"{href}{'&' if urlsplit(href).query else '?'}{token}", token

    def _slot(self, href: str) -> tuple[_Slot, str]:
        parts = urlsplit(href)
        account = (parts.hostname or "").removesuffix(self.blobs)
        container = parts.path.lstrip("/").split("/")[0]
        with _slots_lock:
            slot = _slots.setdefault((self.endpoint, account, container), _Slot())
        return slot, f"{self.endpoint.rstrip('/')}/{quote(account)}/{quote(container)}"

    def _token(self, href: str) -> str:
        slot, url = self._slot(href)
        with slot.lock:
            now = time.time()
            if slot.token is None or now > slot.expires - _RENEW_BEFORE_S:
                slot.token, slot.expires = _fetch(url, self.pause)
            return slot.token

    def _forget(self, href: str, token: str | None) -> None:
        """Drop a refused token, unless another thread has already got a new one."""
        slot, _ = self._slot(href)
        with slot.lock:
            if slot.token == token:
                slot.token = None


def signer_for(api: str) -> Signer | None:
    """The signer that the items of a STAC API need, by its address; None where they need none."""
    return Signer() if urlsplit(api).hostname == _API_HOST else None


def is_forbidden(error: BaseException) -> bool:
    """Whether a read was refused; GDAL and HTTP clients say so in the text alone."""
    text = str(error).lower()
    return any(word in text for word in _FORBIDDEN)


def _fetch(url: str, pause: float) -> tuple[str, float]:
    """Token and the time, in seconds since 1970, until which it is good."""
    for attempt in range(1, _TRIES + 1):
        try:
            with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
                fields = json.load(answer)
            return str(fields["token"]), parse_moment(fields["msft:expiry"], "msft:expiry of the token service") / 1000
        except urllib.error.HTTPError as error:
            reason, is_final = f"HTTP {error.code}", error.code < 500 and error.code not in (408, 429)
            error.close()
        except (OSError, json.JSONDecodeError) as error:
            reason, is_final = str(error), False
        except (KeyError, TypeError):
            reason, is_final = "an answer without token and msft:expiry", True
        if is_final or attempt == _TRIES:
            break
        time.sleep(pause * 2 ** (attempt - 1))
    raise InputError(
        f"the token service {url} gave no token ({reason}, try {attempt} of {_TRIES}): is the item from Planetary "
        f"Computer? Else switch signing off"
    )

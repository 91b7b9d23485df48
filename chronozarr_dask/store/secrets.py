"""Secrets in URLs, and in texts that quote URLs: signatures, tokens and keys of a query, users and passwords.

A message of a library quotes what it was given, so texts are cleaned where they leave: in errors, the journal
and on the command line. What is one URL is judged to its end (`redacted_url`). In running text (`redacted_urls`) a
value ends at a blank, a quote or an angle bracket; where its URL begins does not matter, for that may hold them too.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from urllib.parse import unquote

from chronozarr_dask.errors import TargetError

# Query parameters of a shared access signature (Azure), of presigned URLs (S3, CloudFront, Google) and of API keys.
_SAS = frozenset("sig se sp sv sr st spr sip ss srt skoid sktid skt ske sks skv saoid suoid scid sdd".split())
_OTHERS = frozenset(
    "expires key-pair-id policy googleaccessid awsaccesskeyid key code jwt hdnts hdnea pwd auth authorization "
    "subscription-key subscription_key".split()
)
_PREFIXES = ("x-amz-", "x-goog-")
_WORDS = re.compile(r"token|secret|passw|passphrase|signature|credential|(api|access|account|private)[-_]?key")
"""A name that holds one of these is one of a secret, as auth_token and clientSecret are."""

_NAME = re.compile(r"(?:[?&;#]|\\u0026)([\w.%~$\[\]-]+)=")  # JSON may write an ampersand as \u0026
_END = re.compile(r"&|\\u0026|[;#](?=[\w.%~$\[\]-]+=)")
_IN_TEXT = re.compile(r"(?:[?&;#]|\\u0026)[^\s'\"<>]*")
_USER = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://((?:(?!['\"],)[^\s/?#\"<>])*)@")
_ONE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)@")
_WEB = re.compile(r"([\w.+-]+\+)?(https?|webdavs?|davs?)", re.IGNORECASE)
"""Schemes of which a user alone is a token; of others it may be a container (abfs) or a plain name (sftp)."""

_SESSION = re.compile(r"(x-amz-security-token['\"]?\s*:\s*(?:b?['\"])?)[^\s'\",]+", re.IGNORECASE)


def secret_parameters(query: str) -> set[str]:
    """The ``name=value`` pairs of a query that are, or belong to, a signature, a token or a key."""
    is_signed = _is_signed(f"?{query}")
    return {pair for pair in query.split("&") if any(True for _ in _secrets(f"?{pair}", is_signed=is_signed))}


def _is_signed(query: str) -> bool:
    return any(_lower(name) == "sig" for name in _NAME.findall(query))


def _lower(name: str) -> str:
    return unquote(name).lower()


def _secrets(text: str, *, is_signed: bool) -> Iterator[re.Match[str]]:
    """The names, with what is around them, of the secrets in a query."""
    for found in _NAME.finditer(text):
        name = _lower(found.group(1))
        if name in _OTHERS or name.startswith(_PREFIXES) or _WORDS.search(name) or (is_signed and name in _SAS):
            yield found


def _without_values(query: str) -> str:
    """A query with the values of its secrets cut out, and of all else nothing."""
    out, at = [], 0
    for found in _secrets(query, is_signed=_is_signed(query)):
        if found.start() >= at:  # or else it is a part of a value that was cut out
            out += [query[at : found.end()], "..."]
            end = _END.search(query, found.end())
            at = end.start() if end else len(query)
    return "".join(out) + query[at:]


def _without_user(found: re.Match[str]) -> str:
    scheme, user = found.groups()
    is_secret = ":" in user or _WEB.fullmatch(scheme)
    return f"{scheme}://...@" if is_secret else found.group()


def redacted_urls(text: str) -> str:
    """`text` with the secrets of every URL in it cut out; what else is in a query (a version, a format) stays.

    >>> redacted_urls("GET https://me:pw@h/a.tif?version=2&sig=abc&se=2030 failed")
    'GET https://...@h/a.tif?version=2&sig=...&se=... failed'
    """
    return _IN_TEXT.sub(lambda found: _without_values(found.group()), _USER.sub(_without_user, text))


def redacted_url(url: str) -> str:
    """One URL with its secrets cut out; a path on this machine holds none.

    >>> redacted_url("https://token@h/my file.nc?sig=a b'c&version=2")
    'https://...@h/my file.nc?sig=...&version=2'
    """
    return url if "://" not in url else _without_values(_ONE.sub(_without_user, url))


def clean_record(record: logging.LogRecord) -> bool:
    """A filter for loggers of libraries that log at DEBUG what they ask: signed URLs, tokens of a session."""
    text = redacted_urls(record.getMessage())
    record.msg, record.args = _SESSION.sub(r"\1...", text), ()
    return True


def check_no_secrets(url: str) -> None:
    """Raise TargetError for the URL of a store that holds a secret: journal, report and messages name it.

    The error does not repeat it.
    """
    if redacted_url(url) != url:
        raise TargetError(
            f"the URL {redacted_url(url)} of a store holds a password, a token or a signature, and messages and the "
            f"journal would name it: take it out, and give credentials by the environment, a profile or storage_options"
        )

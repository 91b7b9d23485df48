"""Secrets in URLs, and in texts that quote URLs: signatures, tokens and keys of a query, and passwords.

A message of a library quotes what it was given, so texts are cleaned where they leave: in errors, the journal
and on the command line.
"""

from __future__ import annotations

import logging
import re
from urllib.parse import unquote

from chronozarr_dask.errors import TargetError

# Query parameters of a shared access signature (Azure), of presigned URLs (S3, CloudFront, Google) and of API keys.
_SAS = frozenset("sig se sp sv sr st spr sip ss srt skoid sktid skt ske sks skv saoid suoid scid sdd".split())
_OTHERS = frozenset(
    "awsaccesskeyid signature expires key-pair-id policy googleaccessid token access_token apikey api_key api-key "
    "subscription-key subscription_key key password passwd secret code access_key accesskey jwt hdnts hdnea".split()
)
_PREFIXES = ("x-amz-", "x-goog-")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"<>]+")
_SESSION = re.compile(r"(x-amz-security-token['\"]?\s*:\s*(?:b?['\"])?)[^\s'\",]+", re.IGNORECASE)
_PASSWORD = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)[^/?#@]*:[^/?#]*@")


def secret_parameters(query: str) -> set[str]:
    """The ``name=value`` pairs of a query that are, or belong to, a signature, a token or a key."""
    pairs = [pair for pair in query.split("&") if pair]
    is_signed = any(_name(pair) == "sig" for pair in pairs)
    return {
        pair
        for pair in pairs
        if (name := _name(pair)) in _OTHERS or name.startswith(_PREFIXES) or (is_signed and name in _SAS)
    }


def _name(pair: str) -> str:
    return unquote(pair.split("=", 1)[0]).lower()


def redacted_urls(text: str) -> str:
    """`text` with the secrets of every URL in it cut out; what else is in a query (a version, a format) stays.

    >>> redacted_urls("GET https://me:pw@h/a.tif?version=2&sig=abc&se=2030 failed")
    'GET https://...@h/a.tif?version=2&sig=...&se=... failed'
    """
    return _URL.sub(lambda m: _redacted(m.group()), text)


def _redacted(url: str) -> str:
    base, mark, query = url.partition("?")
    secret = secret_parameters(query)
    kept = [f"{pair.split('=', 1)[0]}=..." if pair in secret else pair for pair in query.split("&")]
    return _PASSWORD.sub(r"\1...@", base) + mark + "&".join(kept)


def clean_record(record: logging.LogRecord) -> bool:
    """A filter for loggers of libraries that log at DEBUG what they ask: signed URLs, tokens of a session."""
    text = redacted_urls(record.getMessage())
    record.msg, record.args = _SESSION.sub(r"\1...", text), ()
    return True


def check_no_secrets(url: str) -> None:
    """Raise TargetError for the URL of a store that holds a secret: journal, report and messages name it.

    The error does not repeat it.
    """
    if redacted_urls(url) != url:
        raise TargetError(
            f"the URL {redacted_urls(url)} of a store holds a password or a signature, and messages and the journal "
            f"would name it: take it out, and give credentials by the environment, a profile or storage_options"
        )

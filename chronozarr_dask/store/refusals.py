"""What an object store means when it refuses: its error code, in plain words with a remedy."""

from __future__ import annotations

from typing import Any

_WRONG_KEY = (
    "permission denied: the store does not know the key, or the secret does not belong to it; check the credentials "
    "that this process finds (environment, profile, role, storage_options), and that they are of this endpoint"
)
_EXPIRED = (
    "permission denied: the credentials have expired; renew them, and go on with resume where a run has begun: what "
    "is finished is kept"
)
_DENIED = (
    "permission denied: the credentials are known, and may not do this; check the rights of their user, or the "
    "credentials and policy of the bucket"
)
_REGION = (
    "the bucket is in another region, or behind another endpoint; name its region "
    '(storage_options={"client_kwargs": {"region_name": ...}}, or AWS_REGION), or its endpoint_url'
)
_CLOCK = "the clock of this machine and that of the store differ by more than the store allows; set the clock (NTP)"
_TLS = (
    "the host does not prove who it is, or does not speak TLS; check the endpoint (https or http), or name the "
    "certificates to trust by AWS_CA_BUNDLE"
)

MEANINGS: dict[str, str] = {
    **dict.fromkeys(
        ("InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "AuthenticationFailed"), _WRONG_KEY
    ),
    **dict.fromkeys(("ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired"), _EXPIRED),
    **dict.fromkeys(
        ("AccessDenied", "AllAccessDisabled", "AuthorizationFailure", "AuthorizationPermissionMismatch"), _DENIED
    ),
    **dict.fromkeys(
        ("301", "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"), _REGION
    ),
    "RequestTimeTooSkewed": _CLOCK,
}
"""Error code of S3 (or of Azure) -> what it means and how to mend it."""

_TLS_SIGNS = ("CERTIFICATE_VERIFY_FAILED", "WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "Hostname mismatch")


def code_of(error: BaseException | None) -> str | None:
    """The store's own code behind an error of a client library, or behind its cause, as in "SlowDown"."""
    while error is not None:
        response: Any = getattr(error, "response", None)
        code = response.get("Error", {}).get("Code") if isinstance(response, dict) else None
        code = code or getattr(error, "error_code", None)
        if code is not None:
            return str(getattr(code, "value", code))
        error = error.__cause__
    return None


def is_tls_failure(error: BaseException | None) -> bool:
    """Whether TLS failed in a way that another try does not change."""
    while error is not None:
        if any(sign in str(error) for sign in _TLS_SIGNS):
            return True
        error = error.__cause__
    return False


def meaning(error: BaseException) -> str | None:
    """What a refusal means and how to mend it; None where the store's own words must do."""
    if is_tls_failure(error):
        return _TLS
    return MEANINGS.get(code_of(error) or "")


def is_final(error: BaseException) -> bool:
    """Whether credentials, rights, region, clock or TLS are at fault: trying again does not help."""
    return meaning(error) is not None

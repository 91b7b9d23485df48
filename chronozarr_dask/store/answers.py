"""What a host answers in place of an object, and how to say it."""

from __future__ import annotations

HTML_ANSWER = (
    "the answer is a web page. The host answers a page where an object is absent, or asks for a login; it must answer "
    "404 for an absent key (section 9)"
)

FORBIDDEN = (
    "permission denied. Either credentials are missing or do not fit; or the object is absent, as a chunk of nothing "
    "but fill is (2.1), and readers may not list the bucket: S3 then answers 403 in place of 404. Let them list it "
    "(s3:ListBucket, storage.objects.list), or have the host answer 404 for an absent key (section 9)"
)

NO_CONDITIONAL_CREATE = (
    "the store has no conditional create (If-None-Match), and cannot tell which of two runs into one target came "
    "first. Where it is certain that no other run writes there, go without a claim: --no-claim (claim=False; in a "
    "recipe run.claim: false)"
)

NO_LINKS = (
    "the file system has neither hard links nor a rename that replaces nothing, and cannot tell which of two runs into "
    "one target came first. Name a target on another, or, where it is certain that no other run writes there, go "
    "without a claim: --no-claim (claim=False; in a recipe run.claim: false)"
)

IGNORES_RANGES = "this host ignores range requests, which a sharded store needs (section 9)"

NO_LENGTH = "the host does not say how long the object is (Content-Length)"


def looks_like_html(blob: bytes) -> bool:
    """Whether an answer is a web page instead of an object, or the end of one."""
    begins = blob[:64].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return begins.startswith((b"<!doctype", b"<html", b"<head", b"<?xml")) or blob[-32:].rstrip().lower().endswith(
        b"</html>"
    )

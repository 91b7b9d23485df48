"""Objects behind a web server, read over connections of our own.

fsspec's file system for HTTP sends everything through one thread, says of any failed HEAD that the file is missing, and
drops what an answer's headers say of ranges. It is still there for what is written, and for options that only it knows.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from typing import Any

from chronozarr_dask._version import __version__
from chronozarr_dask.errors import StoreError, TargetError, TargetFullError
from chronozarr_dask.store.answers import FORBIDDEN, HTML_ANSWER, IGNORES_RANGES, NO_LENGTH, looks_like_html
from chronozarr_dask.store.bucket import Bucket
from chronozarr_dask.store.connections import Answer, Limits, ask
from chronozarr_dask.store.cost import spent
from chronozarr_dask.store.retries import PassingError, retried

WHOLE_BODY = 2**20
"""Most bytes that are read of a whole object which came in place of a range."""

MOST_DOCUMENT = 2**28
"""Most bytes of a document that the host has compressed."""

_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")


def is_plain(storage_options: Mapping[str, Any]) -> bool:
    """Whether a web server's options are headers only: others are for fsspec (and aiohttp)."""
    client = storage_options.get("client_kwargs") or {}
    return storage_options.keys() <= {"headers", "client_kwargs"} and client.keys() <= {"headers"}


class Web(Bucket):
    """A prefix of a web server. `storage_options` may have ``headers``."""

    def get(self, key: str) -> bytes | None:
        """The object's bytes, None where there is none."""
        answer = self._ask("GET", key)
        return None if answer is None else self._decoded(answer, key)

    def get_range(self, key: str, start: int, stop: int) -> bytes | None:
        """Bytes `start` to `stop` (exclusive); fewer where the object ends."""
        answer = self._ask("GET", key, (start, stop - start))
        if answer is None:
            return None
        if answer.status == 416:
            return b""
        if answer.status == 206:
            assert answer.body is not None
            return answer.body
        whole = self._whole(answer, key)
        if whole is None or len(whole) > stop - start:
            came = answer.headers.get("content-length", "more")
            raise TargetError(
                f"{self.url}/{key}: {stop - start} bytes were asked for and {came} came: {IGNORES_RANGES}"
            )
        return whole[start:stop]

    def tail(self, key: str, nbytes: int) -> tuple[bytes, int] | None:
        """The last `nbytes` bytes, all where the object is shorter, and the object's length."""
        answer = self._ask("GET", key, (None, nbytes), refused=(400, 405, 416, 501))
        if answer is None:
            return None
        if answer.status == 206 and answer.body is not None:
            _, _, total = _content_range(answer)
            if total is not None:
                return answer.body, total
        if answer.status == 200:
            whole = self._whole(answer, key)
            if whole is not None:
                return whole[-nbytes:], len(whole)
        spent(requests=1)  # no suffix ranges here: a HEAD and a range
        return self._tail_by_length(key, nbytes)

    def size(self, key: str) -> int | None:
        """Length of the object, None where there is none."""
        answer = self._ask("HEAD", key)
        if answer is None:
            return None
        length = answer.headers.get("content-length", "")
        if not length.isdecimal():
            raise TargetError(f"{self.url}/{key}: {NO_LENGTH}")
        return int(length)

    def child(self, name: str) -> Web:
        """The prefix `name` below this one."""
        return Web(f"{self.url}/{name}", self.storage_options)

    # ---- answers ----------------------------------------------------------------------------------------------------

    def _ask(
        self, method: str, key: str, ranges: tuple[int | None, int] | None = None, refused: tuple[int, ...] = (416,)
    ) -> Answer | None:
        """The answer to one request, None where it is 404; statuses of `refused` are left to the caller.

        `ranges` is (first byte, bytes), with None for the first byte of a suffix range.
        """
        where = f"{self.url}/{key}"
        headers = {"User-Agent": f"chronozarr-dask/{__version__}", "Accept-Encoding": "identity", **self._headers()}
        limits = Limits()
        if ranges is not None:
            start, nbytes = ranges
            headers["Range"] = f"bytes=-{nbytes}" if start is None else f"bytes={start}-{start + nbytes - 1}"
            limits = Limits(max(WHOLE_BODY, nbytes), nbytes)

        def once() -> Answer:
            answer = ask(method, where, headers, limits)
            if answer.status == 206 and ranges is not None:
                _check_range(answer, *ranges)
            return answer

        answer = retried(where, once)
        if answer.status in (404, 410):
            return None
        if answer.status in (401, 403):
            raise TargetFullError(f"{where}: {FORBIDDEN} ({answer.status} {answer.reason})")
        if answer.status not in (200, 206) and not (ranges is not None and answer.status in refused):
            raise TargetError(f"{where}: {answer.status} {answer.reason}")
        self._check_encoding(answer, key)
        return answer

    def _headers(self) -> dict[str, str]:
        client = self.storage_options.get("client_kwargs") or {}
        return {**(client.get("headers") or {}), **(self.storage_options.get("headers") or {})}

    def _whole(self, answer: Answer, key: str) -> bytes | None:
        """The whole object that came in place of a range, None where it is too long to be read."""
        if answer.body is None and answer.headers.get("content-type", "").startswith("text/html"):
            raise StoreError(f"{self.url}/{key}: {HTML_ANSWER}")
        return None if answer.body is None else self._decoded(answer, key)

    def _check_encoding(self, answer: Answer, key: str) -> None:
        encoding = answer.headers.get("content-encoding", "identity").lower()
        if encoding != "identity" and not (encoding == "gzip" and key.endswith(".json")):  # documents may be (9)
            raise TargetError(
                f"{self.url}/{key}: the host sends Content-Encoding: {encoding}, though identity was asked for; "
                f"objects must come as they are stored (section 9)"
            )

    def _decoded(self, answer: Answer, key: str) -> bytes:
        body = answer.body
        assert body is not None
        if answer.headers.get("content-encoding", "").lower() == "gzip":
            try:
                body = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(body, MOST_DOCUMENT)
            except zlib.error as error:
                raise StoreError(f"{self.url}/{key}: Content-Encoding is gzip, its bytes are not: {error}") from error
        if looks_like_html(body):
            raise StoreError(f"{self.url}/{key}: {HTML_ANSWER}")
        return body


def _content_range(answer: Answer) -> tuple[int | None, int | None, int | None]:
    """First byte, last byte and length of the object, as an answer of 206 names them."""
    match = _CONTENT_RANGE.fullmatch(answer.headers.get("content-range", ""))
    if match is None:
        return None, None, None
    first, last, total = match.groups()
    return int(first), int(last), None if total == "*" else int(total)


def _check_range(answer: Answer, start: int | None, nbytes: int) -> None:
    """Raise PassingError where an answer of 206 is not what was asked for: it is torn, or of another range."""
    if answer.body is None:
        raise PassingError(f"more than the {nbytes} bytes came that were asked for")
    first, last, total = _content_range(answer)
    if first is None or last is None:
        return
    came = len(answer.body)
    wanted = nbytes if total is None else min(nbytes, total - (start or 0))
    if came != wanted or last + 1 - first != came or start not in (None, first):
        raise PassingError(
            f"torn: {came} bytes came as {answer.headers['content-range']!r}, and {wanted} were expected"
        )

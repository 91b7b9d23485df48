"""Look for secrets in bytes, whatever they are wrapped in; nothing is ever unpickled or run.

::

    bytes -> plain? -> gzip, zlib, zstd, blosc, zip, base64, hex, percent, escapes, UTF-16, pickles -> again

A wrapping is looked for everywhere in the bytes, not at their begin alone: a shard, a frame of a message or a page
holds many. Depth is bounded; each content is looked at once.
"""

from __future__ import annotations

import base64
import binascii
import bz2
import hashlib
import html
import io
import json
import lzma
import pickletools
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote_to_bytes

import numcodecs
import numcodecs.blosc

DEPTH = 8
SHORT = 16
"""Bytes that are too few to hold a secret in other clothes."""

ROOM = 64 << 20
"""Bytes that one wrapping may give: no secret lies behind more in these tests."""

_BASE64 = re.compile(rb"[A-Za-z0-9+/_-](?:[A-Za-z0-9+/_-]|\\?[\r\n]|\\n){18,}={0,2}")
_HEX = re.compile(rb"(?:[0-9a-fA-F]{2}){8,}")
_PERCENT = re.compile(rb"%[0-9A-Fa-f]{2}")
_ESCAPE = re.compile(rb"\\(?:u00[0-9a-fA-F]{2}|x[0-9a-fA-F]{2}|[nrt0'\"/\\])")
_SHORT = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"0": b"\0"}
_ENTITY = re.compile(rb"&(?:#x?[0-9a-fA-F]+|amp|quot|lt|gt|apos);")


@dataclass(frozen=True)
class Found:
    """A secret, and the way to it."""

    secret: str
    where: str


@dataclass
class Search:
    """Looks for secrets.

    Parameters
    ----------
    secrets : tuple of str
        Of eight characters at least, so that none is met by chance.
    """

    secrets: tuple[str, ...]
    found: list[Found] = field(default_factory=list)
    _seen: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        assert all(len(s) >= 8 for s in self.secrets)

    def bytes(self, data: bytes, where: str, depth: int = DEPTH) -> None:
        """Look into bytes."""
        if len(data) < 8:
            return
        key = hashlib.blake2b(data, digest_size=16).digest()
        if key in self._seen:
            return
        self._seen.add(key)
        self.found += [Found(s, where) for s in self.secrets if s.encode() in data]
        if depth and len(data) >= SHORT:
            for kind, inner in unwrapped(data):
                self.bytes(inner, f"{where} > {kind}", depth - 1)

    def folder(self, folder: Path) -> None:
        """Look into every file below a folder, and at their names."""
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder.parent))
            self.bytes(name.encode(), f"the name {name}")
            if path.is_file():
                self.bytes(path.read_bytes(), name)


def unwrapped(data: bytes) -> Iterator[tuple[str, bytes]]:
    """What the bytes may hold in other clothes: (how, content)."""
    for kind, how in _WHOLE:
        try:
            yield from ((kind, part) for part in how(data) if part != data)
        except _NOT_THAT:
            continue
    for kind, sign, inflate in _SIGNS:
        for at in _places(data, sign):
            try:
                inner = inflate(data[at:])
            except _NOT_THAT:
                continue
            if inner:
                yield f"{kind} at {at}", inner


_NOT_THAT = (
    ValueError, EOFError, OSError, RuntimeError, KeyError, IndexError, NotImplementedError, UnicodeError,
    zlib.error, lzma.LZMAError, zipfile.BadZipFile, binascii.Error,
)  # fmt: skip


def _places(data: bytes, sign: re.Pattern[bytes]) -> Iterator[int]:
    return (m.start() for m in sign.finditer(data))


# ---- compressed ------------------------------------------------------------------------------------------------------


def _zlib(data: bytes) -> bytes:
    """Of a stream that may be cut: what came out before its end counts."""
    return zlib.decompressobj(47).decompress(data, ROOM)


def _zstd(data: bytes) -> bytes:
    return bytes(numcodecs.Zstd().decode(data[: _zstd_length(data)]))


def _zstd_length(data: bytes) -> int:
    """Length of the frame that the bytes begin with (RFC 8878, 3.1.1): the decoder takes a whole frame and no more."""
    descriptor = data[4]
    is_single, has_checksum = descriptor >> 5 & 1, descriptor >> 2 & 1
    size = (1, 2, 4, 8)[descriptor >> 6] if descriptor >> 6 or is_single else 0
    at = 5 + (1 - is_single) + (0, 1, 2, 4)[descriptor & 3] + size
    while True:
        block = int.from_bytes(data[at : at + 3], "little")
        at += 3 + (1 if block >> 1 & 3 == 1 else block >> 3)
        if at > len(data):
            raise ValueError
        if block & 1:
            return at + 4 * has_checksum


def _blosc(data: bytes) -> bytes:
    """Version 2 of the header: nbytes, blocksize and cbytes behind four bytes."""
    nbytes, _, cbytes = (int.from_bytes(data[i : i + 4], "little") for i in (4, 8, 12))
    if not 16 < cbytes <= len(data) or not 0 < nbytes <= ROOM:
        raise ValueError
    return bytes(numcodecs.blosc.decompress(data[:cbytes]))


def _zip(data: bytes) -> Iterable[bytes]:
    if b"PK\x05\x06" not in data:
        return []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [archive.read(name) for name in archive.namelist()]


# ---- written as text -------------------------------------------------------------------------------------------------


def _base64(data: bytes) -> Iterable[bytes]:
    """Each run, from each of its first four characters: what stands before it may be of the same letters."""
    for whole in {m.group() for m in _BASE64.finditer(data)}:
        run = re.sub(rb"\\n|[\\\r\n=]", b"", whole).translate(bytes.maketrans(b"-_", b"+/"))
        for skip in range(4):
            part = run[skip:]
            part = part[: len(part) - (len(part) % 4 == 1)]
            yield base64.b64decode(part + b"=" * (-len(part) % 4))


def _hex(data: bytes) -> Iterable[bytes]:
    return [bytes.fromhex(m.group().decode()) for m in _HEX.finditer(data)]


def _percent(data: bytes) -> Iterable[bytes]:
    part = _lines_with(_PERCENT, data)
    return [unquote_to_bytes(part.replace(b"+", b" ")), unquote_to_bytes(part)] if part else []


def _escapes(data: bytes) -> Iterable[bytes]:
    part = _lines_with(_ESCAPE, data)
    return [_ESCAPE.sub(_unescaped, part)] if part else []


def _lines_with(sign: re.Pattern[bytes], data: bytes) -> bytes:
    """The lines that have the sign, each once: a log is long, and few of its lines have one."""
    return b"\n".join(dict.fromkeys(line for line in data.split(b"\n") if sign.search(line)))


def _unescaped(m: re.Match[bytes]) -> bytes:
    text = m.group()[1:]
    return bytes([int(text[-2:], 16)]) if len(text) > 1 else _SHORT.get(text, text)


def _entities(data: bytes) -> Iterable[bytes]:
    part = _lines_with(_ENTITY, data)
    return [html.unescape(part.decode("utf-8", "replace")).encode()] if part else []


def _utf16(data: bytes) -> Iterable[bytes]:
    """Text of two or four bytes a character: every second or fourth byte."""
    if data.count(0) * 3 < len(data) and not re.search(rb"(?:[!-~]\0{1,3}){8}|(?:\0{1,3}[!-~]){8}", data):
        return []
    return [data[i::n] for n in (2, 4) for i in range(n)]


# ---- pickles ---------------------------------------------------------------------------------------------------------


def _pickles(data: bytes) -> Iterable[bytes]:
    """Strings and bytes of every pickle that begins somewhere, joined too: a text may be cut over several."""
    for at in _places(data, re.compile(rb"\x80[\x02-\x05]")):
        parts: list[bytes] = []
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of escapes in what only looks like a pickle
                for _, argument, _ in pickletools.genops(data[at:]):
                    if isinstance(argument, str):
                        parts.append(argument.encode("utf-8", "surrogatepass"))
                        if not argument.isascii():  # bytes, in protocols before 3
                            parts.append(argument.encode("latin-1", "ignore"))
                    elif isinstance(argument, bytes | bytearray):
                        parts.append(bytes(argument))
        except _NOT_THAT:
            pass
        yield from parts
        yield b"".join(parts)


def _joined(data: bytes) -> Iterable[bytes]:
    """The strings of a JSON list, joined: for text that is kept line by line, as in a notebook."""
    if data[:1] not in b"[{":
        return []

    def lists(value: object) -> Iterator[bytes]:
        if isinstance(value, list):
            if value and all(isinstance(v, str) for v in value):
                yield "".join(value).encode()
            for v in value:
                yield from lists(v)
        elif isinstance(value, dict):
            for v in value.values():
                yield from lists(v)

    return list(lists(json.loads(data)))


def _other(data: bytes) -> Iterable[bytes]:
    if data.startswith(b"BZh"):
        yield bz2.decompress(data)
    if data.startswith(b"\xfd7zXZ"):
        yield lzma.decompress(data)


_WHOLE: list[tuple[str, Callable[[bytes], Iterable[bytes]]]] = [
    ("zip", _zip), ("base64", _base64), ("hex", _hex), ("percent", _percent), ("escapes", _escapes),
    ("entities", _entities), ("UTF-16 or 32", _utf16), ("pickle", _pickles),
    ("lines", _joined), ("bzip2 or xz", _other),
]  # fmt: skip

_SIGNS: list[tuple[str, re.Pattern[bytes], Callable[[bytes], bytes]]] = [
    ("gzip", re.compile(rb"\x1f\x8b\x08"), _zlib),
    ("zlib", re.compile(rb"\x78[\x01\x5e\x9c\xda]"), _zlib),
    ("zstd", re.compile(rb"\x28\xb5\x2f\xfd"), _zstd),
    ("blosc", re.compile(rb"\x02\x01[\x00-\xff][\x01\x02\x04\x08]", re.DOTALL), _blosc),
]

"""Section 8: the three compressors and their configurations. A chain is `bytes` (little-endian), then one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import InputError, StoreError

CodecName = Literal["zstd", "blosc", "gzip"]
BloscCname = Literal["zstd", "lz4"]
BloscShuffle = Literal["noshuffle", "shuffle"]

LEVELS: dict[str, tuple[int, int, int]] = {"zstd": (1, 22, 5), "blosc": (0, 9, 1), "gzip": (1, 9, 6)}
"""name -> lowest level, highest level, level when none is named."""


@dataclass(frozen=True)
class Codec:
    """A compressor as section 8 permits it.

    Attributes
    ----------
    name : "zstd", "blosc" or "gzip"
    level : int
        zstd 1 to 22 (default 5), blosc 0 to 9 (default 1), gzip 1 to 9 (default 6).
    cname : "zstd" or "lz4"
        blosc only.
    shuffle : "noshuffle" or "shuffle"
        blosc only.
    """

    name: CodecName = "zstd"
    level: int = LEVELS["zstd"][2]
    cname: BloscCname = "zstd"
    shuffle: BloscShuffle = "shuffle"

    @classmethod
    def make(cls, name: str, level: int | None = None, options: Mapping[str, Any] | None = None) -> Codec:
        """A codec out of what a user names; InputError says what is permitted."""
        if name not in LEVELS:
            raise InputError(f"codec is {name!r}: the format permits zstd, blosc and gzip (section 8)")
        low, high, default = LEVELS[name]
        level = default if level is None else level
        if isinstance(level, bool) or not isinstance(level, int) or not low <= level <= high:
            raise InputError(f"codec_level is {level!r}: {name} takes {low} to {high} (section 8)")
        given = dict(options or {})
        cname, shuffle = given.pop("cname", "zstd"), given.pop("shuffle", "shuffle")
        if options and name != "blosc":
            raise InputError(f"codec_options {sorted(options)} are for blosc: {name} takes none (section 8)")
        if given:
            raise InputError(f"codec_options has {sorted(given)[0]!r}: blosc takes cname and shuffle (section 8)")
        if cname not in ("zstd", "lz4"):
            raise InputError(f"codec_options cname is {cname!r}: the format permits zstd and lz4 (section 8)")
        if shuffle not in ("noshuffle", "shuffle"):
            raise InputError(
                f"codec_options shuffle is {shuffle!r}: the format permits noshuffle and shuffle (section 8)"
            )
        return cls(name, level, cname, shuffle)  # type: ignore[arg-type]

    def to_json(self, dtype: npt.DTypeLike) -> dict[str, Any]:
        """The compressor's entry of a codecs list."""
        if self.name == "zstd":
            return {"name": "zstd", "configuration": {"level": self.level, "checksum": False}}
        if self.name == "gzip":
            return {"name": "gzip", "configuration": {"level": self.level}}
        return {
            "name": "blosc",
            "configuration": {
                "typesize": np.dtype(dtype).itemsize,
                "cname": self.cname,
                "clevel": self.level,
                "shuffle": self.shuffle,
                "blocksize": 0,
            },
        }


def bytes_codec(dtype: npt.DTypeLike) -> dict[str, Any]:
    """The `bytes` codec; a one-byte dtype has no byte order (2.3)."""
    if np.dtype(dtype).itemsize == 1:
        return {"name": "bytes"}
    return {"name": "bytes", "configuration": {"endian": "little"}}


def chain(codec: Codec, dtype: npt.DTypeLike) -> list[dict[str, Any]]:
    """The codecs of one chunk: `bytes`, then the compressor."""
    return [bytes_codec(dtype), codec.to_json(dtype)]


def parse_chain(codecs: Any, where: str) -> Codec:
    """Parse the codecs of one chunk; StoreError names any that is not permitted."""
    if not isinstance(codecs, Sequence) or not all(isinstance(c, Mapping) for c in codecs):
        raise StoreError(f"{where}: codecs is not a list of objects (8)")
    names = [c.get("name") for c in codecs]
    if len(codecs) != 2 or names[0] != "bytes":
        raise StoreError(f"{where}: codecs are {names}: section 8 has bytes, then exactly one of zstd, blosc, gzip")
    endian = _configuration(codecs[0], where).get("endian", "little")
    if endian != "little":
        raise StoreError(f"{where}: the bytes codec is {endian!r}-endian: section 8 has little")
    name, config = names[1], _configuration(codecs[1], where)
    if name == "zstd":
        return Codec("zstd", _level(config, "level", where))
    if name == "gzip":
        return Codec("gzip", _level(config, "level", where))
    if name == "blosc":
        cname, shuffle = config.get("cname"), config.get("shuffle")
        if cname not in ("zstd", "lz4"):
            raise StoreError(f"{where}: blosc cname {cname!r} is not permitted: zstd or lz4 (8)")
        if shuffle not in ("noshuffle", "shuffle"):
            raise StoreError(f"{where}: blosc shuffle {shuffle!r} is not permitted: noshuffle or shuffle (8)")
        return Codec("blosc", _level(config, "clevel", where), cname, shuffle)
    raise StoreError(f"{where}: codec {name!r} is not permitted: zstd, blosc or gzip (8)")


def _configuration(codec: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    config = codec.get("configuration", {})
    if not isinstance(config, Mapping):
        raise StoreError(f"{where}: the configuration of codec {codec.get('name')!r} is not an object (8)")
    return config


def _level(config: Mapping[str, Any], key: str, where: str) -> int:
    level = config.get(key, 0)
    if isinstance(level, bool) or not isinstance(level, int):
        raise StoreError(f"{where}: codec {key} is {level!r}: not an integer (8)")
    return level

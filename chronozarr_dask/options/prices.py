"""What work costs: unit speeds as they were measured, and prices out of a file. There are no prices by default.

A file of prices is YAML; `speeds` stands in place of the measured ones, field by field::

    currency: USD
    core_hour: 0.05
    put_1000: 0.005
    speeds: {task_ms: 1.5}
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.codecs import Codec

CODEC_MB_S: Mapping[str, Mapping[int, float]] = {
    "zstd": {1: 845, 3: 203, 4: 139, 5: 107, 6: 98, 7: 77, 9: 50, 12: 25, 15: 7.5, 19: 3.2},
    "gzip": {1: 126, 6: 52, 9: 52},
    "blosc-zstd": {1: 385, 5: 118, 9: 4},
    "blosc-lz4": {1: 1300, 9: 1500},
}
"""MB of pixels a second and core, by codec and level. zstd 5 by "Encoding" of tests/benchmarks/RESULTS.md, where the
codec alone takes 13.6 s for the 1.46 GB of all levels, padded; the others by their ratio to it on the same texture."""

CODEC_SIZE: Mapping[str, Mapping[int, float]] = {
    "zstd": {1: 1.20, 3: 1.09, 4: 1.03, 5: 1.0, 9: 0.99, 19: 0.96},
    "gzip": {1: 1.13, 6: 1.11},
    "blosc-zstd": {1: 0.90, 5: 0.86},
    "blosc-lz4": {1: 0.96, 9: 0.95},
}
"""Bytes that a codec leaves of the texture of the benchmarks, as a share of those of zstd 5."""


class Speeds(BaseModel):
    """What a unit of work takes, on one core where nothing else is said."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    codec_mb_s: float | None = Field(None, gt=0, description="MB of pixels compressed a second; by the codec else.")
    kept: dict[str, float] = Field(
        {"none": 0.62, "star-delta": 0.53},
        description="Share of the bytes that zstd 5 leaves, by encoding.",
    )  # RESULTS.md, "Encoding": the texture of the benchmarks; real scenes differ
    encode_ns: float = Field(3.7, gt=0, description="Nanoseconds a byte of pixels, codec apart: levels, residuals.")
    # RESULTS.md, "Encoding", none, unsharded: 0.74 x 25.7 s net of imports, less 13.6 s of the codec, for 1.46 GB
    read_ns: float = Field(13.4, gt=0, description="Nanoseconds a pixel and band of a scene that is read and decoded.")
    # RESULTS.md, "Composites of a region": 2 threads x 1.41 s for 201 million values, less the median
    reduce_ns: float = Field(0.6, gt=0, description="Nanoseconds an observed pixel and band that is composited.")
    # RESULTS.md, "Composites": 7.3 ns of 12 observations of uint16
    staged_ns: float = Field(2.7, gt=0, description="Nanoseconds a byte that is kept in the journal and read again.")
    # zstd 1 both ways: CODEC_MB_S, and as much again for decompression and checksums
    task_ms: float = Field(2.25, ge=0, description="Milliseconds a task, of client, scheduler and worker together.")
    # 2.0 to 2.5 ms on two cores, dask 2026.8
    scheduler_ms: float = Field(1.3, ge=0, description="Of them, the scheduler's: it does one task at a time.")
    # RESULTS.md, "Scale"
    request_ms: float = Field(20, ge=0, description="Milliseconds a thread waits for a request to a bucket.")
    source_ms: float = Field(10, ge=0, description="The same to the bucket of scenes: two reads at once for a thread.")
    file_ms: float = Field(0.8, ge=0, description="Milliseconds of a file on a disk, in place of a request.")
    # a file with a temporary name and a rename, measured on an overlay file system

    def codec_ns(self, codec: Codec) -> float:
        """Nanoseconds a byte that the codec takes."""
        return 1000 / (self.codec_mb_s or _at(CODEC_MB_S, codec))

    def kept_by(self, codec: Codec, encoding: str) -> float:
        """Share of the bytes of pixels that are stored."""
        return min(self.kept[encoding] * _at(CODEC_SIZE, codec), 1.0)


def _at(table: Mapping[str, Mapping[int, float]], codec: Codec) -> float:
    """The entry of a codec's level, or of the nearest above it that was measured; the last, where there is none."""
    levels = table[f"blosc-{codec.cname}" if codec.name == "blosc" else codec.name]
    return levels[min((k for k in levels if k >= codec.level), default=max(levels))]


class Prices(BaseModel):
    """Prices of a unit, and speeds that differ from what was measured."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    currency: str = Field(description="As in USD; it is shown and not reckoned with.")
    core_hour: float = Field(0, ge=0, description="Of a core (thread of a worker) for an hour, with its memory.")
    gb_month: float = Field(0, ge=0, description="Of a GB (10^9 bytes) that is stored for a month.")
    put_1000: float = Field(0, ge=0, description="Of a thousand PUT or LIST requests.")
    get_1000: float = Field(0, ge=0, description="Of a thousand GET requests to the target's bucket.")
    source_get_1000: float = Field(0, ge=0, description="The same of the source's bucket, where the reader pays.")
    egress_gb: float = Field(0, ge=0, description="Of a GB that is read from the source: 0 in its own region.")
    speeds: Speeds = Field(Speeds(), description="In place of what was measured.")


def read_prices(path: str) -> Prices:
    """The prices of a YAML file.

    Raises
    ------
    InputError
        If it cannot be read, or holds what is no price.
    """
    try:
        found: Any = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"the prices of {path} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise InputError(f"{path} holds no prices: give fields such as currency and core_hour, one a line")
    try:
        return Prices(**found)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        known = ", ".join(Prices.model_fields)
        raise InputError(f"{path}: {name}: {first['msg']}; a file of prices has {known}") from None

"""Section 4: the temporal encodings. ``none`` stores true values; ``star-delta`` stores residuals against an anchor.

Under the nearest-anchor schedule a star is one contiguous run of timesteps. With interval 6::

    timestep   0  1  2  3 | 4  5  6  7  8  9 | 10 11 12 13 14 15 | 16 ...
    anchor     0                6                    12
    refers to  -  0  0  0 | 6  6  -  6  6  6 | 12 12  - 12 12 12 | 18 ...   (3 -> 0: the tie goes to the earlier)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import InputError, StoreError

Encoding = Literal["none", "star-delta"]
ENCODINGS: tuple[Encoding, ...] = ("none", "star-delta")
DEFAULT_ANCHOR_INTERVAL = 6
NOMINAL_ANCHOR_INTERVAL = 6
SELECTION_THRESHOLD = 0.85
SELECTION_MIN_CELLS = 3


@dataclass(frozen=True)
class Selection:
    """What ``auto`` measured (4.1, 4.3).

    Attributes
    ----------
    sampled_cells : int
        Level 0 cells encoded both ways.
    star_delta_bytes, plain_bytes : int
        Their compressed bytes.
    """

    sampled_cells: int
    star_delta_bytes: int
    plain_bytes: int

    @property
    def ratio(self) -> float:
        """Star-delta bytes over plain bytes, unrounded; 1.0 when the sample stores nothing at all."""
        return self.star_delta_bytes / self.plain_bytes if self.plain_bytes else 1.0

    @property
    def encoding(self) -> Encoding:
        """star-delta only when the ratio, unrounded, is at most 0.85."""
        return "star-delta" if self.ratio <= SELECTION_THRESHOLD else "none"

    def to_json(self) -> dict[str, Any]:
        """The ``selection`` object; the ratio is rounded to four digits."""
        return {"mode": "auto", "sampled_cells": self.sampled_cells, "ratio": round(self.ratio, 4)}


def check_interval(interval: int) -> int:
    """Return the anchor interval if it is at least 1, else raise InputError."""
    if interval < 1:
        raise InputError(f"anchor_interval is {interval}: give a number of timesteps of at least 1 (section 4.1)")
    return interval


def anchors(n_time: int, interval: int) -> list[int]:
    """Anchor timesteps: 0, interval, 2 interval, ... below n_time."""
    return list(range(0, n_time, check_interval(interval)))


def nearest_anchor(t: int, n_time: int, interval: int) -> int:
    """Anchor nearest to `t` among those below `n_time`; a tie goes to the earlier one (4.2 step 2)."""
    before = t - t % interval
    after = before + interval
    return after if after < n_time and after - t < t - before else before


def references(n_time: int, interval: int) -> npt.NDArray[np.int64]:
    """For every timestep the anchor it refers to; an anchor refers to itself. Shape (n_time,)."""
    check_interval(interval)
    return np.array([nearest_anchor(t, n_time, interval) for t in range(n_time)], np.int64)


def residual(source: npt.NDArray[Any], anchor: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(source - anchor) mod 2^bits: unsigned wraparound in the stored dtype (4.2 step 4)."""
    out: npt.NDArray[Any] = np.subtract(source, anchor, dtype=source.dtype)
    return out


def restore(stored: npt.NDArray[Any], anchor: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(anchor + residual) mod 2^bits; never clamped (4.2)."""
    out: npt.NDArray[Any] = np.add(anchor, stored, dtype=stored.dtype)
    return out


@dataclass(frozen=True)
class Temporal:
    """The ``temporal`` block (4.1).

    Attributes
    ----------
    encoding : "none" or "star-delta"
    anchor_interval : int or None
        None when the encoding is ``none``.
    anchor_indices : tuple of int
    delta_reference : mapping of int to int
        Every non-anchor timestep and the anchor that it refers to: decoded through this map, never recomputed.
    selection : mapping or None
        The recorded ``selection`` object.
    """

    encoding: Encoding
    anchor_interval: int | None = None
    anchor_indices: tuple[int, ...] = ()
    delta_reference: Mapping[int, int] = field(default_factory=dict)
    selection: Mapping[str, Any] | None = None

    @classmethod
    def none(cls, selection: Mapping[str, Any] | None = None) -> Temporal:
        """True values everywhere."""
        return cls("none", selection=selection)

    @classmethod
    def star_delta(cls, n_time: int, interval: int, selection: Mapping[str, Any] | None = None) -> Temporal:
        """The nearest-anchor schedule of a fresh encode."""
        refs = references(n_time, interval)
        deltas = {t: int(a) for t, a in enumerate(refs) if a != t}
        return cls("star-delta", interval, tuple(anchors(n_time, interval)), deltas, selection)

    def reference(self, t: int) -> int:
        """Timestep whose chunk must be added to that of `t`; `t` itself when its chunk holds true values."""
        return self.delta_reference.get(t, t)

    def to_json(self) -> dict[str, Any]:
        """The ``temporal`` object."""
        out: dict[str, Any] = {"encoding": self.encoding}
        if self.encoding == "star-delta":
            out["anchor_interval"] = self.anchor_interval
            out["anchor_indices"] = list(self.anchor_indices)
            out["delta_reference"] = {str(t): a for t, a in sorted(self.delta_reference.items())}
        if self.selection is not None:
            out["selection"] = dict(self.selection)
        return out

    @classmethod
    def from_json(cls, block: Any, n_time: int) -> Temporal:
        """Parse and check a ``temporal`` object.

        Raises
        ------
        StoreError
            If the encoding is unknown, or the map does not let every timestep be decoded (4.1, 4.2).
        """
        if not isinstance(block, Mapping):
            raise StoreError("chronozarr.temporal is missing or not an object (4.1)")
        encoding = block.get("encoding")
        selection = block.get("selection")
        if selection is not None and not isinstance(selection, Mapping):
            raise StoreError("chronozarr.temporal.selection is not an object (4.1)")
        if encoding == "none":
            return cls.none(selection)
        if encoding != "star-delta":
            raise StoreError(
                f"chronozarr.temporal.encoding is {encoding!r}: this reader knows none and star-delta (10)"
            )
        interval = _integer(block.get("anchor_interval"), "anchor_interval", 1)
        listed = block.get("anchor_indices")
        mapped = block.get("delta_reference")
        if not isinstance(listed, list) or not isinstance(mapped, Mapping):
            raise StoreError("a star-delta store needs anchor_indices (a list) and delta_reference (an object) (4.1)")
        anchor_indices = tuple(_integer(a, "anchor_indices", 0) for a in listed)
        deltas = {_key(k): _integer(a, "delta_reference", 0) for k, a in mapped.items()}
        temporal = cls(encoding, interval, anchor_indices, deltas, selection)
        temporal.check(n_time)
        return temporal

    def check(self, n_time: int) -> None:
        """Raise StoreError unless every timestep is an anchor or refers to one at 0 < distance < interval (4.2)."""
        is_anchor = set(self.anchor_indices)
        if any(a >= n_time for a in is_anchor):
            raise StoreError(f"anchor_indices has {max(is_anchor)}, but there are {n_time} timesteps (4.1)")
        for t in range(n_time):
            if (t in is_anchor) == (t in self.delta_reference):
                raise StoreError(f"timestep {t} must be either in anchor_indices or in delta_reference (4.1)")
        for t, a in self.delta_reference.items():
            distance = abs(t - a)
            if t >= n_time or a not in is_anchor or not 0 < distance < (self.anchor_interval or 1):
                raise StoreError(
                    f"delta_reference maps {t} to {a}: it must name an anchor at a distance of at least 1 and less "
                    f"than anchor_interval {self.anchor_interval} (4.2)"
                )


def _integer(value: Any, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise StoreError(f"chronozarr.temporal.{name} has {value!r}: not an integer of at least {least} (4.1)")
    return value


def _key(text: Any) -> int:
    if not isinstance(text, str) or not text.isascii() or not text.isdecimal() or (len(text) > 1 and text[0] == "0"):
        raise StoreError(f"chronozarr.temporal.delta_reference has the key {text!r}: not a decimal index (4.1)")
    return int(text)

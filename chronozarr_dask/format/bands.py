"""Section 3.6: band objects. Physical value = stored * scale + offset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from chronozarr_dask.errors import InputError, StoreError
from chronozarr_dask.format.dtypes import is_finite_number

# The STAC common names (https://github.com/stac-extensions/eo).
COMMON_NAMES = frozenset(
    "pan coastal blue green green05 yellow red rededge rededge071 rededge075 rededge078 nir nir08 nir09 cirrus swir16 "
    "swir22 lwir lwir11 lwir12".split()
)


@dataclass(frozen=True)
class Band:
    """One band.

    Attributes
    ----------
    name : str
        Unique in the store.
    common_name : str or None
        From the STAC vocabulary: ``red``, ``nir``, ``swir16``, ...
    scale, offset : float
        Physical value = stored * scale + offset.
    units : str or None
        Of the physical value.
    """

    name: str
    common_name: str | None = None
    scale: float = 1.0
    offset: float = 0.0
    units: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"a band's name is {self.name!r}: give a text that is not empty (section 3.6)")
        for key in ("common_name", "units"):
            value = getattr(self, key)
            if value is not None and (not isinstance(value, str) or not value):
                raise InputError(
                    f"{key} of band {self.name!r} is {value!r}: give a text, or leave it out (section 3.6)"
                )
        for key in ("scale", "offset"):
            value = getattr(self, key)
            if not is_finite_number(value):
                raise InputError(f"{key} of band {self.name!r} is {value!r}: give a finite number (section 3.6)")
            object.__setattr__(self, key, float(value))
        if self.scale == 0:
            raise InputError(f"scale of band {self.name!r} is 0: every physical value would be the same (section 3.6)")

    def to_json(self) -> dict[str, Any]:
        """The band object; scale and offset are always written."""
        out: dict[str, Any] = {"name": self.name}
        if self.common_name is not None:
            out["common_name"] = self.common_name
        out |= {"scale": self.scale, "offset": self.offset}
        if self.units is not None:
            out["units"] = self.units
        return out

    @classmethod
    def from_json(cls, entry: Any) -> Band:
        """Parse a band object, or the plain string of a v0.1 store; StoreError if it is neither."""
        if isinstance(entry, str):
            entry = {"name": entry}
        if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
            raise StoreError(f"chronozarr.bands has {entry!r}: neither a band object with a name nor a string (3.6)")
        try:
            return cls(
                entry["name"],
                entry.get("common_name"),
                entry.get("scale", 1.0),
                entry.get("offset", 0.0),
                entry.get("units"),
            )
        except InputError as error:
            raise StoreError(f"chronozarr.bands: {error}") from error


def as_bands(bands: Iterable[str | Band | Mapping[str, Any]]) -> tuple[Band, ...]:
    """Names, Band objects or mappings as Band objects with unique names; InputError otherwise."""
    if isinstance(bands, str):
        raise InputError(f"bands is the text {bands!r}: give a list of names or of Band objects")
    out: list[Band] = []
    for b in bands:
        try:
            out.append(b if isinstance(b, Band) else Band(b) if isinstance(b, str) else Band(**b))
        except TypeError as error:
            raise InputError(
                f"bands has {b!r}: give a name, or a Band with name, common_name, scale, offset and units"
            ) from error
    seen: set[str] = set()
    for b in out:
        if b.name in seen:
            raise InputError(
                f"two bands are named {b.name!r}: band names are unique in a store (section 3.6); rename one"
            )
        seen.add(b.name)
    if not out:
        raise InputError("the input has no band: give at least one")
    return tuple(out)

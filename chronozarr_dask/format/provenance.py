"""Section 3.8: where the pixels come from (optional)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from chronozarr_dask.errors import InputError, StoreError

GapFill = Literal["none", "carry-forward"]
GAP_FILLS: tuple[GapFill, ...] = ("none", "carry-forward")
FIELDS = ("sources", "composite", "gap_fill", "notes")


@dataclass(frozen=True)
class Provenance:
    """The ``provenance`` object.

    Attributes
    ----------
    sources : tuple of str
        Collection ids or URLs.
    composite : str
        For example "monthly median".
    gap_fill : "none" or "carry-forward"
    notes : str or None
    """

    sources: tuple[str, ...]
    composite: str
    gap_fill: GapFill
    notes: str | None = None

    def __post_init__(self) -> None:
        sources = self.sources
        if not isinstance(sources, (list, tuple)) or not all(isinstance(s, str) for s in sources):
            raise InputError(f"provenance.sources is {sources!r}: give a list of collection ids or URLs (section 3.8)")
        object.__setattr__(self, "sources", tuple(sources))
        if not isinstance(self.composite, str):
            raise InputError(
                f"provenance.composite is {self.composite!r}: give a text such as 'monthly median' (section 3.8)"
            )
        if self.gap_fill not in GAP_FILLS:
            raise InputError(f"provenance.gap_fill is {self.gap_fill!r}: give 'none' or 'carry-forward' (section 3.8)")
        if self.notes is not None and not isinstance(self.notes, str):
            raise InputError(f"provenance.notes is {self.notes!r}: give a text (section 3.8)")

    def to_json(self) -> dict[str, Any]:
        """The object as it is stored."""
        out: dict[str, Any] = {"sources": list(self.sources), "composite": self.composite, "gap_fill": self.gap_fill}
        return out if self.notes is None else out | {"notes": self.notes}

    @classmethod
    def parse(cls, value: Any) -> Provenance:
        """A Provenance out of a mapping; InputError names the field that is wrong."""
        if isinstance(value, Provenance):
            return value
        if not isinstance(value, Mapping):
            raise InputError(f"provenance is {value!r}: give sources, composite and gap_fill (section 3.8)")
        unknown = sorted(str(k) for k in value if k not in FIELDS)
        if unknown:
            raise InputError(
                f"provenance has the unknown field {unknown[0]!r}: it has {', '.join(FIELDS)} (section 3.8)"
            )
        return cls(*(value.get(name) for name in FIELDS))  # type: ignore[arg-type]

    @classmethod
    def from_json(cls, value: Any) -> Provenance:
        """As `parse`, for a store that is read: fields of other writers are passed over; raises StoreError."""
        known = {name: value[name] for name in FIELDS if name in value} if isinstance(value, Mapping) else value
        try:
            return cls.parse(known)
        except InputError as error:
            raise StoreError(f"chronozarr.{error}") from error

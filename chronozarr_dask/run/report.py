"""What a run did, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from chronozarr_dask._version import __version__
from chronozarr_dask.format.temporal import Encoding, Selection
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.run.engine import Failure
from chronozarr_dask.run.versions import versions

Status = Literal["complete", "failed", "interrupted"]
UNDECIDED: Literal["undecided"] = "undecided"
"""Encoding of a run that ended before it was chosen."""


@dataclass
class Ledger:
    """What a run has done so far: all that is known of one that does not come to its end.

    Attributes
    ----------
    encoding : "none", "star-delta" or "undecided"
    selection : Selection or None
    regions_resumed, objects_resumed, bytes_resumed : int
        What earlier attempts have stored, by their receipts.
    regions, objects, nbytes : int
        What this attempt has stored.
    bytes_in : int
        What it has read for that.
    in_flight : set of Region
        Begun, and not heard of since: they may have ended.
    failures : list of Failure
    left : list of str
        Warnings of what could not be removed at the end.
    """

    encoding: Encoding | Literal["undecided"] = UNDECIDED
    selection: Selection | None = None
    regions_resumed: int = 0
    objects_resumed: int = 0
    bytes_resumed: int = 0
    regions: int = 0
    objects: int = 0
    nbytes: int = 0
    bytes_in: int = 0
    in_flight: set[Region] = field(default_factory=set)
    failures: list[Failure] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def add_found(self, objects: int, nbytes: int) -> None:
        """Count a region that an earlier attempt has stored."""
        self.regions_resumed += 1
        self.objects_resumed += objects
        self.bytes_resumed += nbytes

    def add(self, region: Region, objects: int, nbytes: int, bytes_in: int = 0) -> None:
        """Count a region that was stored."""
        self.in_flight.discard(region)
        self.regions += 1
        self.objects += objects
        self.nbytes += nbytes
        self.bytes_in += bytes_in

    def attempt(self) -> dict[str, int]:
        """What this attempt has read and stored."""
        own = {"regions": self.regions, "objects": self.objects}
        return {**own, "bytes": self.nbytes, "bytes_in": self.bytes_in}


@dataclass(frozen=True)
class RunReport:
    """The result of an encode.

    Attributes
    ----------
    target, journal : str
        URLs.
    encoding : "none" or "star-delta"
        "undecided" where a run ended before.
    selection : mapping or None
        What `auto` measured: sampled_cells, ratio (4.1).
    objects : int
        Chunk and shard objects that are stored, by this attempt and those before it.
    bytes_by_level, objects_by_level : mapping of level path to int
        Stored chunks and shards. Empty for a run that did not end.
    seconds_by_stage : mapping
        Wall time of plan, stage, select, run and commit.
    failures : tuple of Failure
        Regions that were set aside; in a run that is complete they did well later.
    regions : int
        Regions in the plan.
    regions_done, regions_resumed : int
        Of them, those that are stored, and those that an earlier run had stored.
    staged_bytes : int
        Bytes of the source that were kept in the journal meanwhile.
    warnings : tuple of str
    scenes : mapping or None
        Of composites: scenes that were used, dropped and lost, timesteps without an observation. See
        `run.scenebook.Scenes`.
    version : str
        Of this package.
    status : "complete", "failed" or "interrupted"
    error : str or None
        What ended it.
    began, ended : str
        RFC 3339, UTC. Of this attempt.
    versions : mapping of name to version
    stored_bytes : int
        As `objects`, in bytes.
    attempt : mapping
        regions, objects and bytes that this attempt stored (an earlier one may have begun), and bytes_in, read for it.
    """

    target: str
    journal: str
    encoding: Encoding | Literal["undecided"]
    selection: Mapping[str, Any] | None
    objects: int
    bytes_by_level: Mapping[str, int]
    seconds_by_stage: Mapping[str, float]
    failures: tuple[Failure, ...] = ()
    regions: int = 0
    regions_resumed: int = 0
    staged_bytes: int = 0
    warnings: tuple[str, ...] = ()
    scenes: Mapping[str, Any] | None = None
    version: str = field(default=__version__)
    objects_by_level: Mapping[str, int] = field(default_factory=dict)
    stored_bytes: int = 0
    regions_done: int = 0
    attempt: Mapping[str, int] = field(default_factory=dict)
    status: Status = "complete"
    error: str | None = None
    began: str = ""
    ended: str = ""
    versions: Mapping[str, str] = field(default_factory=versions)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON."""
        return asdict(self)

"""What a run did, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from chronozarr_dask._version import __version__
from chronozarr_dask.format.temporal import Encoding
from chronozarr_dask.run.engine import Failure


@dataclass(frozen=True)
class RunReport:
    """The result of an encode.

    Attributes
    ----------
    target, journal : str
        URLs.
    encoding : "none" or "star-delta"
    selection : mapping or None
        What `auto` measured: sampled_cells, ratio (4.1).
    objects : int
        Chunk and shard objects that were stored.
    bytes_by_level : mapping of level path to int
        Stored bytes of chunks and shards.
    seconds_by_stage : mapping
        Wall time of plan, stage, select, run and commit.
    failures : tuple of Failure
        Regions that were set aside and did well later. Empty in a clean run.
    regions : int
        Regions in the plan.
    regions_resumed : int
        Of them, those that an earlier run had stored.
    staged_bytes : int
        Bytes of the source that were kept in the journal meanwhile.
    warnings : tuple of str
    scenes : mapping or None
        Of composites: scenes that were used, dropped and lost, timesteps without an observation. See
        `run.scenebook.Scenes`.
    """

    target: str
    journal: str
    encoding: Encoding
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

    def to_json(self) -> dict[str, Any]:
        """The report as JSON."""
        return asdict(self)

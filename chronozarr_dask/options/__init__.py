"""Every option of an encode and its default, once: the Python API, the command line and recipes read them here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ByteSize, ConfigDict, Field, ValidationError

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.codecs import Codec, CodecName
from chronozarr_dask.format.layout import DEFAULT_CHUNK_SIZE, check_chunk_size
from chronozarr_dask.format.provenance import Provenance
from chronozarr_dask.format.pyramid import check_levels
from chronozarr_dask.format.sharding import DEFAULT_SHARD_BYTES_LIMIT, check_shard_time
from chronozarr_dask.format.temporal import DEFAULT_ANCHOR_INTERVAL, check_interval

EncodingChoice = Literal["auto", "none", "star-delta"]

GRACE_SECONDS = 20.0
"""For regions in flight after an interrupt: less than the half minute that orchestrators leave before they kill."""

DEFAULT_MAX_OBJECTS = 50_000_000
"""A store of 150,000 cells x 120 months has 24 million, unsharded. At the 3,500 puts a second that a bucket's prefix
takes they are four hours, and twice as many were most likely not meant."""
DEFAULT_MAX_TASKS = 20_000_000
"""At the 1 to 2 ms that a scheduler takes for each, six to eleven hours during which workers wait for it."""

PLACEMENT_FIELDS = ("region_cells", "time_slab", "memory", "max_objects", "max_tasks")
"""Options that change how the work is cut, and never a byte of the store."""


class EncodeOptions(BaseModel):
    """Options of an encode. Everything here but the placement fields decides the bytes of the store."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    variable: str | None = Field(
        None, description="Variable of a Dataset to encode; all rasters of one dtype as bands."
    )
    crs: Any = Field(None, description="CRS of the input, as in EPSG:32631; found in the input when left out.")
    nodata: float | int | Literal["default"] | None = Field(
        "default", description="Value of a missing pixel; null for none; 'default': what the input or the dtype says."
    )
    bands: Sequence[Any] | None = Field(None, description="Names or Band objects, one per band, in order.")
    encoding: EncodingChoice = Field("auto", description="Temporal encoding; auto measures a sample of cells (4.3).")
    anchor_interval: int = Field(DEFAULT_ANCHOR_INTERVAL, description="Timesteps between anchors (4.1).")
    codec: CodecName = Field("zstd", description="Compressor (8).")
    codec_level: int | None = Field(None, description="Its level; zstd 5, blosc 1, gzip 6 when left out.")
    codec_options: Mapping[str, Any] | None = Field(None, description="blosc only: cname and shuffle.")
    chunk_size: int = Field(DEFAULT_CHUNK_SIZE, description="Edge of a cell in pixels, even (2.1).")
    shard_time: int | Literal["all"] | None = Field(
        None, description="Timesteps in a shard, 'all' for the whole axis; unsharded when left out (7.1)."
    )
    levels: int | None = Field(None, description="Levels, level 0 included; to the 1 x 1 grid when left out (6).")
    mask: Any = Field(
        None, description="Validity (time, y, x) of 0 and 1, or the name of a variable of the input (2.4)."
    )
    coverage: Any = Field(None, description="Observation counts (time, y, x), or a variable's name (2.5).")
    nan_to_mask: bool = Field(False, description="float32: make a mask of the pixels that have NaN in any band.")
    fill_masked: bool = Field(False, description="Store the fill value wherever the mask is 0.")
    provenance: Any = Field(None, description="sources, composite, gap_fill and notes (3.8).")
    shard_bytes_limit: int = Field(
        DEFAULT_SHARD_BYTES_LIMIT, ge=0, description="Most shards whose lengths go into the root document (7.3)."
    )
    region_cells: int | tuple[int, int] | None = Field(
        None,
        description="Cells along the edge of a region, or (rows, cols); even. Chosen from the memory when left out.",
    )
    time_slab: int | None = Field(None, ge=1, description="Most timesteps in a region; whole stars or shards are kept.")
    memory: ByteSize | None = Field(
        None,
        gt=0,
        description="Memory for the regions in flight of one process, as in 1.5GB; from the machine when left out.",
    )
    max_objects: int = Field(DEFAULT_MAX_OBJECTS, ge=1, description="Most objects of a store; one of more is refused.")
    max_tasks: int = Field(
        DEFAULT_MAX_TASKS, ge=1, description="Most tasks that the work may be cut into; a plan of more is refused."
    )
    journal: str | None = Field(None, description="Folder or URL of the journal; <target>.run/ when left out.")

    @property
    def made_codec(self) -> Codec:
        """The codec that `codec`, `codec_level` and `codec_options` name."""
        return Codec.make(self.codec, self.codec_level, self.codec_options)

    def check(self) -> None:
        """Raise InputError for a value that no input could make right."""
        check_chunk_size(self.chunk_size)
        check_interval(self.anchor_interval)
        _ = self.made_codec
        check_shard_time(self.shard_time, 1)
        if self.levels is not None:
            check_levels(self.levels)
        if self.provenance is not None:
            Provenance.parse(self.provenance)
        if self.mask is not None and self.nan_to_mask:
            raise InputError("nan_to_mask makes a mask, and a mask is given: take one of the two")
        for n in self.region_edges or ():
            if n < 1 or n % 2:
                raise InputError(f"region_cells is {self.region_cells}: give an even number of cells of at least 2")

    @property
    def region_edges(self) -> tuple[int, int] | None:
        """`region_cells` as (rows, cols)."""
        n = self.region_cells
        return (n, n) if isinstance(n, int) else n


def make_options(**fields: Any) -> EncodeOptions:
    """EncodeOptions out of keywords, checked; InputError names the keyword that is wrong and what is allowed."""
    if fields.get("journal") is not None:
        fields["journal"] = str(fields["journal"])
    try:
        options = EncodeOptions(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "options"
        if first["type"] == "extra_forbidden":
            known = ", ".join(EncodeOptions.model_fields)
            raise InputError(f"encode has no option {name!r}; it has {known}") from None
        raise InputError(f"{name} is {first.get('input')!r}: {first['msg']}") from None
    options.check()
    return options

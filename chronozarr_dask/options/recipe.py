"""A recipe: everything that one product is made of, as a model that a YAML file is checked against.

The top-level keys are those of `Recipe`. What it does not say is settled by the defaults here, once; options of the
encoder are those of `EncodeOptions`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ByteSize, ConfigDict, Field, StrictInt, create_model, model_validator

from chronozarr_dask.options import GRACE_SECONDS, EncodeOptions

OffsetPolicy = Literal["auto", "none"] | StrictInt
Number = int | float

ENCODE_FIELDS = (
    "encoding", "anchor_interval", "codec", "codec_level", "codec_options", "chunk_size", "shard_time", "levels",
    "nodata", "shard_bytes_limit", "region_cells", "time_slab", "memory", "max_objects", "max_tasks",
)  # fmt: skip
"""Options of an encode that a recipe has; the others are settled by the composites."""


class Part(BaseModel):
    """A part of a recipe: unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SourceBand(Part):
    """A band of the store, where its name alone does not say all."""

    name: str = Field(description="Name in the store, and in the items unless `asset` says another.")
    asset: str | None = Field(None, description="Key, band name or common name in the items, as in B04 or red.")
    common_name: str | None = Field(None, description="As in red, nir; from the items when left out.")
    scale: float | None = Field(
        None, description="Physical value = stored x scale + offset; from the items when left out."
    )
    offset: float | None = Field(
        None, description="See scale; 0 for Sentinel-2, whose offset is taken out of the pixels."
    )
    units: str | None = Field(None, description="Units of the physical value.")


def _as_band(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


def _as_text(value: Any) -> Any:
    """A year is a number in YAML."""
    return str(value) if type(value) is int else value


Moment = Annotated[str | None, BeforeValidator(_as_text, json_schema_input_type=str | int | None)]


class Classes(Part):
    """Pixels count by the number of their class, as in Sentinel-2's SCL."""

    asset: str = Field("SCL", description="Asset of the class plane.")
    keep: tuple[int, ...] = Field((4, 5, 6, 7, 11), min_length=1, description="Classes of pixels that count.")
    nothing: int = Field(0, description="Class of a place outside of the scene.")


class Bits(Part):
    """Pixels count by bits, as in Landsat's QA_PIXEL."""

    asset: str = Field("qa_pixel", description="Asset of the plane of bits.")
    reject: tuple[str | int, ...] = Field(
        ("fill", "dilated_cloud", "cirrus", "cloud", "cloud_shadow"),
        description="Bits of which none may be set: names of Landsat Collection 2, or numbers from 0 to 15.",
    )


class Source(Part):
    """Where the scenes are."""

    api: str | None = Field(None, description="Landing page of a STAC API that is searched.")
    items: str | None = Field(None, description="Path or URL of an ItemCollection, an item, or a catalog.")
    files: str | None = Field(None, description="Glob or manifest (.csv, .json) of GeoTIFFs, each of one scene.")
    date_format: str | None = Field(None, description="Where the date is in the names of `files`, as in %Y%m%d.")
    collections: tuple[str, ...] = Field((), description="Collections of the API or of the items.")
    query: dict[str, dict[str, Any]] | None = Field(
        None, description="Properties and what they must be, as in {eo:cloud_cover: {lt: 60}}."
    )
    filter: dict[str, Any] | str | None = Field(None, description="CQL2 as JSON or text, for an API alone.")
    ids: tuple[str, ...] = Field((), description="Ids of the items to take.")
    bands: tuple[Annotated[SourceBand, BeforeValidator(_as_band, json_schema_input_type=str | SourceBand)], ...] = (
        Field(
            min_length=1,
            description="Bands of the store in order: names, or objects with name, asset, scale, offset, units.",
        )
    )
    classes: Classes | None = Field(None, description="Which classes of pixels count; all when left out.")
    bits: Bits | None = Field(None, description="Which bits of pixels must not be set, in place of classes.")
    offset: OffsetPolicy = Field(
        "auto",
        description="What is added to the pixels: auto takes out Sentinel-2's offset of baseline 04.00 and later, "
        "none leaves them, a number is added to all.",
    )
    offsets: dict[str, OffsetPolicy] = Field({}, description="By item id, in place of `offset`.")
    sign: Literal["auto", "planetary-computer", "none"] = Field(
        "auto", description="How hrefs are signed when they are read; auto knows Planetary Computer by its API."
    )
    page_size: int = Field(100, ge=1, le=10_000, description="Items a page of the search.")
    storage_options: dict[str, Any] = Field(
        {},
        description="Of fsspec, for `items`, `files` and the files of the scenes, as in {anon: true}, "
        "{requester_pays: true}, {endpoint_url: ...}; no secrets.",
    )

    @model_validator(mode="after")
    def _one_place(self) -> Source:
        given = [name for name in ("api", "items", "files") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give one of api, items and files; given: {', '.join(given) or 'none'}")
        if self.classes is not None and self.bits is not None:
            raise ValueError("classes and bits are both given: take one of the two")
        return self


class Period(Part):
    """The time axis. All times are UTC."""

    start: Moment = Field(
        None,
        description="First day, month, year or moment: 2024-01-01, 2024-01, 2024; the first scene's when left out.",
    )
    end: Moment = Field(
        None, description="Last day, month, year, all of it, or moment; the last scene's when left out."
    )
    step: Literal["month", "quarter", "year", "dekad", "day"] = Field(
        "month", description="What one timestep holds; of days only those with a scene."
    )


class GridPart(Part):
    """The store's pixels. Left out: the grid that the items share, over the area."""

    crs: str | None = Field(None, description="As in EPSG:32631.")
    resolution: float | tuple[float, float] | None = Field(None, description="Pixel size in units of the CRS.")
    bounds: tuple[float, float, float, float] | None = Field(
        None, description="[left, bottom, right, top] in units of the CRS."
    )
    align_to: str | None = Field(None, description="Id of the item whose pixels the grid takes.")

    @model_validator(mode="after")
    def _resolution_needs_crs(self) -> GridPart:
        if self.resolution is not None and self.crs is None:
            raise ValueError("resolution is given without crs: name the CRS whose units it is in")
        if self.resolution is not None and self.align_to is not None:
            raise ValueError("resolution and align_to are both given: align_to takes the pixels of an item")
        return self


class CompositePart(Part):
    """How the scenes of a timestep become one value per pixel and band."""

    method: Literal["median", "mean", "percentile", "first", "best"] = Field(
        "median", description="best: of the lowest cloud cover, per pixel the first valid."
    )
    percentile: float | None = Field(None, ge=0, le=100, description="Of the method percentile, by nearest rank.")
    mosaic: bool = Field(True, description="Whether the tiles of one pass are one observation.")
    gap_fill: Literal["none", "carry-forward"] = Field(
        "none", description="What a pixel without an observation gets: nothing, or the value of the timestep before."
    )
    dtype: Literal["uint8", "uint16", "int16", "float32"] | None = Field(
        None, description="Of the store; every value must fit. The sources' when left out."
    )
    resampling: Literal["auto", "nearest", "bilinear", "mean"] = Field(
        "auto",
        description="Of bands that do not lie on the grid: bilinear, the mean over a pixel where it is more than 1.5 "
        "of the band's (auto); classes by nearest.",
    )


class Target(Part):
    """Where the store goes."""

    url: str = Field(description="Folder or URL where nothing is yet.")
    journal: str | None = Field(None, description="Folder or URL of the journal; <url>.run/ when left out.")
    storage_options: dict[str, Any] = Field({}, description="Of fsspec; no secrets.")


class RunPart(Part):
    """How the run behaves."""

    keep_going: bool = Field(
        False, description="Leave out a scene that cannot be read, and tell of it, instead of ending the run."
    )
    fail_fast: bool = Field(
        False, description="End the run by the first region that failed three times, instead of storing all others."
    )
    claim: bool = Field(
        True,
        description="Create claim and root on condition that nobody has; false is for stores without conditional "
        "creates: you see to it that only one run writes.",
    )
    grace: float = Field(
        GRACE_SECONDS, ge=0, le=3600, description="Seconds that regions in flight have after SIGTERM or Ctrl-C."
    )
    reads: int = Field(8, ge=1, le=256, description="Reads in flight in one process.")


class ClusterPart(Part):
    """Who does the work."""

    kind: str = Field(
        "threads", description="threads of this process, local (processes of this machine), or a scheduler's address."
    )
    workers: int | None = Field(None, ge=1, description="Processes of a local cluster; from the machine when left out.")
    threads: int | None = Field(None, ge=1, description="Threads of a process; two at least when left out.")
    memory: ByteSize | None = Field(None, gt=0, description="Memory of a local worker; from the machine when left out.")


def _as_target(value: Any) -> Any:
    return {"url": value} if isinstance(value, str) else value


def _encode_part() -> Any:
    fields: dict[str, Any] = {
        name: (f.annotation, f) for name, f in EncodeOptions.model_fields.items() if name in ENCODE_FIELDS
    }
    made = create_model("EncodePart", __base__=Part, **fields)
    made.__doc__ = "How the store is written: options of `encode`."
    return made


EncodePart = _encode_part()


class Recipe(Part):
    """One product, from a search to a store."""

    version: Literal[1] = Field(description="Of the recipe's format.")
    source: Source
    area: tuple[float, float, float, float] | dict[str, Any] | str | None = Field(
        None,
        description="[west, south, east, north] in degrees, a GeoJSON geometry, or the path of a GeoJSON file; all "
        "that the items cover when left out.",
    )
    period: Period = Field(Period())
    grid: GridPart = Field(GridPart())
    composite: CompositePart = Field(CompositePart())
    encode: EncodePart = Field(EncodePart())  # type: ignore[valid-type]
    target: Annotated[Target, BeforeValidator(_as_target, json_schema_input_type=str | Target)]
    run: RunPart = Field(RunPart())
    cluster: ClusterPart = Field(ClusterPart())


PRODUCT = ("source", "area", "period", "grid", "composite")
"""Parts that decide what the pixels are; a resume must agree with them."""

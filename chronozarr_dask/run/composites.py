"""From a recipe and its scenes to the input of an encode: grid, timesteps, dtype, bands, frames of composites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from chronozarr_dask.composite.mosaic import group_passes
from chronozarr_dask.composite.periods import ADJECTIVES, label, members, timesteps
from chronozarr_dask.composite.reduce import Method
from chronozarr_dask.composite.validity import BitRule, ClassRule, Rule
from chronozarr_dask.errors import InputError
from chronozarr_dask.format.bands import Band, as_bands
from chronozarr_dask.format.dtypes import Number, check_nodata, fill_value, is_finite_number, profile
from chronozarr_dask.format.georef import Georeference
from chronozarr_dask.format.planes import Plane
from chronozarr_dask.format.provenance import Provenance
from chronozarr_dask.graph.composition import Composition, SceneUse, Strips, Timestep
from chronozarr_dask.graph.scenes import SceneFrames, SourcePixels, making_bytes
from chronozarr_dask.options.recipe import Recipe
from chronozarr_dask.plan.shape import Blocks
from chronozarr_dask.run.found import Found, area_of, period_ms, signer
from chronozarr_dask.source.access import Access
from chronozarr_dask.source.bandfile import TOLD_WITHIN, BandHeader
from chronozarr_dask.source.crs import crs_warnings, parse_crs
from chronozarr_dask.source.observe import Observer
from chronozarr_dask.source.placement import Nested, Raster, Warped, place
from chronozarr_dask.source.stac.area import bounds_in
from chronozarr_dask.source.stac.described import describe_band
from chronozarr_dask.source.stac.grid import TOLERANCE, Grid, ceil_pixels, derive_grid, floor_pixels, named_grid
from chronozarr_dask.source.stac.items import Scene
from chronozarr_dask.source.stac.reach import reach_of

DEFAULT_NODATA: dict[str, Number] = {"uint8": 0, "uint16": 0, "int16": -32768, "float32": -9999.0}
"""What marks a pixel without an observation where the sources declare nothing."""


@dataclass(frozen=True)
class CompositeRaster:
    """What the composites will be: as `source.cube.Cube`, without pixels.

    Attributes
    ----------
    times : tuple of int
        First millisecond of each timestep.
    bands : tuple of Band
    georef : Georeference
    height, width : int
    dtype : str
    nodata : number or None
    warnings : tuple of str
    """

    times: tuple[int, ...]
    bands: tuple[Band, ...]
    georef: Georeference
    height: int
    width: int
    dtype: str
    nodata: Number | None
    warnings: tuple[str, ...]

    planes: ClassVar[tuple[Plane, ...]] = ("coverage",)

    @property
    def n_time(self) -> int:
        """Number of timesteps."""
        return len(self.times)

    @property
    def n_band(self) -> int:
        """Number of bands."""
        return len(self.bands)

    def source_chunks(self) -> Blocks:
        """Scenes are read by window: nothing speaks against any cut."""
        return Blocks()


@dataclass(frozen=True)
class Composites:
    """The input of an encode.

    Attributes
    ----------
    raster : CompositeRaster
    frames : SceneFrames
    making : int
        As of `PixelBytes`.
    labels : tuple of str
        What people call each timestep.
    """

    raster: CompositeRaster
    frames: SceneFrames
    making: int
    labels: tuple[str, ...]


def make_composites(recipe: Recipe, found: Found) -> Composites:
    """Decide what the composites are; opens the files of one scene, reads no pixel.

    Raises
    ------
    InputError
        If the items share no grid and none is named, a file cannot be opened, or dtypes or bands do not agree.
    """
    names = band_names(recipe)
    grid = make_grid(recipe, found.scenes, names)
    within = TOLERANCE if recipe.grid.resolution is None else TOLD_WITHIN  # a derived grid is what the items say
    access = Access.of(recipe.source.storage_options)
    observer = Observer(grid, recipe.composite.resampling, signer(recipe.source), within, access)
    headers = _headers(observer, found.scenes, names, keep_going=recipe.run.keep_going)
    dtype = _dtype(recipe, names, headers)
    nodata = _nodata(recipe, dtype, headers, found.scenes[0])
    bands = as_bands(
        describe_band(
            b.name, b.asset or b.name, found.scenes,
            common_name=b.common_name, scale=b.scale, offset=b.offset, units=b.units,
        )
        for b in recipe.source.bands
    )  # fmt: skip
    composition = Composition(
        observer=observer,
        n_band=len(bands),
        rule=_rule(recipe),
        method=Method(recipe.composite.method, recipe.composite.percentile),
        dtype=dtype,
        nodata=nodata,
        fill=fill_value(nodata),
        cast=recipe.composite.dtype is not None,
        keep_going=recipe.run.keep_going,
        reads=recipe.run.reads,
        strips=_strips(headers[0], grid),
    )
    uses = [
        SceneUse(scene, decision.offset, reach_of(scene, names, grid))
        for scene, decision in zip(found.scenes, found.decisions, strict=True)
    ]
    kind = recipe.period.step
    starts = _starts(recipe, found.scenes)
    steps = tuple(
        _timestep(recipe, [uses[i] for i in m]) for m in members(kind, starts, [s.datetime for s in found.scenes])
    )
    raster = CompositeRaster(
        starts, bands, grid.georeference, grid.height, grid.width, dtype, nodata,
        crs_warnings(parse_crs(grid.crs, "grid.crs")),
    )  # fmt: skip
    making = making_bytes(steps, composition, _source_pixels(found.scenes, headers, grid))
    return Composites(raster, SceneFrames(composition, steps), making, tuple(label(kind, ms) for ms in starts))


def band_names(recipe: Recipe) -> list[str]:
    """What means each band in the items."""
    return [band.asset or band.name for band in recipe.source.bands]


def make_provenance(recipe: Recipe, scenes: Sequence[Scene]) -> Provenance:
    """Section 3.8: where the pixels come from."""
    sources = recipe.source.collections or tuple(sorted({s.collection for s in scenes if s.collection}))
    method = Method(recipe.composite.method, recipe.composite.percentile)
    return Provenance(sources, f"{ADJECTIVES[recipe.period.step]} {method.text}", recipe.composite.gap_fill)


def make_grid(recipe: Recipe, scenes: Sequence[Scene], names: Sequence[str]) -> Grid:
    """The grid that the recipe names, or that the items share."""
    part, area = recipe.grid, area_of(recipe)
    if part.resolution is not None:
        assert part.crs is not None
        if part.bounds is not None:
            return named_grid(part.crs, part.resolution, part.bounds)
        if area is None:
            raise InputError(
                "grid.crs and grid.resolution are given, and neither grid.bounds nor area: give one of them"
            )
        return named_grid(part.crs, part.resolution, _snapped(bounds_in(area, part.crs), part.resolution))
    return derive_grid(
        scenes, names, None if part.bounds else area, crs=part.crs, align_to=part.align_to, bounds=part.bounds
    )


def _snapped(bounds: Sequence[float], resolution: float | tuple[float, float]) -> tuple[float, float, float, float]:
    """Bounds snapped outward to whole multiples of the resolution."""
    rx, ry = resolution if isinstance(resolution, tuple) else (resolution, resolution)
    if not (rx > 0 and ry > 0):
        raise InputError(f"grid.resolution is {resolution}: give a positive number")
    left, bottom, right, top = bounds
    return (
        floor_pixels(left / rx) * rx, floor_pixels(bottom / ry) * ry,
        ceil_pixels(right / rx) * rx, ceil_pixels(top / ry) * ry,
    )  # fmt: skip


def _headers(
    observer: Observer, scenes: Sequence[Scene], names: Sequence[str], *, keep_going: bool
) -> list[BandHeader]:
    """Headers of the bands of the first scene; of the first one that opens under `keep_going`."""
    lost: InputError | None = None
    for scene in scenes:
        try:
            return [observer.header(scene, asset) for asset in scene.assets[: len(names)]]
        except InputError as error:
            if not keep_going:
                raise
            lost = lost or error
    assert lost is not None
    raise InputError(f"none of {len(scenes)} scenes can be opened; the first: {lost}") from lost


def _strips(header: BandHeader, grid: Grid) -> Strips:
    """Strips of rows that begin where blocks of the first band do, and are whole blocks high."""
    placed = place(header.raster, grid)
    if not isinstance(placed, Nested):
        return Strips()
    block = header.block[0] * placed.factor
    return Strips(placed.row, block * -(-Strips.height // block))


def _dtype(recipe: Recipe, names: Sequence[str], headers: Sequence[BandHeader]) -> str:
    if recipe.composite.dtype is not None:
        return recipe.composite.dtype
    found = {h.dtype: name for h, name in zip(reversed(headers), reversed(names), strict=True)}
    if len(found) > 1:
        listed = ", ".join(f"{name} is {dtype}" for dtype, name in found.items())
        raise InputError(f"the bands are of several dtypes: {listed}; a store has one: name it with composite.dtype")
    return profile(next(iter(found))).name


def _nodata(recipe: Recipe, dtype: str, headers: Sequence[BandHeader], scene: Scene) -> Number | None:
    encode: Any = recipe.encode
    given = encode.nodata
    if given != "default":
        return check_nodata(given, dtype)
    if dtype == "uint16":
        return 0
    declared = [n for h, a in zip(headers, scene.assets, strict=False) for n in (h.nodata, a.nodata)]
    for value in declared:
        if is_finite_number(value):
            try:
                return check_nodata(value, dtype)
            except InputError:
                continue
    return DEFAULT_NODATA[dtype]


def _rule(recipe: Recipe) -> Rule | None:
    source = recipe.source
    if source.classes is not None:
        return ClassRule(source.classes.keep, source.classes.nothing)
    return None if source.bits is None else BitRule(source.bits.reject)


def _starts(recipe: Recipe, scenes: Sequence[Scene]) -> tuple[int, ...]:
    start, end = period_ms(recipe.period)
    times = [scene.datetime for scene in scenes]
    first = min(times) if start is None else start
    return timesteps(recipe.period.step, first, max(times) + 1 if end is None else end, times)


def _timestep(recipe: Recipe, uses: Sequence[SceneUse]) -> Timestep:
    groups = group_passes([(u.scene.platform, u.scene.datetime) for u in uses], mosaic=recipe.composite.mosaic)
    observations = tuple(tuple(uses[i] for i in g) for g in groups)
    order = None
    if recipe.composite.method == "best":
        order = tuple(sorted(range(len(groups)), key=lambda i: (*_cloudiness(observations[i]), i)))
    return Timestep(observations, order)


def _cloudiness(tiles: Sequence[SceneUse]) -> tuple[bool, float]:
    known = [t.scene.cloud_cover for t in tiles if t.scene.cloud_cover is not None]
    return not known, sum(known) / len(known) if known else 0.0


def _source_pixels(scenes: Sequence[Scene], headers: Sequence[BandHeader], grid: Grid) -> SourcePixels:
    """What the files hold for a pixel of the grid, by the headers of one scene and what the items say of all."""
    placed = [place(h.raster, grid) for h in headers]
    most = max((4 * p.half[0] * p.half[1] for p in placed if isinstance(p, Warped)), default=1.0)
    itemsize = max(np.dtype(h.dtype).itemsize for h in headers)
    return SourcePixels(itemsize, max(most, 1.0), not all(_nests(scene, grid) for scene in scenes))


def _nests(scene: Scene, grid: Grid) -> bool:
    """Whether the item says of all of its bands that they nest in the grid."""
    return all(
        a.crs and a.transform and a.shape and isinstance(place(Raster(a.crs, a.transform, *a.shape), grid), Nested)
        for a in scene.assets
    )

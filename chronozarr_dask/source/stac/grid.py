"""The grid of a store: named, or the one that the items share, over the area.

A derived grid takes over the pixels of the items: their CRS, pixel size and phase, which need not be a multiple of the
pixel size (Landsat's corners lie 15 m off the round numbers). Only its extent is new: the area, snapped outward::

    pixel edges of the items  |    |    |    |    |    |
    area                           . ---------- .
    grid                         [    |    |    |    ]

Of the bands the finest of each scene speaks for it; coarser ones are the matter of whoever reads them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.georef import Georeference, Transform, check_crs, check_transform
from chronozarr_dask.source.stac.area import Area, Bounds, bounds_in
from chronozarr_dask.source.stac.items import Scene

TOLERANCE = 0.001  # pixels, between two items
_NOISE = 1e-6  # pixels, of bounds that are meant to lie on an edge
_LISTED = 8


@dataclass(frozen=True)
class Grid:
    """CRS, transform of the pixel corners (six floats in Affine order, north-up) and size in pixels."""

    crs: str
    transform: Transform
    width: int
    height: int

    def __post_init__(self) -> None:
        check_crs(self.crs)
        object.__setattr__(self, "transform", check_transform(self.transform))
        if self.width < 1 or self.height < 1:
            raise InputError(f"the grid is {self.width} x {self.height} pixels: it must hold one at least")

    @property
    def bounds(self) -> Bounds:
        """(left, bottom, right, top) in units of the CRS."""
        a, _, c, _, e, f = self.transform
        return c, f + e * self.height, c + a * self.width, f

    @property
    def georeference(self) -> Georeference:
        """CRS and transform as the format holds them."""
        return Georeference(self.crs, self.transform)


def named_grid(crs: str, resolution: float | tuple[float, float], bounds: Sequence[float]) -> Grid:
    """The grid whose upper-left corner is that of `bounds`.

    Parameters
    ----------
    crs : str
        ``EPSG:<code>``.
    resolution : float or (x, y)
        Pixel size in units of the CRS, positive.
    bounds : (left, bottom, right, top)
        In units of the CRS, a whole number of pixels wide and high.

    Raises
    ------
    InputError
        If they are not, or anything is not what it should be.
    """
    rx, ry = (float(r) for r in (resolution if isinstance(resolution, Sequence) else (resolution, resolution)))
    values = [float(b) for b in bounds]
    if len(values) != 4 or not all(math.isfinite(v) for v in (*values, rx, ry)) or rx <= 0 or ry <= 0:
        raise InputError(
            f"grid.resolution is {resolution} and grid.bounds is {list(bounds)}: give positive numbers and "
            f"[left, bottom, right, top]"
        )
    left, bottom, right, top = values
    if not (left < right and bottom < top):
        raise InputError(
            f"grid.bounds is {values}: give [left, bottom, right, top], left of right and bottom below top"
        )
    columns, rows = (right - left) / rx, (top - bottom) / ry
    width, height = round(columns), round(rows)
    if abs(columns - width) > TOLERANCE or abs(rows - height) > TOLERANCE:
        fitting = [left, top - math.ceil(rows) * ry, left + math.ceil(columns) * rx, top]
        raise InputError(
            f"grid.bounds {values} is {columns:.6g} x {rows:.6g} pixels of {rx:.12g} x {ry:.12g}, not whole ones: "
            f"give for example {fitting}"
        )
    return Grid(crs, (rx, 0.0, left, 0.0, -ry, top), width, height)


def derive_grid(
    scenes: Sequence[Scene],
    bands: Sequence[str],
    area: Area | None = None,
    *,
    crs: str | None = None,
    align_to: str | None = None,
    bounds: Sequence[float] | None = None,
) -> Grid:
    """The grid that the scenes share, over the area.

    Parameters
    ----------
    scenes : sequence of Scene
    bands : sequence of str
        Of which the finest speaks for each scene.
    area : box or geometry in longitude and latitude, optional
        What the grid covers; without it, everything that the scenes cover.
    crs : str, optional
        Only the scenes on this CRS decide on the grid; the others are resampled onto it (``grid.crs``).
    align_to : str, optional
        Id of the one item that decides (``grid.align_to``).
    bounds : (left, bottom, right, top), optional
        In units of the CRS, in place of `area`; snapped outward too.

    Raises
    ------
    InputError
        If an item has no ``proj:`` fields, the items lie on several CRSs or grids and no option chooses, or the area
        crosses the antimeridian.
    """
    lattice = _chosen(scenes, bands, crs, align_to)
    if bounds is not None:
        left, bottom, right, top = (float(v) for v in bounds)
    elif area is not None:
        left, bottom, right, top = bounds_in(area, lattice.crs)
    else:
        left, bottom, right, top = _union([b for s in scenes if (b := _footprint(s, bands, lattice.crs)) is not None])
    return lattice.over((left, bottom, right, top))


# ---- lattices: grids without an extent ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Lattice:
    """An endless grid: CRS and a transform whose corner is any corner of a pixel."""

    crs: str
    transform: Transform

    def equals(self, other: _Lattice) -> bool:
        """Whether the pixels are the same ones, within 0.001 pixel."""
        a, _, c, _, e, f = self.transform
        a2, _, c2, _, e2, f2 = other.transform
        if self.crs != other.crs or not (_same_step(a, a2, c2 - c) and _same_step(e, e2, f2 - f)):
            return False
        return _off_edge(c2 - c, a) <= TOLERANCE and _off_edge(f2 - f, e) <= TOLERANCE

    def over(self, bounds: Bounds) -> Grid:
        a, _, c, _, e, f = self.transform
        left, bottom, right, top = bounds
        column, row = floor_pixels((left - c) / a), floor_pixels((top - f) / e)
        width, height = ceil_pixels((right - c) / a) - column, ceil_pixels((bottom - f) / e) - row
        return Grid(self.crs, (a, 0.0, c + column * a, 0.0, e, f + row * e), width, height)

    def __str__(self) -> str:
        a, _, c, _, e, f = self.transform
        return f"{self.crs}, pixels of {a:.9g} x {-e:.9g}, corner at ({c % a:.9g}, {f % -e:.9g}) modulo the pixel"


def _same_step(a: float, b: float, distance: float) -> bool:
    """Whether two pixel sizes stay together over the distance of two items, and over ten thousand pixels."""
    return abs(a - b) / abs(a) * max(abs(distance / a), 10_000) <= TOLERANCE


def _off_edge(distance: float, step: float) -> float:
    pixels = distance / step
    return abs(pixels - round(pixels))


def floor_pixels(pixels: float) -> int:
    """The edge of a pixel at or before a position; one that is meant to lie on an edge lies on it."""
    return math.floor(pixels + _NOISE)


def ceil_pixels(pixels: float) -> int:
    """The edge of a pixel at or behind a position."""
    return math.ceil(pixels - _NOISE)


def _chosen(scenes: Sequence[Scene], bands: Sequence[str], crs: str | None, align_to: str | None) -> _Lattice:
    if not scenes:
        raise InputError("there is no item to derive the grid from: widen the search, or name a grid")
    if align_to is not None:
        found = [scene for scene in scenes if scene.id == align_to]
        if not found:
            raise InputError(f"grid.align_to names item {align_to!r}, which is not among the {len(scenes)} items found")
        scenes = found
    lattices = [_lattice(scene, bands) for scene in scenes]
    bare = [scene.id for scene, lattice in zip(scenes, lattices, strict=True) if lattice is None]
    if bare:
        raise InputError(
            f"{len(bare)} of {len(scenes)} items do not tell their grid (proj:code or proj:epsg, and proj:transform): "
            f"{_listed(bare)}; name the grid: grid.crs, grid.resolution and grid.bounds"
        )
    known = [lattice for lattice in lattices if lattice is not None]
    on_crs = [lattice for lattice in known if crs is None or lattice.crs == check_crs(crs)]
    if not on_crs:
        raise InputError(
            f"no item is on {crs} (grid.crs), they are on {_counted(Counter(k.crs for k in known))}: name the whole "
            f"grid, with grid.resolution and grid.bounds"
        )
    groups = _grouped(on_crs)
    if len(groups) > 1:
        raise _several(groups)
    return groups[0][0]


def _lattice(scene: Scene, bands: Sequence[str]) -> _Lattice | None:
    finest = min((scene.asset(band) for band in bands), key=lambda a: a.pixel_size)
    if finest.crs is None or finest.transform is None:
        return None
    try:
        return _Lattice(check_crs(finest.crs), check_transform(finest.transform))
    except InputError as error:
        raise InputError(f"proj:transform or proj:code of asset {finest.key!r} of {scene.where}: {error}") from error


def _grouped(lattices: Sequence[_Lattice]) -> list[tuple[_Lattice, int]]:
    """Distinct lattices and how many there are of each, the most frequent first.

    Of equal ones the least transform stands for all, so that the order of the items has no say in the last bits.
    """
    groups: list[list[_Lattice]] = []
    for lattice in sorted(lattices, key=lambda k: (k.crs, k.transform)):
        group = next((g for g in groups if g[0].equals(lattice)), None)
        if group is None:
            groups.append([lattice])
        else:
            group.append(lattice)
    return sorted(((g[0], len(g)) for g in groups), key=lambda pair: (-pair[1], pair[0].crs, pair[0].transform))


def _several(groups: Sequence[tuple[_Lattice, int]]) -> InputError:
    per_crs: Counter[str] = Counter()
    for lattice, count in groups:
        per_crs[lattice.crs] += count
    if len(per_crs) > 1:
        return InputError(
            f"the items are on {len(per_crs)} CRSs: {_counted(per_crs)}; choose the CRS of the store with grid.crs "
            f"(the items on others are resampled onto it), or name the whole grid with grid.crs, grid.resolution and "
            f"grid.bounds"
        )
    listed = "; ".join(f"{count} items on {lattice}" for lattice, count in groups[:_LISTED])
    more = f"; and {len(groups) - _LISTED} more" if len(groups) > _LISTED else ""
    return InputError(
        f"the items are on {len(groups)} grids, more than {TOLERANCE} pixel apart: {listed}{more}; name the item whose "
        f"grid the store takes with grid.align_to (the others are resampled onto it), or name the grid with grid.crs, "
        f"grid.resolution and grid.bounds"
    )


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{n} on {name}" for name, n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_LISTED]) + (f" and {len(ids) - _LISTED} more" if len(ids) > _LISTED else "")


# ---- extents of scenes ----------------------------------------------------------------------------------------------


def _footprint(scene: Scene, bands: Sequence[str], crs: str) -> Bounds | None:
    """What a scene on `crs` covers; scenes on another CRS do not widen a grid for which no area was given."""
    finest = min((scene.asset(band) for band in bands), key=lambda a: a.pixel_size)
    if finest.crs != crs or finest.transform is None:
        return None
    if finest.shape is None:
        raise InputError(f"asset {finest.key!r} of {scene.where} has no proj:shape: give an area, or name the grid")
    a, _, c, _, e, f = finest.transform
    height, width = finest.shape
    return c, f + e * height, c + a * width, f


def _union(boxes: Sequence[Bounds]) -> Bounds:
    left, bottom, right, top = zip(*boxes, strict=True)
    return min(left), min(bottom), max(right), max(top)

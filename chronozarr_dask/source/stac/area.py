"""The area of a recipe: a box or a GeoJSON geometry in longitude and latitude, and its bounds in another CRS.

Edges are cut into many points before they are transformed: a parallel is not a straight line in UTM, and the box
around four corners alone would cut off its middle.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyproj

from chronozarr_dask.errors import InputError

Bounds = tuple[float, float, float, float]
Area = Sequence[float] | Mapping[str, Any]
Ring = list[tuple[float, float]]

DENSIFY = 201  # points an edge: over one degree the error is under a centimetre


def lonlat_box(area: Area) -> Bounds:
    """(west, south, east, north) of an area.

    Raises
    ------
    InputError
        If it is no area, or crosses the antimeridian: the message then has the two half boxes.
    """
    rings = _rings(area)
    points = np.array([p for ring in rings for p in ring], np.float64)
    west, south = points.min(axis=0)
    east, north = points.max(axis=0)
    return float(west), float(south), float(east), float(north)


def bounds_in(area: Area, crs: str) -> Bounds:
    """(left, bottom, right, top) of an area in `crs`, not rounded to any grid.

    Raises
    ------
    InputError
        As `lonlat_box`; also where the area lies outside of what `crs` can show.
    """
    transformer = pyproj.Transformer.from_crs("OGC:CRS84", crs, always_xy=True)
    x, y = transformer.transform(*_dense(_rings(area)).T)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError(f"the area {_short(area)} cannot be shown in {crs}: name a CRS for it (grid.crs)")
    return float(x.min()), float(y.min()), float(x.max()), float(y.max())


def _dense(rings: list[Ring]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(n, 2): the points along every edge."""
    share = np.linspace(0, 1, DENSIFY)[:, None]
    edges = [
        np.asarray(a) + share * (np.asarray(b) - np.asarray(a)) for ring in rings for a, b in itertools.pairwise(ring)
    ]
    return np.concatenate(edges)


def _rings(area: Area) -> list[Ring]:
    if isinstance(area, Mapping):
        rings = list(_of_geometry(area))
        if not rings or any(len(ring) < 4 for ring in rings):
            raise InputError(f"the area {_short(area)} has no polygon: give a Polygon, a MultiPolygon or a box")
        _check_geometry(rings)
        return rings
    box = [float(v) for v in area]
    if len(box) != 4 or not all(math.isfinite(v) for v in box):
        raise InputError(f"the area {_short(area)} is no box: give [west, south, east, north] in degrees")
    west, south, east, north = box
    if west > east:
        raise _crosses([(west, south, 180.0, north), (-180.0, south, east, north)])
    if east > 180 and west < 180:
        raise _crosses([(west, south, 180.0, north), (-180.0, south, east - 360, north)])
    if west < -180 and east > -180:
        raise _crosses([(west + 360, south, 180.0, north), (-180.0, south, east, north)])
    if not (-180 <= west < east <= 180 and -90 <= south < north <= 90):
        raise InputError(
            f"the area {_short(area)} is no box: give [west, south, east, north] in degrees, west of east and south of "
            f"north"
        )
    return [[(west, south), (east, south), (east, north), (west, north), (west, south)]]


def _of_geometry(geometry: Mapping[str, Any]) -> Iterator[Ring]:
    kind, coordinates = geometry.get("type"), geometry.get("coordinates")
    if kind == "Feature":
        yield from _of_geometry(geometry.get("geometry") or {})
    elif kind == "FeatureCollection":
        for feature in geometry.get("features") or []:
            yield from _of_geometry(feature)
    elif kind == "GeometryCollection":
        for part in geometry.get("geometries") or []:
            yield from _of_geometry(part)
    elif kind in ("Polygon", "MultiPolygon") and coordinates:
        try:
            for polygon in [coordinates] if kind == "Polygon" else coordinates:
                yield [(float(p[0]), float(p[1])) for p in polygon[0]]
        except (TypeError, ValueError, IndexError) as error:
            raise InputError(f"the area {_short(geometry)} is no {kind} of GeoJSON: {error}") from error


def _check_geometry(rings: list[Ring]) -> None:
    """Raise where a ring jumps over the antimeridian, lies beyond it, or two parts touch it from both sides."""
    lons = np.array([lon for ring in rings for lon, _ in ring])
    lats = np.array([lat for ring in rings for _, lat in ring])
    if not (
        np.isfinite(lons).all() and np.isfinite(lats).all() and (abs(lats) <= 90).all() and (abs(lons) <= 540).all()
    ):
        raise InputError("the area has a coordinate that is no longitude and latitude in degrees (GeoJSON: [lon, lat])")
    jumps = any(abs(a[0] - b[0]) > 180 for ring in rings for a, b in itertools.pairwise(ring))
    beyond = bool((abs(lons) > 180).any())
    touching = {side for ring in rings for side in (-180.0, 180.0) if any(lon == side for lon, _ in ring)}
    apart = len(rings) > 1 and touching == {-180.0, 180.0} and not any(_is_wide(ring) for ring in rings)
    if not (jumps or beyond or apart):
        return
    lons = np.where(lons > 180, lons - 360, np.where(lons < -180, lons + 360, lons))
    south, north = float(lats.min()), float(lats.max())
    raise _crosses(
        [
            (float(lons[lons > 0].min(initial=180.0)), south, 180.0, north),
            (-180.0, south, float(lons[lons < 0].max(initial=-180.0)), north),
        ]
    )


def _is_wide(ring: Ring) -> bool:
    lons = [lon for lon, _ in ring]
    return max(lons) - min(lons) > 180


def _crosses(halves: list[Bounds]) -> InputError:
    east, west = ("[" + ", ".join(f"{v:.12g}" for v in half) + "]" for half in halves)
    return InputError(
        f"the area crosses the antimeridian, where one grid would go once around the earth: make two stores, of the "
        f"boxes {east} and {west}"
    )


def _short(area: Area) -> str:
    text = json.dumps(area, default=str) if isinstance(area, Mapping) else str(list(area))
    return text if len(text) <= 160 else text[:160] + "..."

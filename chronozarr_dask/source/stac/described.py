"""Band objects of a store out of what the items say: common name, scale and offset, on which all must agree.

The offset of Sentinel-2 is always 0 in the store: what a baseline has added is taken out of the pixels, and items tell
of an offset also where that was done before (see `offsets`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.bands import COMMON_NAMES, Band
from chronozarr_dask.source.stac import sentinel2
from chronozarr_dask.source.stac.assets import SceneAsset
from chronozarr_dask.source.stac.items import Scene


def describe_band(
    name: str,
    asset: str,
    scenes: Sequence[Scene],
    *,
    common_name: str | None = None,
    scale: float | None = None,
    offset: float | None = None,
    units: str | None = None,
) -> Band:
    """The band object; what is given counts in place of what the items say.

    Parameters
    ----------
    name : str
        In the store.
    asset : str
        What means the band in every one of the scenes (see `naming`).

    Raises
    ------
    InputError
        If two items say different scales or offsets.
    """
    found = [(scene, scene.asset(asset)) for scene in scenes]
    if scale is None:
        scale = _agreed(found, lambda s, a: a.scale, name, "scale")
    if offset is None:
        offset = _agreed(found, lambda s, a: 0.0 if s.is_sentinel2 else a.offset, name, "offset")
    if common_name is None:
        common_name = next((_common(scene, a, asset) for scene, a in found if _common(scene, a, asset)), None)
    return Band(name, common_name, 1.0 if scale is None else scale, 0.0 if offset is None else offset, units)


def _common(scene: Scene, asset: SceneAsset, asked: str) -> str | None:
    if asset.common_name in COMMON_NAMES:
        return asset.common_name
    names = (asked, sentinel2.alias(asked)) if scene.is_sentinel2 else (asked,)
    return next((n for n in names if n in COMMON_NAMES), None)


def _agreed(
    found: Sequence[tuple[Scene, SceneAsset]], value: Callable[[Scene, SceneAsset], Any], name: str, what: str
) -> float | None:
    """What all items that say it say; None where none does."""
    said = [(scene, v) for scene, asset in found if (v := value(scene, asset)) is not None]
    other = next((pair for pair in said if pair[1] != said[0][1]), None)
    if other is not None:
        raise InputError(
            f"{said[0][0].where} says that the {what} of band {name!r} is {said[0][1]}, and {other[0].where} says "
            f"{other[1]}: a band has one in a store; give it in source.bands, as in {{name: {name}, {what}: "
            f"{said[0][1]}}}"
        )
    return said[0][1] if said else None

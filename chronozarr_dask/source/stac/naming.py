"""The asset that a recipe's band name means in an item.

A name is looked for as an asset's key, as a key without its resolution or extension (``B02_10m``, ``SR_B4.TIF``), as a
band's name, as its common name, and for Sentinel-2 by the other name of the band. The first of these that finds
something decides. Of one band in several resolutions the finest is taken, and GeoTIFF before JPEG 2000. Files of
one band come before composites such as ``visual``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.stac import sentinel2
from chronozarr_dask.source.stac.assets import EXTENSION, SceneAsset

_RESOLUTION = re.compile(r"_\d+m$", re.IGNORECASE)


def choose(assets: Sequence[SceneAsset], name: str, is_sentinel2: bool, where: str) -> SceneAsset:
    """The band that `name` means in an item.

    Raises
    ------
    InputError
        If there is none, or more than one; it names the item and what there is.
    """
    names = [name]
    if is_sentinel2 and (other := sentinel2.alias(name)):
        names.append(other)
    for asked in names:
        for rule in _RULES:
            found = [a for a in assets if rule(a, asked)]
            if found:
                return _best(found, name, where)
    keys = sorted({a.key if a.band_count == 1 else f"{a.key} ({a.name})" for a in assets})
    raise InputError(
        f"{where} has no asset or band {name!r}; its raster assets are {', '.join(keys) if keys else 'none'}. Name "
        f"the bands as the items do, or leave the item out of the search"
    )


def _plain(key: str) -> str:
    return _RESOLUTION.sub("", EXTENSION.sub("", key)).lower()


_RULES: tuple[Callable[[SceneAsset, str], bool], ...] = (
    lambda a, n: a.key == n,
    lambda a, n: _plain(a.key) == _plain(n) and (not _RESOLUTION.search(n) or a.key.lower() == n.lower()),
    lambda a, n: a.band_count == 1 and a.name.lower() == n.lower(),
    lambda a, n: a.band_count == 1 and (a.common_name or "").lower() == n.lower(),
    lambda a, n: a.name.lower() == n.lower(),
    lambda a, n: (a.common_name or "").lower() == n.lower(),
)


def _best(found: list[SceneAsset], name: str, where: str) -> SceneAsset:
    finest = min(a.pixel_size for a in found)
    found = [a for a in found if a.pixel_size == finest]
    found = [a for a in found if not a.is_jpeg2000] or found
    if len(found) == 1:
        return found[0]
    if len({a.key for a in found}) == 1:
        bands = ", ".join(a.name for a in found)
        raise InputError(f"asset {found[0].key!r} of {where} holds {len(found)} bands: ask for one by name: {bands}")
    raise InputError(
        f"{name!r} means more than one asset of {where}: {', '.join(sorted({a.key for a in found}))}; ask for one of "
        f"them"
    )

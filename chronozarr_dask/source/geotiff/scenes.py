"""GeoTIFFs that are named one by one as scenes: each moment is one, with a band for each band of its files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.times import render_time
from chronozarr_dask.source.access import Access
from chronozarr_dask.source.crs import epsg_of, parse_crs
from chronozarr_dask.source.geotiff.gdal import NO_ACCESS
from chronozarr_dask.source.geotiff.header import Header, read_headers
from chronozarr_dask.source.manifest import Entry
from chronozarr_dask.source.stac.assets import SceneAsset
from chronozarr_dask.source.stac.hrefs import unsigned
from chronozarr_dask.source.stac.items import Scene


def scenes_of_files(entries: Sequence[Entry], access: Access = NO_ACCESS) -> tuple[Scene, ...]:
    """One scene for each moment, ordered by time; reads headers only.

    The names of bands are those of the manifest, of the files, of what tells the names of the files of a moment apart,
    or ``1``, ``2``, ...: the first that there is.

    Raises
    ------
    InputError
        If a file cannot be read, or two of a moment have a band of one name.
    """
    headers = read_headers([entry.uri for entry in entries], access)
    moments: dict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        moments[entry.time].append(entry)
    return tuple(_scene(ms, moments[ms], headers) for ms in sorted(moments))


def _scene(ms: int, entries: Sequence[Entry], headers: dict[str, Header]) -> Scene:
    assets: dict[str, SceneAsset] = {}
    for entry in entries:
        for asset in _assets(entry, headers[entry.uri]):
            if asset.name in assets:
                raise InputError(
                    f"{assets[asset.name].href} and {asset.href} both have band {asset.name!r} at {render_time(ms)}: "
                    f"name their bands in a manifest"
                )
            assets[asset.name] = asset
    return Scene(render_time(ms), ms, tuple(assets.values()))


def _assets(entry: Entry, header: Header) -> list[SceneAsset]:
    n = len(header.bands)
    if entry.bands is not None and len(entry.bands) != n:
        raise InputError(f"{entry.uri} has {n} bands, and the manifest names {len(entry.bands)}: {entry.bands}")
    crs = None
    if header.crs is not None:
        code = epsg_of(parse_crs(header.crs, entry.uri))
        crs = None if code is None else f"EPSG:{code}"
    out = []
    for i, band in enumerate(header.bands):
        name = entry.bands[i] if entry.bands else band.name or (entry.label if n == 1 else None) or str(band.index)
        out.append(
            SceneAsset(
                name=name,
                key=name,
                href=unsigned(entry.uri),
                band_index=band.index,
                band_count=1,
                crs=crs,
                shape=header.shape,
                transform=header.transform,
                nodata=header.nodata,
                scale=band.scale,
                offset=band.offset,
                dtype=header.dtype,
            )
        )
    return out

"""Many GeoTIFFs as one lazy cube: one file for a timestep, or one for each of its bands.

The headers of all files are read, and held against each other. Then the pixels are an array of xarray that reads
windows (`windows`), and a mask or an alpha band of the files is a second one::

    20240105_B04.tif  20240105_B08.tif         data (time 2, band 2, y, x)
    20240115_B04.tif  20240115_B08.tif   ->    mask (time 2, y, x), if a file has one
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import xarray as xr
from xarray.core import indexing

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.layout import DATA_DIMS, MASK, PLANE_DIMS, centres
from chronozarr_dask.format.times import render_time
from chronozarr_dask.source.access import Access
from chronozarr_dask.source.geotiff.agreement import check_agreement, check_band, check_mask_alone
from chronozarr_dask.source.geotiff.gdal import NO_ACCESS
from chronozarr_dask.source.geotiff.header import BandHeader, Header, read_headers
from chronozarr_dask.source.geotiff.windows import Masks, Piece, Pixels
from chronozarr_dask.source.manifest import Entry

DATA = "data"
GRID_MAPPING = "spatial_ref"

Placed = dict[str, tuple[Header, BandHeader]]
"""Where each band of a timestep is, by its name, in order."""


def open_geotiffs(entries: Sequence[Entry], given: Collection[str] = (), access: Access = NO_ACCESS) -> xr.Dataset:
    """Open a stack of GeoTIFFs, lazily; reads headers only.

    Parameters
    ----------
    entries : sequence of Entry
        Files and their moments, in any order.
    given : names of options
        What the caller says in place of the files, which need not agree in it then: "crs", "nodata", "bands",
        "variable".
    access : Access
        How remote files are reached.

    Returns
    -------
    Dataset
        ``data`` (time, band, y, x), as stored, and ``mask`` (time, y, x), uint8 0 or 1, if a file has a mask or an
        alpha band. ``encoding["mask"]`` names it then.

    Raises
    ------
    InputError
        If a file cannot be opened or no store can hold it, if two differ in what they must have in common, or if bands
        cannot be told apart or are missing.
    """
    _check_listed_once(entries)
    headers = read_headers([e.uri for e in entries], access)
    check_agreement([headers[e.uri] for e in entries], given)
    check_mask_alone(headers.values(), given)
    moments: dict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        moments[entry.time].append(entry)
    times = sorted(moments)
    named = _named([moments[t] for t in times], headers, "bands" in given)
    pieces = [_pieces(placed) for placed in named]
    return _dataset(times, named[0], pieces, headers, access)


def _check_listed_once(entries: Sequence[Entry]) -> None:
    if not entries:
        raise InputError("there are no GeoTIFFs to open: give at least one")
    seen: set[str] = set()
    for entry in entries:
        if entry.uri in seen:
            raise InputError(f"{entry.uri} is listed twice: one file is one moment")
        seen.add(entry.uri)


def _named(moments: list[list[Entry]], headers: dict[str, Header], by_place: bool) -> list[Placed]:
    """The bands of every timestep, in the order of the first one's."""
    told = [_described(entries, headers) for entries in moments]
    if all(len(entries) == 1 for entries in moments):
        names = [_numbered(t, by_place) for t in told]
    elif all(_is_told(t) for t in told):
        names = told
    else:
        names = [_labels(entries, t) for entries, t in zip(moments, told, strict=True)]
    placed = [_placed(entries, headers, here) for entries, here in zip(moments, names, strict=True)]
    for entries, here in zip(moments, placed, strict=True):
        if here.keys() != placed[0].keys():
            raise InputError(
                f"{moments[0][0].uri} and {entries[0].uri} differ in bands: their timesteps, "
                f"{render_time(moments[0][0].time)} and {render_time(entries[0].time)}, have {', '.join(placed[0])} "
                f"and {', '.join(here)}; every timestep must have the same, in one file or in one file each (where "
                f"only the names differ, give them with bands=)"
            )
        for name, band in here.items():
            check_band(name, placed[0][name], band)
    return [{name: here[name] for name in placed[0]} for here in placed]


def _described(entries: list[Entry], headers: dict[str, Header]) -> list[str | None]:
    """Names that the manifest or the files give to the bands of a timestep."""
    out: list[str | None] = []
    for entry in entries:
        bands = headers[entry.uri].bands
        if entry.bands is not None and len(entry.bands) != len(bands):
            raise InputError(
                f"the manifest names {len(entry.bands)} bands of {entry.uri} ({', '.join(entry.bands)}), which has "
                f"{len(bands)}: name each, in the file's order"
            )
        out += entry.bands or [band.name for band in bands]
    return out


def _is_told(names: list[str | None]) -> bool:
    return None not in names and len(set(names)) == len(names)


def _numbered(names: list[str | None], by_place: bool) -> list[str | None]:
    """Names of the bands of one file: band_1, band_2 and so on where it has none, or has one twice."""
    numbers: list[str | None] = [f"band_{i + 1}" for i in range(len(names))]
    filled = [name or number for name, number in zip(names, numbers, strict=True)]
    return numbers if by_place or not _is_told(filled) else filled


def _labels(entries: list[Entry], names: list[str | None]) -> list[str | None]:
    """Names of the bands of a timestep of several files, by what tells the names of these files apart."""
    labels = [(e.bands or (None,))[0] or e.label for e in entries]
    if len(labels) != len(names) or not _is_told(labels):
        raise InputError(
            f"{entries[0].uri}, of {render_time(entries[0].time)}, is one of several files of a moment, or other "
            f"moments have several, and nothing tells which bands they have: name the bands of each file in a "
            f"manifest, in the column bands, or give each file its own moment"
        )
    return labels


def _placed(entries: list[Entry], headers: dict[str, Header], names: list[str | None]) -> Placed:
    pairs = [(headers[e.uri], band) for e in entries for band in headers[e.uri].bands]
    return {str(name): pair for name, pair in zip(names, pairs, strict=True)}


def _pieces(placed: Placed) -> list[Piece]:
    """Bands that follow one another in one file are one piece."""
    out: list[Piece] = []
    for name, (header, band) in placed.items():
        if out and out[-1].uri == header.uri:
            last = out.pop()
            out.append(Piece(header.uri, (*last.indexes, band.index), (*last.names, name), header.mask))
        else:
            out.append(Piece(header.uri, (band.index,), (name,), header.mask))
    return out


def _dataset(
    times: list[int], bands: Placed, pieces: list[list[Piece]], headers: dict[str, Header], access: Access
) -> xr.Dataset:
    first = next(iter(bands.values()))[0]
    (height, width), (a, b, c, d, e, f) = first.shape, first.transform
    place = {"GeoTransform": " ".join(repr(v) for v in (c, a, b, f, d, e))}
    coords: dict[str, Any] = {
        "time": np.array(times, "datetime64[ms]"),
        "band": list(bands),
        "y": np.asarray(centres(f, e, height)),
        "x": np.asarray(centres(c, a, width)),
        GRID_MAPPING: ((), 0, place if first.crs is None else {"crs_wkt": first.crs, **place}),
    }
    hint = {"time": 1, **_blocks(list(headers.values()))}
    pixels = Pixels(pieces, first.shape, np.dtype(first.dtype), access)
    variables = {DATA: _lazy(DATA_DIMS, pixels, hint, _attributes(first, [band for _, band in bands.values()]))}
    if any(header.mask is not None for header in headers.values()):
        once = [list({piece.uri: piece for piece in here}.values()) for here in pieces]
        variables[MASK] = _lazy(PLANE_DIMS, Masks(once, first.shape, access), hint, {})
    out = xr.Dataset(variables, coords)
    if MASK in variables:
        out.encoding["mask"] = MASK
    return out


def _lazy(dims: Sequence[str], array: Pixels | Masks, hint: dict[str, int], attrs: dict[str, Any]) -> xr.Variable:
    variable = xr.Variable(dims, indexing.LazilyIndexedArray(array), attrs)
    variable.encoding = {"preferred_chunks": dict(hint), "grid_mapping": GRID_MAPPING}
    return variable


def _attributes(header: Header, bands: list[BandHeader]) -> dict[str, Any]:
    attrs: dict[str, Any] = {}
    if any((band.scale, band.offset) != (1, 0) for band in bands):
        attrs.update(scales=[band.scale for band in bands], offsets=[band.offset for band in bands])
    if any(band.units for band in bands):
        attrs["units"] = [band.units for band in bands]
    if header.nodata is not None and not math.isnan(header.nodata):
        attrs["nodata"] = header.nodata
    return attrs


def _blocks(headers: list[Header]) -> dict[str, int]:
    """Rows and columns of the blocks that all files have whole."""
    height, width = headers[0].shape
    return {
        axis: min(math.lcm(*{min(h.block[i], n) for h in headers}), n)
        for i, (axis, n) in enumerate((("y", height), ("x", width)))
    }

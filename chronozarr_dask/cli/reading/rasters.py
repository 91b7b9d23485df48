"""NetCDF and GeoTIFF of a selection, such that the sources of ``encode`` read the same cube back out of them."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from chronozarr_dask.cli.reading.selection import Selection
from chronozarr_dask.cli.reading.tables import strips
from chronozarr_dask.errors import InputError
from chronozarr_dask.format.layout import MASK
from chronozarr_dask.format.times import TIME_CALENDAR, TIME_UNITS, render_time
from chronozarr_dask.source.geotiff.gdal import load_rasterio
from chronozarr_dask.store.datasets import GRID_MAPPING

BLOCK = 256
"""Edge of a GeoTIFF's blocks, pixels."""


def write_netcdf(selection: Selection, path: Path) -> None:
    """NetCDF with CF's grid mapping and times. Stored values stay as they are: no ``_FillValue`` makes floats of them.

    nodata, and the scale and offset of each band, are attributes of the data array, as `Store.to_xarray` and GDAL's
    drivers have them.
    """
    engine: Any = next((e for e, m in (("h5netcdf", "h5netcdf"), ("netcdf4", "netCDF4")) if find_spec(m)), None)
    if engine is None:
        raise InputError(
            "NetCDF is written by h5netcdf, which is not installed: pip install 'chronozarr-dask[netcdf]', or take "
            "--format csv, json or geotiff"
        )
    out = selection.dataset.load()
    variable = selection.store.variable
    out[variable].attrs |= _scales(selection)
    encoding: dict[str, Any] = {str(name): {"grid_mapping": GRID_MAPPING, "_FillValue": None} for name in out.data_vars}
    if selection.physical:
        encoding[variable]["_FillValue"] = np.float32(math.nan)
        out[variable].attrs.pop("nodata")
    for name in out.variables:
        if name not in encoding:
            encoding[str(name)] = {"_FillValue": None}
    encoding["time"] = {"units": TIME_UNITS, "calendar": TIME_CALENDAR, "dtype": "int64", "_FillValue": None}
    for array in out.variables.values():
        array.encoding = {}
    if not selection.is_series:
        for name in out.data_vars:
            encoding[str(name)] |= {"zlib": True, "complevel": 4, "shuffle": True}
    out.attrs["Conventions"] = "CF-1.11"
    out.to_netcdf(path, engine=engine, encoding=encoding)


def _scales(selection: Selection) -> dict[str, Any]:
    """Attributes that say the scale, offset and unit of each band."""
    bands = selection.bands
    out: dict[str, Any] = {}
    if not selection.physical and any((band.scale, band.offset) != (1, 0) for band in bands):
        out = {"scales": [band.scale for band in bands], "offsets": [band.offset for band in bands]}
    units = [band.units or "" for band in bands]
    if any(units):
        out["units"] = units[0] if len(set(units)) == 1 else units
    return out


def write_geotiff(selection: Selection, path: Path) -> None:
    """A tiled, deflated GeoTIFF of one timestep, written by rows of cells.

    It has CRS, transform, the name, scale, offset and unit of each band, the time as a tag, and nodata: NaN of physical
    values; of stored ones that of the store, or its mask in place of it (2.3).
    """
    rasterio = load_rasterio()
    store, (height, width) = selection.store, selection.window.shape
    masked = MASK in store.planes and not selection.physical
    nodata = math.nan if selection.physical else None if masked else store.nodata
    how: dict[str, Any] = {
        "driver": "GTiff",
        "dtype": "float32" if selection.physical else store.dtype.name,
        "count": len(selection.bands),
        "height": height,
        "width": width,
        "crs": store.crs,
        "transform": rasterio.Affine(*selection.transform),
        "nodata": nodata,
        "compress": "deflate",
        "predictor": 3 if selection.physical or store.dtype.kind == "f" else 2,
        "bigtiff": "if_safer",
        "interleave": "band",
    }
    if min(height, width) >= BLOCK:
        how |= {"tiled": True, "blockxsize": BLOCK, "blockysize": BLOCK}
    time = render_time(int(selection.dataset.time.values[0].astype("datetime64[ms]").astype(np.int64)))
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "w", **how) as file:
        for i, band in enumerate(selection.bands, 1):
            file.set_band_description(i, band.name)
            if band.units:
                file.set_band_unit(i, band.units)
        if not selection.physical:
            file.scales = [band.scale for band in selection.bands]
            file.offsets = [band.offset for band in selection.bands]
        file.update_tags(
            time=time, level=selection.level, TIFFTAG_DATETIME=f"{time[:10].replace('-', ':')} {time[11:19]}"
        )
        row = 0
        for strip in strips(selection):
            rows = strip.sizes["y"]
            window = rasterio.windows.Window(0, row, width, rows)
            file.write(strip[store.variable].values[0], window=window)
            if masked:
                file.write_mask(strip[MASK].values[0] == 1, window=window)
            row += rows

"""CSV and JSON of a selection. NaN is an empty cell in CSV and null in JSON; float32 has no needless digits."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from chronozarr_dask.cli.reading.selection import Selection
from chronozarr_dask.format.times import render_time
from chronozarr_dask.store.cost import Cost

Array = npt.NDArray[Any]


def write_csv(selection: Selection, file: IO[str]) -> None:
    """Of a pixel: a row for each timestep, a column for each band. Else a row for each pixel and band.

    What is (time, band, y, x) is read and written by rows of cells, so memory does not grow with its height. Planes
    that the store has are further columns.
    """
    out = csv.writer(file, lineterminator="\n")
    planes, bands = list(selection.store.planes), [band.name for band in selection.bands]
    if selection.is_series:
        whole = selection.dataset.load()
        columns = [texts(whole[selection.store.variable].values[:, i]) for i in range(len(bands))]
        out.writerow(["time", *bands, *planes])
        out.writerows(zip(_times(whole), *columns, *(texts(whole[p].values) for p in planes), strict=True))
        return
    out.writerow(["time", "y", "x", "band", "value", *planes])
    for strip in strips(selection):
        for rows in _rows(strip, selection.store.variable, planes):
            out.writerows(rows)


def strips(selection: Selection) -> Iterator[xr.Dataset]:
    """The selection cut along the rows of the store's cells, each part loaded."""
    cs, w = selection.store.chunk_size, selection.window
    cuts = [w.y0, *range((w.y0 // cs + 1) * cs, w.y1, cs), w.y1]
    for y0, y1 in pairwise(cuts):
        yield selection.dataset.isel(y=slice(y0 - w.y0, y1 - w.y0)).load()


def _rows(strip: xr.Dataset, variable: str, planes: Sequence[str]) -> Iterator[Iterator[tuple[str, ...]]]:
    """The rows of each line of pixels: pixel by pixel, each with its bands."""
    (time,), bands = _times(strip), strip.band.values.tolist()
    x = [text for text in texts(strip.x.values) for _ in bands]
    for i, y in enumerate(texts(strip.y.values)):
        n = len(x)
        values = texts(strip[variable].values[0, :, i].T.ravel())
        more = [texts(np.repeat(strip[p].values[0, i], len(bands))) for p in planes]
        yield zip([time] * n, [y] * n, x, bands * strip.sizes["x"], values, *more, strict=True)


def texts(values: Array) -> list[str]:
    """The shortest text that stands for each value; nothing for NaN.

    >>> texts(np.array([0.1, np.nan, 20], "float32"))
    ['0.1', '', '20.0']
    """
    return ["" if text == "nan" else text for text in values.astype(str).tolist()]


def _times(dataset: xr.Dataset) -> list[str]:
    return [render_time(int(ms)) for ms in dataset.time.values.astype("datetime64[ms]").astype(np.int64)]


def write_json(selection: Selection, file: IO[str], cost: Cost | None) -> None:
    """One object: what was read, where it lies, the arrays as nested lists, their axes in ``dims``; then the cost."""
    document = _document(selection)  # which reads, and is what there is to pay for
    if cost is not None:
        document["cost"] = cost.as_dict()
    json.dump(document, file, allow_nan=False)
    file.write("\n")


def _document(selection: Selection) -> dict[str, Any]:
    store, w = selection.store, selection.window
    whole = selection.dataset.load()
    data = whole[store.variable]
    out: dict[str, Any] = {
        "store": store.url,
        "level": selection.level,
        "crs": store.crs,
        "dtype": data.dtype.name,
        "physical": selection.physical,
        "nodata": None if selection.physical else store.nodata,
        "times": _times(whole),
        "bands": [band.to_json() for band in selection.bands],
    }
    if selection.is_series:
        out |= {"row": w.y0, "col": w.x0, "x": whole.x.item(), "y": whole.y.item()}
    else:
        out |= {"window": [w.y0, w.y1, w.x0, w.x1], "transform": list(selection.transform)}
    out |= {"dims": list(data.dims), store.variable: numbers(data.values)}
    out |= {plane: whole[plane].values.tolist() for plane in store.planes}
    return out


def numbers(values: Array) -> Any:
    """Nested lists: float32 as the shortest decimal that stands for it, NaN as None.

    >>> numbers(np.array([[0.1, np.nan]], "float32"))
    [[0.1, None]]
    """
    if values.dtype.kind != "f":
        return values.tolist()
    short = values.astype(str).astype(np.float64) if values.dtype == np.float32 else values
    boxed = short.astype(object)
    boxed[np.isnan(short)] = None
    return boxed.tolist()

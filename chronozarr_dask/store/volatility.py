"""Section 5: the stored volatility, one float32 for each cell of level 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.codecs import parse_chain
from chronozarr_dask.format.dtypes import is_finite_number
from chronozarr_dask.format.layout import ROOT_DOCUMENT, VOLATILITY
from chronozarr_dask.store.compress import decompress
from chronozarr_dask.store.cost import spent
from chronozarr_dask.store.opening import parse_document
from chronozarr_dask.store.target import Objects

KEY = f"{VOLATILITY}/c/0/0"
DOCUMENT = f"{VOLATILITY}/{ROOT_DOCUMENT}"


def read_volatility(objects: Objects, grid: tuple[int, int]) -> npt.NDArray[np.float32]:
    """The stored array: ndarray (rows, cols) of level 0, float32. Two requests.

    Raises
    ------
    StoreError
        If the store has none, or it is not one chunk of float32 with a value for each cell.
    """
    where = f"{objects.url}/{DOCUMENT}"
    document = _get(objects, DOCUMENT)
    if document is None:
        raise StoreError(f"{where}: the store has no volatility, which section 5 asks of every store")
    parsed = parse_document(document, where)
    if not isinstance(parsed, Mapping) or parsed.get("data_type") != "float32":
        raise StoreError(f"{where}: not the document of a float32 array (5)")
    cells = list(grid)
    shapes: list[Any] = [parsed.get("shape"), _chunk_shape(parsed)]
    if shapes != [cells, cells]:
        raise StoreError(
            f"{where}: shape is {shapes[0]} and the chunk's {shapes[1]}, where level 0 has {cells} cells and "
            f"volatility is one chunk (5)"
        )
    codec = parse_chain(parsed.get("codecs"), where)
    blob = _get(objects, KEY)
    if blob is None:
        fill = parsed.get("fill_value")
        return np.full(grid, fill if is_finite_number(fill) else 0, np.float32)
    values = decompress(blob, codec, np.dtype("<f4"), grid, f"{objects.url}/{KEY}")
    spent(chunks=1, bytes_decoded=values.nbytes, cells_decoded=values.size)
    return values.astype(np.float32)


def _get(objects: Objects, key: str) -> bytes | None:
    blob = objects.get(key)
    spent(requests=1, bytes_fetched=len(blob or b""))
    return blob


def _chunk_shape(document: Mapping[str, Any]) -> Any:
    part: Any = document
    for name in ("chunk_grid", "configuration", "chunk_shape"):
        part = part.get(name) if isinstance(part, Mapping) else None
    return part

"""Stores to damage: encoded once, copied for each test, and the edits of one chunk or object."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import chronozarr_dask as czd
from chronozarr_dask.format.arrays import check_data_document
from chronozarr_dask.store.compress import compress, decompress
from chronozarr_dask.store.journal import SUFFIX
from tests.encode.cubes import CS, coverage, cube, mask

Array = npt.NDArray[Any]
CUBE = cube()
KINDS: dict[str, dict[str, Any]] = {
    "none": {"encoding": "none"},
    "star": {"encoding": "star-delta"},
    "planes": {"encoding": "star-delta", "mask": mask(CUBE), "coverage": coverage(CUBE), "codec": "gzip"},
    "sharded": {"encoding": "star-delta", "shard_time": 4, "nodata": 7},
    "one level": {"encoding": "none", "levels": 1},
}


def encode(kind: str, folder: Path) -> Path:
    """10 timesteps, 2 bands, 97 x 65 pixels in 4 x 3 cells of 32; 3 levels; uint16."""
    czd.encode(CUBE, folder, chunk_size=CS, **KINDS[kind])
    return folder


def copied(store: Path, to: Path, *, journal: bool = True) -> Path:
    """A copy of a store, with its journal or without."""
    shutil.copytree(store, to)
    if journal:
        shutil.copytree(f"{store}{SUFFIX}", f"{to}{SUFFIX}")
    return to


def edit_chunk(store: Path, key: str, edit: Callable[[Array], object]) -> None:
    """Decode an unsharded chunk, let `edit` change it in place, store it again."""
    path = key.split("/c/")[0]
    meta = check_data_document(json.loads((store / path / "zarr.json").read_text()), path)
    dtype = np.dtype(meta.dtype)
    file = store / key
    shape = meta.chunk[1:]
    chunk = decompress(file.read_bytes(), meta.codec, dtype, shape, key) if file.exists() else np.zeros(shape, dtype)
    edit(chunk)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(compress(chunk, meta.codec))


def swap(store: Path, a: str, b: str) -> None:
    """Exchange two objects."""
    first, second = (store / a).read_bytes(), (store / b).read_bytes()
    (store / a).write_bytes(second)
    (store / b).write_bytes(first)

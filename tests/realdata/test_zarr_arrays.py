"""The Zarr v3 arrays that other libraries wrote: every chunk through our shard index and decoders, against zarr-python.

They are of one to three axes and any dtype, so no store of ours holds them: what is used of the reader is what it
reads a shard with. Their codecs beyond section 8 are refused by name.
"""

from __future__ import annotations

import itertools
import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.codecs import parse_chain
from chronozarr_dask.format.sharding import index_bytes, index_table, parse_sharding
from chronozarr_dask.store.compress import crc32c, decompress

FOLDER = "zarr/zarrita_v3.zarr"
SHARDED = [
    *(f"1d.contiguous.compressed.sharded.{dtype}" for dtype in ("b1", "f4", "f8", "i2", "i4", "u1")),
    "1d.chunked.compressed.sharded.i2",
    "1d.chunked.filled.compressed.sharded.i2",
    "2d.chunked.compressed.sharded.filled.i2",
    "2d.chunked.compressed.sharded.i2",
    "2d.chunked.ragged.compressed.sharded.i2",
    "2d.contiguous.compressed.sharded.i2",
    "3d.chunked.compressed.sharded.i2",
    "3d.chunked.mixed.compressed.sharded.i2",
    "3d.contiguous.compressed.sharded.i2",
]
PLAIN = [
    *("1d.chunked.i2", "1d.chunked.ragged.i2", "1d.contiguous.b1", "1d.contiguous.blosc.i2", "1d.contiguous.f2.le"),
    *("1d.contiguous.f4.le", "1d.contiguous.f8", "1d.contiguous.gzip.i2", "1d.contiguous.i4", "1d.contiguous.u1"),
    *("2d.chunked.i2", "2d.chunked.ragged.i2", "2d.contiguous.i2", "3d.chunked.i2", "3d.chunked.mixed.i2.C"),
    "3d.contiguous.i2",
]
REFUSED = {
    "1d.contiguous.raw.i2": "then exactly one of zstd, blosc, gzip",
    "1d.contiguous.f4.be": "'big'-endian",
    "1d.contiguous.delta.i4": "numcodecs.delta",
    "3d.contiguous.delta.i4.mixed": "transpose",
    "3d.chunked.mixed.i2.F": "transpose",
    "consolidated/1d.chunked.i2": "then exactly one of zstd, blosc, gzip",
    "consolidated/2d.contiguous.i2": "then exactly one of zstd, blosc, gzip",
    "consolidated/nested/1d.i2": "then exactly one of zstd, blosc, gzip",
    **dict.fromkeys(
        (
            *("1d.chunked.string.vlen", "1d.contiguous.string.compressed", "1d.contiguous.string.vlen"),
            *("1d.string.empty", "1d.string.unicode", "2d.chunked.string.vlen"),
        ),
        "vlen-utf8",
    ),
}


def test_no_array_is_missing(realdata: Path):
    folder = realdata / FOLDER
    documents = {p.parent.relative_to(folder).as_posix(): json.loads(p.read_bytes()) for p in folder.rglob("zarr.json")}
    assert {p for p, d in documents.items() if d["node_type"] == "array"} == {*SHARDED, *PLAIN, *REFUSED}


def read(folder: Path) -> np.ndarray[Any, Any]:
    """All values of an array, by this package's own parts."""
    document = json.loads((folder / "zarr.json").read_bytes())
    shape = tuple(document["shape"])
    outer = tuple(document["chunk_grid"]["configuration"]["chunk_shape"])
    sharding, codecs = parse_sharding(document["codecs"], outer, str(folder))
    codec = parse_chain(codecs, str(folder))
    dtype = np.dtype(document["data_type"])
    inner = sharding.inner if sharding else outer
    within = [o // i for o, i in zip(outer, inner, strict=True)]
    out = np.full([-(-n // o) * o for n, o in zip(shape, outer, strict=True)], document["fill_value"], dtype)
    for at in itertools.product(*(range(-(-n // o)) for n, o in zip(shape, outer, strict=True))):
        path = folder.joinpath("c", *map(str, at))
        if not path.exists():
            continue
        blob = path.read_bytes()
        entries = np.array([[0, len(blob)]])
        if sharding:
            n = index_bytes(math.prod(within))
            index = blob[:n] if sharding.location == "start" else blob[-n:]
            entries = index_table(index, math.prod(within), crc32c, str(path), len(blob))
        for place, (offset, nbytes) in zip(itertools.product(*map(range, within)), entries.tolist(), strict=True):
            if nbytes >= 0:
                first = [a * o + p * i for a, o, p, i in zip(at, outer, place, inner, strict=True)]
                box = tuple(slice(f, f + i) for f, i in zip(first, inner, strict=True))
                out[box] = decompress(blob[offset : offset + nbytes], codec, dtype, inner, str(path))
    return out[tuple(slice(n) for n in shape)]


@pytest.mark.parametrize("name", [*SHARDED, *PLAIN])
def test_arrays_of_other_writers(realdata: Path, name: str):
    folder = realdata / FOLDER / name
    expected = zarr.open_array(folder, mode="r")[...]
    assert np.array_equal(read(folder), expected)


@pytest.mark.parametrize("name", SHARDED)
def test_the_same_with_the_index_at_the_start(realdata: Path, tmp_path: Path, name: str):
    """All of them have it at the end: moved to the start, zarr-python and this package read the same."""
    folder = tmp_path / "a"
    shutil.copytree(realdata / FOLDER / name, folder)
    document = json.loads((folder / "zarr.json").read_bytes())
    config = document["codecs"][0]["configuration"]
    config["index_location"] = "start"
    (folder / "zarr.json").write_text(json.dumps(document))
    outer, inner = document["chunk_grid"]["configuration"]["chunk_shape"], config["chunk_shape"]
    n = index_bytes(math.prod(outer) // math.prod(inner))
    for path in [p for p in (folder / "c").rglob("*") if p.is_file()]:
        blob = path.read_bytes()
        table = np.frombuffer(blob[-n:-4], "<u8").copy()
        table[0::2][table[0::2] != np.uint64(2**64 - 1)] += np.uint64(n)
        path.write_bytes(table.tobytes() + crc32c(table.tobytes()).to_bytes(4, "little") + blob[:-n])
    expected = zarr.open_array(realdata / FOLDER / name, mode="r")[...]
    assert np.array_equal(zarr.open_array(folder, mode="r")[...], expected)
    assert np.array_equal(read(folder), expected)


@pytest.mark.parametrize("name", REFUSED)
def test_codecs_that_the_format_has_not(realdata: Path, name: str):
    with pytest.raises(StoreError) as error:
        read(realdata / FOLDER / name)
    assert REFUSED[name] in str(error.value)

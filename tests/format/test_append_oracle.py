"""Section 14 against stores that the reference encoder, chronozarr 0.2.1, made and appended to."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import chronozarr
import google_crc32c
import numpy as np
import numpy.typing as npt
import pytest
import zarr

from chronozarr_dask.format.append import (
    grow_temporal,
    grow_volatility,
    rewritten_shard,
    volatility_references,
    written_objects_t,
)
from chronozarr_dask.format.arrays import check_data_document, documents
from chronozarr_dask.format.attributes import Root
from chronozarr_dask.format.codecs import Codec
from chronozarr_dask.format.georef import Georeference
from chronozarr_dask.format.layout import Layout
from chronozarr_dask.format.planes import PLANES, next_coverage, next_mask
from chronozarr_dask.format.pyramid import default_levels, next_level
from chronozarr_dask.format.sharding import index_bytes, parse_index
from chronozarr_dask.format.temporal import restore
from chronozarr_dask.format.volatility import change_sum
from tests.format import slow

pytestmark = pytest.mark.oracle

BATCHES = [4, 5, 3]  # 4 -> 6 in the second batch, 10 and 11 before an anchor 12 that does not exist
ENDS = list(accumulate(BATCHES))
CS, HEIGHT, WIDTH = 8, 21, 18
GEOREF = Georeference("EPSG:32631", (10.0, 0.0, 500000.0, 0.0, -10.0, 5000000.0))


@dataclass(frozen=True)
class Appended:
    """A store after each of its batches: root documents and objects, and the pixels that went in."""

    folder: Path
    layout: Layout
    roots: list[Root]
    objects: list[dict[str, bytes]]
    data: npt.NDArray[Any]
    mask: npt.NDArray[np.uint8]
    coverage: npt.NDArray[np.uint8]

    def array(self, path: str) -> npt.NDArray[Any]:
        return np.asarray(zarr.open_array(self.folder, path=path, mode="r")[...])

    def decoded(self, level: int) -> npt.NDArray[Any]:
        """True values of a level through the recorded references."""
        stored, temporal = self.array(f"{level}/data"), self.roots[-1].temporal
        refs = [temporal.reference(t) for t in range(len(stored))]
        return np.stack(
            [s if t == a else restore(s, stored[a]) for t, (s, a) in enumerate(zip(stored, refs, strict=True))]
        )


def objects(folder: Path) -> dict[str, bytes]:
    files = (Path(at) / name for at, _, names in os.walk(folder) for name in names)
    return {f.relative_to(folder).as_posix(): f.read_bytes() for f in files}


def pixels() -> tuple[npt.NDArray[Any], npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Slowly changing values with holes, a mask, a coverage; cell (0, 0) is nodata throughout."""
    rng = np.random.default_rng(14)
    n = sum(BATCHES)
    data = rng.integers(500, 3000, (1, 2, HEIGHT, WIDTH)) + rng.integers(-300, 300, (n, 2, HEIGHT, WIDTH))
    data[rng.random(data.shape) < 0.1] = 0
    data[..., :CS, :CS] = 0
    mask = (rng.random((n, HEIGHT, WIDTH)) < 0.8).astype(np.uint8)
    coverage = rng.integers(0, 9, (n, HEIGHT, WIDTH), dtype=np.uint8)
    return data.astype(np.uint16), mask, coverage


def make(folder: Path, encoding: str, shard_time: int | None) -> Appended:
    data, mask, coverage = pixels()
    times = np.datetime64("2024-01-01", "ns") + np.arange(len(data)) * np.timedelta64(30, "D")
    roots, kept = [], []
    for start, end in pairwise([0, *ENDS]):
        planes = {"mask": iter(mask[start:end]), "coverage": iter(coverage[start:end]), "times": times[start:end]}
        if start == 0:
            chronozarr.encode(
                iter(data[:end]), folder, crs=GEOREF.crs, transform=GEOREF.transform, bands=["a", "b"], nodata=0,
                encoding=encoding, chunk_size=CS, shard=shard_time is not None, shard_time=shard_time, **planes,
            )  # fmt: skip
        else:
            chronozarr.append(folder, iter(data[start:end]), **planes)
        roots.append(Root.from_document(json.loads((folder / "zarr.json").read_text())))
        kept.append(objects(folder))
    layout = Layout(len(data), 2, HEIGHT, WIDTH, CS, default_levels(HEIGHT, WIDTH, CS), shard_time)
    return Appended(folder, layout, roots, kept, data, mask, coverage)


# Unsharded; and a shard_time below, equal to and above the first batch.
CASES = [("star-delta", None), ("star-delta", 3), ("star-delta", 4), ("star-delta", 12), ("none", None), ("none", 5)]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]}-{case[1] or 'unsharded'}")
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Appended:
    return make(tmp_path_factory.mktemp("oracle") / "store", *request.param)


def test_recorded_references_grow_as_the_reference_encoders_do(store: Appended) -> None:
    """Case 19."""
    for before, after in pairwise(store.roots):
        n_old = len(before.times)
        assert grow_temporal(before.temporal, n_old, len(after.times) - n_old) == after.temporal
    last = store.roots[-1].temporal
    if last.encoding == "star-delta":
        assert [last.reference(t) for t in (3, 4, 9, 10, 11)] == [0, 6, 6, 6, 6]


def test_appended_timesteps_decode_to_what_went_in(store: Appended) -> None:
    """Invariant 1, through the recorded references only."""
    np.testing.assert_array_equal(store.decoded(0), store.data)


def test_every_level_is_the_block_mean_of_the_one_below(store: Appended) -> None:
    data, mask, coverage = store.data, store.mask, store.coverage
    for level in range(1, store.layout.n_levels):
        data, mask, coverage = next_level(data, mask, 0), next_mask(mask), next_coverage(coverage)
        np.testing.assert_array_equal(store.decoded(level), data)
        np.testing.assert_array_equal(store.array(f"{level}/mask"), mask)
        np.testing.assert_array_equal(store.array(f"{level}/coverage"), coverage)


def test_volatility_equals_the_definition_over_the_recorded_references(store: Appended) -> None:
    """Case 20: invalid pixels count, padding does not, and a `none` store has interval 6 both times."""
    stored = store.array("volatility")
    refs = volatility_references(store.roots[-1].temporal, BATCHES)
    for r, c in np.ndindex(store.layout.grid(0)):
        y, x = store.layout.cell_window(0, r, c).slices
        cell = store.data[:, :, y, x]
        value, n_values = np.float32(0), 0
        for start, end in pairwise([0, *ENDS]):
            deltas = [t for t in range(start, end) if refs[t] != t]
            added = sum(change_sum(cell[t], cell[refs[t]]) for t in deltas)
            value = grow_volatility(value, n_values, added, len(deltas) * cell[0].size)
            n_values += len(deltas) * cell[0].size
        assert stored[r, c] == pytest.approx(slow.volatility(cell, refs), rel=2e-6)
        assert value == pytest.approx(stored[r, c], rel=2e-6)


def test_shard_bytes_lists_the_data_shards_that_exist(store: Appended) -> None:
    """Case 22: every data shard with its length, and neither mask nor coverage."""
    for root, kept in zip(store.roots, store.objects, strict=True):
        if store.layout.shard_time is None:
            assert root.shard_bytes is None
            continue
        listed = {
            f"{level}/data/c/{t}/0/{r}/{c}": length
            for level, entries in (root.shard_bytes or {}).items()
            for (t, r, c), length in ((key.split("/"), n) for key, n in entries.items())
        }
        assert listed == {key: len(blob) for key, blob in kept.items() if "/data/c/" in key}


def test_partial_last_shard_keeps_all_of_its_entries(store: Appended) -> None:
    """Case 21."""
    shard_time = store.layout.shard_time
    if shard_time is None:
        return
    for root, kept in zip(store.roots, store.objects, strict=True):
        n_time = len(root.times)
        for key, blob in kept.items():
            if "/data/c/" in key:
                entries = parse_index(blob[-index_bytes(shard_time) :], shard_time, google_crc32c.value, key, len(blob))
                first = int(key.split("/")[3]) * shard_time
                assert not any(entries[max(n_time - first, 0) :])


def test_only_the_objects_that_gain_data_change(store: Appended) -> None:
    step = store.layout.shard_time or 1
    for i, end in enumerate(ENDS[1:]):
        before, after, n_old = store.objects[i], store.objects[i + 1], ENDS[i]
        assert set(before) <= set(after)
        changed = {key for key, blob in after.items() if before.get(key) != blob}
        touched = {
            int(k.split("/")[3])
            for k in changed
            if k.split("/")[1:3] in (["data", "c"], ["mask", "c"], ["coverage", "c"])
        }
        assert touched == set(written_objects_t(n_old, end - n_old, store.layout.shard_time))
        again = {int(k.split("/")[3]) for k in changed & set(before) if "/data/c/" in k}
        assert again == (set() if rewritten_shard(n_old, step) is None else {rewritten_shard(n_old, step)})
        rest = {k for k in changed if "/c/" in k and k.split("/")[1] not in ("data", "mask", "coverage")}
        assert rest <= {f"{k}/time/c/0" for k in range(store.layout.n_levels)} | {"volatility/c/0/0"}


def test_documents_are_those_that_we_would_write(store: Appended) -> None:
    """Shapes, chunk grids, codecs, fill and dimensions of data, mask and coverage after the last append."""
    ours = documents(store.layout, "uint16", Codec(), 0, GEOREF, PLANES)
    ignored = ("attributes", "storage_transformers")
    for path, doc in ours.items():
        if doc["node_type"] != "array":
            continue
        theirs = json.loads((store.folder / path / "zarr.json").read_text())
        same = {k for k in doc if k not in ignored}
        if path.split("/")[-1] not in ("data", *PLANES):
            same.remove("codecs")  # section 8 leaves the codec of the small arrays to the writer
        assert {k: theirs[k] for k in same} == {k: doc[k] for k in same}
        assert theirs["attributes"]["_ARRAY_DIMENSIONS"] == doc["attributes"]["_ARRAY_DIMENSIONS"]
        if path.split("/")[-1] in ("data", *PLANES):
            meta, our_meta = check_data_document(theirs, path), check_data_document(doc, path)
            assert (meta.sharding, meta.codec, meta.chunk) == (our_meta.sharding, our_meta.codec, our_meta.chunk)
        if path.endswith("/data"):
            assert attributes_without_wkt(theirs) == attributes_without_wkt(doc)


def attributes_without_wkt(doc: dict[str, Any]) -> dict[str, Any]:
    """`_CRS` may have a member `wkt` beside `url` (3.3)."""
    attributes: dict[str, Any] = doc["attributes"]
    return attributes | {"_CRS": {"url": attributes["_CRS"]["url"]}}


def test_the_root_says_what_ours_would(store: Appended) -> None:
    theirs = json.loads((store.folder / "zarr.json").read_text())["attributes"]
    ours = store.roots[-1].to_json()
    assert ours["multiscales"] == theirs["multiscales"]
    bands = [{"scale": 1.0, "offset": 0.0, **band} for band in theirs["chronozarr"]["bands"]]
    assert ours["chronozarr"] == theirs["chronozarr"] | {"bands": bands}

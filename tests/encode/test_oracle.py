"""Equal to chronozarr 0.2.1 byte for byte where the decisions of the two agree; and every place where they do not."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chronozarr
import numpy as np
import pytest
import xarray as xr
import zarr

import chronozarr_dask as czd
from tests.encode import cubes

pytestmark = pytest.mark.oracle


@dataclass(frozen=True)
class Case:
    """What is encoded by both; the name of a case says it."""

    dtype: str = "uint16"
    encoding: str = "none"
    shard_time: int | None = None
    planes: tuple[str, ...] = ()
    shape: tuple[int, int, int, int] = (10, 2, 97, 65)
    interval: int = 6
    nodata: Any = 0
    levels: int | None = None

    def __str__(self) -> str:
        parts = [self.dtype, self.encoding, f"shard{self.shard_time}", *self.planes, "x".join(map(str, self.shape))]
        return "-".join([*parts, f"interval{self.interval}", f"nodata{self.nodata}", f"levels{self.levels}"])

    def cube(self) -> xr.DataArray:
        return cubes.cube(self.dtype, self.shape)

    def given(self) -> dict[str, xr.DataArray]:
        make = {"mask": cubes.mask, "coverage": cubes.coverage}
        return {p: make[p](self.cube()) for p in self.planes}

    def ours(self, target: Path, **how: Any) -> czd.RunReport:
        options: dict[str, Any] = {
            "encoding": self.encoding,
            "shard_time": self.shard_time,
            "chunk_size": cubes.CS,
            "anchor_interval": self.interval,
            "nodata": self.nodata,
            "levels": self.levels,
        }
        return czd.encode(self.cube(), target, **self.given(), **(options | how))

    def theirs(self, target: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            chronozarr.encode(
                self.cube(),
                target,
                crs=cubes.CRS,
                encoding=self.encoding,
                chunk_size=cubes.CS,
                shard=self.shard_time is not None,
                shard_time=self.shard_time,
                anchor_interval=self.interval,
                nodata=self.nodata,
                n_lods=self.levels,
                workers=1,
                **self.given(),
            )


BOTH = ("mask", "coverage")
CASES = [
    Case("uint16"),
    Case("uint16", "star-delta"),
    Case("uint16", "none", 3),
    Case("uint16", "star-delta", 3),
    Case("uint16", "none", 10),
    Case("uint16", "star-delta", 10, BOTH),
    Case("uint16", "none", 13, BOTH),
    Case("uint16", "star-delta", 13),
    Case("uint8"),
    Case("uint8", "star-delta", None, BOTH),
    Case("uint8", "none", 4, BOTH),
    Case("uint8", "star-delta", 12),
    Case("uint16", "none", None, BOTH),
    Case("uint16", "star-delta", None, ("mask",), interval=4),
    Case("uint16", "star-delta", 1, ("coverage",)),
    Case("uint16", "star-delta", 5, shape=(7, 1, 33, 31), interval=3),
    Case("uint16", "none", None, shape=(1, 3, 32, 32)),
    Case("uint8", "star-delta", 4, shape=(13, 1, 64, 96), levels=5),
    Case("uint16", "star-delta", None, shape=(4, 1, 2, 70), interval=1),
]
VALUES = [
    Case("int16", nodata=None),
    Case("int16", "none", 4, ("mask",), nodata=0),
    Case("float32", nodata=None),
    Case("float32", "none", 3, ("coverage",), nodata=0),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_data_mask_and_coverage_object_is_the_same(case: Case, tmp_path: Path):
    case.ours(tmp_path / "ours")
    case.theirs(tmp_path / "theirs")
    ours, theirs = cubes.chunk_objects(tmp_path / "ours"), cubes.chunk_objects(tmp_path / "theirs")
    assert sorted(ours) == sorted(theirs)
    assert [k for k in ours if ours[k] != theirs[k]] == []


@pytest.mark.parametrize("case", [CASES[1], CASES[6], CASES[11], *VALUES], ids=str)
def test_volatility_is_the_same(case: Case, tmp_path: Path):
    case.ours(tmp_path / "ours")
    case.theirs(tmp_path / "theirs")
    ours, theirs = (cubes.objects(tmp_path / side)["volatility/c/0/0"] for side in ("ours", "theirs"))
    assert ours == theirs


def test_volatility_that_is_all_zero_is_stored_all_the_same(tmp_path: Path):
    """The reference leaves the chunk out. A store without it is not conforming (section 5), so it is always written."""
    case = Case(shape=(1, 1, 32, 32))
    case.ours(tmp_path / "ours")
    case.theirs(tmp_path / "theirs")
    assert "volatility/c/0/0" in cubes.objects(tmp_path / "ours")
    assert "volatility/c/0/0" not in cubes.objects(tmp_path / "theirs")


@pytest.mark.parametrize("case", [*CASES[1:8:2], *VALUES], ids=str)
def test_the_reference_finds_nothing_wrong_with_our_store(case: Case, tmp_path: Path):
    case.ours(tmp_path / "ours")
    problems = chronozarr.validate(str(tmp_path / "ours"))
    if case.nodata is None:
        # 2.3: the attribute is absent where nodata is null. The reference writes null, and misses it.
        assert problems == [f"level {k}/data: attribute nodata must be None, got None" for k in range(3)]
    else:
        assert problems == []


@pytest.mark.parametrize("case", [CASES[1], CASES[5], CASES[9], *VALUES], ids=str)
def test_the_reference_reads_the_exact_input_back(case: Case, tmp_path: Path):
    case.ours(tmp_path / "ours")
    store = chronozarr.open_store(str(tmp_path / "ours"))
    data, planes = case.cube().values, {k: v.values for k, v in case.given().items()}
    for t in range(len(data)):
        assert store.read(t).tobytes() == data[t].tobytes()
        for name, read in (("mask", store.read_mask), ("coverage", store.read_coverage)):
            if name in planes:
                assert np.array_equal(read(t), planes[name][t])


@pytest.mark.parametrize("case", [CASES[5], CASES[2], *VALUES], ids=str)
def test_both_stores_have_the_same_values_at_every_level(case: Case, tmp_path: Path):
    case.ours(tmp_path / "ours")
    case.theirs(tmp_path / "theirs")
    ours, theirs = czd.open_store(tmp_path / "ours"), czd.open_store(tmp_path / "theirs")
    assert len(ours.levels) == len(theirs.levels) == 3
    assert (ours.nodata, ours.temporal, ours.crs) == (theirs.nodata, theirs.temporal, theirs.crs)
    for level in range(3):
        for name, array in ours.to_xarray(level).data_vars.items():
            assert array.values.tobytes() == theirs.to_xarray(level)[name].values.tobytes()


# ---- where the two differ --------------------------------------------------------------------------------------------


def expected(documents: dict[str, Any]) -> dict[str, Any]:
    """The reference's documents with each known difference undone: what is left must be equal."""
    for path, doc in documents.items():
        doc.pop("storage_transformers", None)  # an empty list: may be left out
        doc.pop("consolidated_metadata", None)  # an empty one in each level group: the root holds it all
        name = path.split("/")[-1]
        if name in ("time", "band", "y", "x", "volatility"):  # section 8 names level 5 for every zstd
            assert doc["codecs"][-1]["configuration"].pop("level") == 0
            doc["codecs"][-1]["configuration"]["level"] = 5
        if name in ("mask", "coverage"):  # 2.4 and 2.5 give a plane no georeference of its own
            doc["attributes"] = {k: v for k, v in doc["attributes"].items() if k == "_ARRAY_DIMENSIONS"}
        if name == "data":  # the EPSG URL says it: the WKT depends on the version of PROJ
            assert doc["attributes"]["_CRS"].pop("wkt")
    return documents


@pytest.mark.parametrize("case", [CASES[0], CASES[5]], ids=str)
def test_documents_say_the_same_but_for_what_is_listed(case: Case, tmp_path: Path):
    case.ours(tmp_path / "ours")
    case.theirs(tmp_path / "theirs")
    ours, theirs = (json.loads((tmp_path / side / "zarr.json").read_text()) for side in ("ours", "theirs"))
    below = theirs["consolidated_metadata"].pop("metadata")
    assert ours["consolidated_metadata"].pop("metadata") == expected(below)
    for band in theirs["attributes"]["chronozarr"]["bands"]:
        band |= {"scale": 1.0, "offset": 0.0}  # the defaults of 3.6 are written down
    assert ours == theirs


@pytest.mark.parametrize("case", [CASES[5]], ids=str)
def test_coordinates_differ_in_the_level_of_their_compression_alone(case: Case, tmp_path: Path):
    case.ours(tmp_path / "ours")
    case.theirs(tmp_path / "theirs")
    ours, theirs = cubes.objects(tmp_path / "ours"), cubes.objects(tmp_path / "theirs")
    assert sorted(ours) == sorted(theirs)
    others = {k for k in ours if ours[k] != theirs[k] and not k.endswith("zarr.json")}
    assert others <= {f"{level}/{axis}/c/0" for level in range(3) for axis in ("time", "band", "y", "x")}
    for level in range(3):
        mine, other = (zarr.open_group(tmp_path / side, mode="r")[str(level)] for side in ("ours", "theirs"))
        for axis in ("time", "band", "y", "x"):
            assert np.array_equal(mine[axis][:], other[axis][:])


def selections(tmp_path: Path, name: str, cube: xr.DataArray) -> tuple[dict[str, Any], dict[str, Any]]:
    """The `temporal` blocks of both under `auto`."""
    ours, theirs = tmp_path / name / "ours", tmp_path / name / "theirs"
    czd.encode(cube, ours, chunk_size=cubes.CS, nodata=0)
    chronozarr.encode(cube, theirs, chunk_size=cubes.CS, nodata=0, crs=cubes.CRS, workers=1)
    return cubes.root(ours)["temporal"], cubes.root(theirs)["temporal"]


def test_auto_measures_the_same_but_for_chunks_that_are_not_stored(tmp_path: Path):
    """The lattices of sampled cells differ; up to three cells there is but one. Both compare compressed bytes (4.3);
    the reference counts those of a chunk that is all fill and is left out too, here one of 9 in the first cell."""
    rng = np.random.default_rng(1)
    data = (rng.integers(1, 200, (1, 2, 64, 32)) + rng.integers(0, 3, (9, 2, 64, 32))).astype(np.uint16)
    ours, theirs = selections(tmp_path, "full", cubes.as_cube(data))
    assert ours == theirs
    assert ours["selection"]["sampled_cells"] == 2
    data[4, :, :32] = 0
    ours, theirs = selections(tmp_path, "hole", cubes.as_cube(data))
    assert ours["selection"]["ratio"] != theirs["selection"]["ratio"]

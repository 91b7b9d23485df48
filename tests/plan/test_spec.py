"""What a store will be, as data."""

from __future__ import annotations

import json

from chronozarr_dask.format.bands import Band
from chronozarr_dask.format.codecs import Codec
from chronozarr_dask.format.georef import Georeference
from chronozarr_dask.format.layout import Layout
from chronozarr_dask.format.provenance import Provenance
from chronozarr_dask.format.temporal import Selection
from chronozarr_dask.plan.spec import StoreSpec

SPEC = StoreSpec(
    layout=Layout(10, 1, 40, 20, 32, 2, 4),
    dtype="uint16",
    codec=Codec(),
    nodata=0,
    georef=Georeference("EPSG:32631", (10.0, 0.0, 500000.0, 0.0, -10.0, 5000000.0)),
    times=tuple(range(0, 10_000, 1000)),
    bands=(Band("red"),),
    planes=("mask",),
    anchor_interval=6,
    provenance=Provenance(("s2",), "median", "none", None),
)


def test_the_fill_value_is_nodata_or_0():
    assert SPEC.fill == 0
    assert StoreSpec(**{**vars(SPEC), "nodata": 7}).fill == 7
    assert StoreSpec(**{**vars(SPEC), "nodata": None}).fill == 0


def test_the_temporal_block_of_both_encodings():
    none = SPEC.temporal("none", Selection(3, 90, 100))
    assert (none.encoding, none.selection) == ("none", {"mode": "auto", "sampled_cells": 3, "ratio": 0.9})
    delta = SPEC.temporal("star-delta")
    assert (delta.anchor_indices, delta.selection) == ((0, 6), None)
    assert delta.reference(3) == 0


def test_documents_are_those_of_the_levels_planes_and_coordinates():
    names = {"", "/time", "/band", "/y", "/x", "/data", "/mask"}
    assert set(SPEC.documents()) == {f"{k}{n}" for k in "01" for n in names} | {"volatility"}
    assert SPEC.meta(1, "data").shape == (10, 1, 20, 10)
    assert SPEC.meta(1, "mask").shape == (10, 20, 10)


def test_the_root_mirrors_the_levels():
    root = SPEC.root(SPEC.temporal("none"), None)
    assert root.level_paths == ("0", "1")
    assert root.levels is not None
    assert [level.shape for level in root.levels] == [(10, 1, 40, 20), (10, 1, 20, 10)]


def test_the_identity_is_json_and_tells_stores_apart():
    whole = SPEC.identity()
    assert json.loads(json.dumps(whole)) == whole
    for change in (
        {"times": (1,)},
        {"nodata": None},
        {"bands": (Band("nir"),)},
        {"planes": ()},
        {"codec": Codec("zstd", 6)},
    ):
        assert StoreSpec(**{**vars(SPEC), **change}).identity() != whole

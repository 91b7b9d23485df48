"""Levels, mirrors, coordinates and the temporal block: one broken thing, one problem."""

from __future__ import annotations

import numcodecs
import numpy as np
import pytest

from tests.store.validate_cases import (
    CZ,
    LEVELS,
    Memory,
    Row,
    at,
    drop,
    each,
    put,
    remove,
    root,
    together,
    values,
    write,
)


def band_indices(s: Memory, level: str, indices: list[int]) -> None:
    """A band coordinate of int32."""
    document = s.document(f"{level}/x") | {"shape": [2], "data_type": "int32", "fill_value": 0}
    document |= {"dimension_names": ["band"], "attributes": {"_ARRAY_DIMENSIONS": ["band"]}}
    document["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": [2]}}
    s.put_document(f"{level}/band", document)
    s.objects[f"{level}/band/c/0"] = numcodecs.Zstd().encode(np.array(indices, "<i4"))


def rotated(s: Memory) -> None:
    for path, name in (
        ("0", "attributes.transform"),
        ("0/data", "attributes.transform"),
        ("0/data", "attributes.spatial:transform"),
        ("", f"{CZ}.levels.0.transform"),
    ):
        s.set(path, f"{name}.1", 1.0)


def _two_time_chunks(s: Memory) -> None:
    raw = numcodecs.Zstd().decode(s.objects["0/time/c/0"])
    s.objects["0/time/c/0"] = numcodecs.Zstd().encode(raw[:32])
    s.objects["0/time/c/1"] = numcodecs.Zstd().encode(raw[32:] + bytes(8))


LEVELS_AND_MIRRORS = [
    Row("no mirror of levels", "none", drop("", f"{CZ}.levels"), "3.7", "chronozarr.levels"),
    Row("a mirror that is an object", "none", root("levels", {}), "3.7", "chronozarr.levels"),
    Row("a level too few in the mirror", "none", root("levels", lambda v: v[:2]), "3.7", "chronozarr.levels"),
    Row("the first level left out of the mirror", "none", drop("", f"{CZ}.levels.0"), "3.7", "chronozarr.levels"),
    Row("no attributes in a level", "none", drop("1", "attributes"), "3.3", "1/zarr.json: attributes"),
    Row("another path in the mirror", "none", root("levels.1.path", "2"), "3.7", "levels[1].path"),
    Row("another resolution in the mirror", "none", root("levels.1.resolution", 21.0), "3.7", "levels[1].resolution"),
    Row("no resolution in the mirror", "none", drop("", f"{CZ}.levels.1.resolution"), "3.7", "levels[1].resolution"),
    Row(
        "another transform in the mirror", "none", root("levels.0.transform.2", 500010.0), "3.7", "levels[0].transform"
    ),
    Row(
        "five numbers in the mirror", "none", root("levels.0.transform", lambda t: t[:5]), "3.7", "levels[0].transform"
    ),
    Row("another shape in the mirror", "none", root("levels.2.shape.3", 13), "3.7", "levels[2].shape"),
    Row("fewer timesteps in the mirror", "none", root("levels.0.shape.0", 6), "3.7", "levels[0].shape"),
    Row("another grid in the mirror", "none", root("levels.0.grid", [3, 4]), "3.7", "levels[0].grid"),
    Row("no grid in the mirror", "none", drop("", f"{CZ}.levels.0.grid"), "3.7", "levels[0].grid"),
    Row("no crs in a level", "none", drop("1", "attributes.crs"), "3.3", "1/zarr.json: attributes.crs"),
    Row(
        "another crs in a level", "none", put("1", "attributes.crs", "EPSG:32632"), "3.3", "1/zarr.json: attributes.crs"
    ),
    Row(
        "no transform in a level", "none", drop("0", "attributes.transform"), "3.3", "0/zarr.json: attributes.transform"
    ),
    Row(
        "an unscaled transform",
        "none",
        put("1", "attributes.transform.0", 10.0),
        "3.3",
        "1/zarr.json: attributes.trans",
    ),
    Row("a moved origin", "none", put("2", "attributes.transform.5", 5e6 + 10), "3.3", "2/zarr.json: attributes.trans"),
    Row(
        "a resolution of another level",
        "none",
        put("2", "attributes.resolution", 20),
        "3.3",
        "2/zarr.json: attributes.reso",
    ),
    Row(
        "no resolution in a level",
        "none",
        drop("0", "attributes.resolution"),
        "3.3",
        "0/zarr.json: attributes.resolution",
    ),
    Row("a rotated grid", "single", rotated, "3.3", "0/zarr.json: attributes.transform"),
    Row("another proj:code", "none", put("0/data", "attributes.proj:code", "EPSG:4326"), "3.3", "proj:code"),
    Row("another crs on the array", "none", put("0/data", "attributes.crs", "EPSG:4326"), "3.3", "attributes.crs"),
    Row(
        "another transform on the array", "none", put("1/data", "attributes.transform.0", 1.0), "3.3", "attributes.tran"
    ),
    Row(
        "another spatial:transform",
        "none",
        put("1/data", "attributes.spatial:transform.2", 0),
        "3.3",
        "spatial:transform",
    ),
    Row("another spatial:shape", "none", put("1/data", "attributes.spatial:shape", [23, 19]), "3.3", "spatial:shape"),
    Row("another spatial:bbox", "none", put("1/data", "attributes.spatial:bbox.0", 0), "3.3", "spatial:bbox"),
    Row(
        "other spatial:dimensions",
        "none",
        put("1/data", "attributes.spatial:dimensions", ["x", "y"]),
        "3.3",
        "spatial:dim",
    ),
    Row("another _CRS", "none", put("0/data", "attributes._CRS.url", "http://example.org"), "3.3", "attributes._CRS"),
    Row(
        "another crs on a mask", "full", put("0/mask", "attributes.crs", "EPSG:4326"), "3.3", "0/mask/zarr.json: attri"
    ),
]
COORDINATES = [
    Row("no time", "none", remove("1/time"), "2.2", "1/time/zarr.json"),
    Row(
        "time in seconds",
        "none",
        put("0/time", "attributes.units", "seconds since 1970-01-01"),
        "2.2",
        "attributes.units",
    ),
    Row("no calendar", "none", drop("0/time", "attributes.calendar"), "2.2", "0/time/zarr.json: attributes.calendar"),
    Row("time of int32", "none", put("0/time", "data_type", "int32"), "2.2", "0/time/zarr.json: data_type"),
    Row("y of float32", "none", put("0/y", "data_type", "float32"), "2.2", "0/y/zarr.json: data_type"),
    Row("x of another length", "none", put("1/x", "shape", [24]), "2.2", "1/x/zarr.json: shape"),
    Row("another time in a level", "none", values("1/time", at(2, 0)), "2.2", "1/time/c/0"),
    Row("a time chunk that is missing", "none", remove("1/time/c"), "2.2", "1/time/c/0"),
    Row("a time chunk that is cut", "none", write("1/time/c/0", b""), "2.2", "1/time/c/0"),
    Row(
        "times that do not increase",
        "none",
        together(
            root("times", lambda t: [t[1], *t[1:]]),
            *(values(f"{k}/time", lambda a: a[[1, 1, *range(2, 7)]]) for k in LEVELS),
        ),
        "2.2",
        "0/time/c/0: [1]",
    ),
    Row("other band names in a level", "none", values("1/band", lambda a: ["B08", "B04"]), "2.2", "1/band/c/0"),
    Row(
        "band indices in one level",
        "none",
        lambda s: band_indices(s, "1", [0, 1]),
        "2.2",
        "1/band/zarr.json: data_type",
    ),
    Row("band indices from 1", "single", lambda s: band_indices(s, "0", [1, 2]), "2.2", "0/band/c/0"),
    Row("a band chunk that is no text", "none", write("0/band/c/0", b"x"), "2.2", "0/band/c/0"),
    Row("x that decreases", "none", values("0/x", lambda a: a[::-1]), "2.2", "0/x/c/0"),
    Row("y that increases", "none", values("0/y", lambda a: a[::-1]), "2.2", "0/y/c/0"),
    Row("x that stands still", "none", values("1/x", at(1, 500010.0)), "2.2", "1/x/c/0: [1]"),
    Row("x of NaN", "none", values("1/x", at(3, np.nan)), "2.2", "1/x/c/0: [3]"),
    Row("x at the corners", "none", values("0/x", lambda a: a - 5), "2.2", "0/x/c/0: [0]"),
    Row("y of another level", "none", values("1/y", lambda a: a - 5), "2.2", "1/y/c/0: [0]"),
    Row(
        "time in two chunks",
        "none",
        lambda s: (
            s.set("0/time", "chunk_grid.configuration.chunk_shape", [4]),
            _two_time_chunks(s),
        ),
        "2.2",
        "0/time/zarr.json: chunk_shape",
        "warning",
    ),
]
TEMPORAL_BLOCK = [
    Row("no temporal block", "none", drop("", f"{CZ}.temporal"), "4.1", "temporal"),
    Row("an unknown encoding", "none", root("temporal.encoding", "chain"), "4.1", "temporal.encoding"),
    Row("no encoding", "none", drop("", f"{CZ}.temporal.encoding"), "4.1", "temporal.encoding"),
    Row("anchors in a store of true values", "star", root("temporal.encoding", "none"), "4.1", "temporal"),
    Row("no anchors in a star-delta store", "none", root("temporal.encoding", "star-delta"), "4.1", "temporal"),
    Row(
        "star-delta on int16",
        "null",
        lambda s: s.set(
            "",
            f"{CZ}.temporal",
            {
                "encoding": "star-delta",
                "anchor_interval": 2,
                "anchor_indices": [0, 2, 4, 6],
                "delta_reference": {"1": 0, "3": 2, "5": 4},
            },
        ),
        "4.1",
        "temporal.encoding",
    ),
    Row("no delta_reference", "star", drop("", f"{CZ}.temporal.delta_reference"), "4.1", "temporal"),
    Row("anchors that are a text", "star", root("temporal.anchor_indices", "0"), "4.1", "anchor_indices"),
    Row("references that are a list", "star", root("temporal.delta_reference", [0]), "4.1", "delta_reference"),
    Row("an interval of 0", "star", root("temporal.anchor_interval", 0), "4.1", "anchor_interval"),
    Row("an interval that is a text", "star", root("temporal.anchor_interval", "3"), "4.1", "anchor_interval"),
    Row("an interval of 1 beside references", "star", root("temporal.anchor_interval", 1), "4.1", "anchor_indices"),
    Row("another interval", "star", root("temporal.anchor_interval", 2), "4.1", "anchor_indices"),
    Row("an anchor left out", "star", root("temporal.anchor_indices", [0, 6]), "4.1", "anchor_indices"),
    Row("an anchor beyond the end", "star", root("temporal.anchor_indices", [0, 3, 6, 9]), "4.1", "anchor_indices"),
    Row(
        "a timestep without a reference", "star", drop("", f"{CZ}.temporal.delta_reference.1"), "4.1", "delta_reference"
    ),
    Row(
        "a reference of an anchor",
        "star",
        root("temporal.delta_reference", lambda d: d | {"3": 0}),
        "4.1",
        "delta_refer",
    ),
    Row(
        "a key with a leading zero",
        "star",
        root("temporal.delta_reference", lambda d: d | {"01": 0}),
        "4.1",
        "delta_ref",
    ),
    Row("a reference to no anchor", "star", root("temporal.delta_reference.1", 2), "4.2", "delta_reference[1]"),
    Row("a reference that is too far", "star", root("temporal.delta_reference.1", 6), "4.2", "delta_reference[1]"),
    Row("a reference that is a text", "star", root("temporal.delta_reference.1", "0"), "4.2", "delta_reference[1]"),
    Row(
        "a selection of another mode",
        "none",
        root("temporal", lambda t: t | {"selection": {"mode": "x"}}),
        "4.1",
        "selec",
    ),
    Row(
        "a selection without a ratio",
        "none",
        root("temporal", lambda t: t | {"selection": {"mode": "auto", "sampled_cells": 3}}),
        "4.1",
        "selection.ratio",
    ),
    Row(
        "a selection of no cell",
        "none",
        root("temporal", lambda t: t | {"selection": {"mode": "auto", "sampled_cells": 0, "ratio": 0.9}}),
        "4.1",
        "selection.sampled_cells",
    ),
    Row(
        "a selection of two cells of nine",
        "none",
        root("temporal", lambda t: t | {"selection": {"mode": "auto", "sampled_cells": 2, "ratio": 0.9}}),
        "4.3",
        "selection.sampled_cells",
    ),
    Row(
        "star-delta in spite of the ratio",
        "star",
        root("temporal", lambda t: t | {"selection": {"mode": "auto", "sampled_cells": 3, "ratio": 0.9}}),
        "4.3",
        "selection.ratio",
    ),
    Row(
        "a selection for int16",
        "null",
        root("temporal", lambda t: t | {"selection": {"mode": "auto", "sampled_cells": 3, "ratio": 0.9}}),
        "4.3",
        "selection",
    ),
]


@pytest.mark.oracle
@each(LEVELS_AND_MIRRORS)
def test_levels_and_mirrors(row: Row) -> None:
    row.check()


@pytest.mark.oracle
@each(COORDINATES)
def test_coordinates(row: Row) -> None:
    row.check()


@pytest.mark.oracle
@each(TEMPORAL_BLOCK)
def test_the_temporal_block(row: Row) -> None:
    row.check()

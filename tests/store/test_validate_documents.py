"""Documents and the two blocks of the root: one broken thing, one problem."""

from __future__ import annotations

import pytest

from tests.store.validate_cases import CZ, MULTISCALES, PROVENANCE, Row, drop, each, put, remove, root, write

DOCUMENTS = [
    Row("no root document", "none", lambda s: s.objects.pop("zarr.json"), "2", "zarr.json"),
    Row("a root that is no JSON", "none", write("zarr.json", b"{"), "2", "zarr.json"),
    Row("a root that is a list", "none", write("zarr.json", b"[]"), "2", "zarr.json"),
    Row("a root of Zarr v2", "none", put("", "zarr_format", 2), "2", "zarr.json: zarr_format"),
    Row("a root that is an array", "none", put("", "node_type", "array"), "2", "zarr.json: node_type"),
    Row("a level that is an array", "none", put("1", "node_type", "array"), "2", "1/zarr.json: node_type"),
    Row("a level of Zarr v2", "none", put("1", "zarr_format", 2), "2", "1/zarr.json: zarr_format"),
    Row(
        "a data array that is a group", "none", put("1/data", "node_type", "group"), "2", "1/data/zarr.json: node_type"
    ),
    Row("a document that is no JSON", "none", write("1/data/zarr.json", b"\xff"), "2", "1/data/zarr.json"),
    Row("a document with NaN", "none", write("1/zarr.json", b'{"zarr_format": NaN}'), "2", "1/zarr.json"),
    Row("no group document", "none", remove("1/zarr.json"), "2", "1/zarr.json"),
    Row(
        "a storage transformer", "none", put("0/data", "storage_transformers", [{"name": "x"}]), "2.1", "storage_transf"
    ),
    Row("attributes that are a list", "none", put("0/y", "attributes", []), "2.2", "0/y/zarr.json: attributes"),
    Row("a whole level missing", "none", remove("1"), "6", "1/zarr.json"),
    Row("no multiscales", "none", drop("", MULTISCALES), "3.1", "multiscales"),
    Row("two multiscales", "none", put("", MULTISCALES, lambda m: [*m, *m]), "3.1", "multiscales"),
    Row("multiscales of the other convention", "none", put("", MULTISCALES, {"layout": []}), "3.1", "multiscales"),
    Row("no chronozarr block", "none", drop("", CZ), "3.1", "chronozarr"),
    Row("a third block", "none", put("", "attributes.other", 1), "3.1", "attributes.other", "warning"),
    Row(
        "a group listed at no path",
        "none",
        put("", "consolidated_metadata.metadata", lambda m: m | {"": m["0"]}),
        "3.1",
        "['']",
    ),
    Row("no consolidated metadata", "none", drop("", "consolidated_metadata"), "3.1", "consolidated", "warning"),
    Row(
        "consolidated metadata of another kind",
        "none",
        put("", "consolidated_metadata.kind", "x"),
        "3.1",
        "consolidated",
    ),
    Row("consolidated metadata that is a list", "none", put("", "consolidated_metadata", []), "3.1", "consolidated"),
    Row(
        "consolidated metadata with another fill",
        "none",
        lambda s: s.set("", "consolidated_metadata.metadata", lambda m: m | {"0/y": m["0/y"] | {"fill_value": 1.0}}),
        "3.1",
        "metadata[0/y]",
    ),
    Row(
        "a document that the consolidated metadata does not follow",
        "none",
        lambda s: s.set("1/x", "attributes.note", "new", consolidated=False),
        "3.1",
        "metadata[1/x]",
    ),
    Row(
        "an array that is not consolidated",
        "none",
        lambda s: s.set("", "consolidated_metadata.metadata", lambda m: {k: v for k, v in m.items() if k != "2/x"}),
        "3.1",
        "metadata[2/x]",
    ),
    Row(
        "an array that is only consolidated",
        "none",
        lambda s: s.set("", "consolidated_metadata.metadata", lambda m: m | {"9/x": m["0/x"]}),
        "3.1",
        "metadata[9/x]",
    ),
]
ROOT = [
    Row("a version of the future", "none", root("spec_version", "0.3.0"), "3.2", "spec_version"),
    Row("no version", "none", drop("", f"{CZ}.spec_version"), "3.2", "spec_version"),
    Row("a variable that no level has", "none", root("variable", "reflectance"), "3.2", "variable"),
    Row("a variable that is a path", "none", root("variable", "a/b"), "3.2", "variable"),
    Row("no times", "none", drop("", f"{CZ}.times"), "3.2", "times"),
    Row("one time too few", "none", root("times", lambda t: t[:-1]), "3.2", "times"),
    Row("a time that is no ISO-8601", "none", root("times", lambda t: ["yesterday", *t[1:]]), "3.2", "times[0]"),
    Row("a time that is a number", "none", root("times", lambda t: [0, *t[1:]]), "3.2", "times[0]"),
    Row("a time that differs", "none", root("times", lambda t: ["2023-01-01T00:00:00Z", *t[1:]]), "3.5", "times[0]"),
    Row("no bands", "none", drop("", f"{CZ}.bands"), "3.2", "chronozarr.bands"),
    Row("one band too many", "none", root("bands", lambda b: [*b, {"name": "B11"}]), "3.2", "chronozarr.bands"),
    Row("a band that is a text", "none", root("bands", lambda b: ["B04", b[1]]), "3.6", "bands[0]"),
    Row("a band without a name", "none", drop("", f"{CZ}.bands.1.name"), "3.6", "bands[1]"),
    Row("two bands of one name", "none", root("bands.1.name", "B04"), "3.6", "bands[1].name"),
    Row(
        "a scale that is a text",
        "none",
        root("bands", lambda b: [b[0] | {"scale": "1"}, b[1]]),
        "3.6",
        "bands[0].scale",
    ),
    Row(
        "an offset that is true",
        "none",
        root("bands", lambda b: [b[0] | {"offset": True}, b[1]]),
        "3.6",
        "bands[0].off",
    ),
    Row(
        "units that are a number", "none", root("bands", lambda b: [b[0] | {"units": 1}, b[1]]), "3.6", "bands[0].units"
    ),
    Row(
        "a common name that is a list",
        "none",
        root("bands", lambda b: [b[0] | {"common_name": []}, b[1]]),
        "3.6",
        "comm",
    ),
    Row("a band that is renamed", "none", root("bands.0.name", "red"), "3.5", "chronozarr.bands"),
    Row("no band names", "none", drop("", f"{CZ}.band_names"), "3.2", "band_names"),
    Row("one band name too few", "none", root("band_names", ["B04"]), "3.2", "band_names"),
    Row("band names in another order", "none", root("band_names", ["B08", "B04"]), "3.5", "band_names"),
    Row("no nodata", "none", drop("", f"{CZ}.nodata"), "2.3", "chronozarr.nodata"),
    Row("a nodata that is a text", "none", root("nodata", "0"), "2.3", "chronozarr.nodata"),
    Row("no crs", "none", drop("", f"{CZ}.crs"), "3.2", "chronozarr.crs"),
    Row("a crs that is no EPSG code", "none", root("crs", "WGS 84"), "3.2", "chronozarr.crs"),
    Row("another crs in the root", "none", root("crs", "EPSG:32632"), "3.2", "chronozarr.crs"),
    Row(
        "another crs in multiscales",
        "none",
        put("", f"{MULTISCALES}.0.datasets.1.crs", "EPSG:32632"),
        "3.4",
        "datasets[1].crs",
    ),
    Row("no crs in multiscales", "none", drop("", f"{MULTISCALES}.0.datasets.0.crs"), "3.4", "datasets[0].crs"),
    Row("no volatility_path", "none", drop("", f"{CZ}.volatility_path"), "3.2", "volatility_path"),
    Row("another volatility_path", "none", root("volatility_path", "v"), "3.2", "volatility_path"),
    Row("provenance that is a text", "full", root("provenance", "x"), "3.8", "provenance"),
    Row("provenance without sources", "full", drop("", f"{CZ}.provenance.sources"), "3.8", "provenance.sources"),
    Row("provenance with one source", "full", root("provenance.sources", "s2"), "3.8", "provenance.sources"),
    Row("provenance without composite", "full", drop("", f"{CZ}.provenance.composite"), "3.8", "provenance.composite"),
    Row("provenance without gap_fill", "full", drop("", f"{CZ}.provenance.gap_fill"), "3.8", "provenance.gap_fill"),
    Row("an unknown gap_fill", "full", root("provenance", PROVENANCE | {"gap_fill": "linear"}), "3.8", "gap_fill"),
    Row("notes that are a list", "full", root("provenance.notes", []), "3.8", "provenance.notes"),
    Row("a level that is listed nowhere", "none", lambda s: s.put_document("3", s.document("2")), "3.4", "3/zarr.json"),
    Row(
        "levels out of order",
        "none",
        put("", f"{MULTISCALES}.0.datasets", lambda d: [d[1], d[0], d[2]]),
        "3.4",
        "datasets",
    ),
    Row("a level left out", "none", put("", f"{MULTISCALES}.0.datasets", lambda d: [d[0], d[2]]), "3.4", "datasets"),
    Row(
        "a level too many",
        "none",
        put("", f"{MULTISCALES}.0.datasets", lambda d: [*d, d[2] | {"path": "3"}]),
        "3.4",
        "datasets",
    ),
    Row("no datasets", "none", put("", f"{MULTISCALES}.0.datasets", []), "3.4", "datasets"),
    Row("a path that is a number", "none", put("", f"{MULTISCALES}.0.datasets.0.path", 0), "3.4", "datasets"),
    Row("no type", "none", drop("", f"{MULTISCALES}.0.type"), "3.4", "type"),
    Row("no metadata", "none", drop("", f"{MULTISCALES}.0.metadata"), "3.4", "metadata"),
    Row("no method", "none", drop("", f"{MULTISCALES}.0.metadata.method"), "3.4", "metadata.method"),
    Row(
        "method beside metadata",
        "none",
        put("", f"{MULTISCALES}.0", lambda m: m | {"method": "mean"}),
        "3.4",
        "[0].method",
    ),
    Row(
        "another version in metadata",
        "none",
        put("", f"{MULTISCALES}.0.metadata.version", "1"),
        "3.4",
        "metadata.version",
    ),
    Row("args that are no list", "none", put("", f"{MULTISCALES}.0.metadata.args", {}), "3.4", "metadata.args"),
]


@pytest.mark.oracle
@each(DOCUMENTS)
def test_documents(row: Row) -> None:
    row.check()


@pytest.mark.oracle
@each(ROOT)
def test_the_root(row: Row) -> None:
    row.check()

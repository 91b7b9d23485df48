"""Manifests of GeoTIFFs: CSV and JSON."""

import json

import pytest

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.manifest import Entry, is_manifest, read_manifest

JAN = 1706697801000  # 2024-01-31T10:43:21Z


def write(tmp_path, text, name="m.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_csv(tmp_path):
    path = write(
        tmp_path,
        "\ufeffuri, datetime, note, bands\n"
        "a/b.tif,2024-01-31T10:43:21Z,x,B04 B08\n"
        '/abs.tif,2024-01-31T12:43:21+02:00,,"B04,B08"\n'
        "s3://bucket/c.tif,1970-01-02,,\n",
    )
    assert read_manifest(path) == [
        Entry(f"{tmp_path}/a/b.tif", JAN, ("B04", "B08")),
        Entry("/abs.tif", JAN, ("B04", "B08")),
        Entry("s3://bucket/c.tif", 86_400_000, None),
    ]


def test_json(tmp_path):
    rows = [
        {"uri": "./a.tif", "datetime": "2024-01-31T10:43:21", "bands": ["B 4", "B08"], "more": 1},
        {"uri": "https://a.org/c.tif?x=1", "datetime": "1970-01"},
    ]
    assert read_manifest(write(tmp_path, json.dumps(rows), "m.JSON")) == [
        Entry(f"{tmp_path}/a.tif", JAN, ("B 4", "B08")),
        Entry("https://a.org/c.tif?x=1", 0),
    ]


def test_a_remote_manifest_has_remote_neighbours():
    import fsspec

    fsspec.filesystem("memory").pipe("/m/list.csv", b"uri,datetime\na.tif,1970-01-01\n")
    assert read_manifest("memory://m/list.csv") == [Entry("memory://m/a.tif", 0)]


def test_what_is_named_as_a_manifest():
    assert [is_manifest(n) for n in ("a.csv", "s3://b/a.JSON", "a.tif", "store.zarr")] == [True, True, False, False]


@pytest.mark.parametrize(
    ("name", "text", "parts"),
    [
        ("m.csv", "", ["no column uri and no column datetime"]),
        ("m.csv", "uri,date\na,2024\n", ["no column datetime", "uri,date"]),
        ("m.csv", "uri,datetime\n", ["has no rows"]),
        ("m.csv", "uri,datetime\na.tif,2024-01-01\n,2024-01-02\n", ["line 3 of", "has uri ''"]),
        ("m.csv", "uri,datetime\na.tif\n", ["line 2 of", "has datetime None"]),
        ("m.csv", "uri,datetime\na.tif,31/01/2024\n", ["line 2 of", "'31/01/2024'", "ISO-8601"]),
        ("m.csv", "uri,datetime\na.tif,2024-01-01T00:00:00.00001\n", ["line 2 of", "finer than a millisecond"]),
        (
            "m.csv",
            "uri,datetime,bands\na.tif,2024-01-01,B04,B08\n",
            ["line 2 of", "more values than there are columns"],
        ),
        ("m.csv", 'uri,datetime\n"a"b,2024-01-01\n', ["line 2 of", "is not CSV"]),
        ("m.json", "{", ["is not JSON"]),
        ("m.json", '{"uri": "a"}', ["is not a list of objects"]),
        ("m.json", "[1]", ["is not a list of objects"]),
        ("m.json", "[]", ["has no rows"]),
        ("m.json", '[{"uri": 3, "datetime": "2024-01-01"}]', ["row 1 of", "has uri 3"]),
        ("m.json", '[{"uri": "a", "datetime": "2024-01-01", "bands": [1]}]', ["row 1 of", "has bands [1]"]),
        ("m.json", "\udcff", ["cannot be read"]),
    ],
)
def test_what_is_no_manifest(tmp_path, name, text, parts):
    path = tmp_path / name
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as error:
        read_manifest(str(path))
    assert [p for p in [str(path), *parts] if p not in str(error.value)] == []


def test_no_such_manifest(tmp_path):
    with pytest.raises(InputError, match=r"the manifest .*m\.csv does not exist"):
        read_manifest(str(tmp_path / "m.csv"))

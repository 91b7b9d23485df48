"""From a search at a real STAC API (pgstac on PostgreSQL) to a store: several hundred items, paging, a query."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from chronozarr_dask.run.produce import run_document
from chronozarr_dask.run.recipes import Document
from chronozarr_dask.store.reader import open_store
from tests.cli.sources import run
from tests.run.made import World, counts, level0
from tests.run.test_real import assert_is_romania, romania
from tests.services import stac_api

pytestmark = pytest.mark.slow

N = 420
PAGE = 50
LIMIT = 60
COLLECTION = {
    "type": "Collection", "id": "made", "stac_version": "1.0.0", "description": "made for a test", "license": "other",
    "links": [],
    "extent": {"spatial": {"bbox": [[-180, -90, 180, 90]]}, "temporal": {"interval": [["2015-01-01T00:00:00Z", None]]}},
}  # fmt: skip


@pytest.fixture(scope="module")
def api() -> Iterator[stac_api.StacApi]:
    pytest.importorskip("pystac_client", reason="pystac-client is not installed")
    try:
        stac_api.programs()
    except stac_api.NotInstalledError as missing:
        pytest.skip(str(missing))
    with stac_api.running() as server:
        yield server


@pytest.fixture(scope="module")
def items(api: stac_api.StacApi, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """N items over 2023 on the server, every one of the same two files."""
    world = World(tmp_path_factory.mktemp("scenes"))
    first = world.add("S", "2023-01-01T10:00:00Z", {"B04": 2500}, constellation="sentinel-2")
    for asset in first["assets"].values():
        asset["href"] = str(world.folder / asset["href"])
    ring = [[3.0, 45.1], [3.01, 45.1], [3.01, 45.2], [3.0, 45.2], [3.0, 45.1]]
    made = []
    for i in range(N):
        properties = first["properties"] | {
            "datetime": f"2023-{1 + i % 12:02d}-{1 + i // 12 % 28:02d}T10:{i % 60:02d}:11.024Z",
            "eo:cloud_cover": i * 7 % 100,
            "s2:processing_baseline": "05.10" if i % 2 else "02.12",
        }
        geometry = {"type": "Polygon", "coordinates": [ring]}
        made.append(first | {"id": f"S{i:03d}", "collection": "made", "geometry": geometry, "properties": properties})
    api.load(COLLECTION, made)
    return made


def recipe(api: stac_api.StacApi, target: Path) -> dict[str, Any]:
    return {
        "version": 1,
        "source": {
            "api": api.url, "collections": ["made"], "query": {"eo:cloud_cover": {"lt": LIMIT}}, "page_size": PAGE,
            "bands": ["B04"], "classes": {},
        },
        "area": [2.9, 45.0, 3.1, 45.3],
        "period": {"start": "2023-02", "end": "2023-11"},
        "grid": {"crs": "EPSG:32631", "resolution": 10, "bounds": [500000, 4999360, 500640, 5000000]},
        "encode": {"chunk_size": 32},
        "target": str(target),
    }  # fmt: skip


def wanted(items: list[dict[str, Any]]) -> Counter[str]:
    """Items of each month that the query and the period leave."""
    clear = [i["properties"] for i in items if i["properties"]["eo:cloud_cover"] < LIMIT]
    months = Counter(p["datetime"][:7] for p in clear)
    return Counter({month: n for month, n in months.items() if "2023-02" <= month <= "2023-11"})


def test_a_dry_run_counts_what_was_found(api: stac_api.StacApi, items: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe(api, tmp_path / "store")))
    code, out, err = run("run", str(tmp_path / "recipe.yaml"), "--dry-run", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["scenes"] == wanted(items)
    assert sum(found["scenes"].values()) > 4 * PAGE
    assert sum(found["offsets"].values()) == sum(found["scenes"].values())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["recipe.yaml"]


def test_a_run_takes_each_of_them_once(api: stac_api.StacApi, items: list[dict[str, Any]], tmp_path: Path) -> None:
    document = Document.parse(yaml.safe_dump(recipe(api, tmp_path / "store")), "recipe.yaml")
    report = run_document(document, document.recipe())
    store = open_store(report.target)
    months = wanted(items)
    assert [str(t)[:7] for t in store.times] == sorted(months)
    n = counts(store)
    assert [np.unique(frame).tolist() for frame in n] == [[months[month]] for month in sorted(months)]
    # The baseline goes by the number of the item, and so by the month: 05.10 in even months, 02.12 in odd ones.
    expected = [2500 if int(month[5:]) % 2 else 1500 for month in sorted(months)]
    assert [np.unique(frame).tolist() for frame in level0(store)] == [[value] for value in expected]
    frozen = json.loads((tmp_path / "store.run" / "items.json").read_text())
    assert len(frozen["scenes"]) == months.total()


def test_romania_from_the_server_is_its_reference(api: stac_api.StacApi, realdata: Path, tmp_path: Path) -> None:
    source = realdata / "sentinel2_romania_eupl" / "items.json"
    features = json.loads(source.read_text())["features"]
    for feature in features:
        for asset in feature["assets"].values():
            asset["href"] = str(source.parent / asset["href"])
    api.load(COLLECTION | {"id": "nrt-romania"}, features)
    fields = romania(realdata, api=api.url, collections=["nrt-romania"], page_size=10)
    del fields["items"]
    made = {"version": 1, "source": fields, "target": str(tmp_path / "store"), "encode": {"chunk_size": 32}}
    document = Document.parse(yaml.safe_dump(made), "recipe.yaml")
    assert_is_romania(open_store(run_document(document, document.recipe()).target), realdata)

"""The search against a real STAC API: several hundred items, paging, query, filter."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.stac.search import Query, read_scenes, search_api
from tests.services import stac_api
from tests.source.stac.made import item

pytestmark = pytest.mark.slow

N = 400
COLLECTION = {
    "type": "Collection",
    "id": "sentinel-2-l2a",
    "stac_version": "1.0.0",
    "description": "made for a test",
    "license": "other",
    "links": [],
    "extent": {"spatial": {"bbox": [[-180, -90, 180, 90]]}, "temporal": {"interval": [["2015-01-01T00:00:00Z", None]]}},
}


def square(west: float, south: float, size: float = 0.5) -> dict[str, object]:
    east, north = west + size, south + size
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    return {"bbox": [west, south, east, north], "geometry": {"type": "Polygon", "coordinates": [ring]}}


def made(i: int) -> dict[str, object]:
    """Item i of N: twelve months of 2023, four places, clouds of 0 to 99 per cent, the last second of a month too."""
    moment = (
        "2023-01-31T23:59:59.024000Z"
        if i == 0
        else f"2023-{1 + i % 12:02d}-{1 + i // 12 % 28:02d}T10:59:{i % 60:02d}.024Z"
    )
    baseline = "05.10" if i % 2 else "02.12"
    document = item(f"S2A_31UDQ_{i:04d}", moment, eo__cloud_cover=i % 100, s2__processing_baseline=baseline)
    return document | square(3.0 + i // 12 % 4, 45.0) | {"collection": "sentinel-2-l2a"}


ITEMS = [made(i) for i in range(N)]


@pytest.fixture(scope="module")
def api() -> Iterator[stac_api.StacApi]:
    pytest.importorskip("pystac_client", reason="pystac-client is not installed")
    try:
        stac_api.programs()
    except stac_api.NotInstalledError as missing:
        pytest.skip(str(missing))
    with stac_api.running() as server:
        server.load(COLLECTION, ITEMS)
        yield server


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("items") / "items.json"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": ITEMS}))
    return str(path)


@pytest.mark.parametrize("page_size", [37, 100, 1000])
def test_every_item_comes_once_in_order(api, page_size):
    scenes = search_api(api.url, Query(collections=("sentinel-2-l2a",)), page_size=page_size)
    assert len(scenes) == N
    assert {s.id for s in scenes} == {i["id"] for i in ITEMS}
    assert [s.order for s in scenes] == sorted(s.order for s in scenes)


@pytest.mark.parametrize(
    "query",
    [
        Query(query={"eo:cloud_cover": {"lt": 30}}),
        Query(query={"eo:cloud_cover": {"gte": 30, "lt": 60}, "s2:processing_baseline": {"eq": "05.10"}}),
        Query(period=("2023-01-01", "2023-01-31")),
        Query(period=("2023-06-01", "..")),
        Query(area=(3.1, 45.1, 3.2, 45.2)),
        Query(area=(3.1, 45.1, 4.2, 45.2), period=("2023-03-01", "2023-04-30"), query={"eo:cloud_cover": {"lt": 50}}),
        Query(ids=("S2A_31UDQ_0003", "S2A_31UDQ_0399")),
        Query(collections=("nothing",)),
    ],
)
def test_a_server_and_a_file_find_the_same(api, file, query):
    found = [s.id for s in search_api(api.url, query, page_size=25)]
    assert found == [s.id for s in read_scenes(file, query)]
    assert found or query.collections


def test_what_a_server_sends_is_parsed_like_a_file(api, file):
    query = Query(ids=("S2A_31UDQ_0007",))
    (sent,), (read,) = search_api(api.url, query), read_scenes(file, query)
    assert (sent.baseline, sent.tile, sent.datetime, sent.cloud_cover) == (
        read.baseline,
        read.tile,
        read.datetime,
        read.cloud_cover,
    )
    assert sent.asset("B04").transform == read.asset("B04").transform


def test_a_filter_in_cql2(api):
    cloud = {"op": "<", "args": [{"property": "eo:cloud_cover"}, 10]}
    assert len(search_api(api.url, Query(filter=cloud), page_size=7)) == N // 10


def test_a_query_that_the_server_refuses(api):
    with pytest.raises(InputError, match=r"the search at http.* failed"):
        search_api(api.url, Query(filter={"op": "nonsense", "args": []}), backoff=0.001, retries=1)


def test_the_real_items_of_romania_through_a_server(api, realdata: Path):
    source = realdata / "sentinel2_romania_eupl" / "items.json"
    features = json.loads(source.read_text())["features"]
    root = f"{source.parent}/"
    for feature in features:
        for asset in feature["assets"].values():
            asset["href"] = asset["href"].replace("./", root)
    api.load(COLLECTION | {"id": "nrt-romania"}, features)
    query = Query(collections=("nrt-romania",))
    bands = ["B02", "B03", "B04", "B08", "SCL"]
    sent = [s.narrowed(bands) for s in search_api(api.url, query, page_size=10)]
    read = [s.narrowed(bands) for s in read_scenes(str(source), query)]
    assert len(sent) == 27
    assert sent == read

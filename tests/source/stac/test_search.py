import http.server
import json
import threading
from collections.abc import Iterator

import pytest

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.stac.search import Query, read_scenes, search_api
from tests.source.stac.made import item

ITEMS = [item(f"S2A_31UDQ_{i:03d}", f"2020-02-{1 + i % 28:02d}T10:59:11Z", eo__cloud_cover=float(i)) for i in range(25)]


def write(path, document):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return str(path)


def collection(items):
    return {"type": "FeatureCollection", "features": items}


# ---- files ---------------------------------------------------------------------------------------------------------


def test_a_collection_in_a_file_is_ordered_by_time_then_id(tmp_path):
    items = [item("B", "2020-02-03T00:00:00Z"), item("A", "2020-02-03T00:00:00Z"), item("C", "2020-02-02T00:00:00Z")]
    scenes = read_scenes(write(tmp_path / "items.json", collection(items)), Query())
    assert [s.id for s in scenes] == ["C", "A", "B"]
    assert scenes[0].asset("B04").href == str(tmp_path / "C" / "B04.tif")


def test_a_relative_path_gives_absolute_hrefs(tmp_path, monkeypatch):
    write(tmp_path / "items.json", collection([item("A")]))
    monkeypatch.chdir(tmp_path)
    assert read_scenes("items.json", Query())[0].asset("B04").href == str(tmp_path / "A" / "B04.tif")


@pytest.mark.parametrize("form", [lambda i: i[0], lambda i: i[:1], lambda i: collection(i[:1])])
def test_an_item_a_list_and_a_collection(tmp_path, form):
    assert len(read_scenes(write(tmp_path / "x.json", form(ITEMS)), Query())) == 1


def test_a_catalog_is_walked_and_every_file_met_once(tmp_path):
    for name in ("A", "B"):
        write(tmp_path / "sub" / name / "item.json", item(name, f"2020-02-0{1 if name == 'B' else 2}T00:00:00Z"))
    links = [{"rel": "item", "href": f"./{name}/item.json"} for name in ("A", "B", "A")]
    links += [{"rel": "root", "href": "../catalog.json"}, {"rel": "child", "href": "../catalog.json"}]
    write(tmp_path / "sub" / "collection.json", {"type": "Collection", "id": "c", "links": links})
    child = [
        {"rel": "self", "href": "https://example.org/catalog.json"},
        {"rel": "child", "href": "sub/collection.json"},
    ]
    source = write(tmp_path / "catalog.json", {"type": "Catalog", "id": "r", "links": child})
    scenes = read_scenes(source, Query())
    assert [s.id for s in scenes] == ["B", "A"]
    assert scenes[0].asset("SCL").href == str(tmp_path / "sub" / "B" / "B" / "SCL.tif")


def test_files_that_cannot_be_read_are_named(tmp_path):
    links = [{"rel": "item", "href": "./gone.json"}]
    source = write(tmp_path / "catalog.json", {"type": "Catalog", "id": "r", "links": links})
    with pytest.raises(InputError, match=r"gone\.json \(named by a link of .*catalog\.json\) cannot be read"):
        read_scenes(source, Query())
    with pytest.raises(InputError, match="no STAC ItemCollection"):
        read_scenes(write(tmp_path / "x.json", {"a": 1}), Query())
    (tmp_path / "y.json").write_text("{")
    with pytest.raises(InputError, match=r"y\.json .* cannot be read"):
        read_scenes(str(tmp_path / "y.json"), Query())


@pytest.mark.parametrize(
    ("query", "n"),
    [
        (Query(), 25),
        (Query(collections=("sentinel-2-l2a",)), 25),
        (Query(collections=("other",)), 0),
        (Query(ids=("S2A_31UDQ_003", "S2A_31UDQ_004")), 2),
        (Query(period=("2020-02-01", "2020-02-03")), 3),
        (Query(period=("2020-02-01T00:00:00Z", "2020-02-03T10:59:10Z")), 2),
        (Query(period=("..", "2020-02-03")), 3),
        (Query(period=("2020-02-20", "..")), 6),
        (Query(query={"eo:cloud_cover": {"lt": 10}}), 10),
        (Query(query={"eo:cloud_cover": {"gte": 5, "lte": 7}}), 3),
        (Query(query={"eo:cloud_cover": {"in": [1, 2]}, "proj:code": {"eq": "EPSG:32631"}}), 2),
        (Query(query={"proj:code": {"startsWith": "EPSG", "endsWith": "31", "contains": ":", "neq": "x"}}), 25),
        (Query(query={"view:off_nadir": {"lt": 10}}), 0),
        (Query(area=(3.005, 45.15, 4, 46)), 25),
        (Query(area=(3.02, 45.15, 4, 46)), 0),
        (Query(area={"type": "Polygon", "coordinates": [[[3, 45], [4, 45], [4, 46], [3, 45]]]}), 25),
    ],
)
def test_a_query_of_a_file(tmp_path, query, n):
    assert len(read_scenes(write(tmp_path / "items.json", collection(ITEMS)), query)) == n


def test_a_footprint_across_the_antimeridian(tmp_path):
    source = write(tmp_path / "items.json", collection([{**item(), "bbox": [179.5, -17, -179.5, -16]}]))
    assert len(read_scenes(source, Query(area=(-180, -17, -179.8, -16)))) == 1
    assert len(read_scenes(source, Query(area=(0, -17, 1, -16)))) == 0


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (Query(query={"eo:cloud_cover": {"below": 3}}), "'below'.*eq, neq, lt"),
        (Query(query={"eo:cloud_cover": {"lt": "3"}}), "cannot be compared"),
        (Query(filter={"op": "=", "args": []}), "needs a STAC API"),
        (Query(period=("2020", "2021")), "period's first time"),
    ],
)
def test_a_query_that_cannot_be_answered(tmp_path, query, message):
    with pytest.raises(InputError, match=message):
        read_scenes(write(tmp_path / "items.json", collection(ITEMS)), query)


# ---- an API --------------------------------------------------------------------------------------------------------


class Api(http.server.ThreadingHTTPServer):
    """A small STAC API: pages by offset, fails and lies as it is told."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.items, self.matched, self.lost, self.status = list(ITEMS), True, 0, []
        self.bodies: list[dict] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def page(self, body: dict) -> dict:
        start, limit = body.get("token", 0), body["limit"]
        served = self.items[: len(self.items) - self.lost]
        page = {"type": "FeatureCollection", "features": served[start : start + limit], "links": []}
        if self.matched:
            page["numberMatched"] = len(self.items)
        if start + limit < len(served):
            token = {"token": start + limit}
            page["links"] = [
                {"rel": "next", "href": f"{self.url}/search", "method": "POST", "body": token, "merge": True}
            ]
        return page


class Handler(http.server.BaseHTTPRequestHandler):
    server: Api

    def answer(self, document: dict) -> None:
        status = self.server.status.pop(0) if self.server.status else 200
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        links = [{"rel": "search", "href": f"{self.server.url}/search", "method": "POST"}]
        links.append({"rel": "root", "href": self.server.url})
        conforms = ["core", "item-search"]
        self.answer(
            {
                "type": "Catalog",
                "id": "api",
                "description": "a test",
                "stac_version": "1.0.0",
                "links": links,
                "conformsTo": [f"https://api.stacspec.org/v1.0.0/{c}" for c in conforms],
            }
        )

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        self.answer(self.server.page(body))

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def api() -> Iterator[Api]:
    pytest.importorskip("pystac_client", reason="pystac-client is not installed")
    with Api() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_all_pages_are_read(api):
    scenes = search_api(api.url, Query(), page_size=10)
    assert [s.order for s in scenes] == sorted(s.order for s in scenes)
    assert len(scenes) == 25
    assert len(api.bodies) == 3


def test_what_is_asked(api):
    query = Query(
        collections=("sentinel-2-l2a",),
        area=(3.0, 45.1, 3.01, 45.2),
        period=("2020-02-01", "2020-02-29"),
        query={"eo:cloud_cover": {"lt": 60}},
        ids=("X",),
    )
    search_api(api.url, query, page_size=50)
    body = api.bodies[0]
    assert body["limit"] == 50
    assert body["collections"] == ["sentinel-2-l2a"]
    assert list(body["bbox"]) == [3.0, 45.1, 3.01, 45.2]
    assert body["datetime"] == "2020-02-01T00:00:00Z/2020-02-29T23:59:59.999999Z"
    assert body["query"] == {"eo:cloud_cover": {"lt": 60}}
    assert body["ids"] == ["X"]


@pytest.mark.parametrize(
    ("period", "interval"),
    [
        (("2024-01-01", "2024-01-31"), "2024-01-01T00:00:00Z/2024-01-31T23:59:59.999999Z"),
        (("2024-01-01T00:00:00Z", ".."), "2024-01-01T00:00:00Z/.."),
        (("", "2024-02-01T01:30:00+02:00"), "../2024-02-01T01:30:00+02:00"),
    ],
)
def test_a_last_day_is_asked_for_with_its_last_second(api, period, interval):
    search_api(api.url, Query(period=period))
    assert api.bodies[0]["datetime"] == interval


def test_fewer_than_matched_is_an_error(api):
    api.lost = 3
    with pytest.raises(InputError, match="matched 25 items, and 22 came in 3 pages"):
        search_api(api.url, Query(), page_size=10)
    api.lost, api.items[24] = 0, api.items[0]
    with pytest.raises(InputError, match="matched 25 items, and 24 came in 3 pages, 1 of them sent twice"):
        search_api(api.url, Query(), page_size=10)
    api.lost = 25
    with pytest.raises(InputError, match="matched 25 items, and 0 came"):
        search_api(api.url, Query(), page_size=10)


def test_a_server_that_does_not_count_is_believed(api):
    api.matched = False
    assert len(search_api(api.url, Query(), page_size=10)) == 25
    api.items = []
    assert search_api(api.url, Query()) == ()


def test_a_flaky_server_is_asked_again(api):
    api.status = [503, 200, 502, 429, 200, 503]
    assert len(search_api(api.url, Query(), page_size=10, backoff=0.001)) == 25


def test_a_server_that_stays_down_is_one_clear_error(api):
    api.status = [503] * 3
    with pytest.raises(InputError, match=r"the search at http.* failed"):
        search_api(api.url, Query(), retries=2, backoff=0.001)
    with pytest.raises(InputError, match=r"the search at http.* failed"):
        search_api("http://127.0.0.1:9", Query(), retries=1, backoff=0.001)


def test_a_request_that_is_refused_is_one_clear_error(api):
    api.status = [200, 400]
    with pytest.raises(InputError, match=r"the search at http.* failed"):
        search_api(api.url, Query(), backoff=0.001)


def test_hrefs_of_an_api_go_by_the_self_link(api):
    link = [{"rel": "self", "href": "https://example.org/items/A.json?token=secret"}]
    api.items = [{**item("A"), "links": link}]
    assert search_api(api.url, Query())[0].asset("B04").href == "https://example.org/items/A/B04.tif"


def test_without_pystac_client_files_can_be_read(tmp_path):
    import subprocess
    import sys

    source = write(tmp_path / "items.json", collection(ITEMS))
    code = (
        "import sys; sys.modules['pystac_client'] = None\n"
        "from chronozarr_dask.source.stac.search import Query, read_scenes\n"
        f"print(len(read_scenes({source!r}, Query())), 'requests' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["25", "False"]

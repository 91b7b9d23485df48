"""GeoTIFFs on a web server: windows by range, failures that pass, failures that stay."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest
import rasterio
from rasterio.transform import Affine

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.files import open_source
from chronozarr_dask.source.geotiff import gdal
from chronozarr_dask.store.reader import open_store
from tests.cli.sources import invoke, objects

PIXELS = np.arange(64 * 64, dtype="uint16").reshape(1, 64, 64)


class Flaky(BaseHTTPRequestHandler):
    """Answers 503 to the first `server.failures` requests of every URL, 404 where there is no file."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        server = self.server
        server.asked[self.path] += 1
        body, status, headers = b"", 200, {"Accept-Ranges": "bytes"}
        if self.path not in server.files:
            status = 404
        elif server.asked[self.path] <= server.failures:
            status = 503
        else:
            body = server.files[self.path]
            if "Range" in self.headers:
                first, last = (int(v) for v in self.headers["Range"].removeprefix("bytes=").split("-"))
                headers["Content-Range"] = f"bytes {first}-{min(last, len(body) - 1)}/{len(body)}"
                body, status = body[first : last + 1], 206
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


@contextmanager
def serving(files, failures=0) -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Flaky)
    server.files, server.failures, server.asked = files, failures, Counter()
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("GDAL_HTTP_MAX_RETRY", "0")
    monkeypatch.setattr(gdal, "FIRST_DELAY", 0.001)
    how = {"driver": "GTiff", "width": 64, "height": 64, "count": 1, "dtype": "uint16", "crs": "EPSG:32631"}
    how |= {"transform": Affine(10, 0, 5e5, 0, -10, 5e6), "tiled": True, "blockxsize": 32, "blockysize": 32}
    out = {}
    for i in range(3):
        with rasterio.open(tmp_path / "a.tif", "w", **how) as file:
            file.write(PIXELS + i)
        out[f"/x_2024010{i + 1}.tif"] = (tmp_path / "a.tif").read_bytes()
    return out


@pytest.mark.parametrize("failures", [0, 3])
def test_a_host_whose_first_answers_are_503(files, failures):
    with serving(files, failures) as server:
        array = open_source([server.url + name for name in files]).data
        assert (array.values[:, 0] == np.stack([PIXELS[0] + i for i in range(3)])).all()
        assert all(server.asked[name] > failures for name in files)


def test_a_store_of_a_flaky_host_is_that_of_a_healthy_one(files, tmp_path):
    """Case 6: the first 3 requests of every URL fail, GDAL itself does not retry, and remembers failed opens."""
    made = []
    for failures in (0, 3):
        with serving(files, failures) as server:
            manifest = "\n".join(["uri,datetime", *(f"{server.url}{name},{name[3:11]}" for name in files)])
            (tmp_path / "m.csv").write_text(manifest)
            target = tmp_path / f"{failures}.cz"
            result = invoke("encode", str(tmp_path / "m.csv"), str(target), "--chunk-size", "32", "--quiet")
            assert (result.exit_code, result.output) == (0, "")
            assert all(server.asked[name] > failures for name in files)
        made.append(objects(target))
    assert made[0] == made[1]
    stored = open_store(target)
    for i in range(3):
        assert (stored.read(i) == PIXELS + i).all()


def test_a_manifest_beside_its_files(files):
    with serving({**files, "/m.csv": b"uri,datetime\nx_20240102.tif,2024-05-01\n"}) as server:
        assert (open_source(f"{server.url}/m.csv").data.values[0] == PIXELS + 1).all()


def test_what_is_not_there_is_asked_for_once(files):
    with serving(files) as server:
        with pytest.raises(InputError) as error:
            open_source([f"{server.url}/y_20240101.tif"])
        assert f"{server.url}/y_20240101.tif cannot be opened as a GeoTIFF: HTTP response code: 404" in str(error.value)
        assert server.asked["/y_20240101.tif"] <= 2


def test_a_host_that_stays_down(files):
    with serving(files, 1000) as server, pytest.raises(InputError, match=r"tried 6 times\): HTTP response code: 503"):
        open_source([f"{server.url}/x_20240101.tif"])

import http.server
import json
import pickle
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.stac import signing
from chronozarr_dask.source.stac.signing import Signer, signer_for

BLOB = "https://sentinel2l2a01.blob.core.windows.net/sentinel2-l2/31/U/B04.tif"
OTHER = "https://landsateuwest.blob.core.windows.net/landsat-c2/B4.tif"


class TokenServer(http.server.ThreadingHTTPServer):
    """Answers as the token service does: each token has its number in it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []
        self.good_for = timedelta(minutes=45)
        self.failures: list[int] = []
        self.delay = 0.0
        self.lock = threading.Lock()

    @property
    def signer(self) -> Signer:
        return Signer(endpoint=f"http://127.0.0.1:{self.server_port}/token", pause=0.001)


class Handler(http.server.BaseHTTPRequestHandler):
    server: TokenServer

    def do_GET(self) -> None:
        with self.server.lock:
            self.server.asked.append(self.path)
            status = self.server.failures.pop(0) if self.server.failures else 200
            number = len(self.server.asked)
        time.sleep(self.server.delay)
        expiry = (datetime.now(UTC) + self.server.good_for).strftime("%Y-%m-%dT%H:%M:%SZ")
        body = json.dumps({"msft:expiry": expiry, "token": f"sv=1&sig=secret{number}%3D"}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[TokenServer]:
    monkeypatch.setattr(signing, "_slots", {})  # an earlier server may have had this port
    with TokenServer() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("href", "needs"),
    [
        (BLOB, True),
        ("https://ai4edatasetspublicassets.blob.core.windows.net/assets/x.tif", False),
        ("https://sentinel-cogs.s3.us-west-2.amazonaws.com/B04.tif", False),
        ("https://blob.core.windows.net.evil.example/x", False),
        ("s3://eodata/B04.jp2", False),
        ("/data/B04.tif", False),
    ],
)
def test_which_hrefs_need_a_signature(href, needs):
    assert Signer().needs_signing(href) == needs


def test_which_apis_have_signed_items():
    assert signer_for("https://planetarycomputer.microsoft.com/api/stac/v1") == Signer()
    assert signer_for("https://earth-search.aws.element84.com/v1") is None
    assert signer_for("/data/items.json") is None


def test_a_token_per_container_is_fetched_once(server):
    signer = server.signer
    assert signer.sign(BLOB) == f"{BLOB}?sv=1&sig=secret1%3D"
    assert signer.sign(BLOB.replace("B04", "B08")).endswith("B08.tif?sv=1&sig=secret1%3D")
    assert signer.sign(OTHER) == f"{OTHER}?sv=1&sig=secret2%3D"
    assert server.asked == ["/token/sentinel2l2a01/sentinel2-l2", "/token/landsateuwest/landsat-c2"]
    assert signer.sign("/data/B04.tif") == "/data/B04.tif"
    assert len(server.asked) == 2


def test_an_old_signature_is_replaced_and_parameters_stay(server):
    assert server.signer.sign(f"{BLOB}?v=3&sig=old&se=1") == f"{BLOB}?v=3&sv=1&sig=secret1%3D"


def test_many_threads_fetch_one_token(server):
    server.delay = 0.05
    with ThreadPoolExecutor(8) as pool:
        signed = set(pool.map(server.signer.sign, [BLOB] * 32))
    assert len(signed) == 1
    assert len(server.asked) == 1


def test_a_token_is_renewed_before_it_ends(server):
    server.good_for = timedelta(seconds=60)
    server.signer.sign(BLOB)
    server.good_for = timedelta(minutes=45)
    assert server.signer.sign(BLOB).endswith("secret2%3D")
    assert server.signer.sign(BLOB).endswith("secret2%3D")


def test_a_refused_read_is_tried_again_with_a_fresh_token(server):
    seen = []

    def read(href):
        seen.append(href)
        if href.endswith("secret1%3D"):
            raise OSError(f"'/vsicurl/{href}': HTTP response code: 403")
        return "pixels"

    assert server.signer.read(BLOB, read) == "pixels"
    assert [href.partition("sig=")[2] for href in seen] == ["secret1%3D", "secret2%3D"]
    assert server.signer.read(BLOB, read) == "pixels"
    assert len(server.asked) == 2


def test_a_read_that_stays_refused_tells_no_token(server):
    def read(href):
        raise OSError(f"'/vsicurl/{href}': HTTP response code: 403")

    with pytest.raises(OSError, match="403") as caught:
        server.signer.read(BLOB, read)
    assert BLOB in str(caught.value)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert len(server.asked) == 2


def test_another_failure_is_not_tried_again_here_and_tells_no_token(server):
    def read(href):
        raise OSError(f"'{href}': HTTP response code: 404")

    with pytest.raises(OSError, match="404") as caught:
        server.signer.read(BLOB, read)
    assert "secret" not in str(caught.value)
    assert len(server.asked) == 1


def test_a_thread_that_comes_late_does_not_throw_away_the_fresh_token(server):
    signer = server.signer
    _, first = signer._signed(BLOB)
    signer._forget(BLOB, first)
    _, second = signer._signed(BLOB)
    signer._forget(BLOB, first)
    assert signer._signed(BLOB)[1] == second


def test_no_token_in_what_is_pickled_or_printed(server):
    signer = server.signer
    signer.sign(BLOB)
    assert b"secret" not in pickle.dumps(signer)
    assert "secret" not in repr(signer)
    assert "secret" not in repr(vars(signing))
    assert pickle.loads(pickle.dumps(signer)).sign(BLOB).endswith("secret1%3D")


def test_a_busy_service_is_asked_again(server):
    server.failures = [503, 429, 500]
    assert server.signer.sign(BLOB).endswith("secret4%3D")


def test_a_service_that_refuses_is_one_clear_error(server):
    server.failures = [404]
    with pytest.raises(InputError, match=r"token service http.*sentinel2-l2 gave no token \(HTTP 404, try 1 of 6\)"):
        server.signer.sign(BLOB)
    server.failures = [503] * 6
    with pytest.raises(InputError, match=r"HTTP 503, try 6 of 6"):
        server.signer.sign(BLOB)

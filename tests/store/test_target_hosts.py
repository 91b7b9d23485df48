"""Targets behind a host: secrets stay unseen, every failure is explained, and none is taken for an absent object."""

import http.server
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import _registry

from chronozarr_dask.errors import TargetError
from chronozarr_dask.store import retries
from chronozarr_dask.store.filesystems import file_system
from chronozarr_dask.store.target import Bucket, open_target, secret_options


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "WAIT", 0.001)


NO_SUCH_BUCKET = r"^s3://there-is-none/cube.*: no such bucket .*create it first"

# ---- a bucket --------------------------------------------------------------------------------------------------------


def test_secrets_are_not_shown():
    options = {
        "key": "AKIA",
        "secret": "hush",
        "client_kwargs": {"endpoint_url": "http://h", "aws_session_token": "tok"},
    }
    bucket = open_target("s3://b/cube/", options)
    assert repr(bucket) == "Bucket(url='s3://b/cube')"
    assert str(bucket.child("x")) == "Bucket(url='s3://b/cube/x')"
    assert secret_options(options) == ["key", "secret", "client_kwargs.aws_session_token"]


def test_a_protocol_that_is_not_installed():
    with pytest.raises(TargetError, match=r"nowhere://b.*s3, gs, .* are known"):
        open_target("nowhere://b/cube").get("k")


def test_a_file_system_that_is_not_installed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "adlfs", None)
    monkeypatch.delitem(_registry, "az", raising=False)
    with pytest.raises(TargetError, match=r"az://c/x: .*; install chronozarr-dask\[azure\]$"):
        open_target("az://c/x").get("k")


@pytest.fixture
def _no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("adlfs", reason="Azure: adlfs is not installed")
    for name in ("ACCOUNT_NAME", "ACCOUNT_KEY", "CONNECTION_STRING", "SAS_TOKEN", "CLIENT_ID"):
        monkeypatch.delenv(f"AZURE_STORAGE_{name}", raising=False)


@pytest.mark.usefixtures("_no_account")
@pytest.mark.parametrize("url", ["az://c/x", "abfs://c/x"])
def test_azure_without_an_account(url: str):
    with pytest.raises(TargetError, match=f"^{url}: ") as caught:
        open_target(url).get("k")
    assert "--storage-option account_name=" in str(caught.value)
    assert "AZURE_STORAGE_ACCOUNT_NAME" in str(caught.value)
    assert "install" not in str(caught.value)


@pytest.mark.usefixtures("_no_account")
def test_the_account_in_a_url_is_taken_unless_another_is_named():
    url = "abfs://c@acc.dfs.core.windows.net/x"
    fs = file_system(url, {"anon": True})
    assert (fs.account_name, fs._strip_protocol(url)) == ("acc", "c/x")
    assert file_system(url, {"anon": True, "account_name": "other"}).account_name == "other"
    assert file_system(url, {"anon": True, "account_name": "acc"}).account_name == "acc"


def test_an_option_that_a_file_system_does_not_take(monkeypatch: pytest.MonkeyPatch):
    class Picky(MemoryFileSystem):
        cachable = False

        def __init__(self, *, size: int, **options: Any) -> None:
            raise ValueError(f"size {size} is too small")

    monkeypatch.setitem(_registry, "picky", Picky)
    with pytest.raises(TargetError, match=r"^picky://b/x: size 1 is too small; check storage_options") as caught:
        open_target("picky://b/x", {"size": 1}).get("k")
    assert "install" not in str(caught.value)


def test_a_host_that_is_not_there():
    options = {"key": "a", "secret": "b", "endpoint_url": "http://127.0.0.1:1"}
    bucket = open_target("s3://b/cube", {**options, "config_kwargs": {"retries": {"max_attempts": 0}}})
    with pytest.raises(TargetError, match=r"s3://b/cube/k: .*127\.0\.0\.1:1") as caught:
        bucket.get("k")
    assert "\n" not in str(caught.value)


@pytest.mark.s3
def test_a_wrong_secret(s3_server: Any, s3_bucket: str):
    bucket = open_target(f"s3://{s3_bucket}/cube", {**s3_server.storage_options, "secret": "wrong"})
    for attempt in (
        lambda: bucket.get("k"),
        lambda: bucket.put("k", b"x"),
        lambda: bucket.create("k", b"x"),
        bucket.is_empty,
    ):
        with pytest.raises(TargetError, match=r"permission denied.*credentials") as caught:
            attempt()
        assert "wrong" not in str(caught.value)


@pytest.mark.s3
def test_a_bucket_that_does_not_exist(s3_server: Any):
    with pytest.raises(TargetError, match=NO_SUCH_BUCKET):
        open_target("s3://there-is-none/cube", s3_server.storage_options).is_empty()


@pytest.mark.s3
def test_s3_is_asked_once(s3_server: Any, s3_bucket: str, monkeypatch: pytest.MonkeyPatch):
    """Left alone, s3fs asks for the length before it gets an object."""
    import s3fs

    calls: list[str] = []
    call = s3fs.S3FileSystem._call_s3

    async def spy(self: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        calls.append(method)
        return await call(self, method, *args, **kwargs)

    def spy_from_outside(self: Any, method: str, **kwargs: Any) -> Any:
        calls.append(method)
        return from_outside(self, method, **kwargs)

    from_outside = s3fs.S3FileSystem.call_s3
    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", spy)
    monkeypatch.setattr(s3fs.S3FileSystem, "call_s3", spy_from_outside)
    bucket = open_target(f"s3://{s3_bucket}/cube", s3_server.storage_options)
    bucket.put("k", b"0123456789")
    bucket.create("l", b"x")
    bucket.get("k")
    bucket.get_range("k", 2, 4)
    bucket.tail("k", 4)
    bucket.size("k")
    assert calls == [
        "put_object",
        "put_object",
        "get_object",
        "get_object",
        "get_object",
        "head_object",
    ]


# ---- a web server ----------------------------------------------------------------------------------------------------


class Answers(http.server.BaseHTTPRequestHandler):
    """Answers with the status that the path begins with. Ranges are ignored."""

    protocol_version = "HTTP/1.1"  # a client may wait for "100 Continue" before it sends what it puts

    def do_GET(self) -> None:
        body = b"<Error><Code>NoSuchBucket</Code></Error>" if "there-is-none" in self.path else b"0123456789"
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(int(self.path.split("/")[1]))
        if "nolength" not in self.path:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_PUT = do_GET

    def log_message(self, *args: Any) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    """URL of the server."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_host_without_the_bucket(web: str):
    """As S3 answers; the server of the other tests makes a bucket when something is put there."""
    options = {"key": "a", "secret": "b", "endpoint_url": f"{web}/404", "use_ssl": False}
    bucket = open_target("s3://there-is-none/cube", options)
    assert bucket.get("k") is bucket.size("k") is bucket.tail("k", 4) is bucket.get_range("k", 0, 4) is None
    for attempt in (lambda: bucket.put("k", b"x"), lambda: bucket.create("k", b"x"), bucket.is_empty):
        with pytest.raises(TargetError, match=NO_SUCH_BUCKET):
            attempt()


def test_a_web_server(web: str):
    assert open_target(f"{web}/200").get("k") == b"0123456789"
    assert open_target(f"{web}/200").size("k") == 10


@pytest.mark.parametrize("status", [403, 500, 503])
def test_a_failure_is_never_an_absence(web: str, status: int):
    """fsspec calls every failed HEAD a missing file, and a missing shard would read as fill."""
    bucket = open_target(f"{web}/{status}")
    for attempt in (lambda: bucket.get("k"), lambda: bucket.get_range("k", 0, 4), lambda: bucket.size("k")):
        with pytest.raises(TargetError, match=rf"{web}/{status}/k: .*{status}"):
            attempt()


def test_only_404_is_an_absence(web: str):
    bucket = open_target(f"{web}/404")
    assert bucket.get("k") is bucket.get_range("k", 0, 4) is bucket.tail("k", 4) is bucket.size("k") is None


def test_a_host_that_ignores_ranges(web: str):
    with pytest.raises(TargetError, match="4 bytes were asked for and 10 came: this host ignores range requests"):
        open_target(f"{web}/200").get_range("k", 2, 6)


def test_a_host_that_does_not_say_the_length(web: str):
    with pytest.raises(TargetError, match="does not say how long"):
        open_target(f"{web}/200").size("nolength")


def test_the_root_of_a_bucket_is_a_target():
    assert open_target("s3://bucket/") == Bucket("s3://bucket")

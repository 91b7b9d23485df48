"""Reads over HTTP: connections used again, retries, torn bodies, ranges that are refused, pages, 403, redirects."""

import gzip
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from chronozarr_dask.errors import StoreError, TargetError, TargetFullError
from chronozarr_dask.store import connections, retries
from chronozarr_dask.store.bucket import Bucket
from chronozarr_dask.store.cost import Account
from chronozarr_dask.store.reader import open_store
from chronozarr_dask.store.retries import pause
from chronozarr_dask.store.target import open_target
from chronozarr_dask.store.web import Web
from tests.services.web import Fault, Server
from tests.store.test_reader_xarray import DATA, cube

TEN = b"0123456789"
PAGE = b"<!DOCTYPE html><html><body>Not here</body></html>\n"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "WAIT", 0.001)


def at_first(n: int, fault: Fault) -> Callable[[str, str, int], Fault | None]:
    """The fault for the first `n` requests of every object."""
    return lambda method, key, asked: fault if asked < n else None


# ---- what goes well --------------------------------------------------------------------------------------------------


def test_objects_and_ranges():
    with Server({"k": TEN, "empty": b"", "a key/é": b"x"}) as server:
        web = open_target(server.url)
        assert isinstance(web, Web)
        assert (web.get("k"), web.get("no"), web.get("empty"), web.get("a key/%C3%A9")) == (TEN, None, b"", None)
        assert web.get_range("k", 2, 5) == b"234"
        assert web.get_range("k", 8, 20) == b"89"
        assert web.get_range("k", 30, 40) == b""
        assert web.get_range("no", 0, 1) is None
        assert web.tail("k", 3) == (b"789", 10)
        assert web.tail("k", 30) == (TEN, 10)
        assert web.tail("empty", 3) == (b"", 0)
        assert web.tail("no", 3) is None
        assert (web.size("k"), web.size("no")) == (10, None)


def test_one_thread_keeps_one_connection():
    with Server({"k": TEN}) as server:
        web = open_target(server.url)
        for _ in range(20):
            web.get("k")
            web.get("no")
            web.size("k")
            web.tail("k", 2)
        assert server.connections == 1


def test_threads_share_what_is_idle():
    with Server({"k": TEN}, latency=0.01) as server:
        web = open_target(server.url)
        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(web.get, ["k"] * 100)) == {TEN}
        assert server.connections <= 8


def test_idle_connections_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connections, "IDLE", 3)
    connections.close_idle()
    with Server({"k": TEN}, latency=0.05) as one, Server({"k": TEN}) as other:
        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(open_target(one.url).get, ["k"] * 16)) == {TEN}
        assert len(connections._idle) == 3
        open_target(other.url).get("k")
        assert len(connections._idle) == 3
        connections.close_idle()
        assert open_target(one.url).get("k") == TEN


def test_a_connection_that_the_host_closed_is_not_a_failure():
    with Server({"k": TEN}) as server:
        web, account = open_target(server.url), Account()
        with account.measure(every_thread=False) as cost, account.charging():
            web.get("k")
            closing = iter([Fault(headers={"Connection": "close"}, body=b"x")])
            server.fault = lambda *_: next(closing, None)
            assert web.get("k") == b"x"
            assert web.get("k") == TEN
        assert cost.requests == 0  # none was tried again; the first of each is counted by who asks


FORKS = """
import os, sys
from chronozarr_dask.store.target import open_target
web = open_target(sys.argv[1])
first = web.get("k")
child = os.fork()
if child == 0:
    os._exit(0 if web.get("k") == first else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert web.get("k") == first
"""


def test_a_forked_process_does_not_use_the_parent_s_connections():
    """In a process of its own: one that runs other threads, as this may, cannot be forked safely."""
    with Server({"k": TEN}) as server:
        subprocess.run([sys.executable, "-c", FORKS, server.url], check=True, timeout=100)
        assert server.connections == 2


def test_headers_are_sent():
    with Server({"k": TEN}) as server:
        web = open_target(server.url, {"headers": {"Authorization": "Bearer t"}})
        assert isinstance(web, Web)
        web.get("k")
        assert server.headers[0]["Authorization"] == "Bearer t"
        assert server.headers[0]["Accept-Encoding"] == "identity"


def test_secrets_do_not_follow_a_redirect_to_another_host():
    with Server({"k": TEN}) as other:
        with Server({}, fault=lambda *_: Fault(302, headers={"Location": f"{other.url}/k"})) as server:
            web = open_target(server.url, {"headers": {"Authorization": "Bearer t"}})
            assert web.get_range("k", 2, 4) == b"23"
        assert "Authorization" not in other.headers[0]
        assert "Authorization" in server.headers[0]


def test_a_redirect_without_end():
    endless = Fault(302, headers={"Location": "/cube/k"})
    with Server({}, fault=lambda *_: endless) as server, pytest.raises(TargetError, match="redirected more than 5"):
        open_target(server.url).get("k")


def test_options_of_fsspec_go_to_fsspec():
    assert type(open_target("http://h/cube", {"client_kwargs": {"trust_env": True}})) is Bucket


# ---- what may pass ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [Fault(429), Fault(500), Fault(503), Fault(close=True), Fault(torn=1), Fault(short=1)],
    ids=["429", "500", "503", "close", "torn", "short"],
)
def test_what_passes_is_tried_again_and_counted(fault: Fault):
    with Server({"k": TEN}, fault=at_first(3, fault)) as server:
        web, account = open_target(server.url), Account()
        with account.measure(every_thread=False) as cost, account.charging():
            assert web.get_range("k", 2, 6) == b"2345"
        assert cost.requests == 3
        assert len(server.requests) == 4


@pytest.mark.parametrize(("fault", "said"), [(Fault(torn=2), "torn"), (Fault(short=2), "torn: 2 bytes came")])
def test_a_body_that_stays_torn_is_one_clear_error(fault: Fault, said: str):
    with Server({"k": TEN}, fault=at_first(99, fault)) as server:
        with pytest.raises(TargetError, match=rf"{server.url}/k: .*{said}.* in 6 tries .*try again later") as caught:
            open_target(server.url).get_range("k", 2, 6)
        assert "\n" not in str(caught.value)
        assert len(server.requests) == 6


def test_a_whole_object_that_is_torn():
    with Server({"k": TEN}, fault=at_first(1, Fault(torn=4))) as server:
        assert open_target(server.url).get("k") == TEN


def test_the_host_names_the_wait():
    with Server({"k": TEN}, fault=at_first(1, Fault(429, headers={"Retry-After": "1"}))) as server:
        begun = time.monotonic()
        assert open_target(server.url).get("k") == TEN
        assert time.monotonic() - begun >= 1


def test_waits_are_a_random_part_of_one_that_grows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(retries, "WAIT", 0.2)
    for i, longest in enumerate((0.2, 0.4, 0.8, 1.6)):
        waits = {pause(i, None) for _ in range(200)}
        assert 0 <= min(waits) < longest / 4
        assert longest * 3 / 4 < max(waits) <= longest
    assert pause(30, None) <= 20
    assert pause(0, 3600.0) == 20


def test_what_does_not_pass_is_asked_once():
    for status in (400, 401, 403, 418):
        with Server({}, fault=at_first(99, Fault(status))) as server:
            with pytest.raises(TargetError, match=str(status)):
                open_target(server.url).get("k")
            assert len(server.requests) == 1


def test_a_store_reads_through_faults_of_every_kind():
    """Each object's first five requests fail, all in different ways; the sixth try is the last."""
    faults = [Fault(503), Fault(torn=3), Fault(close=True), Fault(429), Fault(500)]
    objects = cube(shard_time=3).objects
    with Server(objects, fault=lambda m, k, n: faults[n] if n < 5 and k.startswith("0/data/c/0/") else None) as server:
        assert np.array_equal(open_store(server.url).to_xarray().data, DATA)


@pytest.mark.s3
def test_s3_is_tried_again_as_well(s3_server: Any):
    """A server that speaks enough of S3: the client library's own retries are off, ours are counted."""
    with Server({"b/cube/k": TEN}, fault=at_first(3, Fault(503))) as server:
        options = {**s3_server.storage_options, "endpoint_url": server.host, "client_kwargs": {}}
        server.objects = {"/b/cube/k": TEN}
        bucket, account = open_target("s3://b/cube", options), Account()
        with account.measure(every_thread=False) as cost, account.charging():
            assert bucket.get_range("k", 2, 6) == b"2345"
        assert (cost.requests, len(server.requests)) == (3, 4)


# ---- what a host must not do -----------------------------------------------------------------------------------------


def test_403_for_an_absent_chunk_is_explained():
    objects = cube().objects
    del objects["0/data/c/0/0/0/0"]
    with Server(objects, fault=lambda m, k, n: None if k in objects else Fault(403)) as server:
        store = open_store(server.url)
        with pytest.raises(
            TargetFullError, match=r"0/data/c/0/0/0/0: .*absent.*list.*403 in place of 404.*403 Forbidden"
        ):
            store.read(0)
        assert np.array_equal(store.read(3), DATA[3])


@pytest.mark.parametrize("shard_time", [None, 3])
def test_a_page_for_an_absent_key_is_an_error(shard_time: int | None):
    objects = cube(shard_time=shard_time).objects
    del objects["0/data/c/0/0/0/0"]
    with Server(objects, fault=lambda m, k, n: None if k in objects else Fault(200, PAGE)) as server:
        store = open_store(server.url)
        with pytest.raises(StoreError, match=r"0/data/c/0/0/0/0: the answer is a web page.*404"):
            store.read(0)


def test_a_page_that_honours_ranges_is_an_error():
    objects = cube(shard_time=3).objects
    objects["0/data/c/0/0/0/0"] = b"<!doctype html>" + b" " * 200 + b"</html>\n"
    with Server(objects) as server, pytest.raises(StoreError, match="the answer is a web page"):
        open_store(server.url).read(0)


@pytest.mark.parametrize("nbytes", [100, 2**21])
def test_a_host_that_ignores_ranges_is_named(nbytes: int):
    with Server({"k": bytes(nbytes)}, ranges=False) as server:
        web = open_target(server.url)
        with pytest.raises(TargetError, match=f"4 bytes were asked for and {nbytes} came: this host ignores range"):
            web.get_range("k", 2, 6)
        assert web.get_range("k", 0, nbytes) == bytes(nbytes)  # all of it: no range needed


@pytest.mark.parametrize("nbytes", [100, 2**21])
def test_a_host_without_suffix_ranges_is_asked_for_the_length(nbytes: int):
    with Server({"k": bytes(nbytes)}, suffixes=False) as server:
        assert open_target(server.url).tail("k", 4) == (bytes(4), nbytes)
        methods = [method for method, _, _ in server.requests]
        assert methods == (["GET"] if nbytes == 100 else ["GET", "HEAD", "GET"])


@pytest.mark.parametrize("status", [400, 416, 501])
def test_a_host_that_refuses_suffix_ranges_is_asked_for_the_length(status: int):
    with Server({"k": TEN}) as server:
        server.fault = lambda method, key, n: Fault(status) if n == 0 and method == "GET" else None
        assert open_target(server.url).tail("k", 4) == (b"6789", 10)


def test_a_host_that_compresses_chunks_is_named():
    encoded = Fault(200, gzip.compress(TEN), {"Content-Encoding": "gzip"})
    with Server({}, fault=lambda *_: encoded) as server:
        assert open_target(server.url).get("zarr.json") == TEN
        with pytest.raises(TargetError, match=r"Content-Encoding: gzip.*section 9"):
            open_target(server.url).get("0/data/c/0/0/0/0")


def test_more_than_was_asked_for_is_not_read():
    endless = Fault(206, b"x" * 5000, {"Content-Range": "bytes 2-5/10"})
    with Server({}, fault=lambda *_: endless) as server, pytest.raises(TargetError, match="more than the 4 bytes"):
        open_target(server.url).get_range("k", 2, 6)

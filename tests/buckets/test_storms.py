"""A store made through a storm equals one made on a calm day; and so does what is read of it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chronozarr_dask as czd
from chronozarr_dask.errors import ConditionalCreateError, TargetError
from chronozarr_dask.store import bucket, retries
from chronozarr_dask.store.target import open_target
from tests.encode.test_deterministic import hashes
from tests.encode.test_resume import OPTIONS, make_cube
from tests.encode.test_s3 import bucket_hashes
from tests.services import troubles
from tests.services.proxy import Proxy
from tests.services.seaweedfs import S3Server
from tests.services.troubles import Asked, Trouble, storm

pytestmark = [
    pytest.mark.s3,
    # Where the body of an error is cut, aiobotocore leaves the torn connection to the garbage collector.
    pytest.mark.filterwarnings("ignore:Unclosed connection:ResourceWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def collected() -> Iterator[None]:
    """Torn connections are collected here, and not while another test runs."""
    yield
    gc.collect()


SHARDED = {**OPTIONS, "shard_time": 3}
LOST = [troubles.RESET_AFTER, troubles.ERROR_AFTER]
NOT_DONE = [troubles.RESET_BEFORE, troubles.SLOW_DOWN, troubles.INTERNAL]


def first(n: int, trouble: Trouble, *methods: str) -> Callable[[Asked], Trouble | None]:
    """Trouble for the first `n` requests of each method and key."""
    return lambda asked: trouble if asked.method in methods and asked.n < n else None


# ---- whole runs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2])
def test_a_store_made_in_a_storm_equals_one_made_on_a_calm_day(
    seed: int, proxy: Proxy, options: dict[str, Any], s3_server: S3Server, s3_bucket: str, tmp_path: Path
) -> None:
    cube = make_cube()
    proxy.trouble = storm(seed)
    czd.encode(cube, f"s3://{s3_bucket}/s", storage_options=options, **SHARDED)
    befell = dict(proxy.troubles)
    proxy.calm()
    for trouble in (troubles.SLOW_DOWN, troubles.RESET_BEFORE, troubles.RESET_AFTER):
        assert befell.get(trouble.name, 0) > 0, befell
    czd.encode(cube, tmp_path / "s", **SHARDED)
    assert bucket_hashes(s3_server, s3_bucket, "s") == hashes(tmp_path / "s")


def test_reads_in_a_storm(proxy: Proxy, options: dict[str, Any], s3_server: S3Server, s3_bucket: str) -> None:
    cube, url = make_cube(), f"s3://{s3_bucket}/s"
    czd.encode(cube, url, storage_options=s3_server.storage_options, **SHARDED)
    proxy.trouble = storm(3, "reads")
    store = czd.open_store(url, storage_options=options)
    assert np.array_equal(np.stack([store.read(t) for t in range(cube.shape[0])]), cube.values)
    assert czd.validate(url, storage_options=options) == []
    assert proxy.troubles["body cut in the middle"] > 5, proxy.troubles


# ---- single requests -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trouble", [*LOST, *NOT_DONE, troubles.CONFLICT], ids=lambda t: t.name)
def test_a_create_in_trouble(
    trouble: Trouble, proxy: Proxy, options: dict[str, Any], s3_server: S3Server, s3_bucket: str
) -> None:
    target = open_target(f"s3://{s3_bucket}/s", options)
    for n in (1, 2):  # aiohttp sends a PUT again, once and unseen, when a connection that it kept is reset
        proxy.trouble = first(n, trouble, "PUT")
        assert target.create(f"claim{n}", b"mine"), "our own bytes are there"
        assert len(proxy.asked("PUT", f"claim{n}")) == n + 1
        assert target.get(f"claim{n}") == b"mine"
    open_target(f"s3://{s3_bucket}/s", s3_server.storage_options).put("second", b"another's")
    assert not target.create("second", b"mine")
    assert target.get("second") == b"another's"


@pytest.mark.parametrize("trouble", [troubles.NOT_IMPLEMENTED, Trouble("If-None-Match", status=400, code="Invalid")])
def test_a_store_without_conditional_creates(
    trouble: Trouble, proxy: Proxy, options: dict[str, Any], s3_bucket: str
) -> None:
    proxy.trouble = lambda asked: trouble if asked.is_conditional else None
    with pytest.raises(ConditionalCreateError, match=r"no conditional create.*--no-claim.*claim=False.*run\.claim"):
        open_target(f"s3://{s3_bucket}/s", options).create("claim", b"mine")
    assert len(proxy.asked("PUT")) == 1


@pytest.mark.parametrize("trouble", [troubles.RESET_AFTER, troubles.RESET_BEFORE, troubles.SLOW_DOWN], ids=str)
def test_what_is_put_or_deleted_in_trouble(
    trouble: Trouble, proxy: Proxy, options: dict[str, Any], s3_bucket: str
) -> None:
    target = open_target(f"s3://{s3_bucket}/s", options)
    proxy.trouble = first(3, trouble, "PUT", "DELETE")
    target.put("k", bytes(10**6))
    assert target.get("k") == bytes(10**6)
    target.delete("k")
    assert target.get("k") is None
    assert len(proxy.asked("PUT")) == len(proxy.asked("DELETE")) == 4, "the client libraries try nothing by themselves"


def test_an_object_of_many_parts_is_whole_or_not_there(
    proxy: Proxy, options: dict[str, Any], s3_server: S3Server, s3_bucket: str
) -> None:
    """Above 100 MiB s3fs sends parts; one that is refused begins all of them again, and leaves none behind."""
    target, data = open_target(f"s3://{s3_bucket}/s", options), np.random.default_rng(0).bytes(101 * 2**20)
    refused: list[Asked] = []

    def trouble(asked: Asked) -> Trouble | None:
        if "partNumber=2" not in asked.query or refused:
            return None
        refused.append(asked)
        return troubles.SLOW_DOWN

    proxy.trouble = trouble
    target.put("k", data)
    parts = [a for a in proxy.asked("PUT") if "partNumber" in a.query]
    assert len(refused) == 1
    assert len({a.query for a in parts}) > 3, "two uploads"
    client = s3_server.client()
    assert client.get_object(Bucket=s3_bucket, Key="s/k")["Body"].read() == data
    assert not client.list_multipart_uploads(Bucket=s3_bucket).get("Uploads")
    assert target.get_range("k", 2**26, 2**26 + 5) == data[2**26 : 2**26 + 5]


def test_torn_bodies_are_read_again(proxy: Proxy, options: dict[str, Any], s3_bucket: str) -> None:
    target = open_target(f"s3://{s3_bucket}/s", options)
    target.put("k", bytes(range(100)))
    proxy.trouble = first(2, troubles.CUT_BODY, "GET")
    assert target.get("k") == bytes(range(100))
    proxy.counts.clear()
    assert target.get_range("k", 10, 50) == bytes(range(10, 50))
    proxy.counts.clear()
    assert target.tail("k", 10) == (bytes(range(90, 100)), 100)


def test_storms_that_do_not_end_are_given_up(proxy: Proxy, options: dict[str, Any], s3_bucket: str) -> None:
    proxy.trouble = lambda asked: troubles.SLOW_DOWN
    with pytest.raises(TargetError, match=r"/s/k: .*SlowDown.* in 10 tries over .*down or overloaded"):
        open_target(f"s3://{s3_bucket}/s", options).put("k", b"x")
    assert len(proxy.asked("PUT")) == retries.WRITING.tries


def test_total_time_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(retries, "pause", lambda i, after: 10.0 if len(asked) == 5 else 0.0)

    def ask() -> None:
        asked.append(1)
        raise retries.PassingError("busy")

    with pytest.raises(TargetError, match=r"busy, in 5 tries over"):
        retries.retried("k", ask, retries.Patience(tries=100, seconds=5.0))


def test_puts_in_flight_are_bounded(proxy: Proxy, options: dict[str, Any], s3_bucket: str) -> None:
    target = open_target(f"s3://{s3_bucket}/s", options)
    proxy.trouble = lambda asked: troubles.SLOW
    with ThreadPoolExecutor(48) as pool:
        list(pool.map(lambda i: target.put(f"k{i}", b"x"), range(96)))
    assert 4 <= proxy.most_at_once["PUT"] <= bucket.PUTS


def test_a_put_is_one_plain_body(proxy: Proxy, options: dict[str, Any], s3_bucket: str) -> None:
    """Trailers with a checksum, which newer botocore sends by itself, are not known to every server."""
    target = open_target(f"s3://{s3_bucket}/s", options)
    target.put("k", b"0123456789")
    target.create("l", b"0123456789")
    for asked in proxy.asked("PUT"):
        assert asked.headers["content-length"] == "10"
        assert not {"transfer-encoding", "content-encoding", "x-amz-trailer"} & asked.headers.keys()
        assert not any("checksum" in name for name in asked.headers)
    ours = {"config_kwargs": {"request_checksum_calculation": "when_supported"}}
    open_target(f"s3://{s3_bucket}/s", {**options, **ours}).put("m", b"0123456789")
    assert any("checksum" in name for name in proxy.asked("PUT", "/m")[0].headers), "the user says otherwise"

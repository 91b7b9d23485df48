"""One store read from a folder, a bucket in memory, a real S3 server and a web server; and from a forked process."""

import multiprocessing
import re
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chronozarr_dask.errors import StoreError, TargetError
from chronozarr_dask.store import retries
from chronozarr_dask.store.reader import Store, open_store
from chronozarr_dask.store.target import open_target
from tests.services.web import Fault, Server
from tests.store.test_reader_xarray import DATA, PLANES, H, T, W, cube


@pytest.fixture(params=["folder", "memory", "web", pytest.param("s3", marks=pytest.mark.s3)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A function that puts objects somewhere and gives URL and storage options."""
    webs: list[Server] = []

    def put(objects: dict[str, bytes]) -> tuple[str, dict[str, Any]]:
        options: dict[str, Any] = {}
        if request.param == "web":
            webs.append(Server(objects))
            return webs[0].url, options
        url = str(tmp_path / "cube") if request.param == "folder" else f"memory://{uuid.uuid4().hex}/cube"
        if request.param == "s3":
            options = request.getfixturevalue("s3_server").storage_options
            url = f"s3://{request.getfixturevalue('s3_bucket')}/cube"
        target = open_target(url, options)
        for key, data in objects.items():
            target.put(key, data)
        return url, options

    yield put
    for web in webs:
        web.__exit__()


@pytest.mark.parametrize("shard_time", [None, 3])
def test_a_store_reads_equal_wherever_it_is(place: Any, shard_time: int | None):
    objects = cube(("mask", "coverage"), shard_time=shard_time).objects
    del objects["0/coverage/c/0/0/0"]  # a missing chunk or shard reads as fill
    store = open_store(*place(objects))
    assert np.array_equal(store.to_xarray().data, DATA)
    assert np.array_equal(store.read_mask(2), PLANES["mask"][2])
    assert store.read_coverage(0)[:2, :2].tolist() == [[0, 0], [0, 0]]
    assert np.array_equal(store.read_coverage(0)[2:], PLANES["coverage"][0, 2:])


def test_nothing_is_there(place: Any):
    with pytest.raises(StoreError, match="there is no store"):
        open_store(*place({"other": b"x"}))


def test_a_shard_shorter_than_listed_is_an_error(place: Any):
    objects = cube(shard_time=4, shard_bytes={"0": {"0/0/0": 5000}})
    with pytest.raises(StoreError, match="the shard index has 0 bytes, 68 expected"):
        open_store(*place(objects.objects)).read_cell(0, 0, 0)


def test_requests_over_the_web():
    objects = cube(shard_time=3).objects
    shard = objects["0/data/c/0/0/0/0"]
    with Server(objects) as web:
        store = open_store(web.url)
        assert web.forget() == [("GET", "zarr.json", None)]
        store.read_cell(1, 0, 0)
        index, chunks = web.forget()
        assert index == ("GET", "0/data/c/0/0/0/0", "bytes=-52")
        assert chunks[:2] == ("GET", "0/data/c/0/0/0/0")
        assert re.fullmatch(r"bytes=0-\d\d", chunks[2])  # anchor and residual lie together
        assert int(chunks[2].split("-")[1]) < len(shard) - 52
        store.read_cell(1, 0, 0)
        assert len(web.forget()) == 1
        assert web.connections == 1


def test_a_failing_host_is_never_fill(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(retries, "WAIT", 0.001)

    def fault(method: str, key: str, n: int) -> Fault | None:
        return Fault(503) if key == "0/data/c/0/0/0/0" else None

    with Server(cube(shard_time=3).objects, fault=fault) as web:
        store = open_store(web.url)
        with pytest.raises(TargetError, match=f"{web.url}/0/data/c/0/0/0/0: 503 .*, in 6 tries .* try again later"):
            store.read_cell(0, 0, 0)


def total(store: Store) -> int:
    return int(store.read(1).sum())


def test_a_forked_process_reads_with_threads_of_its_own(tmp_path: Path):
    target = open_target(tmp_path / "cube")
    for key, data in cube().objects.items():
        target.put(key, data)
    store = open_store(tmp_path / "cube")
    assert total(store) == DATA[1].sum()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)  # Python 3.12; it is the point
        queue: Any = multiprocessing.get_context("fork").SimpleQueue()
        child = multiprocessing.get_context("fork").Process(target=lambda: queue.put(total(store)))
        child.start()
    child.join(30)
    alive = child.is_alive()
    child.kill()
    assert not alive
    assert queue.get() == DATA[1].sum()
    queue.close()


def test_the_test_cube_has_edges():
    assert (T, H % 2, W % 2) == (4, 1, 1)

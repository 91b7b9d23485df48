"""The whole job on a real S3 server: a recipe, an encode beside it, the deep validation, reading, and a second run."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import chronozarr_dask as czd
from chronozarr_dask.errors import TargetError
from chronozarr_dask.run.deep import validate_deep
from tests.encode.test_resume import OPTIONS, make_cube
from tests.run.made import World
from tests.services.proxy import Proxy
from tests.services.seaweedfs import S3Server

pytestmark = pytest.mark.s3


def test_a_recipe_into_a_bucket(
    s3_server: S3Server, s3_bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3_server.key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3_server.secret)
    world = World(tmp_path)
    for month in range(1, 4):
        world.add(f"S{month}", f"2024-0{month}-05T00:00:00Z", {"B04": 1000 * month})
    options: dict[str, Any] = {"endpoint_url": s3_server.endpoint}
    target = {"url": f"s3://{s3_bucket}/product", "storage_options": options}
    report = world.run(target=target, source__offset="none")
    assert report.journal == f"s3://{s3_bucket}/product.run"
    store = czd.open_store(target["url"], storage_options=options)
    assert [int(store.read(t)[0, 0, 0]) for t in range(3)] == [1000, 2000, 3000]
    assert validate_deep(target["url"], storage_options=options) == []
    with xr.open_dataset(target["url"], engine="chronozarr_dask", storage_options=options) as dataset:
        assert dataset.sizes["time"] == 3


def test_of_two_runs_into_one_target_one_is_told_to_stop(
    proxy: Proxy, options: dict[str, Any], s3_bucket: str, tmp_path: Path
) -> None:
    cube, url = make_cube(), f"s3://{s3_bucket}/s"
    together, ends = threading.Barrier(2), []

    def run() -> None:
        together.wait()
        try:
            ends.append(czd.encode(cube, url, storage_options=options, **OPTIONS))
        except TargetError as error:
            ends.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lost = [end for end in ends if isinstance(end, TargetError)]
    assert len(lost) == 1, ends
    assert any(word in str(lost[0]) for word in ("is not complete", "is not empty")), lost
    puts = [a.key for a in proxy.asked("PUT", "/s/")]
    assert len(puts) == len(set(puts)), "the run that lost stored nothing"
    assert np.array_equal(czd.open_store(url, storage_options=options).read(4), cube.values[4])

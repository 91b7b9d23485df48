"""The whole job on a real S3 server: a recipe, an encode beside it, the deep validation, reading, and a second run."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import chronozarr_dask as czd
from chronozarr_dask.errors import TargetError
from chronozarr_dask.run.deep import validate_deep
from chronozarr_dask.source.files import open_source
from tests.cli.sources import run, start
from tests.encode.test_deterministic import hashes
from tests.encode.test_resume import OPTIONS, make_cube
from tests.encode.test_s3 import bucket_hashes
from tests.run.made import World
from tests.services import troubles
from tests.services.proxy import Proxy
from tests.services.seaweedfs import S3Server
from tests.services.troubles import Asked, Trouble

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


def test_a_server_without_conditional_creates(
    proxy: Proxy, options: dict[str, Any], s3_server: S3Server, s3_bucket: str, tmp_path: Path
) -> None:
    """The program tells of ``--no-claim``; with it, a run is interrupted in its middle and gone on with."""
    cube, source, target = make_cube(), str(tmp_path / "cube.zarr"), f"s3://{s3_bucket}/s"
    cube.to_dataset(name="v").to_zarr(source, zarr_format=3, consolidated=False)
    access = [f"--storage-option={name}={json.dumps(value)}" for name, value in options.items()]
    words = ["encode", source, target, "--crs=EPSG:32631", "--chunk-size=16", "--region-cells=2", *access]
    stored: list[str] = []
    told: list[int] = []
    started: list[Any] = []

    def trouble(asked: Asked) -> Trouble | None:
        if asked.is_conditional:
            return troubles.NOT_IMPLEMENTED
        if asked.method == "PUT" and f"{s3_bucket}/s/0/" in asked.key:
            stored.append(asked.key)
            if len(stored) >= 10 and started[0].poll() is None and not told:
                told.append(len(stored))
                started[0].send_signal(signal.SIGINT)
        return None

    proxy.trouble = trouble
    code, _, err = run(*words)
    assert code == 1
    assert "--no-claim" in err
    assert bucket_hashes(s3_server, s3_bucket, "s") == bucket_hashes(s3_server, s3_bucket, "s.run") == {}
    started.append(start(*words, "--no-claim"))
    _, err = started[0].communicate(timeout=100)
    assert started[0].returncode == 1
    again = err.splitlines()[-1]
    assert again.endswith(" --no-claim --resume"), err
    assert "zarr.json" not in bucket_hashes(s3_server, s3_bucket, "s")
    before = len(stored)
    code, _, err = run("resume", target, *access)
    assert code == 1, "it is not taken for granted"
    assert "--no-claim" in err
    code, _, err = run("resume", target, *access, "--no-claim")
    assert code == 0, err
    assert len(stored) > before, "something was left"
    czd.encode(open_source(source), tmp_path / "s", crs="EPSG:32631", chunk_size=16, region_cells=2)
    assert bucket_hashes(s3_server, s3_bucket, "s") == hashes(tmp_path / "s")


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

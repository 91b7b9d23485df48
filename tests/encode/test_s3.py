"""Encode to a real S3 server: the same objects as on disk, counted, and no secret anywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from distributed import Client, LocalCluster

import chronozarr_dask as czd
from chronozarr_dask.errors import InputError, TargetError
from tests.encode.test_deterministic import Stop, hashes
from tests.encode.test_resume import OPTIONS, interrupt_after, make_cube
from tests.services.seaweedfs import S3Server

pytestmark = pytest.mark.s3


def bucket_hashes(server: S3Server, bucket: str, prefix: str) -> dict[str, str]:
    """Digest of every object below a prefix."""
    client, out = server.client(), {}
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix + "/"):
        for entry in page.get("Contents", []):
            body = client.get_object(Bucket=bucket, Key=entry["Key"])["Body"].read()
            out[entry["Key"].removeprefix(prefix + "/")] = hashlib.sha256(body).hexdigest()
    return out


@pytest.mark.parametrize("shard_time", [None, 3], ids=["unsharded", "sharded"])
def test_a_store_in_a_bucket_equals_the_one_on_disk(
    shard_time: int | None, s3_server: S3Server, s3_bucket: str, tmp_path: Path
) -> None:
    cube, url = make_cube(), f"s3://{s3_bucket}/stores/one"
    options = {**OPTIONS, "shard_time": shard_time}
    report = czd.encode(cube, url, storage_options=s3_server.storage_options, **options)
    czd.encode(cube, tmp_path / "s", **options)
    assert bucket_hashes(s3_server, s3_bucket, "stores/one") == hashes(tmp_path / "s")
    assert report.journal == f"{url}.run"
    assert czd.validate(url, storage_options=s3_server.storage_options) == []
    store = czd.open_store(url, storage_options=s3_server.storage_options)
    assert np.array_equal(store.read(4), cube.values[4])
    with pytest.raises(TargetError, match="is not empty"):
        czd.encode(cube, url, storage_options=s3_server.storage_options, **options)


def test_an_interrupted_run_in_a_bucket_goes_on(s3_server: S3Server, s3_bucket: str, tmp_path: Path) -> None:
    cube, url = make_cube().chunk({"time": 1}), f"s3://{s3_bucket}/s"
    with pytest.raises(Stop):
        czd.encode(cube, url, storage_options=s3_server.storage_options, progress=interrupt_after(3), **OPTIONS)
    assert "zarr.json" not in bucket_hashes(s3_server, s3_bucket, "s")
    report = czd.encode(cube, url, storage_options=s3_server.storage_options, resume=True, **OPTIONS)
    assert report.regions_resumed >= 3
    czd.encode(cube, tmp_path / "s", **OPTIONS)
    assert bucket_hashes(s3_server, s3_bucket, "s") == hashes(tmp_path / "s")
    assert not any(k.startswith(("staging/", "handover/")) for k in bucket_hashes(s3_server, s3_bucket, "s.run"))


@pytest.fixture
def client(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """Workers that find their credentials in their environment."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3_server.key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3_server.secret)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.mark.cluster
def test_a_cluster_writes_to_a_bucket_with_credentials_of_its_own(
    s3_server: S3Server, s3_bucket: str, tmp_path: Path, client: Client
) -> None:
    cube, url = make_cube(), f"s3://{s3_bucket}/s"
    with pytest.raises(InputError, match=r"secrets do not travel.*environment"):
        czd.encode(cube, url, client=client, storage_options=s3_server.storage_options, **OPTIONS)
    public = {"client_kwargs": {"endpoint_url": s3_server.endpoint}}
    czd.encode(cube, url, client=client, storage_options=public, **OPTIONS)
    czd.encode(cube, tmp_path / "s", **OPTIONS)
    assert bucket_hashes(s3_server, s3_bucket, "s") == hashes(tmp_path / "s")


def test_a_bucket_that_is_not_there_and_a_wrong_secret_get_one_error_each(s3_server: S3Server, s3_bucket: str) -> None:
    cube: xr.DataArray = make_cube()
    with pytest.raises(TargetError, match="no-such-bucket-here"):
        czd.encode(cube, "s3://no-such-bucket-here/s", storage_options=s3_server.storage_options, **OPTIONS)
    wrong = {**s3_server.storage_options, "secret": "wrong-and-secret"}
    with pytest.raises(TargetError, match="permission denied") as caught:
        czd.encode(cube, f"s3://{s3_bucket}/s", storage_options=wrong, **OPTIONS)
    assert "wrong-and-secret" not in str(caught.value)
    with pytest.raises(TargetError, match="root of a bucket"):
        czd.encode(cube, f"s3://{s3_bucket}", storage_options=s3_server.storage_options, **OPTIONS)

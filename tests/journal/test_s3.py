"""The journal commands on a real S3 server: by either URL, and with nothing left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chronozarr_dask.run.beginning import Source, encode_source
from tests.cli.sources import invoke, zarr
from tests.journal.runs import Stop, stop_in
from tests.services.seaweedfs import S3Server

pytestmark = pytest.mark.s3


def keys(server: S3Server, bucket: str) -> set[str]:
    return {entry["Key"] for entry in server.client().list_objects_v2(Bucket=bucket).get("Contents", [])}


def flags(server: S3Server) -> list[str]:
    return [
        f"--storage-option={name}={json.dumps(value) if isinstance(value, dict) else value}"
        for name, value in server.storage_options.items()
    ]


def begin(server: S3Server, source: str, url: str) -> None:
    options: dict[str, Any] = {"chunk_size": 16, "region_cells": 2, "mask": "valid"}
    with pytest.raises(Stop):
        encode_source(Source(source, {}, None, options), url, server.storage_options, progress=stop_in("run", 3),
                      resume=False, fail_fast=False)  # fmt: skip


def test_status_resume_and_clean(s3_server: S3Server, s3_bucket: str, tmp_path: Path) -> None:
    source, url, options = zarr(tmp_path / "cube.zarr"), f"s3://{s3_bucket}/a/s", flags(s3_server)
    begin(s3_server, source, url)
    journal = b"".join(
        s3_server.client().get_object(Bucket=s3_bucket, Key=key)["Body"].read() for key in keys(s3_server, s3_bucket)
    )
    assert s3_server.secret.encode() not in journal
    result = invoke("status", f"{url}.run", "--json", *options)
    assert result.exit_code == 0, result.stderr or result.exception
    found = json.loads(result.stdout)
    assert (found["state"], found["is_exact"]) == ("stopped", True)
    assert 3 <= found["done"] < found["regions"]
    s3_server.client().put_object(Bucket=s3_bucket, Key="a/s/README.md", Body=b"mine")
    s3_server.client().put_object(Bucket=s3_bucket, Key="a/s2/0/zarr.json", Body=b"mine")
    result = invoke("clean", "--yes", url, *options)
    assert result.exit_code == 0, result.stderr
    assert f"left where it is: {url}/README.md" in result.stderr
    assert keys(s3_server, s3_bucket) == {"a/s/README.md", "a/s2/0/zarr.json"}

    begin(s3_server, source, f"{url}3")
    result = invoke("resume", f"{url}3.run", "--verify=head", "--quiet", *options)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "a/s3/zarr.json" in keys(s3_server, s3_bucket)
    assert invoke("clean", "--yes", f"{url}3", *options).exit_code == 0
    assert not any(key.startswith("a/s3.run") for key in keys(s3_server, s3_bucket))
    assert invoke("validate", f"{url}3", *options).exit_code == 0

"""Sources in buckets: without credentials or at the reader's cost, beside a target with credentials, and in a storm."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import yaml

import chronozarr_dask as czd
from chronozarr_dask.errors import InputError
from chronozarr_dask.run.encode import ChronozarrWarning
from chronozarr_dask.run.produce import run_document
from chronozarr_dask.run.recipes import Document
from chronozarr_dask.source.access import Access, options_for
from chronozarr_dask.source.files import open_source
from chronozarr_dask.source.geotiff import gdal
from tests.encode.test_deterministic import hashes
from tests.encode.test_s3 import bucket_hashes
from tests.run.made import World, write_tif
from tests.services import troubles
from tests.services.proxy import Proxy
from tests.services.seaweedfs import S3Server
from tests.services.troubles import Asked, Storm

SMALL: dict[str, Any] = {"chunk_size": 32, "encoding": "none"}
NIGHT = np.random.default_rng(7).integers(1, 4000, (3, 64, 64)).astype("uint16")


# ---- what GDAL is told -----------------------------------------------------------------------------------------------


def test_storage_options_as_gdal_takes_them() -> None:
    unsigned = {"AWS_NO_SIGN_REQUEST": "YES", "GS_NO_SIGN_REQUEST": "YES", "AZURE_NO_SIGN_REQUEST": "YES"}
    cases: list[tuple[dict[str, Any], dict[str, str]]] = [
        ({}, {}),
        ({"anon": False, "use_listings_cache": True}, {}),
        ({"anon": True}, unsigned),
        ({"requester_pays": True}, {"AWS_REQUEST_PAYER": "requester"}),
        ({"requester_pays": "project"}, {"AWS_REQUEST_PAYER": "requester", "GS_USER_PROJECT": "project"}),
        (
            {"endpoint_url": "http://127.0.0.1:9000/"},
            {"AWS_S3_ENDPOINT": "127.0.0.1:9000", "AWS_HTTPS": "NO", "AWS_VIRTUAL_HOSTING": "FALSE"},
        ),
        (
            {"client_kwargs": {"endpoint_url": "https://s3.eu-central-1.amazonaws.com", "region_name": "eu-central-1"}},
            {
                "AWS_S3_ENDPOINT": "s3.eu-central-1.amazonaws.com", "AWS_HTTPS": "YES", "AWS_VIRTUAL_HOSTING": "TRUE",
                "AWS_REGION": "eu-central-1",
            },
        ),
        ({"profile": "p", "account_name": "a"}, {"AWS_PROFILE": "p", "AZURE_STORAGE_ACCOUNT": "a"}),
    ]  # fmt: skip
    for options, config in cases:
        assert dict(Access.of(options).config) == config, options


def test_keys_of_a_source_are_not_shown() -> None:
    access = Access.of({"key": "AKIA", "secret": "hush"})
    assert "hush" not in repr(access)
    assert access.config == ()
    with pytest.raises(InputError, match="give both"):
        Access.of({"key": "AKIA"})


def test_a_document_elsewhere_is_not_asked_with_the_options_of_a_bucket() -> None:
    options = {"anon": True, "client_kwargs": {"endpoint_url": "http://h"}, "headers": {"X": "y"}}
    assert options_for("items.json", options) == options_for("file:///items.json", options) == {}
    assert options_for("https://h/items.json", options) == {"headers": {"X": "y"}}
    assert options_for("s3://b/items.json", options) == options


# ---- a bucket for everybody beside one with credentials --------------------------------------------------------------


@pytest.fixture
def public(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A prefix that everybody may read, while this process has credentials of the target's in its environment.

    It is the same in every run, and so is a storm that befalls its keys.
    """
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3_server.key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3_server.secret)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(gdal, "FIRST_DELAY", 0.002)
    client = s3_server.client()
    if "public" not in [b["Name"] for b in client.list_buckets()["Buckets"]]:
        client.create_bucket(Bucket="public")
    return f"public/{re.sub('[^a-z0-9]+', '-', request.node.name)}"


def signed(asked: Asked) -> bool:
    return "authorization" in asked.headers


@pytest.fixture
def tifs(tmp_path: Path) -> Path:
    for i, pixels in enumerate(NIGHT):
        write_tif(tmp_path / "tifs" / f"2024010{i + 1}.tif", pixels)
    return tmp_path / "tifs"


@pytest.mark.s3
def test_public_geotiffs_beside_a_target_with_credentials(
    public: str, tifs: Path, proxy: Proxy, s3_server: S3Server, s3_bucket: str, tmp_path: Path
) -> None:
    s3_server.upload(tifs, public)
    source = {"anon": True, "endpoint_url": proxy.url}
    cube = open_source(f"s3://{public}/*.tif", storage_options=source)
    target = {"endpoint_url": proxy.url}  # credentials are those of the environment
    czd.encode(cube, f"s3://{s3_bucket}/s", storage_options=target, **SMALL)
    reads = [a for a in proxy.requests if a.key.startswith("/public")]
    writes = [a for a in proxy.requests if a.key.startswith(f"/{s3_bucket}")]
    assert any(a.key.endswith(".tif") for a in reads)
    assert any(a.method == "GET" and "list-type" in a.query for a in reads)
    assert not any(map(signed, reads))
    assert writes
    assert all(map(signed, writes))
    czd.encode(open_source(f"{tifs}/*.tif"), tmp_path / "s", **SMALL)
    assert bucket_hashes(s3_server, s3_bucket, "s") == hashes(tmp_path / "s")
    with pytest.raises(InputError, match=r"20240101\.tif cannot be opened as a GeoTIFF.*(403|denied)"):
        open_source([f"s3://{s3_bucket}/20240101.tif"], storage_options=source)


@pytest.mark.s3
def test_a_reader_who_pays_says_so(public: str, tifs: Path, proxy: Proxy, s3_server: S3Server) -> None:
    s3_server.upload(tifs, public)
    paying = {"requester_pays": True, "client_kwargs": {"endpoint_url": proxy.url}}
    cube = open_source(f"s3://{public}/*.tif", storage_options=paying)
    assert np.array_equal(cube["data"].values[:, 0], NIGHT)
    files = [a for a in proxy.requests if a.key.endswith(".tif")]
    lists = [a for a in proxy.requests if "list-type" in a.query]
    assert files
    assert lists
    assert {a.headers.get("x-amz-request-payer") for a in files + lists} == {"requester"}
    assert all(map(signed, files))


@pytest.mark.s3
def test_keys_of_a_source_are_its_own(
    tifs: Path, proxy: Proxy, s3_server: S3Server, s3_bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "another's")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another's")
    s3_server.upload(tifs, f"{s3_bucket}/t")
    own = {"key": "reader", "secret": "readersecret", "client_kwargs": {"endpoint_url": proxy.url}}
    cube = open_source(f"s3://{s3_bucket}/t/*.tif", storage_options=own)
    assert np.array_equal(cube["data"].values[:, 0], NIGHT)
    assert {a.headers["authorization"].split("Credential=")[1].split("/")[0] for a in proxy.requests} == {"reader"}


@pytest.mark.s3
def test_a_public_zarr_store(public: str, proxy: Proxy, s3_server: S3Server, tmp_path: Path) -> None:
    cube = xr.Dataset({"v": (("time", "y", "x"), NIGHT)}, {"time": np.arange(3).astype("datetime64[D]")})
    cube.to_zarr(tmp_path / "z", zarr_format=3, consolidated=False)
    s3_server.upload(tmp_path / "z", public)
    got = open_source(f"s3://{public}", storage_options={"anon": True, "endpoint_url": proxy.url})
    assert np.array_equal(got["v"].values, NIGHT)
    assert not any(map(signed, proxy.requests))


# ---- recipes ---------------------------------------------------------------------------------------------------------


def run(recipe: dict[str, Any]) -> Any:
    document = Document.parse(yaml.safe_dump(recipe), "recipe.yaml")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ChronozarrWarning)
        return run_document(document, document.recipe())


def world_in(folder: Path, place: str) -> tuple[World, dict[str, Any], dict[str, Any]]:
    """Scenes, a recipe over their files in the folder, and one over the same files at a URL."""
    world = World(folder)
    for i in range(3):
        world.add(f"S{i}", f"2024-0{i + 1}-05T00:00:00Z", {"B04": NIGHT[i]}, eo__cloud_cover=5)
    here = world.recipe(source__offset="none")
    text = (folder / "items.json").read_text().replace('"./', f'"{place}/')
    (folder / "far.json").write_text(text)
    there = json.loads(json.dumps(here))
    there["source"]["items"] = str(folder / "far.json")
    return world, here, there


@pytest.mark.s3
@pytest.mark.parametrize("kind", ["s3", "http"])
def test_a_recipe_over_public_scenes_in_a_storm(
    kind: str, public: str, proxy: Proxy, s3_server: S3Server, s3_bucket: str, tmp_path: Path
) -> None:
    place = f"s3://{public}" if kind == "s3" else f"{proxy.url}/{public}"
    _, here, there = world_in(tmp_path, place)
    s3_server.upload(tmp_path, public)
    proxy.trouble = Storm(
        6,
        [(troubles.SLOW_DOWN, 0.1), (troubles.RESET_BEFORE, 0.05), (troubles.CUT_BODY, 0.15), (troubles.SLOW, 0.05)],
        in_a_row=2,
        only=("GET", "HEAD"),
    )
    there["source"]["storage_options"] = {"anon": True, "endpoint_url": proxy.url}
    there["target"] = {"url": f"s3://{s3_bucket}/s", "storage_options": {"endpoint_url": s3_server.endpoint}}
    run(there)
    assert min(proxy.troubles[t.name] for t in (troubles.SLOW_DOWN, troubles.CUT_BODY)) > 0, proxy.troubles
    assert not any(map(signed, proxy.requests))
    here["target"] = str(tmp_path / "store")
    run(here)
    far, near = bucket_hashes(s3_server, s3_bucket, "s"), hashes(tmp_path / "store")
    assert far.keys() == near.keys()
    assert {k for k in far if far[k] != near[k]} <= {"zarr.json"}  # the root tells of the source


def test_secrets_do_not_go_into_a_recipe_source(tmp_path: Path) -> None:
    _, here, _ = world_in(tmp_path, "s3://b")
    here["source"]["storage_options"] = {"key": "AKIA", "secret": "hush"}
    with pytest.raises(InputError, match=r"source\.storage_options\.key: secrets do not go into a recipe") as caught:
        run(here)
    assert "hush" not in str(caught.value)

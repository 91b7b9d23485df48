"""Real runs with secrets in all places where people put them; afterwards a search through all that is left finds none.

What is searched: stores, journals with their reports, every message of Dask, the logs of all libraries at DEBUG in this
process and in the workers, standard output and error.
"""

from __future__ import annotations

import http.server
import json
import os
import re
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

import chronozarr_dask as czd
from chronozarr_dask.errors import ChronozarrError, InputError, TargetError
from chronozarr_dask.run import composites, found
from chronozarr_dask.source.files import check_may_travel
from chronozarr_dask.source.stac.signing import Signer
from chronozarr_dask.store.secrets import redacted_url, redacted_urls
from chronozarr_dask.store.target import open_target, secret_options
from tests.cli.sources import dataset, invoke, netcdf
from tests.encode.test_resume import OPTIONS, make_cube
from tests.run.made import World
from tests.secrets.capture import LogToFile, logged, messages
from tests.secrets.search import Search
from tests.services.proxy import Proxy
from tests.services.seaweedfs import S3Server
from tests.services.web import Fault, Server

CANARY = "canary7Qx3Zp9kV2m"
SAS = f"sv=2024-01-01&se=2030-01-01&sig={CANARY}%3D"
TOKEN = "session8Wr5Yt2Lb6Nc"
PRESIGNED = f"X-Amz-Credential={CANARY}&X-Amz-Signature={CANARY}"


class Tokens(http.server.BaseHTTPRequestHandler):
    """The token service: a token for anyone."""

    def do_GET(self) -> None:
        body = json.dumps({"msft:expiry": "2037-01-01T00:00:00Z", "token": SAS}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@dataclass(frozen=True)
class LocalSigner(Signer):
    """Signs what is served here."""

    def needs_signing(self, href: str) -> bool:
        return href.startswith("http://127.0.0.1")


@pytest.fixture
def signer() -> Iterator[LocalSigner]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Tokens) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield LocalSigner(endpoint=f"http://127.0.0.1:{server.server_port}/token", pause=0.001)
        server.shutdown()


def found_in(folder: Path, *secrets: str) -> list[str]:
    search = Search(secrets or (CANARY,))
    search.folder(folder)
    return [f"{f.secret}: {f.where}" for f in search.found]


@pytest.mark.cluster
@pytest.mark.parametrize("on_cluster", [False, True], ids=["threads", "cluster"])
def test_signed_scenes_leave_no_signature(
    tmp_path: Path, signer: LocalSigner, monkeypatch: pytest.MonkeyPatch, on_cluster: bool, capfd: Any
) -> None:
    world, out = World(tmp_path / "scenes"), tmp_path / "out"
    (tmp_path / "scenes").mkdir()
    out.mkdir()
    for day in (3, 13, 23):
        world.add(f"S2_{day}", f"2024-03-{day:02}T10:00:00Z", {"B04": 100 + day, "B08": 200 + day})
    objects = {f"{p.relative_to(world.folder)}?{SAS}": p.read_bytes() for p in world.folder.rglob("*.tif")}
    broken = f"S2_13/B08.tif?{SAS}"

    def fault(method: str, key: str, n: int) -> Fault | None:
        return Fault(403, body=f"no: {key}".encode()) if key == broken else None

    for module in (found, composites):
        monkeypatch.setattr(module, "signer", lambda source: signer)
    with Server(objects, fault=fault) as server:
        for item in world.items:
            for n, asset in enumerate(item["assets"].values()):
                asset["href"] = f"{server.url}/{asset['href'].removeprefix('./')}?{(SAS, PRESIGNED)[n % 2]}"
        changes = {"run__keep_going": True, "source__offset": "none", "target": str(out / "store")}
        changes |= {"encode__chunk_size": 16, "encode__region_cells": 2}
        with logged(out / "here.log"):
            if on_cluster:
                with (
                    messages(out / "messages", monkeypatch),
                    LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=":0") as cluster,
                    Client(cluster) as client,
                ):
                    client.register_plugin(LogToFile(str(out)))
                    report = world.run(client=client, **changes)
            else:
                report = world.run(**changes)
    assert report.scenes is not None
    assert {one["id"] for one in report.scenes["lost"]} == {"S2_13"}
    assert "sig" not in report.scenes["lost"][0]["error"]
    assert any(CANARY in key for _, key, _ in server.requests), "nothing was signed"
    (out / "said").write_text("".join(capfd.readouterr()))
    (out / "report.json").write_text(json.dumps(report.to_json()))
    if on_cluster:
        assert len(list((out / "messages").iterdir())) > 20
        assert list(out.glob("worker-*.log"))
    assert found_in(out) == []


def test_a_scene_that_ends_the_run_is_told_of_without_its_signature(
    tmp_path: Path, signer: LocalSigner, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)
    world.add("S2_3", "2024-03-03T10:00:00Z", {"B04": 100})
    for module in (found, composites):
        monkeypatch.setattr(module, "signer", lambda source: signer)
    with Server({}) as server:
        for item in world.items:
            for asset in item["assets"].values():
                asset["href"] = f"{server.url}/{asset['href'].removeprefix('./')}?{SAS}"
        with pytest.raises(ChronozarrError) as caught:
            world.run(source__offset="none")
    assert "B04" in str(caught.value)
    assert CANARY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("where", ["items", "target", "journal"])
@pytest.mark.parametrize(
    "held", [f"https://u:{CANARY}@h/x.json", f"https://h/x.json?{SAS}", f"https://h/x.json?{PRESIGNED}"]
)
def test_a_recipe_with_a_secret_is_refused_and_not_repeated(tmp_path: Path, where: str, held: str) -> None:
    world = World(tmp_path)
    world.add("S2_3", "2024-03-03T10:00:00Z", {"B04": 100})
    field = {"items": "source__items", "target": "target", "journal": "target"}[where]
    value: Any = {"url": str(tmp_path / "s"), "journal": held} if where == "journal" else held
    with pytest.raises(InputError, match="holds a") as caught:
        world.run(**{field: value})
    assert CANARY not in "".join(traceback.format_exception(caught.value))


SECRET_URLS = [f"http://u:{CANARY}@127.0.0.1:9/x", f"http://127.0.0.1:9/x?{SAS}", f"s3://AKIA:{CANARY}@bucket/x"]


@pytest.mark.parametrize("url", SECRET_URLS)
def test_the_url_of_a_store_with_a_secret_is_refused_and_not_repeated(url: str) -> None:
    asks: list[Callable[[], Any]] = [
        lambda: open_target(url),
        lambda: czd.open_store(url),
        lambda: czd.validate(url),
        lambda: czd.encode(make_cube(), url, **OPTIONS),
    ]
    for ask in asks:
        with pytest.raises(TargetError, match="holds a password, a token or a signature") as caught:
            ask()
        assert CANARY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "words",
    [
        ["encode", f"http://127.0.0.1:9/x.nc?{SAS}", "{}/s"],
        ["encode", f"http://u:{CANARY}@127.0.0.1:9/x.nc", "{}/s"],
        ["encode", "{}/a.nc", f"http://127.0.0.1:9/x?{SAS}"],
        ["encode", "{}/a.nc", "s3://b/x", "--storage-option", f"secret {CANARY}"],
        ["encode", "{}/a.nc", "s3://b/x", "--storage-option", f'client_kwargs={{"aws_secret_access_key": "{CANARY}"'],
        ["info", f"http://127.0.0.1:9/x?{SAS}"],
        ["validate", f"http://u:{CANARY}@127.0.0.1:9/x"],
        ["run", f"https://u:{CANARY}@127.0.0.1:9/recipe.yaml"],
    ],
)  # fmt: skip
def test_the_command_line_repeats_no_secret(tmp_path: Path, words: list[str]) -> None:
    netcdf(tmp_path / "a.nc", dataset()[["B04"]])
    done = invoke(*(word.replace("{}", str(tmp_path)) if word.startswith("{}") else word for word in words))
    assert done.exit_code in (1, 2)
    assert done.stderr
    assert CANARY not in re.sub(r"[\s│]", "", done.output + done.stderr)
    assert found_in(tmp_path) == []


def test_the_command_to_go_on_has_no_secret() -> None:
    from chronozarr_dask.cli.interrupt import command_line

    words = [
        "encode", f"https://u:{CANARY}@h/a.nc", f"https://h/b?v=2&{SAS}", f"--storage-option=secret={CANARY}",
        "--storage-option", f'client_kwargs={{"headers": {{"Authorization": "Bearer {CANARY}"}}}}',
    ]  # fmt: skip
    line = command_line(words, resume=True)
    assert CANARY not in line
    assert "https://h/b?v=2" in line


@pytest.mark.parametrize(
    "options",
    [
        {"key": "x"}, {"secret": "x"}, {"client_kwargs": {"aws_session_token": "x"}}, {"account_key": "x"},
        {"sas_token": "x"}, {"client_kwargs": {"headers": {"Authorization": "x"}}}, {"headers": {"Cookie": "x"}},
        {"auth": ["u", "x"]}, {"client_kwargs": {"endpoint_url": f"https://u:{CANARY}@h"}}, {"proxy": f"http://u:{CANARY}@h"},
    ],
)  # fmt: skip
def test_an_option_that_holds_a_secret_is_known(options: dict[str, Any]) -> None:
    assert secret_options(options)


def test_options_without_a_secret_are_none() -> None:
    assert (
        secret_options({"anon": True, "client_kwargs": {"endpoint_url": "http://h:9000"}, "requester_pays": True}) == []
    )


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("https://h/a?version=2", "https://h/a?version=2"),
        ("'https://h/a?v=2&token=x' failed", "'https://h/a?v=2&token=...' failed"),
        ("/vsicurl/https://h/a?sv=1&se=2&sig=x: no", "/vsicurl/https://h/a?sv=...&se=...&sig=... no"),
        ("abfs://box@account.dfs.core.windows.net/a", "abfs://box@account.dfs.core.windows.net/a"),
        ("sftp://me@h/a", "sftp://me@h/a"),
        ("s3://key:se/cr@et@b/a", "s3://key:se/cr@et@b/a"),
        ("cannot read https://h/my file.nc?v=1&sig=x: gone", "cannot read https://h/my file.nc?v=1&sig=... gone"),
        ("https://h/o'b.nc?v=1&sig=x", "https://h/o'b.nc?v=1&sig=..."),
        ('"https://h/<a>.nc?sig=x"', '"https://h/<a>.nc?sig=..."'),
        ("GET /a/b?X-Amz-Signature=x&v=1 HTTP/1.1", "GET /a/b?X-Amz-Signature=...&v=1 HTTP/1.1"),
        ("https://tok@h/x and git+https://tok@h/r.git@v1", "https://...@h/x and git+https://...@h/r.git@v1"),
        ("sftp://me:pw@h/a", "sftp://...@h/a"),
        ("https://h/a?auth_token=x&client_secret=y&v=1", "https://h/a?auth_token=...&client_secret=...&v=1"),
        ("https://h/a;jwt=x;v=1?sessionToken=y#access_token=z", "https://h/a;jwt=...;v=1?sessionToken=...#access_token=..."),
        ("https://h/a?v=1&amp;sig=x", "https://h/a?v=1&amp;sig=..."),
        ("https://h/a?url=https://g/b?sig=x&v=1", "https://h/a?url=https://g/b?sig=...&v=1"),
        (r'{"url": "https://h/a?v=1\u0026sig=x"}', r'{"url": "https://h/a?v=1\u0026sig=..."}'),
        ("https://h/a?sig=x?y;z&v=1", "https://h/a?sig=...&v=1"),
        ("('https://host:9000','me@x')", "('https://host:9000','me@x')"),
    ],
)  # fmt: skip
def test_what_is_cut_out_of_a_url(text: str, clean: str) -> None:
    assert redacted_urls(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "s3://bucket/a@b/key", "ghcr.io/o/image@sha256:0a1b", "docker://ghcr.io/o/image@sha256:0a1b", "a@b.org",
        "https://h/a@b.nc", "https://h/a?mail=a@b.org", "git+https://h/o/r.git@v1.0#egg=r", "git+ssh://git@h/o/r.git",
        r"C:\data\a;b=1.nc", "/data/year=2024;month=5/a.nc", "repo#12", "a & b", "key=value; token=none", "x?y",
        "https://h/a?tile=3&sp=4&sr=5", "gs://b/a#1714000000000000", "abfs://box@account.dfs.core.windows.net/a?v=1",
    ],
)  # fmt: skip
def test_what_holds_no_secret_stays(text: str) -> None:
    assert redacted_urls(text) == redacted_url(text) == text
    check_may_travel([text], {})


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        (f"https://h/my file.nc?v=1&sig={CANARY}", "https://h/my file.nc?v=1&sig=..."),
        (f"https://h/o'b.nc?sig={CANARY}", "https://h/o'b.nc?sig=..."),
        ("https://h/a.nc?sig=a b'c<d&v=1", "https://h/a.nc?sig=...&v=1"),
        ("https://tok@h/x", "https://...@h/x"),
        ("https://me:a b'c@h/x@y", "https://...@h/x@y"),
        ("s3://bucket[1]/a?X-Amz-Security-Token=x", "s3://bucket[1]/a?X-Amz-Security-Token=..."),
        ("/vsicurl/https://me:pw@h/x?token=y", "/vsicurl/https://...@h/x?token=..."),
        ("zip://a.nc::https://tok@h/x?sig=y", "zip://a.nc::https://...@h/x?sig=..."),
    ],
)  # fmt: skip
def test_a_single_url_is_judged_to_its_end(url: str, clean: str) -> None:
    assert redacted_url(url) == clean
    with pytest.raises(InputError, match="holds a password, a token or a signature") as caught:
        check_may_travel([url], {})
    assert clean in str(caught.value)
    assert CANARY not in str(caught.value)
    assert secret_options({"proxy": url}) == ["proxy"]


def test_a_path_holds_no_secret() -> None:
    assert redacted_url("/data/a?sig=b.nc") == "/data/a?sig=b.nc"


@pytest.mark.s3
@pytest.mark.cluster
def test_a_run_into_a_bucket_leaves_no_key(
    tmp_path: Path, s3_server: S3Server, s3_bucket: str, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    out, url = tmp_path / "out", f"s3://{s3_bucket}/s"
    out.mkdir()
    small = make_cube(n_time=2)[..., :32, :32]
    for name, value in (("ACCESS_KEY_ID", s3_server.key), ("SECRET_ACCESS_KEY", s3_server.secret)):
        monkeypatch.setenv(f"AWS_{name}", value)
    open_to_all = {"client_kwargs": {"endpoint_url": s3_server.endpoint}}
    caught: list[str] = []

    def told(run: Callable[[], Any]) -> None:
        try:
            run()
        except ChronozarrError as error:
            caught.append("".join(traceback.format_exception(error)))

    with logged(out / "here.log"):
        czd.encode(small, f"{url}-threads", storage_options=s3_server.storage_options, **OPTIONS)
        wrong = {**s3_server.storage_options, "secret": CANARY}
        told(lambda: czd.encode(small, f"{url}-wrong", storage_options=wrong, **OPTIONS))
        with (
            messages(out / "messages", monkeypatch),
            LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            client.register_plugin(LogToFile(str(out)))
            cube = small.chunk({"time": 1})
            czd.encode(cube, url, storage_options=open_to_all, client=client, **OPTIONS)
        monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)
        with Proxy(s3_server.endpoint) as proxy:  # the server knows no sessions, and the run ends with its refusal
            own = {"client_kwargs": {"endpoint_url": proxy.url}}
            told(lambda: czd.encode(small, f"{url}-session", storage_options=own, **OPTIONS))
    assert {asked.headers["x-amz-security-token"] for asked in proxy.requests} == {TOKEN}
    assert len(caught) == 2
    (out / "errors").write_text("\n".join(caught))
    (out / "said").write_text("".join(capfd.readouterr()))
    bucket = s3_server.client()
    for page in bucket.get_paginator("list_objects_v2").paginate(Bucket=s3_bucket):
        for entry in page.get("Contents", []):
            path = out / "bucket" / entry["Key"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(bucket.get_object(Bucket=s3_bucket, Key=entry["Key"])["Body"].read())
    assert len(list((out / "messages").iterdir())) > 20
    assert found_in(out, s3_server.secret, CANARY, TOKEN) == []
    assert os.environ["AWS_SECRET_ACCESS_KEY"] == s3_server.secret

"""Before any work: what is wrong with endpoint, credentials, rights or bucket is one clear error each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import chronozarr_dask as czd
from chronozarr_dask.errors import ChronozarrError, ConditionalCreateError, TargetError, TargetFullError
from chronozarr_dask.store.probe import probe
from chronozarr_dask.store.target import open_target
from tests.encode.test_resume import OPTIONS, make_cube
from tests.services import troubles
from tests.services.proxy import Proxy
from tests.services.seaweedfs import KEY, S3Server
from tests.services.troubles import Asked, Trouble

pytestmark = pytest.mark.s3


def test_six_requests_and_nothing_stays(proxy: Proxy, options: dict[str, Any], s3_bucket: str) -> None:
    place = open_target(f"s3://{s3_bucket}/s.run", options)
    probe(place)
    assert [(a.method, a.is_conditional) for a in proxy.requests] == [
        ("GET", False), ("PUT", False), ("GET", False), ("PUT", True), ("GET", False), ("DELETE", False),
    ], "a create that is refused looks at what is there"  # fmt: skip
    assert place.is_empty()
    proxy.calm()
    probe(place, conditional=False)
    assert [a.method for a in proxy.requests] == ["GET", "PUT", "GET", "DELETE"]


def test_a_probe_that_was_left_does_not_count(options: dict[str, Any], s3_bucket: str) -> None:
    place = open_target(f"s3://{s3_bucket}/s.run", options)
    place.put("zz-probe-0123", b"a run was killed")
    assert place.is_empty()
    place.put("claim.json", b"{}")
    assert not place.is_empty()


@pytest.mark.parametrize(
    ("trouble", "method", "message"),
    [
        (troubles.EXPIRED, "PUT", r"cannot be written, and nothing has been done yet: .*credentials have expired.*Exp"),
        (troubles.SKEWED, "PUT", r"cannot be written.*clock of this machine"),
        (troubles.REDIRECTED, "PUT", r"cannot be written.*another region.*AWS_REGION"),
        (Trouble("a key", status=403, code="InvalidAccessKeyId"), "PUT", r"cannot be written.*does not know the key"),
        (Trouble("read-only", status=403, code="AccessDenied"), "PUT", r"cannot be written.*may not do this"),
        (Trouble("write-only", status=403, code="AccessDenied"), "GET", r"cannot be read back: .*permission denied"),
        (Trouble("locked", status=403, code="AccessDenied"), "DELETE", r"nothing can be removed.*/zz-probe-.* stays"),
        (troubles.SLOW_DOWN, "PUT", r"cannot be written.*SlowDown.* in 6 tries"),
    ],
    ids=lambda value: value.name if isinstance(value, Trouble) else None,
)
def test_one_clear_error_each(
    trouble: Trouble, method: str, message: str, proxy: Proxy, options: dict[str, Any], s3_bucket: str
) -> None:
    def choose(asked: Asked) -> Trouble | None:
        is_plain = not asked.is_conditional and not asked.query.startswith("list-type")
        return trouble if asked.method == method and is_plain else None

    proxy.trouble = choose
    with pytest.raises(TargetError, match=message) as caught:
        probe(open_target(f"s3://{s3_bucket}/s.run", options))
    assert "\n" not in str(caught.value)


def test_a_store_that_takes_no_notice_of_the_condition(proxy: Proxy, options: dict[str, Any], s3_bucket: str) -> None:
    place = open_target(f"s3://{s3_bucket}/s.run", options)
    proxy.trouble = lambda asked: troubles.TAKEN if asked.is_conditional else None
    with pytest.raises(ConditionalCreateError, match=r"--no-claim.*written over another"):
        probe(place)
    assert place.is_empty()


def test_endpoints_that_are_none(tmp_path: Path, proxy: Proxy) -> None:
    nobody = {"key": "a", "secret": "b", "client_kwargs": {"endpoint_url": "http://127.0.0.1:1"}}
    with pytest.raises(TargetError, match=r"cannot be written.*127\.0\.0\.1:1.*in 6 tries.*check the address"):
        probe(open_target("s3://b/s.run", nobody))
    plain = {**nobody, "client_kwargs": {"endpoint_url": f"https://{proxy.host}"}}
    with pytest.raises(TargetFullError, match=r"cannot be written.*does not speak TLS; check the endpoint"):
        probe(open_target("s3://b/s.run", plain))


def test_a_folder_is_only_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = open_target(tmp_path / "a" / "s.run")
    probe(place)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr("os.access", lambda path, mode: path != str(tmp_path))
    with pytest.raises(TargetFullError, match="permission denied"):
        probe(place)


# ---- whole runs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "where", "message"),
    [
        ({"secret": "wrong-and-secret"}, None, r"permission denied.*the secret does not belong to it"),
        ({"key": "AKIDUNKNOWN"}, None, r"permission denied.*does not know the key"),
        ({"key": "reader", "secret": "readersecret"}, None, r"permission denied.*may not do this"),
        ({"anon": True, "key": None, "secret": None}, None, r"permission denied"),
        ({}, "no-such-bucket-here", r"no such bucket.*create it first"),
    ],
    ids=["wrong secret", "wrong key", "read-only", "anonymous", "no such bucket"],
)
@pytest.mark.parametrize("resume", [False, True], ids=["new", "resume"])
def test_a_run_stops_before_any_work(
    changed: dict[str, Any], where: str | None, message: str, resume: bool, s3_server: S3Server, s3_bucket: str
) -> None:  # fmt: skip
    read: list[str] = []
    cube = make_cube().chunk({"time": 1})
    cube = cube.copy(data=cube.data.map_blocks(lambda block: read.append("a block") or block, meta=cube.data._meta))
    options = {**s3_server.storage_options, **changed}
    with pytest.raises(TargetError, match=message) as caught:
        czd.encode(cube, f"s3://{where or s3_bucket}/s", storage_options=options, resume=resume, **OPTIONS)
    assert read == []
    assert not {"wrong-and-secret", s3_server.secret} & set(str(caught.value).split())
    listed = s3_server.client().list_objects_v2(Bucket=s3_bucket)
    assert listed.get("KeyCount", 0) == 0


def test_expired_credentials_in_the_middle_of_a_run(proxy: Proxy, options: dict[str, Any], s3_bucket: str) -> None:
    cube, url = make_cube(), f"s3://{s3_bucket}/s"
    proxy.trouble = lambda asked: troubles.EXPIRED if "/s/0/data" in asked.key else None
    with pytest.raises(ChronozarrError, match=r"credentials have expired; renew them, and go on with resume"):
        czd.encode(cube, url, storage_options=options, fail_fast=True, **OPTIONS)
    proxy.calm()
    assert czd.encode(cube, url, storage_options=options, resume=True, **OPTIONS).journal == f"{url}.run"
    assert KEY not in str(proxy.troubles)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"endpoint_url": "localhost:9000"}, "Invalid endpoint: localhost:9000"),
        ({"endpoint_url": "http://a", "client_kwargs": {"endpoint_url": "http://b"}}, "multiple values"),
        ({"client_kwargs": {"endpoint": "http://a"}}, "unexpected keyword argument 'endpoint'"),
        ({"client_kwargs": "http://a"}, "'str' object"),
        ({"config_kwargs": {"retry": 1}}, "'retry'"),
        ({"config_kwargs": "retry"}, "dictionary"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_options_that_s3_does_not_take(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(TargetError, match=rf"^s3://b/x: storage_options.*{told}.*endpoint_url is as in") as caught:
        open_target("s3://b/x", {"key": "k", "secret": "hush", **wrong}).get("key")
    assert "hush" not in str(caught.value)

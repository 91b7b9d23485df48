"""Names below a prefix and the removal of many objects: in a folder, in memory, in a bucket of a real S3 server."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from chronozarr_dask.errors import TargetError
from chronozarr_dask.store import below, retries
from chronozarr_dask.store.listing import delete_all, entries, names, remove_empty
from chronozarr_dask.store.target import Objects, open_target

KEYS = {"claim.json", "receipts/0/0-0-0", "receipts/0/0-1-0", "receipts/1/0-0-0", "receipts2/x"}


@pytest.fixture(params=["folder", "memory", pytest.param("s3", marks=pytest.mark.s3)])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Objects]:
    if request.param == "folder":
        yield open_target(tmp_path / "a run")
    elif request.param == "memory":
        yield open_target(f"memory://{uuid.uuid4().hex}/cube.run")
    else:
        server = request.getfixturevalue("s3_server")
        yield open_target(f"s3://{request.getfixturevalue('s3_bucket')}/cube.run", server.storage_options)


def test_names_are_keys_below_a_prefix(target: Objects) -> None:
    assert list(names(target)) == []
    for key in KEYS:
        target.put(key, b"x")
    assert sorted(names(target)) == sorted(KEYS)
    assert all(e.nbytes == 1 and abs((e.modified or 0) - time.time()) < 3600 for e in entries(target))
    assert sorted(names(target, "receipts")) == ["receipts/0/0-0-0", "receipts/0/0-1-0", "receipts/1/0-0-0"]
    assert sorted(names(target, "receipts/0")) == ["receipts/0/0-0-0", "receipts/0/0-1-0"]
    assert list(names(target, "handover")) == []


def test_only_what_is_named_is_removed(target: Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(below, "DELETED_AT_ONCE", 2)
    for key in KEYS:
        target.put(key, b"x")
    gone = {"claim.json", "receipts/0/0-0-0", "receipts/0/0-1-0", "not/there"}
    delete_all(target, gone)
    assert set(names(target)) == KEYS - gone
    delete_all(target, KEYS)
    assert list(names(target)) == []


@pytest.mark.s3
def test_names_come_in_pages(s3_server: object, s3_bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    target = open_target(f"s3://{s3_bucket}/many", s3_server.storage_options)  # type: ignore[attr-defined]
    fs = target._fs  # type: ignore[attr-defined]
    ask, pages = fs.call_s3, []

    def small(method: str, **how: object) -> object:
        if method == "list_objects_v2":
            pages.append(how)
            how["MaxKeys"] = 3
        return ask(method, **how)

    for i in range(8):
        target.put(f"a/{i}", b"")
    monkeypatch.setattr(fs, "call_s3", small)
    assert sorted(names(target, "a")) == [f"a/{i}" for i in range(8)]
    assert len(pages) == 3


def test_folders_that_are_empty_and_ones_own_go(tmp_path: Path) -> None:
    target = open_target(tmp_path / "store")
    target.put("0/data/c/0", b"x")
    target.put("0/mine.txt", b"x")
    (tmp_path / "store" / "1").mkdir()
    (tmp_path / "store" / "2" / "a").mkdir(parents=True)
    delete_all(target, ["0/data/c/0"])
    remove_empty(target, lambda path: path[0] in "01")
    assert sorted(p.name for p in (tmp_path / "store").rglob("*")) == ["0", "2", "a", "mine.txt"]
    (tmp_path / "store" / "2" / "a").rmdir()
    delete_all(target, ["0/mine.txt"])
    remove_empty(target, lambda path: True, root=False)
    assert list((tmp_path / "store").iterdir()) == []
    remove_empty(target, lambda path: True)
    assert not (tmp_path / "store").exists()
    remove_empty(target, lambda path: True)


@pytest.mark.s3
def test_what_a_bucket_keeps_is_told(s3_server: object, s3_bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    target = open_target(f"s3://{s3_bucket}/s", s3_server.storage_options)  # type: ignore[attr-defined]
    refusal = {"Errors": [{"Key": "s/a", "Code": "AccessDenied", "Message": "locked"}]}
    monkeypatch.setattr(target._fs, "call_s3", lambda *_, **__: refusal)  # type: ignore[attr-defined]
    with pytest.raises(TargetError, match=r"1 of 2 objects were not removed, the first is s/a: AccessDenied locked"):
        delete_all(target, ["a", "b"])


def test_a_folder_that_cannot_be_listed_is_not_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """fsspec's walk would leave it out: then what is left of a run looked done, or clean."""
    monkeypatch.setattr(retries, "pause", lambda *_: 0.0)
    target = open_target(f"memory://{uuid.uuid4().hex}/cube.run")
    for key in KEYS:
        target.put(key, b"x")
    ls, asked = MemoryFileSystem.ls, []

    def refuse(self: Any, path: str, **how: Any) -> Any:
        asked.append(path)
        if path.endswith("/receipts/0") and len(asked) < limit:
            raise OSError(5, "the connection was lost")
        return ls(self, path, **how)

    monkeypatch.setattr(MemoryFileSystem, "ls", refuse)
    limit = 10**6
    with pytest.raises(TargetError, match="connection was lost"):
        list(names(target))
    limit = 0
    assert sorted(names(target)) == sorted(KEYS)

"""A folder, a bucket in memory, a real S3 server: keys to bytes, and what a folder says when it refuses."""

import errno
import os
import pickle
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from chronozarr_dask.errors import ConditionalCreateError, TargetError
from chronozarr_dask.store import renames
from chronozarr_dask.store.listing import delete_all, names
from chronozarr_dask.store.target import Folder, Objects, open_target

KEY = "0/data/c/0/0/0/0"


@pytest.fixture(params=["folder", "memory", pytest.param("s3", marks=pytest.mark.s3)])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Objects]:
    """An empty target of each kind."""
    if request.param == "folder":
        yield open_target(tmp_path / "a store")
    elif request.param == "memory":
        name = uuid.uuid4().hex
        yield open_target(f"memory://{name}/cube")
        fs = fsspec.filesystem("memory")
        if fs.exists(f"/{name}"):
            fs.rm(f"/{name}", recursive=True)
    else:
        server = request.getfixturevalue("s3_server")
        yield open_target(f"s3://{request.getfixturevalue('s3_bucket')}/cube", server.storage_options)


# ---- what every target does ------------------------------------------------------------------------------------------


def test_what_is_put_is_got(target: Objects):
    target.put(KEY, b"0123456789")
    assert target.get(KEY) == b"0123456789"
    assert target.size(KEY) == 10
    target.put(KEY, b"shorter")
    assert target.get(KEY) == b"shorter"
    assert target.size(KEY) == 7
    target.put("empty", b"")
    assert (target.get("empty"), target.size("empty")) == (b"", 0)


def test_what_is_absent_is_none(target: Objects):
    for _ in range(2):
        assert target.get(KEY) is None
        assert target.size(KEY) is None
        assert target.get_range(KEY, 0, 4) is None
        assert target.tail(KEY, 4) is None
        target.put("0/data/zarr.json", b"{}")  # a neighbour changes nothing


def test_ranges(target: Objects):
    target.put(KEY, b"0123456789")
    assert target.get_range(KEY, 0, 3) == b"012"
    assert target.get_range(KEY, 8, 20) == b"89"
    assert target.get_range(KEY, 10, 20) == b""
    assert target.get_range(KEY, 30, 40) == b""
    assert target.tail(KEY, 3) == (b"789", 10)
    assert target.tail(KEY, 30) == (b"0123456789", 10)


def test_only_the_first_creates(target: Objects):
    assert target.create(KEY, b"first") is True
    assert target.create(KEY, b"second") is False
    assert target.get(KEY) == b"first"
    target.delete(KEY)
    assert target.create(KEY, b"third") is True


def test_deleting_twice_is_deleting(target: Objects):
    target.put(KEY, b"x")
    target.put("zarr.json", b"{}")
    target.delete(KEY)
    target.delete(KEY)
    assert target.get(KEY) is None
    assert target.get("zarr.json") == b"{}"


def test_empty_is_empty(target: Objects):
    assert target.is_empty()
    target.child("neighbour").put("k", b"x")
    assert not target.is_empty()
    assert target.child("other").is_empty()


def test_what_is_below_a_prefix_is_deleted(target: Objects):
    for key in ("staging/a/0", "staging/b", "staging2/c", "d"):
        target.put(key, b"x")
    target.delete_prefix("staging")
    target.delete_prefix("staging")
    kept = [key for key in ("staging/a/0", "staging/b", "staging2/c", "d") if target.get(key) is not None]
    assert kept == ["staging2/c", "d"]


def named_like(target: Objects, name: str) -> Objects:
    """The place `name` beside a target."""
    return type(target)(**{**vars(target), next(iter(vars(target))): target.url.rpartition("/")[0] + "/" + name})


@pytest.mark.parametrize("name", ["cube[1]", "cube*", "cube?", "c[a-z]be**", "cube{1,2}"])
def test_a_name_is_no_pattern(name: str, target: Objects):
    place, others = named_like(target, name), [named_like(target, other) for other in ("cube1", "cubes", "cube2")]
    for objects in (place, *others):
        for key in ("staging/a/0", "staging/b*", "d"):
            objects.put(key, objects.url.encode())
    assert not place.create("d", b"other")
    assert place.get("staging/b*") == place.url.encode()
    assert place.get_range("d", 0, 2) == place.url.encode()[:2]
    assert place.tail("d", 2) == (place.url.encode()[-2:], len(place.url))
    assert place.size("d") == len(place.url)
    assert sorted(names(place)) == ["d", "staging/a/0", "staging/b*"]
    place.delete_prefix("staging")
    assert list(names(place)) == ["d"]
    delete_all(place, ["d"])
    assert place.is_empty()
    assert all(sorted(names(other)) == ["d", "staging/a/0", "staging/b*"] for other in others)


def test_a_neighbour_whose_name_begins_alike_is_not_inside(target: Objects):
    neighbour = type(target)(**{**vars(target), next(iter(vars(target))): target.url + ".run"})
    neighbour.put("claim.json", b"{}")
    assert target.is_empty()
    assert target.get("claim.json") is None
    neighbour.delete("claim.json")


def test_a_child_is_a_prefix(target: Objects):
    target.child("receipts").child("0").put("r", b"x")
    assert target.get("receipts/0/r") == b"x"
    assert target.child("receipts").url == f"{target.url}/receipts"


def test_a_target_travels(target: Objects):
    target.put(KEY, b"x")
    again = pickle.loads(pickle.dumps(target))
    assert again == target
    assert hash(again) == hash(target)
    assert again.get(KEY) == b"x"


def test_threads_share_a_target(target: Objects):
    def put(i: int) -> None:
        target.put(f"{i % 3}/{i}", bytes([i]))

    threads = [threading.Thread(target=put, args=(i,)) for i in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [target.get(f"{i % 3}/{i}") for i in range(24)] == [bytes([i]) for i in range(24)]


def test_one_of_many_threads_creates(target: Objects):
    won: list[int] = []
    gate = threading.Barrier(6)

    def create(i: int) -> None:
        gate.wait()
        if target.create("claim.json", bytes([i])):
            won.append(i)

    threads = [threading.Thread(target=create, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert target.get("claim.json") == bytes(won)


# ---- a folder --------------------------------------------------------------------------------------------------------


def test_paths_and_file_urls_are_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    expected = Folder(str(tmp_path / "cube"))
    for text in ("cube", "./cube/", "~/cube", f"file://{tmp_path}/cube", tmp_path / "cube"):
        assert open_target(text) == expected


def test_a_folder_takes_no_storage_options(tmp_path: Path):
    with pytest.raises(TargetError, match="storage_options are for remote URLs"):
        open_target(tmp_path, {"key": "x"})


@pytest.mark.parametrize("nameless", [True, False])
def test_creating_leaves_nothing_else_behind(nameless: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    if not nameless:  # as on a system, or a file system, without files that have no name yet
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    folder = Folder(str(tmp_path))
    assert folder.create("claim.json", b"1")
    assert not folder.create("claim.json", b"2")
    assert folder.get("claim.json") == b"1"
    assert os.listdir(tmp_path) == ["claim.json"]


@pytest.mark.parametrize("nameless", [True, False])
def test_an_object_is_whole_whoever_stores_it_again_meanwhile(
    nameless: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A worker whose run was killed works on for a while, and stores what the resumed run has stored and reads."""
    if not nameless:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    folder, both = Folder(str(tmp_path)), (b"x" * 200_000, b"y" * 150_000)
    folder.put("0/k", both[0])
    stop = threading.Event()

    def again() -> None:
        while not stop.is_set():
            for data in both:
                folder.put("0/k", data)

    writer = threading.Thread(target=again)
    writer.start()
    try:
        found = {folder.get("0/k") for _ in range(300)}
    finally:
        stop.set()
        writer.join()
    assert found <= {*both}
    assert os.listdir(tmp_path / "0") == ["k"]


@pytest.fixture(params=[errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def _no_links(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on exFAT, and on some FUSE and SMB mounts."""
    monkeypatch.setattr(os, "link", refuse(request.param))


@pytest.mark.usefixtures("_no_links")
@pytest.mark.parametrize("nameless", [True, False])
def test_without_hard_links_the_first_creates(nameless: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    if not nameless:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    folder = Folder(str(tmp_path))
    assert folder.create("0/claim.json", b"1")
    assert not folder.create("0/claim.json", b"2")
    folder.put("0/k", b"first")
    folder.put("0/k", b"second")
    assert (folder.get("0/claim.json"), folder.get("0/k")) == (b"1", b"second")
    assert sorted(os.listdir(tmp_path / "0")) == ["claim.json", "k"]


@pytest.mark.usefixtures("_no_links")
def test_without_hard_links_one_of_many_creates(tmp_path: Path):
    target = Folder(str(tmp_path))
    for i in range(20):
        test_one_of_many_threads_creates(target.child(str(i)))


@pytest.mark.usefixtures("_no_links")
def test_without_a_way_to_create_the_claim_is_refused_and_all_else_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(renames, "_renamed", lambda *_: errno.EINVAL)
    folder = Folder(str(tmp_path))
    with pytest.raises(ConditionalCreateError, match=r"claim\.json: .*neither hard links nor .*--no-claim"):
        folder.create("claim.json", b"1")
    assert os.listdir(tmp_path) == []
    folder.put("0/k", b"first")
    folder.put("0/k", b"second")
    assert folder.get("0/k") == b"second"
    assert os.listdir(tmp_path / "0") == ["k"]


def test_what_a_rename_is_refused_for_is_told(tmp_path: Path):
    for name in "ab":
        (tmp_path / name).write_text(name)
    with pytest.raises(FileExistsError):
        renames.rename_new(str(tmp_path / "a"), str(tmp_path / "b"))
    with pytest.raises(FileNotFoundError):
        renames.rename_new(str(tmp_path / "a"), str(tmp_path / "0" / "b"))
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_what_is_stored_twice_is_not_written_twice(tmp_path: Path):
    folder = Folder(str(tmp_path))
    folder.put("k", b"same")
    before = os.stat(tmp_path / "k")
    folder.put("k", memoryview(b"same"))
    assert os.stat(tmp_path / "k").st_ino == before.st_ino
    folder.put("k", b"other")
    assert folder.get("k") == b"other"


def test_an_empty_folder_is_empty(tmp_path: Path):
    assert Folder(str(tmp_path)).is_empty()


@pytest.mark.parametrize("inner", [".", "cube", "far/away/cube"])
@pytest.mark.parametrize("key", ["claim.json", "0/data/zarr.json"])
def test_a_file_in_place_of_a_folder(inner: str, key: str, tmp_path: Path):
    (tmp_path / "file").write_text("x")
    folder = open_target(tmp_path / "file" / inner)
    assert folder.get("zarr.json") is folder.size("zarr.json") is None
    for attempt in (lambda: folder.put(key, b"x"), lambda: folder.create(key, b"x"), folder.is_empty):
        with pytest.raises(TargetError, match=f"^{tmp_path}/file is a file, and the path of a store .* name another"):
            attempt()
    assert (tmp_path / "file").read_text() == "x"


def test_a_link_to_nowhere_in_place_of_a_folder(tmp_path: Path):
    (tmp_path / "cube").symlink_to(tmp_path / "gone")
    folder = Folder(str(tmp_path / "cube"))
    for attempt in (lambda: folder.put("a", b"x"), lambda: folder.create("a", b"x")):
        with pytest.raises(TargetError, match=f"^{tmp_path}/cube is a link to nowhere"):
            attempt()


def test_a_folder_in_place_of_an_object(tmp_path: Path):
    (tmp_path / "zarr.json").mkdir()
    with pytest.raises(TargetError, match=r"zarr\.json"):
        Folder(str(tmp_path)).get("zarr.json")


def refuse(number: int) -> Any:
    """A function that fails as the operating system would."""

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "no space left; make room, then go on with resume"),
        (errno.EDQUOT, "no space left"),
        (errno.EACCES, "permission denied"),
        (errno.EIO, "error"),
    ],
)
def test_what_the_system_refuses_is_explained(
    number: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = Folder(str(tmp_path))
    monkeypatch.setattr(os, "link", refuse(number))
    monkeypatch.setattr(Path, "read_bytes", refuse(number))
    for attempt in (lambda: folder.create("0/k", b"x"), lambda: folder.put("0/k", b"x"), lambda: folder.get("0/k")):
        with pytest.raises(TargetError, match=rf"0/k: .*{message}"):
            attempt()
    assert list(tmp_path.rglob("*.part")) == []


def test_no_permission(tmp_path: Path):
    folder = Folder(str(tmp_path / "closed"))
    folder.put("k", b"x")
    (tmp_path / "closed").chmod(0o500)
    root = os.geteuid() == 0  # who may do everything, unless root is somebody else for a moment
    try:
        if root:
            os.seteuid(65534)
        for attempt in (lambda: folder.put("l", b"x"), lambda: folder.create("l", b"x")):
            with pytest.raises(TargetError, match=r"permission denied.*check the rights of this user") as caught:
                attempt()
            assert "bucket" not in str(caught.value)
    finally:
        if root:
            os.seteuid(0)

"""`make demo`: that its truth knows nothing of the package, that it ends well, and that it fails where it should."""

from __future__ import annotations

import ast
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
import requests

from scripts.demo import plot
from scripts.demo.__main__ import MARK, SMALL, own_folder
from scripts.demo.processes import DemoError, stac_server, web_server
from scripts.demo.scenes import write_catalogue
from scripts.demo.world import _median

TOP = Path(__file__).resolve().parents[1]
DEMO = TOP / "scripts" / "demo"


def imports(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            assert node.module is not None
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Name | ast.Attribute):  # nor by another way
            assert (node.id if isinstance(node, ast.Name) else node.attr) not in ("__import__", "import_module")
    return found


def closure(file: Path) -> set[str]:
    """Everything outside of the demo that a module and those that it imports import."""
    todo, done, outside = [file], set(), set()
    while todo:
        file = todo.pop()
        done.add(file)
        for name in imports(file):
            inner = re.match(r"scripts\.demo\.(\w+)", name)
            if inner is None:
                outside.add(name)
            elif (path := DEMO / f"{inner[1]}.py") not in done:
                todo.append(path)
    return outside


@pytest.mark.parametrize("module", ["world", "scenes"])
def test_the_truth_and_the_scenes_know_nothing_of_the_package(module):
    tops = {name.split(".")[0] for name in closure(DEMO / f"{module}.py")} - set(sys.stdlib_module_names)
    assert tops <= {"numpy", "pyproj", "rasterio"}
    assert {n.split(".")[0] for n in closure(DEMO / "compare.py")} >= {
        "chronozarr_dask"
    }  # the scan finds what is there


def test_the_median_is_cut_to_a_whole_number():
    values = np.array([1500, 1503, 9, 65535], np.uint16).reshape(4, 1, 1, 1)
    for seen, expected in (
        ((1, 1, 0, 0), 1501),
        ((1, 0, 1, 0), 754),
        ((1, 1, 1, 1), 1501),
        ((0, 0, 1, 0), 9),
        ((0,) * 4, 0),
    ):
        assert _median(values, np.array(seen, bool).reshape(4, 1, 1)).item() == expected


# ---- end to end ------------------------------------------------------------------------------------------------------


def command(folder: Path) -> list[str]:
    return [sys.executable, "-m", "scripts.demo", "--small", "--folder", str(folder)]


def children(process: subprocess.Popen[bytes]) -> dict[int, psutil.Process]:
    try:
        return {p.pid: p for p in psutil.Process(process.pid).children(recursive=True)}
    except psutil.NoSuchProcess:
        return {}


def assert_ended(processes: dict[int, psutil.Process], within: float = 60) -> None:
    _, alive = psutil.wait_procs(list(processes.values()), within)
    assert [p for p in alive if p.is_running() and p.status() != psutil.STATUS_ZOMBIE] == []


def drain(terminal: int, parts: list[bytes]) -> None:
    while True:
        try:
            parts.append(os.read(terminal, 65536))
        except OSError:  # the other end is closed
            return


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A small demo in a folder whose name has a space, on a terminal of 80 columns: folder, text, processes seen."""
    folder = tmp_path_factory.mktemp("demo") / "de mo"
    seen: dict[int, psutil.Process] = {}
    parts: list[bytes] = []
    ours, theirs = pty.openpty()
    environment = os.environ | {"COLUMNS": "80", "TERM": "xterm", "PYTHONIOENCODING": "utf-8"}
    process = subprocess.Popen(command(folder), cwd=TOP, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    reader = threading.Thread(target=drain, args=(ours, parts))
    reader.start()
    while process.poll() is None:
        seen |= children(process)
        time.sleep(0.05)
    reader.join(10)
    os.close(ours)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", b"".join(parts).decode())
    assert process.returncode == 0, text
    return folder, text, seen


@pytest.mark.cluster
@pytest.mark.slow
def test_it_shows_the_whole_job(shown):
    folder, text, _ = shown
    lines = [line.rstrip() for line in re.split(r"[\r\n]+", text)]
    for part in (
        "== A world of 4 months", "== chronozarr-dask run ", "search  ━", "stage   ━", "commit  ━",
        "1 dropped, no observation in 2021-08", "== chronozarr-dask validate --deep ", "conforms to chronozarr v0.2",
        "4 months x 4 bands x 250 x 474 pixels, all equal", "coverage: 474,000 counts, all equal",
        "empty in the store too: 2021-08", "import chronozarr_dask as czd",
    ):  # fmt: skip
        assert part in text
    assert any(re.fullmatch(r" +1\.00 │.*", line) for line in lines)
    values = next(line for line in lines if re.match(r" +NDVI +\d", line)).split()
    assert values[2] == "none"
    assert all(0 < float(v) <= 1 for i, v in enumerate(values[1:]) if i != 1)
    for name in ("truth.npz", "recipe.yaml", "store.czarr/zarr.json", "store.czarr.run/report.json"):
        assert (folder / name).is_file()


@pytest.mark.cluster
@pytest.mark.slow
def test_nothing_is_left_running(shown):
    _, _, seen = shown
    assert len(seen) >= 5  # two servers, the program, two workers
    assert_ended(seen)


@pytest.mark.cluster
@pytest.mark.slow
def test_a_truth_that_was_tampered_with_fails(shown, tmp_path):
    folder, _, _ = shown
    with np.load(folder / "truth.npz") as truth:
        fields = dict(truth)
    command = [sys.executable, "-m", "scripts.demo.compare", str(folder / "store.czarr")]
    for name, at in (("data", (2, 1, 17, 300)), ("coverage", (0, 200, 3))):
        wrong = fields[name].copy()
        wrong[at] += 1
        np.savez(tmp_path / "truth.npz", **{**fields, name: wrong})
        done = subprocess.run([*command, str(tmp_path / "truth.npz")], cwd=TOP, capture_output=True, text=True)
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert f"in 1 of {wrong[at[0]].size:,} numbers of {fields['months'][at[0]]}" in done.stderr
        assert f"at row {at[-2]}, column {at[-1]}" in done.stderr
    done = subprocess.run([*command, str(folder / "truth.npz")], cwd=TOP, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_it_ends_its_servers_end_too(tmp_path, signum):
    program = f"""
import pathlib, signal, sys, time
from scripts.demo.__main__ import SMALL, own_folder
from scripts.demo.processes import stac_server, web_server
from scripts.demo.scenes import write_catalogue
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
signal.signal(signal.SIGINT, signal.default_int_handler)
folder = pathlib.Path({str(tmp_path)!r})
with web_server(folder) as files:
    write_catalogue(SMALL, folder, files)
    with stac_server(folder) as api:
        print("ready", flush=True)
        time.sleep(60)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as p:
        assert p.stdout is not None
        assert p.stdout.readline() == b"ready\n"
        seen = children(p)
        assert len(seen) == 2
        p.send_signal(signum)
        p.wait(50)
    assert p.returncode != 0
    assert_ended(seen)


# ---- its parts -------------------------------------------------------------------------------------------------------


def test_the_servers(tmp_path):
    (tmp_path / "scenes").mkdir()
    (tmp_path / "scenes" / "a b").write_bytes(bytes(range(100)))
    with web_server(tmp_path / "scenes") as files:
        write_catalogue(SMALL, tmp_path, files)
        for asked, status, part in (
            (None, 200, range(100)), ("bytes=3-5", 206, range(3, 6)), ("bytes=95-", 206, range(95, 100)),
            ("bytes=-7", 206, range(93, 100)), ("bytes=90-300", 206, range(90, 100)),
        ):  # fmt: skip
            answer = requests.get(f"{files}/a%20b", headers={"Range": asked} if asked else {}, timeout=10)
            assert (answer.status_code, answer.content) == (status, bytes(part))
        assert requests.get(f"{files}/a%20b", headers={"Range": "bytes=100-"}, timeout=10).status_code == 416
        assert requests.get(f"{files}/../items.json", timeout=10).status_code == 404
        assert requests.get(f"{files}/%2e%2e/items.json", timeout=10).status_code == 404
        with stac_server(tmp_path) as api:
            query = {"collections": ["sentinel-2-l2a"], "bbox": SMALL.area, "limit": 5}
            found, url = set(), f"{api}/search"
            while url is not None:  # page by page, as the server's links say
                page = requests.post(url, json=query, timeout=10).json()
                assert len(page["features"]) <= 5
                assert not found & {f["id"] for f in page["features"]}
                found |= {f["id"] for f in page["features"]}
                following = next((link for link in page["links"] if link["rel"] == "next"), None)
                url, query = (following["href"], following["body"]) if following else (None, query)
            assert found == {scene.id for scene in SMALL.scenes}


def test_only_its_own_folder_is_emptied(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(DemoError, match="was not made by make demo"), own_folder(tmp_path / "mine"):
        pass
    assert (tmp_path / "mine" / "thesis.txt").is_file()
    with own_folder(tmp_path / "new") as folder:
        (folder / "scenes").mkdir()
        (folder / "truth.npz").write_bytes(b"")
        (folder / "out").symlink_to(tmp_path / "mine")
        with pytest.raises(DemoError, match="another demo is at work"), own_folder(tmp_path / "new"):
            pass
        assert (folder / "truth.npz").is_file()
    with own_folder(tmp_path / "new") as folder:
        assert [p.name for p in folder.iterdir()] == [MARK]
    assert (tmp_path / "mine" / "thesis.txt").is_file()


@pytest.mark.parametrize("ascii_only", [False, True])
def test_the_plot(ascii_only):
    months = [f"2021-{m:02d}" for m in range(1, 13)]
    values = [0.0, 0.5, None, *[1.0] * 9]
    lines = plot.plot_series(months, values, [1, 2, 0, *[3] * 9], ascii_only=ascii_only)
    assert max(map(len, lines)) <= 77
    full = "#" if ascii_only else "█"
    assert [line.count(full * 3) for line in lines[:8]] == [9, 9, 9, 9, 10, 10, 10, 10]
    assert lines[7].split()[1:3] == [full * 3, "X"]
    assert "X" not in "".join(lines[:7])
    assert lines[9].split()[:5] == ["NDVI", "0.00", "0.50", "none", "1.00"]
    assert "".join(lines).isascii() == ascii_only

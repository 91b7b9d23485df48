"""The program as a process: signals, exit codes, what a terminal sees and a pipe does not."""

import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

import chronozarr_dask
from chronozarr_dask.cli import goingon, interrupt
from chronozarr_dask.cli.interrupt import command_line
from chronozarr_dask.errors import TargetError
from chronozarr_dask.store.folder import Folder
from tests.cli.sources import dataset, objects, run, start, without_progress, zarr

OPTIONS = ("--chunk-size", "32", "--mask", "valid", "--region-cells", "2", "--time-slab", "6")
HEAVY = {"dask", "distributed", "numba", "xarray", "zarr"}


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A source of some hundred regions."""
    return zarr(tmp_path_factory.mktemp("big") / "big.zarr", dataset(18, 384, 384))


@pytest.fixture(scope="module")
def whole(big: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The objects of an encode that nothing interrupted."""
    target = tmp_path_factory.mktemp("whole") / "out.cz"
    code, out, err = run("encode", big, str(target), *OPTIONS)
    assert (code, err) == (0, "")
    assert "Open it in Python" in out
    assert "\x1b" not in out
    return objects(target)


def wait_until(true: Callable[[], Any], process: "subprocess.Popen[str]", seconds: float = 200) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert process.poll() is None, f"the program ended first: {process.communicate()}"
        assert time.monotonic() < end
        time.sleep(0.01)


def receipts(target: Path) -> int:
    folder = target.with_name(f"{target.name}.run") / "receipts"
    return sum(1 for p in folder.rglob("*") if p.is_file())


def interrupted(big: str, target: Path, signals: list[int]) -> tuple[int, str, str, int]:
    """Start an encode, send the signals after its third receipt; exit code, output, and receipts that were left."""
    process = start("encode", big, str(target), *OPTIONS)
    wait_until(lambda: receipts(target) >= 3, process)
    assert process.poll() is None
    process.send_signal(signals[0])
    for signum in signals[1:]:
        time.sleep(0.1)  # so that the first is met: two that wait are one
        process.send_signal(signum)  # to a process that has ended meanwhile: nothing happens
    out, err = process.communicate(timeout=100)
    return process.returncode, out, without_progress(err), receipts(target)


@pytest.mark.parametrize(
    "signals",
    [[signal.SIGINT], [signal.SIGTERM], [signal.SIGINT, signal.SIGINT]],
    ids=["Ctrl-C", "SIGTERM", "Ctrl-C twice"],
)
def test_an_interrupted_run_goes_on_with_the_command_that_it_prints(
    big: str, whole: dict[str, str], tmp_path: Path, signals: list[int]
) -> None:
    target = tmp_path / "a folder" / "out.cz"
    target.parent.mkdir()
    code, out, err, n_left = interrupted(big, target, signals)
    assert code == 1
    assert out == ""
    assert "Traceback" not in err
    lines = err.splitlines()
    assert lines[0] == "stopping after what is in flight; again to stop at once"
    assert lines[1] == f"interrupted: what is finished is kept in {target}.run. Go on with:"
    words = shlex.split(lines[2])
    assert words == ["chronozarr-dask", "encode", big, str(target), *OPTIONS, "--resume"]
    assert not (target / "zarr.json").exists()
    code, out, err = run(*words[1:])
    assert (code, err) == (0, "")
    found = re.search(r"in (\d+) regions, (\d+) of them from the run before", out)
    assert found is not None
    assert 3 <= int(found[2]) <= n_left < int(found[1])
    assert len(signals) > 1 or int(found[2]) == n_left, "only what stops at once may leave a receipt that is torn"
    assert objects(target) == whole


def test_signals_after_the_last_word_change_no_exit_code(big: str, tmp_path: Path) -> None:
    """While the program ends: the interpreter that is being taken down must not end by the signal."""
    process = start("encode", big, str(tmp_path / "out.cz"), *OPTIONS)
    wait_until(lambda: receipts(tmp_path / "out.cz") >= 1, process)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    while "--resume" not in (line := process.stderr.readline()):
        assert line, "it ended without its last word"
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.001)
    _, err = process.communicate(timeout=100)
    assert (process.returncode, err) == (1, "")


def test_interrupted_before_anything_is_stored(big: str, tmp_path: Path) -> None:
    """While the libraries are imported, or the plan is made: begin again."""
    process = start("encode", big, str(tmp_path / "out.cz"), *OPTIONS, env=os.environ | {"PYTHONVERBOSE": "1"})
    assert process.stderr is not None
    for line in process.stderr:
        if "import 'dask.array'" in line:
            break
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=100)
    assert process.returncode == 1
    assert "Traceback" not in err
    again = f"chronozarr-dask encode {big} {tmp_path / 'out.cz'} {' '.join(OPTIONS)}"
    assert f"interrupted: nothing was stored yet. Begin again with:\n{again}\n" in err
    assert not (tmp_path / "out.cz.run").exists()


def test_one_more_signal_ends_what_does_not_come_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a journal in a bucket that does not answer; but not while the second signal has its short time."""

    def leave(code: int) -> NoReturn:
        raise SystemExit(code)

    monkeypatch.setattr(os, "_exit", leave)
    signals = interrupt.Interrupts(lambda: None)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            signals(signal.SIGINT, None)
    signals(signal.SIGINT, None)
    monkeypatch.setattr(interrupt, "DEAF_SECONDS", 0.0)
    with pytest.raises(SystemExit, match="1"):
        signals(signal.SIGINT, None)


def test_how_to_go_on_is_told_where_the_journal_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(self: Folder, key: str) -> None:
        raise TargetError(f"{key}: credentials have expired")

    monkeypatch.setattr(Folder, "get", refuse)
    monkeypatch.setattr(sys, "argv", ["chronozarr-dask", "encode", "a.nc", "s"])
    goingon._tell(str(tmp_path / "s"), {}, None)
    told = " ".join(capfd.readouterr().err.split())
    assert "does not answer now (claim.json: credentials have expired). Go on with:" in told
    assert told.endswith("chronozarr-dask encode a.nc s --resume")


def test_the_command_to_type_leaves_out_secrets() -> None:
    given = ["encode", "a b.nc", "s3://x/y", "--storage-option", "key=K", "--storage-option=secret=S", "--quiet"]
    given += ["--storage-option", "anon=false"]
    assert command_line(given, resume=True) == (
        "chronozarr-dask encode 'a b.nc' s3://x/y --storage-option key=... --storage-option=secret=... --quiet "
        "--storage-option anon=false --resume"
    )
    assert command_line(["encode", "a", "b", "--resume"], resume=True) == "chronozarr-dask encode a b --resume"


def test_bars_are_for_terminals(big: str, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = start(
        "encode", big, str(tmp_path / "out.cz"), *OPTIONS,
        stderr=theirs, env=os.environ | {"TERM": "xterm", "COLUMNS": "80"},
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    try:
        while block := os.read(ours, 65536):
            seen += block
    except OSError:  # the other end was closed
        pass
    os.close(ours)
    out, _ = process.communicate(timeout=100)
    assert process.returncode == 0
    assert "\x1b" not in out
    text = seen.decode()
    for stage in ("plan", "select", "run", "commit"):
        assert stage in text
    assert re.search(r"\d+/\d+ [\d.]+ [kM]B", text)
    assert "left" in text


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--version"], 0),
        (["--help"], 0),
        (["encode", "--help"], 0),
        (["info", "nowhere"], 1),
        (["validate", "nowhere"], 1),
        (["encode", "nowhere.nc", "out.cz"], 1),
        (["encode", "nowhere.nc"], 2),
        (["encode", "nowhere.nc", "out.cz", "--chunk-size", "63"], 2),
        (["no-such-command"], 2),
    ],
)
def test_exit_codes_and_no_traceback(arguments: list[str], code: int) -> None:
    found, out, err = run(*arguments)
    assert found == code
    assert "Traceback" not in out + err
    assert (err == "") == (code == 0 or arguments[0] == "validate")


def test_version() -> None:
    assert run("--version")[1] == f"chronozarr-dask {chronozarr_dask.__version__}\n"


def test_import_is_quick() -> None:
    """What encodes and reads is imported when a command needs it."""
    code = "import sys, chronozarr_dask.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert HEAVY.isdisjoint(loaded), sorted(HEAVY.intersection(loaded))


def test_threads_of_one_process_need_no_cluster(tmp_path: Path) -> None:
    """Dask's schedulers are named by themselves: looked up by a name, they would import distributed first."""
    source = zarr(tmp_path / "small.zarr", dataset(7, 48, 48)[["B04", "B08"]])
    code = f"""
import sys
import chronozarr_dask as czd
from chronozarr_dask.source.files import open_source
czd.encode(open_source({source!r}), {str(tmp_path / "out.cz")!r}, chunk_size=32, encoding="none")
print(*sys.modules)
"""
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "dask" in loaded
    assert "distributed" not in loaded

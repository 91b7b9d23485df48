"""What a command shows while it works: on a terminal of 80 and of 60 columns, and in a log."""

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from chronozarr_dask.cli import progress as shown
from chronozarr_dask.cli.progress import Bars
from chronozarr_dask.run.progress import Step
from tests.cli.sources import RUN, dataset, netcdf

STEP = Step("run", 1200, 15_000, 5 * 10**9, 10**9, 16, 12, 1, 3, "http://127.0.0.1:8787/status")
STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d "


class Clock:
    """The monotonic clock, as it is set."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.mark.parametrize("width", [80, 60])
def test_a_terminal_shows_what_goes_on(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(shown, "time", clock)
    monkeypatch.setattr(shown, "Console", lambda **_: Console(width=width, height=20, file=io.StringIO()))
    bars = Bars(quiet=False, first="recipe")
    bars._bars.get_time = clock.monotonic
    bars._begin("recipe", None)
    bars(Step("search", 0, 1))
    bars(Step("select", 0, 12))
    clock.now = 2.0
    bars(Step("select", 12, 12))
    bars(Step("run", 0, 15_000, dashboard=STEP.dashboard))
    clock.now = 102.0
    bars(STEP)
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(*bars._bars.get_renderables(), sep="\n")
    text = [line.rstrip() for line in console.export_text().splitlines()]
    bar = {80: 24, 60: 10}[width]
    at = next(i for i, line in enumerate(text) if line.startswith("run "))
    assert re.fullmatch(r"run {5}\S{1,24}[ ╺╸━]* 1200/15000 1 min 40 s, 19 min 10 s left", text[at])
    assert len(text[at]) <= width
    assert re.search(rf"select  ━{{{bar}}} 12/12 +2\.0 s", "\n".join(text))
    assert (
        text[at + 1 :]
        == {
            80: [
                "50.0 MB/s in, 10.0 MB/s out, 16 in flight, 12 tried again, 1 failed, 3 scenes",
                "lost",
                STEP.dashboard,
            ],
            60: [
                "50.0 MB/s in, 10.0 MB/s out, 16 in flight, 12 tried again, 1",
                "failed, 3 scenes lost",
                STEP.dashboard,
            ],
        }[width]
    )


def test_a_log_has_lines_with_the_time_and_quiet_has_none(tmp_path: Path) -> None:
    source = netcdf(tmp_path / "a.nc", dataset()[["B04", "B08"]])
    command = [sys.executable, "-c", RUN, "encode", source, "--chunk-size", "16"]
    for words, wanted in (([], True), (["--quiet"], False)):
        done = subprocess.run([*command, str(tmp_path / f"s{len(words)}"), *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        if not wanted:
            assert done.stderr == ""
            continue
        lines = done.stderr.splitlines()
        assert re.fullmatch(STAMP + r"run: 0 of \d+", next(x for x in lines if "run: 0" in x))
        assert re.search(STAMP + r"run: (\d+) of \1, in \d+\.\d s, [\d.]+ kB in, [\d.]+ kB out\n", done.stderr)
        assert re.fullmatch(STAMP + r"commit: in \d+\.\d s", lines[-1])


def test_a_terminal_has_no_lines(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [
        sys.executable,
        "-c",
        RUN,
        "encode",
        netcdf(tmp_path / "a.nc", dataset()[["B04", "B08"]]),
        str(tmp_path / "s"),
    ]
    env = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env=env) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:
                break
            if not part:
                break
            seen += part
    os.close(ours)
    assert process.returncode == 0
    assert not re.search(STAMP, seen.decode())
    assert "run" in seen.decode()
    assert re.search(r"[\d.]+ kB in, [\d.]+ kB out", seen.decode())

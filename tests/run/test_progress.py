"""What a run tells while it works, how fast it goes by that, and how it is shown in a log and in a notebook."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import chronozarr_dask as czd
from chronozarr_dask.errors import RunError, TargetError
from chronozarr_dask.run import notebook
from chronozarr_dask.run.clients import dashboard_link
from chronozarr_dask.run.lines import Lines
from chronozarr_dask.run.pace import Pace, Speed
from chronozarr_dask.run.progress import Meter, Step
from chronozarr_dask.store.folder import Folder
from tests.encode.test_resume import OPTIONS, Stop, interrupt_after, make_cube
from tests.run.made import World


class Clock:
    """Seconds, as they are set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def last(told: list[Step], stage: str) -> Step:
    return [s for s in told if s.stage == stage][-1]


def test_a_meter_counts_and_tells_each_change() -> None:
    told: list[Step] = []
    meter = Meter(told.append, "run", 4, done=1, dashboard="http://x:1/status")
    meter.began(2)
    meter.began(0)
    meter.ended()
    meter.done(bytes_in=10, bytes_out=3, lost=["a", "b"])
    meter.ended()
    meter.again()
    meter.began(1)
    meter.ended()
    meter.failed()
    meter.done(bytes_in=5, bytes_out=1, lost=["b"])
    d = "http://x:1/status"
    assert told == [
        Step("run", 1, 4, dashboard=d),
        Step("run", 1, 4, in_flight=2, dashboard=d),
        Step("run", 2, 4, 10, 3, 1, lost_scenes=2, dashboard=d),
        Step("run", 2, 4, 10, 3, 0, 1, lost_scenes=2, dashboard=d),
        Step("run", 2, 4, 10, 3, 1, 1, lost_scenes=2, dashboard=d),
        Step("run", 2, 4, 10, 3, 0, 1, 1, lost_scenes=2, dashboard=d),
        Step("run", 3, 4, 15, 4, 0, 1, 1, lost_scenes=2, dashboard=d),
    ]


@pytest.mark.parametrize("chunks", [None, {"time": 1}], ids=["in memory", "lazy"])
def test_a_run_tells_every_byte_of_the_cube_once(tmp_path: Path, chunks: Any) -> None:
    cube = make_cube()
    told: list[Step] = []
    given = cube if chunks is None else cube.chunk(chunks)
    czd.encode(given, tmp_path / "s", progress=told.append, encoding="none", **OPTIONS)
    assert (
        sum(last(told, stage).bytes_in for stage in ("stage", "run") if stage in {s.stage for s in told}) == cube.nbytes
    )
    chunks_of_data = (tmp_path / "s").glob("*/data/c/**/*")
    assert last(told, "run").bytes_out == sum(p.stat().st_size for p in chunks_of_data if p.is_file())
    assert max(t.in_flight for t in told) >= 1
    assert last(told, "run").in_flight == 0
    assert all(t.dashboard is None for t in told)


def test_composites_tell_every_window_that_was_decoded_and_each_scene_that_was_lost_once(tmp_path: Path) -> None:
    world = World(tmp_path)
    for day in (3, 13, 23):
        world.add(f"S2_{day}", f"2024-03-{day:02}T10:00:00Z", {"B04": 100 + day, "B08": 200 + day})
    broken = tmp_path / "S2_13" / "B04.tif"
    broken.write_bytes(broken.read_bytes()[:100])
    told: list[Step] = []
    world.run(
        progress=told.append, run__keep_going=True, source__offset="none", encode__chunk_size=16, encode__region_cells=2
    )
    run = last(told, "run")
    assert (run.total, run.lost_scenes) == (4 + 1, 1)  # one of the second pass reads no scene
    assert run.bytes_in == 3 * 32 * 32 + 2 * 2 * 64 * 64 * 2  # classes of three scenes, two bands of two
    assert [s.stage for s in told[:2]] == ["search", "plan"]


def test_a_resumed_run_tells_of_its_own_bytes(tmp_path: Path) -> None:
    cube = make_cube().chunk({"time": 7})
    whole: list[Step] = []
    rest: list[Step] = []
    with pytest.raises(Stop):
        czd.encode(cube, tmp_path / "s", progress=interrupt_after(5), **OPTIONS)
    czd.encode(cube, tmp_path / "s", resume=True, progress=rest.append, **OPTIONS)
    czd.encode(cube, tmp_path / "t", progress=whole.append, **OPTIONS)
    first = next(s for s in rest if s.stage == "run")
    assert first.done >= 5
    assert (first.bytes_in, first.bytes_out) == (0, 0)
    assert 0 < last(rest, "run").bytes_out < last(whole, "run").bytes_out
    assert last(rest, "run").done == last(rest, "run").total


def test_what_fails_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put = Folder.put
    torn = {"0/data/c/0/0/0/0": 1, "0/data/c/0/0/2/2": 9}

    def fail(self: Folder, key: str, data: bytes) -> None:
        if torn.get(key):
            torn[key] -= 1
            raise TargetError(f"{key}: the connection broke")
        put(self, key, data)

    monkeypatch.setattr(Folder, "put", fail)
    told: list[Step] = []
    with pytest.raises(RunError, match="1 of"):
        czd.encode(make_cube(), tmp_path / "s", progress=told.append, encoding="none", **OPTIONS)
    step = last(told, "run")
    assert (step.tried_again, step.failed) == (1 + 2, 1)
    assert step.done < step.total


def test_pace_of_two_regions_a_second() -> None:
    pace = Pace(Step("run", 100, 110), 50.0)
    assert pace.speed(51.0) == Speed()
    for n in range(1, 5):
        pace.add(Step("run", 100 + n, 110, 1000 * n, 10 * n), 50.0 + n / 2)
    assert pace.speed(52.0) == Speed(2000.0, 20.0, 3.0)
    assert pace.speed(52.5) == Speed(2000.0, 20.0, 2.5)
    assert pace.speed(54.0) == Speed(4000 / 3.5, 40 / 3.5, 6 * 3.5 / 4 - 0.5)  # the next is overdue


def test_pace_forgets_what_was_long_ago() -> None:
    pace = Pace(Step("run", 0, 100_000), 0.0)
    for n in range(1, 2001):
        pace.add(Step("run", n, 100_000, n * 10), float(n))  # one a second
    for n in range(1, 1001):
        pace.add(Step("run", 2000 + 10 * n, 100_000, 20_000 + n * 100), 2000.0 + n)  # ten a second
    speed = pace.speed(3000.0)
    assert speed.bytes_in == pytest.approx(100, rel=0.02)
    assert speed.seconds_left == pytest.approx(88_000 / 10, rel=0.02)
    assert len(pace._samples) < 70


def test_lines_are_of_begin_and_end_and_one_a_minute() -> None:
    clock = Clock()
    lines: list[str] = []
    log = Lines(lines.append, {"run": "regions"}, clock)
    log(Step("search", 0, 1))
    clock.now = 3
    for n in range(301):
        log(
            Step(
                "run",
                n,
                300,
                n * 10**9,
                n * 10**8,
                4 if n < 300 else 0,
                2 if n > 100 else 0,
                dashboard="http://h:1/status",
            )
        )
        clock.now += 1
    log(Step("commit", 0, 1))
    log(Step("commit", 1, 1))
    assert lines == [
        "search",
        "dashboard http://h:1/status",
        "regions: 0 of 300, 4 in flight",
        "regions: 60 of 300, 1.00 GB/s in, 100 MB/s out, 4 in flight, 4 min 0 s left",
        "regions: 120 of 300, 1.00 GB/s in, 100 MB/s out, 4 in flight, 3 min 0 s left, 2 tried again",
        "regions: 180 of 300, 1.00 GB/s in, 100 MB/s out, 4 in flight, 2 min 0 s left, 2 tried again",
        "regions: 240 of 300, 1.00 GB/s in, 100 MB/s out, 4 in flight, 1 min 0 s left, 2 tried again",
        "regions: 300 of 300, in 5 min 0 s, 300 GB in, 30.0 GB out, 2 tried again",
        "commit",
        "commit: in 0.0 s",
    ]  # fmt: skip


def test_lines_tell_where_a_stage_stopped() -> None:
    clock = Clock()
    lines: list[str] = []
    log = Lines(lines.append, clock=clock)
    log(Step("run", 0, 9))
    clock.now = 2
    log(Step("run", 1, 9, 50, 20, 3, failed=1, lost_scenes=1))
    log.stop()
    assert lines == [
        "run: 0 of 9",
        "run: 1 of 9, 25 B/s in, 10 B/s out, 3 in flight, 16.0 s left, 1 failed, 1 scene lost",
    ]


@dataclass
class Linked:
    """A client with a link, or with none."""

    link: str | None

    @property
    def dashboard_link(self) -> str | None:
        if self.link == "missing":
            raise KeyError("dashboard")
        return self.link


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("http://127.0.0.1:8787/status", "http://127.0.0.1:8787/status"),
        ("https://user:hunter2@hub.example/user/me/proxy/8787/status?token=hunter2#hunter2", "https://hub.example/user/me/proxy/8787/status"),
        ("/user/me/proxy/8787/status", "/user/me/proxy/8787/status"),
        ("", None), (None, None), ("missing", None),
    ],
)  # fmt: skip
def test_the_link_of_the_dashboard_has_no_secret(link: str | None, shown: str | None) -> None:
    assert dashboard_link(Linked(link)) == shown


def texts(box: Any) -> Iterator[str]:
    for child in getattr(box, "children", ()):
        yield from texts(child)
    if isinstance(getattr(box, "value", None), str):
        yield box.value


def test_a_notebook_shows_bars_speed_troubles_and_a_link() -> None:
    pytest.importorskip("ipywidgets")
    clock = Clock()
    shown = notebook.NotebookProgress(clock)
    shown(Step("plan", 0, 1))
    d = "http://h:1/a<b>/status"
    for n in range(8):
        clock.now = float(n)
        shown(Step("run", n, 10, n * 10**6, n * 10**5, 2, 1, 1, 1, dashboard=d))
    assert list(texts(shown.box)) == [
        "plan", "0.0 s", "run", "7/10, 7.0 s, 3.0 s left",
        "1.00 MB/s in, 100 kB/s out, 2 in flight, 1 tried again, 1 failed, 1 scene lost<br>Dask dashboard: "
        '<a href="http://h:1/a&lt;b&gt;/status" target="_blank" rel="noopener">http://h:1/a&lt;b&gt;/status</a>',
    ]  # fmt: skip
    bars = [row.children[1] for row in shown.box.children[0].children]
    assert [(b.value, b.max, b.bar_style) for b in bars] == [(1, 1, "success"), (7, 10, "warning")]


def test_without_widgets_a_notebook_has_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(notebook, "find_spec", lambda name: None)
    czd.notebook_progress()(Step("run", 0, 3))
    assert capsys.readouterr().out == "run: 0 of 3\n"


def test_importing_the_package_brings_no_widgets() -> None:
    code = "import sys, chronozarr_dask as c; c.notebook_progress; print('ipywidgets' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"

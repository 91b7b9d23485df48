"""What the benchmarks measure with is right."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks import __main__ as benchmarks
from tests.benchmarks import cubes
from tests.benchmarks.measure import MIB, JobError, Spread, processor_time, resident, run, started
from tests.benchmarks.tables import Claim, Table, machine

HOLD = "held = b'1' * ({mib} << 20); import time; s = time.process_time()\nwhile time.process_time() - s < {cpu}: pass"


# ---- jobs -------------------------------------------------------------------------------------------------------


def spend(before: float, after: float, mib: int) -> dict[str, int]:
    """Use processor time before and after `started`, and hold memory."""
    _burn(before)
    started()
    held = b"1" * (mib * MIB)
    _burn(after)
    return {"held": len(held), "process": os.getpid()}


def spend_in_children(cpu: float, mib: int) -> None:
    """Two children at one time that hold and burn."""
    started()
    both = [subprocess.Popen([sys.executable, "-c", HOLD.format(mib=mib, cpu=cpu)]) for _ in range(2)]
    for child in both:
        assert child.wait() == 0


def fail() -> None:
    """Print and end with an error."""
    print("as far as this")
    sys.exit(3)


def _burn(seconds: float) -> None:
    begun = time.process_time()
    while time.process_time() - begun < seconds:
        pass


# ---- tests ------------------------------------------------------------------------------------------------------


def test_a_job_is_measured() -> None:
    empty = run("test_measure:spend", before=0, after=0, mib=0)
    done = run("test_measure:spend", before=1.5, after=1.0, mib=300)
    assert done.result["held"] == 300 * MIB
    assert done.result["process"] != os.getpid()
    assert 1.0 <= done.net < 2.4  # less than with what was spent before `started`
    assert done.cpu >= done.net + 1.5
    assert done.wall >= 2.5
    assert done.peak - empty.peak == pytest.approx(300 * MIB, abs=30 * MIB)


def test_children_of_a_job_are_counted_together() -> None:
    done = run("test_measure:spend_in_children", cpu=2.0, mib=200)
    assert done.net >= 4.0
    assert done.cpu >= done.net
    assert done.peak >= 400 * MIB


def test_a_job_that_fails_says_what_it_printed() -> None:
    with pytest.raises(JobError, match=r"test_measure:fail \{\} ended with 3: as far as this"):
        run("test_measure:fail")


def test_memory_and_processor_time_of_a_tree_that_is_alive() -> None:
    before = processor_time(os.getpid()), resident(os.getpid())
    child = subprocess.Popen([sys.executable, "-c", HOLD.format(mib=200, cpu=0.5) + "\ninput()"], stdin=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 300
        while processor_time(child.pid) < 0.5:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert resident(child.pid) >= 200 * MIB
        assert resident(os.getpid()) - before[1] >= 150 * MIB
        assert processor_time(os.getpid()) - before[0] >= 0.5
    finally:
        child.communicate(b"\n")
    assert resident(child.pid) == 0


def test_spread_is_median_least_most() -> None:
    assert Spread.of([3.0, 1.0, 2.0]) == Spread(2.0, 1.0, 3.0)
    assert Spread.of([1.0, 2.0]).median == 1.5
    assert Spread.of(iter([0.714, 0.69, 0.741])).text(2) == "0.71 (0.69..0.74)"


def test_a_table_shows_its_claims() -> None:
    table = Table("Speed", "About.", ("case", "ratio"), [("a", "0.71"), ("b", "1.3")])
    table.claims = [Claim("a: ratio", 0.9, 0.9), Claim("b: ratio", 1.301, 0.9)]
    assert [c.holds for c in table.claims] == [True, False]
    assert table.text() == (
        "## Speed\n\nAbout.\n\n| case | ratio |\n| --- | --- |\n| a | 0.71 |\n| b | 1.3 |\n\n"
        "- holds: a: ratio: 0.9, at most 0.9\n- **fails**: b: ratio: 1.3, at most 0.9"
    )


def test_exit_code_tells_whether_the_claims_hold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    claim = Claim("speed", 1.0, 0.9)
    monkeypatch.setattr(benchmarks, "HERE", tmp_path / "tests" / "benchmarks")
    (tmp_path / "tests" / "benchmarks").mkdir(parents=True)
    for name in ("PYTHONPYCACHEPREFIX", "NUMBA_CACHE_DIR", "PYTHONDONTWRITEBYTECODE"):
        monkeypatch.setenv(name, "")
    tables = {"encoding": lambda folder, quick: Table("Speed", "About.", ("case",), [("a",)], [claim])}
    monkeypatch.setattr(benchmarks, "TABLES", tables)
    assert benchmarks.main([]) == 1
    assert "- **fails**: speed: 1, at most 0.9" in (tmp_path / "tests/benchmarks/RESULTS.md").read_text()
    assert benchmarks.main(["--quick"]) == 0
    assert "the claims mean nothing here" in (tmp_path / "build/bench-quick.md").read_text()
    claim = Claim("speed", 0.8, 0.9)
    assert benchmarks.main([]) == 0
    assert "- holds: speed" in (tmp_path / "tests/benchmarks/RESULTS.md").read_text()


def test_the_machine_and_versions_are_named() -> None:
    text = machine()
    assert f"{os.cpu_count()} cores" in text
    assert "GiB of memory" in text
    assert "chronozarr 0.2.1" in text
    assert f"numpy {np.__version__}" in text


def test_the_texture_is_what_it_says() -> None:
    cube, kept = cubes.lazy_cube(3, 2500, 1500)
    assert cubes.KEPT[0] <= kept <= cubes.KEPT[1]
    assert cube.chunks == ((1, 1, 1), (4,), (2048, 452), (1500,))
    pixels = cube.values
    assert all(cubes.KEPT[0] <= cubes.kept(month) <= cubes.KEPT[1] for month in pixels)
    assert pixels.min() > 0
    changed = pixels[1:] != pixels[:-1]
    assert changed.mean() > 0.9

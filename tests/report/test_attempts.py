"""A run of several attempts is told as one: what all of them took stands beside the plan, which is of all of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chronozarr_dask.errors import RunError
from chronozarr_dask.run.reporting import tables
from chronozarr_dask.run.reporting.attempts import in_all, seconds_by_stage, untold_regions
from tests.report.made import interrupted, page_of, receipts_of, report_of


def attempt(done: int, own: int, **seconds: float) -> dict[str, Any]:
    of = {"regions": own, "objects": 4 * own, "bytes": 100 * own, "bytes_in": 1000 * own}
    return {"regions_done": done, "attempt": of, "seconds_by_stage": seconds}


THREE = [attempt(25, 25, plan=1.0, run=3600.0), attempt(25, 0, plan=2.0), attempt(70, 45, plan=1.5, run=300.0)]


def test_seconds_and_counts_are_added_up() -> None:
    assert seconds_by_stage(THREE) == {"plan": 4.5, "run": 3900.0}
    assert in_all(THREE, "bytes_in") == 70_000
    assert (seconds_by_stage([]), in_all([], "bytes_in")) == ({}, 0)


def test_regions_of_an_attempt_that_left_no_report_are_known_by_what_the_next_one_found() -> None:
    assert untold_regions(THREE) == 0
    assert untold_regions([attempt(25, 25), attempt(70, 40)]) == 5
    assert untold_regions([attempt(70, 40)]) == 30, "the first one left none"
    assert untold_regions([attempt(25, 25), attempt(70, 60)]) == 0, "15 were lost, and stored again"


def test_the_table_of_stages_reads_as_the_rest_of_the_page() -> None:
    run = {"stage": "run", "planned": {"seconds": 75.0, "objects": 1584}, "actual": {"seconds": 3900.0, "objects": 999}}
    told = tables.stages({"attempts": THREE, "stages": [run, {"stage": "commit", "planned": {}, "actual": None}]})
    assert told is not None
    assert told["columns"] == ["seconds", "objects"]
    assert [row["cells"] for row in told["rows"]] == [
        [["1 h 5 min", "1 min 15 s"], ["999", "1,584"]],
        [[None, None], [None, None]],
    ]
    assert (told["n_attempts"], told["untold"], told["staged"]) == (3, "", 0)


def test_the_report_of_a_run_that_was_resumed_is_of_the_whole_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="interrupted"):
        interrupted(tmp_path / "s", 1)
    first = report_of(tmp_path / "s")
    interrupted(tmp_path / "s", -1, resume=True)
    doc = report_of(tmp_path / "s")
    (run,) = (s for s in doc["stages"] if s["stage"] == "run")
    lengths = [n for r in receipts_of(tmp_path / "s") for array in r["lengths"] for n in array if n]
    assert len(doc["attempts"]) == 2
    assert doc["regions_resumed"] > 0
    assert run["actual"] == {
        "seconds": first["seconds_by_stage"]["run"] + doc["seconds_by_stage"]["run"],
        "bytes_in": first["attempt"]["bytes_in"] + doc["attempt"]["bytes_in"],
        "bytes_out": sum(lengths),
        "objects": len(lengths),
        "units": doc["regions"],
    }
    assert run["actual"]["units"] == run["planned"]["units"]
    (time,) = (f for f in tables.figures(doc) if f.name == "seconds")
    assert time.value == pytest.approx(sum(sum(d["seconds_by_stage"].values()) for d in (first, doc)))
    assert time.note.startswith("in 2 attempts, ended ")
    page = page_of(tmp_path / "s").read_text()
    assert "2 attempts, added up." in page
    assert f"Began {tables.day(first['began'])}, " in page


def test_what_no_report_tells_of_is_named(tmp_path: Path) -> None:
    """As after a kill: the receipts are there, and the report of that attempt is not."""
    with pytest.raises(RunError, match="interrupted"):
        interrupted(tmp_path / "s", 2)
    n = report_of(tmp_path / "s")["regions_done"]
    Path(tmp_path / "s.run/report.json").unlink()
    interrupted(tmp_path / "s", -1, resume=True)
    doc = report_of(tmp_path / "s")
    (time,) = (f for f in tables.figures(doc) if f.name == "seconds")
    assert time.note.startswith(f"without that of {n} regions, which no report tells; ended ")
    assert f"An attempt that stored {n} regions left no report" in page_of(tmp_path / "s").read_text()

"""Killed at a seeded moment, gone on, compared: 25 seeds here, 200 by ``make chaos SEEDS=200``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.scenario import PHASES, scenario
from tests.services import seaweedfs

SEEDS = range(25)
REPO = Path(__file__).resolve().parents[2]
FOLDER = Path("build/chaos")
MOST = 4 * 90
"""Objects that are in flight: two regions for each of two workers, of at most 90 objects each."""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The rows of all seeds; the table lies in build/chaos too."""
    try:
        seaweedfs.program()
    except seaweedfs.NotInstalledError as missing:
        pytest.skip(str(missing))
    command = [sys.executable, "-m", "tests.chaos", "--seeds", str(len(SEEDS))]
    done = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode in (0, 1), done.stderr[-3000:]
    out: list[dict[str, Any]] = json.loads((REPO / FOLDER / "rows.json").read_text())
    assert [row["scenario"]["seed"] for row in out] == list(SEEDS), done.stderr[-3000:]
    return out


def test_the_seeds_try_every_phase_on_every_kind_of_target_and_workers() -> None:
    made = [scenario(seed) for seed in SEEDS]
    assert min(Counter(s.kills[0].phase for s in made)[phase] for phase in PHASES) >= 5
    assert {s.runner for s in made} == {"threads", "cluster", "local"}
    assert {k.victim for s in made for k in s.kills} == {"client", "worker", "workers"}
    assert {k.signal for s in made for k in s.kills} == {"KILL", "TERM"}
    assert {s.product.kind for s in made} == {"cube", "scenes"}
    assert {s.product.encoding for s in made} == {"auto", "none", "star-delta"}
    assert {s.product.shard_time for s in made} == {None, 4}
    assert any(s.time_slab and s.product.kind == "scenes" for s in made), "gaps are carried from slab to slab"
    assert any(s.on_s3 for s in made)
    assert any(len(s.kills) == 2 for s in made)


@pytest.mark.timeout(3600)
@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.s3
def test_a_killed_run_goes_on_and_gives_the_same_bytes(rows: list[dict[str, Any]]) -> None:
    assert not [(row["scenario"]["seed"], row["fault"]) for row in rows if row["fault"]]
    assert all(row["equal"] for row in rows)
    assert all(row["counts"] for row in rows), "a seed counts only if its victim was alive, and its phase was met"


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.s3
def test_each_client_that_was_killed_was_gone_on_with(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        killed = sum(kill["victim"] == "client" for kill in row["scenario"]["kills"][: row["kills"]])
        assert row["resumed"] == killed, row["scenario"]["seed"]
    by_journal = {row["scenario"]["product"]["kind"] for row in rows if row["by_journal"]}
    assert by_journal == {"cube", "scenes"}, "some go on by the journal alone, which has a recipe or a source"
    assert sum(row["by_journal"] for row in rows) >= 5
    assert sum(row["resumed"] - row["by_journal"] for row in rows) >= 5


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.s3
def test_what_is_stored_again_is_little(rows: list[dict[str, Any]]) -> None:
    """What has a receipt is never done again: each seed looks. The rest is what was in flight at a kill."""
    assert all(row["redone"] <= MOST for row in rows)

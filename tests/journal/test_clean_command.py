"""`clean` on the command line: it asks, it says what it would do, it tells what it did."""

from __future__ import annotations

import json
import os
import pty
from pathlib import Path

import pytest

import chronozarr_dask as czd
from tests.cli.sources import invoke, start
from tests.journal.runs import OPTIONS, files, interrupt, make_cube


def test_without_a_terminal_it_wants_yes(tmp_path: Path) -> None:
    interrupt(tmp_path / "s")
    before = files(tmp_path)
    result = invoke("clean", str(tmp_path / "s"))
    assert result.exit_code == 2
    assert "--yes" in result.stderr
    assert files(tmp_path) == before


def test_a_dry_run_says_what_would_go(tmp_path: Path) -> None:
    interrupt(tmp_path / "s")
    (tmp_path / "s" / "README.md").write_text("mine")
    before = files(tmp_path)
    result = invoke("clean", "--dry-run", str(tmp_path / "s"))
    assert result.exit_code == 0
    n_store, n_journal = len(files(tmp_path / "s")) - 1, len(files(tmp_path / "s.run"))
    assert result.stdout.startswith(f"would be removed: {n_journal} objects (")
    assert f"of the journal {tmp_path / 's.run'} and {n_store} objects (" in result.stdout
    assert f"of the unfinished store {tmp_path / 's'}" in result.stdout
    assert f"not of this run, and left where it is: {tmp_path / 's' / 'README.md'}" in result.stderr
    assert files(tmp_path) == before
    doc = json.loads(invoke("clean", "--dry-run", "--json", str(tmp_path / "s")).stdout)
    assert (doc["store"]["objects"], doc["store"]["foreign"]) == (n_store, ["README.md"])


def test_of_a_complete_store_it_says_that_it_stays(tmp_path: Path) -> None:
    czd.encode(make_cube(), tmp_path / "s", **OPTIONS)
    result = invoke("clean", "-y", str(tmp_path / "s.run"))
    assert result.exit_code == 0
    assert result.stdout.startswith("removed: ")
    assert result.stdout.endswith(f"the store {tmp_path / 's'} is complete and stays\n")
    assert czd.validate(tmp_path / "s") == []


@pytest.mark.parametrize("answer", ["y", "n"])
def test_on_a_terminal_it_asks(tmp_path: Path, answer: str) -> None:
    interrupt(tmp_path / "s")
    before = files(tmp_path)
    ours, theirs = pty.openpty()
    process = start("clean", str(tmp_path / "s"), stdin=theirs)
    os.close(theirs)
    os.write(ours, f"{answer}\n".encode())
    out, err = process.communicate(timeout=100)
    os.close(ours)
    assert "This removes " in out
    assert "Remove them? [y/N]" in err
    assert process.returncode == (0 if answer == "y" else 1)
    assert (files(tmp_path) == before) == (answer == "n")
    assert ("removed: " in out) == (answer == "y")

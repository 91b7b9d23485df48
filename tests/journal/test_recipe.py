"""A product's run goes on by its journal: the recipe and the scenes are there, whatever became of the files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from chronozarr_dask.errors import ResumeError
from chronozarr_dask.run.produce import run_document
from chronozarr_dask.run.recipes import Document
from chronozarr_dask.run.resume import resume
from chronozarr_dask.store.journal import Journal
from chronozarr_dask.store.target import open_target
from tests.cli.sources import invoke
from tests.journal.runs import Stop, files, stop_in
from tests.run.made import World


def interrupted(world: World, monkeypatch: pytest.MonkeyPatch, **changes: object) -> Path:
    """Begin a run of a recipe with relative paths, in the world's folder, and end it in its commit."""
    monkeypatch.chdir(world.folder)
    values = world.recipe(**{"target": "store", "source__items": "items.json", "source__offset": "none", **changes})
    document = Document.parse(yaml.safe_dump(values), "recipe.yaml")
    with pytest.raises(Stop):
        run_document(document, document.recipe(), progress=stop_in("commit"))
    return world.folder / "store"


@pytest.fixture
def world(tmp_path: Path) -> World:
    folder = tmp_path / "world"
    folder.mkdir()
    world = World(folder)
    world.add("a", "2024-01-05T10:00:00Z", {"B04": 1500})
    world.add("b", "2024-02-05T10:00:00Z", {"B04": 1700})
    return world


def test_it_goes_on_from_any_folder(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = interrupted(world, monkeypatch)
    (world.folder / "items.json").unlink()  # the scenes that were found then are kept
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ResumeError, match=r"has relative paths, and was begun in .*world: change to that folder"):
        resume(target)
    result = invoke("resume", f"{target}.run", "--quiet")
    assert (result.exit_code, result.stderr) == (0, "")
    assert os.getcwd() == str(world.folder), "of the process that is the command"
    after = files(target)
    assert "zarr.json" in after
    world.run(target=str(tmp_path / "straight"), source__offset="none")
    assert files(tmp_path / "straight") == after


def test_a_relative_journal_is_found_from_any_folder(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Items and area have no folder to begin in; the journal has."""
    items = str(world.folder / "items.json")
    target = interrupted(world, monkeypatch, source__items=items, target={"url": "store", "journal": "jr"})
    monkeypatch.chdir(tmp_path)
    result = invoke("resume", str(target), "--quiet")
    assert (result.exit_code, result.stderr) == (0, "")
    assert (target / "zarr.json").exists()
    assert not (tmp_path / "jr").exists()
    assert [p.name for p in (world.folder / "store.run").iterdir()] == ["claim.json"]


# ---- what a resume is given ------------------------------------------------------------------------------------------

SAYS = {"grace": 60.0, "fail_fast": True, "claim": False, "keep_going": True}
"""Each in place of a default."""


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the run of a recipe is told; nothing is run."""
    told: dict[str, Any] = {}

    def seen(document: Document, recipe: Any, **how: Any) -> None:
        told.update(recipe.run.model_dump(), kind=recipe.cluster.kind, memory=recipe.encode.memory)
        raise ResumeError("seen")

    monkeypatch.setattr("chronozarr_dask.run.resume.run_document", seen)
    return told


def failed(target: Path) -> None:
    """One region of the run has failed, and has no receipt."""
    (target.parent / "store.run" / "receipts" / "0" / "0-0-0").unlink()
    failure = {"region": "0/0-0-0", "error": "no answer", "tries": 3}
    Journal(open_target(f"{target}.run")).write_failures([failure])


@pytest.mark.parametrize("command", ["resume", "retry-failed"])
def test_what_the_recipe_says_holds_where_nothing_else_is_given(
    world: World, monkeypatch: pytest.MonkeyPatch, told: dict[str, Any], command: str
) -> None:
    says = {f"run__{name}": value for name, value in SAYS.items()}
    target = interrupted(world, monkeypatch, **says, encode__memory="100MB")
    failed(target)
    assert "seen" in invoke(command, str(target)).stderr
    assert {name: told[name] for name in SAYS} == SAYS
    assert (told["kind"], told["memory"]) == ("threads", 100_000_000)
    assert "seen" in invoke(command, str(target), "--grace", "0").stderr
    assert told["grace"] == 0


def test_what_is_given_stands_in_place_of_what_the_recipe_says(
    world: World, monkeypatch: pytest.MonkeyPatch, told: dict[str, Any]
) -> None:
    target = interrupted(world, monkeypatch)
    given = ("--grace", "60", "--fail-fast", "--no-claim", "--keep-going")
    assert "seen" in invoke("resume", str(target), *given).stderr
    assert {name: told[name] for name in SAYS} == SAYS


def test_a_recipe_without_claims_is_verified_without(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    target = interrupted(world, monkeypatch, run__claim=False)
    monkeypatch.setattr("chronozarr_dask.store.folder.Folder.create", lambda *_: pytest.fail("a conditional create"))
    assert resume(target, verify="head").status == "complete"


def test_options_of_the_source_are_those_of_the_recipe(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    target = interrupted(world, monkeypatch)
    result = invoke("resume", str(target), "--source-option", "anon=true")
    assert result.exit_code == 1
    assert "--source-option" in result.stderr
    assert "source.storage_options" in result.stderr
    assert not (target / "zarr.json").exists()

"""A product's run goes on by its journal: the recipe and the scenes are there, whatever became of the files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from chronozarr_dask.errors import ResumeError
from chronozarr_dask.run.produce import run_document
from chronozarr_dask.run.recipes import Document
from chronozarr_dask.run.resume import resume
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

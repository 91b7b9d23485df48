"""The README's quickstart runs as it stands, in order, in an empty folder."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

import chronozarr_dask as czd
from chronozarr_dask.cli import app
from chronozarr_dask.run.recipes import Document
from tests.conftest import REPO

BLOCK = re.compile(r"```(python|sh)\n(.*?)```", re.DOTALL)


def quickstart() -> list[tuple[str, str]]:
    """(language, code) of the blocks of the quickstart."""
    text = (REPO / "README.md").read_text()
    return BLOCK.findall(text[text.index("## Quickstart") : text.index("### What you may want next")])


def test_the_quickstart_runs(tmp_path: Path) -> None:
    python, commands = "", []
    for language, code in quickstart():
        if language == "python":
            python += code
        else:
            commands += [line for line in code.splitlines() if line]
    assert len(commands) == 5
    script = tmp_path / "quickstart.py"
    script.write_text(python)
    run = [sys.executable, "-W", "error", str(script)]
    out = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    assert "objects" in out.stdout
    for command in commands:
        words = command.split()
        assert words[0] == "chronozarr-dask"
        main = [sys.executable, "-c", "from chronozarr_dask.cli import main; main()", *words[1:]]
        out = subprocess.run(main, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert out.returncode == 0, f"{command}: {out.stderr}"
    assert (tmp_path / "demo-cli.czarr" / "zarr.json").exists()


def test_the_recipe_is_one() -> None:
    text = (REPO / "README.md").read_text()
    yaml = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert yaml
    recipe = Document.parse(yaml[1], "README.md").recipe()
    assert recipe.source.api
    assert [b.name for b in recipe.source.bands] == ["blue", "green", "red", "nir"]


WORKING = ("run", "encode", "resume", "retry-failed")
"""Commands that do a run's work."""


def flags(command: str) -> set[str]:
    """Options of a command."""
    made: Any = typer.main.get_command(app)
    return {flag for p in made.commands[command].params for flag in p.opts if flag.startswith("--")}


@pytest.mark.parametrize("flag", ["--grace", "--cluster"])
def test_what_is_said_of_every_command_that_works_is_an_option_of_each(flag: str) -> None:
    deploy = (REPO / "deploy" / "README.md").read_text()
    assert all(f"`{command}`" in deploy for command in WORKING)
    assert flag in deploy
    assert [command for command in WORKING if flag not in flags(command)] == []


def test_options_and_keywords() -> None:
    """The README names each option of `encode` that is no keyword of its name, and what stands for it."""
    text = (REPO / "README.md").read_text()
    begin = text.index("`chronozarr-dask encode --help` tells every option")
    said = text[begin : text.index("\n\n", begin)]
    keywords = set(inspect.signature(czd.encode).parameters)
    others = {flag for flag in flags("encode") if flag[2:].replace("-", "_") not in keywords} - {"--scheduler"}
    assert set(re.findall(r"--[a-z-]+", said)) - {"--help", "--chunk-size"} == others
    named = set(re.findall(r"`(\w+)=", said))
    assert named == {"chunk_size", "bands", "codec_options", "storage_options", "client", "claim"}
    assert named <= keywords


@pytest.mark.parametrize("name", ["README.md", "deploy/README.md", "pipelines/README.md", "notebooks/README.md"])
def test_commands_have_the_options_that_they_are_shown_with(name: str) -> None:
    text = re.sub(r"#.*", "", (REPO / name).read_text())
    for command, rest in re.findall(r"chronozarr-dask ([a-z-]+)([^`\n]*)", text):
        assert set(re.findall(r"(?<= )--[a-z-]+", rest)) <= flags(command) | {"--help"}, f"{command}{rest}"

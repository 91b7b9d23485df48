"""The README's quickstart runs as it stands, in order, in an empty folder."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

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

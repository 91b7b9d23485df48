"""What the committed notebooks must be: without outputs, of the public API alone, and of no one machine."""

from __future__ import annotations

import ast
import json
from itertools import pairwise
from typing import Any

import nbformat
import pytest

import chronozarr_dask as czd
from tests.notebooks.kernel import FOLDER, NAMES, read

OTHERS = {
    "chronozarr_dask", "dask", "distributed", "ipywidgets", "IPython", "matplotlib", "numpy", "os", "pathlib",
    "html", "rioxarray", "subprocess", "sys", "tempfile", "time", "xarray", "json", "shutil",
}  # fmt: skip
"""Top-level packages that a notebook may import."""


def code(name: str) -> str:
    """The code of a notebook, its magics left out."""
    lines = [line for cell in read(name).cells if cell.cell_type == "code" for line in cell.source.splitlines()]
    return "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!")))


def imported(tree: ast.AST) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or ".")
    return names


def test_there_are_three_in_order():
    assert [name[:2] for name in NAMES] == ["1-", "2-", "3-"]
    assert all(f"({name})" in (FOLDER / "README.md").read_text() for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_it_has_no_outputs_and_is_valid(name):
    raw: dict[str, Any] = json.loads((FOLDER / name).read_text())
    nbformat.validate(read(name))
    for cell in raw["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], f"{name}: clear the outputs before you commit"
            assert cell["execution_count"] is None
        assert cell["metadata"] == {}
    assert set(raw["metadata"]) == {"kernelspec", "language_info"}
    assert raw["metadata"]["kernelspec"]["name"] == "python3"
    assert raw["metadata"]["language_info"] == {"name": "python"}


@pytest.mark.parametrize("name", NAMES)
def test_it_uses_the_public_api_alone(name):
    tree = ast.parse(code(name))
    names = imported(tree)
    assert {n.split(".")[0] for n in names} <= OTHERS
    assert not [n for n in names if n.startswith("chronozarr_dask.")]
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "czd"
    }
    assert used
    assert used <= set(czd.__all__)
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert [name for name in attributes if name.startswith("_") and not name.endswith("__")] == []


@pytest.mark.parametrize("name", NAMES)
def test_it_begins_with_a_title_and_every_picture_is_told_of(name):
    cells = read(name).cells
    assert cells[0].source.startswith(f"# {name[0]}. ")
    assert cells[1].source.startswith("%matplotlib widget\n")
    for before, cell in pairwise(cells):
        if cell.cell_type == "code" and "plt.subplot" in cell.source:
            above = [before, *reversed(cells[: cells.index(before)])]
            told = next(c.source for c in above if c.cell_type == "markdown")
            assert "*Look for*" in " ".join(told.split())


@pytest.mark.parametrize("name", NAMES)
def test_lines_are_short(name):
    assert not [line for cell in read(name).cells for line in cell.source.splitlines() if len(line) > 120]

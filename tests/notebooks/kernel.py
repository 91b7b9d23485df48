"""Executes a notebook in a fresh kernel of this Python, wherever else kernels are registered."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

SLOW = re.compile(
    r"Worker process still alive|distributed\.\S+ - WARNING|Matplotlib is building the font cache"
    r"|Creating scratch directories is taking"
)

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NAMES = sorted(path.name for path in FOLDER.glob("*.ipynb"))


class ThisPython(KernelSpecManager):
    """Knows one kernel."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name=kernel_name, language="python")


class ThisKernel(AsyncKernelManager):
    """Starts it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, kernel_spec_manager=ThisPython())
        self.shutdown_wait_time = 60  # it removes its temporary folders, and is killed when it takes longer


def read(name: str) -> Any:
    return nbformat.read(FOLDER / name, as_version=4)


def execute(name: str, folder: Path, then: str = "", timeout: int = 150, **env: str) -> Any:
    """The executed notebook. `then` is run as its last cell: an assertion that fails in it fails the test.

    `folder` is the working directory, and takes what Jupyter and IPython write for themselves.
    """
    notebook = read(name)
    notebook.cells.append(nbformat.v4.new_code_cell(then))
    own = {"IPYTHONDIR": str(folder / "ipython"), "JUPYTER_RUNTIME_DIR": str(folder / "runtime")}
    place = {"metadata": {"path": str(folder)}}
    client = NotebookClient(notebook, kernel_manager_class=ThisKernel, timeout=timeout, resources=place)
    client.execute(env={**os.environ, **own, **env})
    return notebook


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def printed(notebook: Any) -> str:
    """What went to stdout."""
    return "".join(o.text for o in outputs(notebook) if o.output_type == "stream" and o.name == "stdout")


def complaints(notebook: Any) -> list[str]:
    """What went to stderr, warnings included, but for what a slow machine makes Dask and Matplotlib say."""
    said = [o.text for o in outputs(notebook) if o.output_type == "stream" and o.name == "stderr"]
    return [line for text in said for line in text.splitlines() if line.strip() and not SLOW.search(line)]


def pictures(notebook: Any) -> int:
    """Figures that a page without widgets shows."""
    return sum("image/png" in o.get("data", {}) for o in outputs(notebook))

"""How kernels are compiled: kept on disk where that is possible, working where it is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numba
import numpy as np
import pytest

import chronozarr_dask.kernels
from chronozarr_dask.kernels import block_mean, change
from chronozarr_dask.kernels.compiled import compiled

PACKAGE = Path(chronozarr_dask.kernels.__file__).parent.parent

PROGRAM = """
import numpy as np
from chronozarr_dask.kernels.block_mean import _block_mean, block_mean
assert block_mean(np.full((1, 1, 2, 2), 7, np.uint16), None, 0).tolist() == [[[[7]]]]
print(sum(_block_mean.stats.cache_hits.values()), sum(_block_mean.stats.cache_misses.values()))
"""


def run_on_a_copy(folder: Path, env: dict[str, str]) -> str:
    """Cache hits and misses of a process that imports the package from `folder`."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-B", "-c", PROGRAM], cwd=folder, env=clean | env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package in which numba cannot keep anything beside the modules, even for root."""
    shutil.copytree(PACKAGE, tmp_path / "chronozarr_dask", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "chronozarr_dask" / "kernels" / "__pycache__").write_text("not a folder")
    return tmp_path


def test_without_a_place_to_keep_code_each_process_compiles(copy: Path) -> None:
    nowhere = {"HOME": str(copy / "no"), "XDG_CACHE_HOME": str(copy / "chronozarr_dask" / "kernels" / "__pycache__")}
    assert run_on_a_copy(copy, nowhere) == "0 1"
    assert run_on_a_copy(copy, nowhere) == "0 1"


def test_the_second_process_does_not_compile(copy: Path) -> None:
    kept = {"NUMBA_CACHE_DIR": str(copy / "kept")}
    assert run_on_a_copy(copy, kept) == "0 1"
    assert run_on_a_copy(copy, kept) == "1 0"


def test_another_error_of_numba_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, cache: bool = False, **__: object) -> None:
        if cache:
            raise RuntimeError("something else")

    monkeypatch.setattr(numba, "njit", fail)
    with pytest.raises(RuntimeError, match="something else"):
        compiled(len)


@pytest.mark.parametrize("kernel", [block_mean._block_mean, block_mean._block_plane, change._change_sums])
def test_kernels_release_the_gil_and_keep_the_order_of_additions(kernel: object) -> None:
    options = kernel.targetoptions  # type: ignore[attr-defined]
    assert options["nogil"] is True
    assert not options.get("fastmath")
    assert not options.get("parallel")


def test_another_thread_runs_while_a_kernel_does() -> None:
    """One call that takes long; meanwhile this thread counts."""
    data = np.broadcast_to(np.arange(2000, dtype=np.float32), (2, 100, 2000, 2000))
    pairs = np.array([[0, 1]])
    change.change_sums(data[:, :1, :1], pairs)
    done = threading.Event()
    thread = threading.Thread(target=lambda: (change.change_sums(data, pairs), done.set()))
    ticks = 0
    thread.start()
    while not done.is_set():
        time.sleep(0.001)
        ticks += 1
    thread.join()
    assert ticks > 10

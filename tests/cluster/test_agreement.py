"""Client, scheduler and workers run the same versions, or the run is refused before anything is written."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

import chronozarr_dask as czd
from chronozarr_dask._version import __version__
from chronozarr_dask.errors import ChronozarrWarning, InputError
from chronozarr_dask.run.agreement import check_versions, differences
from tests.encode import cubes

HERE = {"python": "3.11.9.final.0", "chronozarr-dask": "1.0", "dask": "2026.8.0", "numpy": "2.1.0", "rasterio": "1.4"}
HERE |= {"numcodecs": "0.16.6", "fsspec": "2026.1", "s3fs": None}


def answer(scheduler: dict[str, Any] | None = None, **worker: Any) -> dict[str, Any]:
    there = {k.replace("_", "-"): v for k, v in worker.items()}
    return {
        "client": {"packages": HERE},
        "scheduler": {"packages": HERE | (scheduler or {})},
        "workers": {"tcp://10.0.0.7:40001": {"packages": HERE | there}, "tcp://10.0.0.8:40001": None},
    }


@pytest.mark.parametrize(
    ("there", "is_error"),
    [
        ({"numcodecs": "0.16.5"}, True),
        ({"numpy": "1.26.4"}, True),
        ({"dask": "2026.7.0"}, True),
        ({"numcodecs": None}, True),
        ({"python": "3.12.1.final.0"}, True),
        ({"rasterio": "1.3"}, True),
        ({"rasterio": None}, False),
        ({"fsspec": "2025.1"}, False),
    ],
)
def test_what_can_change_bytes_or_pickles_is_an_error(there: dict[str, Any], is_error: bool) -> None:
    (found,) = differences(answer(**there))
    assert found.is_error is is_error
    assert found.where == "worker tcp://10.0.0.7:40001"
    (package, version), *_ = there.items()
    shown = "3.12" if package == "python" else version or "not installed"
    assert str(found).startswith(f"worker tcp://10.0.0.7:40001 has {package} {shown}, the client ")


def test_what_changes_nothing_is_no_difference() -> None:
    assert list(differences(answer())) == []
    assert list(differences(answer(python="3.11.2.final.0"))) == [], "a patch of Python"
    assert list(differences(answer(s3fs="2026.1"))) == [], "more than the client has"
    assert list(differences(answer(fsspec=None))) == [], "less, of what a run may not need"
    assert list(differences(answer(numcodecs="1"), workers=["tcp://10.0.0.8:40001"])) == [], "of a worker not asked for"


def test_a_scheduler_unpickles_graphs_and_needs_no_encoder() -> None:
    assert list(differences(answer({"numcodecs": None, "rasterio": "1"}))) == []
    (found,) = differences(answer({"chronozarr-dask": None}))
    assert (found.where, found.is_error) == ("scheduler", True)


class Told:
    """A client that is answered so."""

    def __init__(self, versions: dict[str, Any], imports: dict[str, Any]) -> None:
        self.versions, self.imports = versions, imports

    def get_versions(self, packages: list[str]) -> dict[str, Any]:
        return self.versions

    def run(self, function: Any, workers: Any, on_error: str) -> dict[str, Any]:
        assert (function(), on_error) == (__version__, "return")
        return self.imports


AT = "tcp://10.0.0.7:40001"


def test_the_message_names_host_package_and_both_versions() -> None:
    with pytest.raises(InputError, match=r"worker tcp://10\.0\.0\.7:40001 has numpy 1\.26\.4, the client 2\.1\.0; let"):
        check_versions(Told(answer(numpy="1.26.4"), {AT: __version__}))
    with pytest.raises(InputError, match=rf"worker {AT} has chronozarr-dask 0\.0, the client {__version__}"):
        check_versions(Told(answer(), {AT: "0.0"}))
    with pytest.raises(InputError, match=rf"worker {AT} cannot import chronozarr_dask \(no numba\)"):
        check_versions(Told(answer(), {AT: ImportError("no numba")}))
    with pytest.warns(ChronozarrWarning, match=r"has fsspec 2025\.1, the client 2026\.1"):
        check_versions(Told(answer(fsspec="2025.1"), {AT: __version__}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_versions(Told(answer(), {AT: __version__, "tcp://gone:1": OSError("it is gone")}))


# ---- real ones -------------------------------------------------------------------------------------------------------


@pytest.fixture
def scheduler() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as made:
        yield made


@pytest.mark.cluster
def test_a_worker_that_cannot_import_this_package(tmp_path: Path, scheduler: LocalCluster) -> None:
    """It has everything else: its environment is that of an image somebody forgot to make anew."""
    hidden = tmp_path / "path" / "chronozarr_dask"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'chronozarr_dask'\")\n")
    environ = os.environ | {"PYTHONPATH": str(hidden.parent)}
    words = [sys.executable, "-m", "dask", "worker", scheduler.scheduler_address, "--no-nanny", "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(words, env=environ, cwd=tmp_path, **quiet) as worker:  # type: ignore[call-overload]
        try:
            with Client(scheduler) as client:
                client.wait_for_workers(1, timeout=100)
                with pytest.raises(InputError, match=r"worker tcp://.* cannot import chronozarr_dask \(ModuleNotFound"):
                    czd.encode(cubes.cube("uint8", (1, 1, 32, 32)), tmp_path / "s", client=client)
        finally:
            worker.kill()
    assert not (tmp_path / "s").exists()
    assert not (tmp_path / "s.run").exists()

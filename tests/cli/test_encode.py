"""`encode` in this process: what it writes and what it prints."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import LocalCluster

import chronozarr_dask as czd
from chronozarr_dask.errors import RunError
from chronozarr_dask.run import clients, local
from chronozarr_dask.run.machine import n_cores
from tests.cli.sources import dataset, invoke, netcdf, objects, zarr

SMALL = ("--chunk-size", "16", "--mask", "valid")


@pytest.fixture
def source(tmp_path: Path) -> str:
    return zarr(tmp_path / "cube.zarr")


def test_netcdf_and_zarr_of_both_formats_give_the_same_bytes(tmp_path: Path) -> None:
    sources = [
        netcdf(tmp_path / "cube.nc"),
        zarr(tmp_path / "v2.zarr", zarr_format=2),
        zarr(tmp_path / "v3.zarr", zarr_format=3),
    ]
    stores = []
    for i, path in enumerate(sources):
        result = invoke("encode", path, str(tmp_path / f"{i}.cz"), *SMALL, "--quiet")
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
        stores.append(objects(tmp_path / f"{i}.cz"))
    assert len(stores[0]) > 100
    assert stores[0] == stores[1] == stores[2]


def test_the_store_is_that_of_the_python_api(source: str, tmp_path: Path) -> None:
    provenance = {"sources": ["s2"], "composite": "median", "gap_fill": "none", "notes": None}
    options: dict[str, Any] = {
        "nodata": 3, "bands": [{"name": "red", "scale": 0.5}, "nir"], "encoding": "star-delta", "anchor_interval": 2,
        "codec": "blosc", "codec_level": 3, "codec_options": {"cname": "lz4"}, "chunk_size": 16, "shard_time": 2,
        "levels": 2, "mask": "valid", "fill_masked": True, "provenance": provenance, "shard_bytes_limit": 3,
    }  # fmt: skip
    czd.encode(dataset(), tmp_path / "a.cz", **options)
    line = (
        "--nodata 3 --band red::0.5 --band nir --encoding star-delta --anchor-interval 2 --codec blosc "
        "--codec-level 3 --codec-option cname=lz4 --chunk-size 16 --shard-time 2 --levels 2 --mask valid --fill-masked "
        "--shard-bytes-limit 3 --region-cells 2,4 --memory 100MB"
    ).split()
    journal = tmp_path / "elsewhere"
    more = ["--provenance", json.dumps(provenance), "--journal", str(journal)]
    result = invoke("encode", source, str(tmp_path / "b.cz"), *line, *more)
    assert result.exit_code == 0, result.stderr
    assert objects(tmp_path / "a.cz") == objects(tmp_path / "b.cz")
    assert (journal / "plan.json").is_file()


def test_summary_tells_what_was_done_and_how_to_open_it(source: str, tmp_path: Path) -> None:
    target = str(tmp_path / "out.cz")
    result = invoke("encode", source, target, *SMALL)
    assert result.exit_code == 0
    assert result.stderr == ""
    first = [line.split()[0] for line in result.stdout.splitlines() if line and not line.startswith("  ")]
    assert first == ["target", "encoding", "objects", "bytes", "staged", "time", "journal", "Open"]
    assert "of the bytes of none, measured on 3 cells" in result.stdout
    assert "level 0 " in result.stdout
    code = [line.strip() for line in result.stdout.splitlines() if line.startswith("  ")]
    assert len(code) == 3
    names: dict[str, Any] = {}
    exec("\n".join(code[:2]), names)
    exec(f"opened = {code[2]}", names)
    assert np.array_equal(names["opened"]["data"].sel(band="B04").values, dataset()["B04"].values)


def test_json_is_the_report_and_nothing_else(source: str, tmp_path: Path) -> None:
    result = invoke("encode", source, str(tmp_path / "out.cz"), *SMALL, "--json")
    report = json.loads(result.stdout)
    assert report["target"] == str(tmp_path / "out.cz")
    kept = json.loads((tmp_path / "out.cz.run" / "report.json").read_text())
    assert report.items() <= kept.items()


def test_a_warning_is_one_line_said_once(tmp_path: Path) -> None:
    cube = dataset(crs="EPSG:3857")
    result = invoke("encode", zarr(tmp_path / "m.zarr", cube), str(tmp_path / "out.cz"), *SMALL, "--json")
    assert result.exit_code == 0
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("warning: EPSG:3857 (")
    assert json.loads(result.stdout)["warnings"] == [result.stderr.removeprefix("warning: ").strip()]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--variable", "B99"), "B99"),
        (("--mask", "nothing"), "the input has no variable of that name"),
        (("--crs", "EPSG:99999999"), "99999999"),
        (("--nan-to-mask",), "--nan-to-mask is for float32"),
        (("--memory", "1kB"), "raise memory to"),
        (("--resume",), "there is no run to resume"),
    ],
)
def test_an_error_is_one_paragraph_and_leaves_nothing(
    source: str, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    result = invoke("encode", source, str(tmp_path / "out.cz"), "--variable", "B04", *arguments)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr
    assert not (tmp_path / "out.cz").exists()
    assert not (tmp_path / "out.cz.run").exists()


def test_a_target_that_holds_something_is_refused(source: str, tmp_path: Path) -> None:
    (tmp_path / "out.cz").mkdir()
    (tmp_path / "out.cz" / "note.txt").write_text("mine")
    result = invoke("encode", source, str(tmp_path / "out.cz"), *SMALL)
    assert result.exit_code == 1
    assert "is not empty" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--codec", "lzma"),
        ("--codec-level", "x"),
        ("--codec-level", "23"),
        ("--chunk-size", "63"),
        ("--storage-option", "anon"),
        ("--source-option", "=1"),
        ("--no-such-option",),
    ],
)
def test_bad_usage_exits_with_2_before_anything_is_read(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    places = (str(tmp_path / "missing.nc"), str(tmp_path / "out.cz")) if arguments else ("only-one",)
    result = invoke("encode", *places, *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Usage: chronozarr-dask encode" in result.stderr
    assert "does not exist" not in result.stderr


def test_an_oserror_of_opening_the_source_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied", "cube.nc")

    monkeypatch.setattr("chronozarr_dask.run.beginning.open_source", fail)
    result = invoke("encode", "cube.nc", str(tmp_path / "out.cz"))
    assert result.exit_code == 1
    assert result.stderr == "error: cube.nc cannot be opened: [Errno 13] Permission denied: 'cube.nc'\n"


def test_an_error_of_ours_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr("chronozarr_dask.run.beginning.open_source", fail)
    assert isinstance(invoke("encode", "cube.nc", str(tmp_path / "out.cz")).exception, ZeroDivisionError)


@pytest.mark.cluster
@pytest.mark.parametrize("option", ["--cluster", "--scheduler"])
def test_a_scheduler_gives_the_same_store(source: str, tmp_path: Path, option: str) -> None:
    threads, cluster = tmp_path / "threads.cz", tmp_path / "cluster.cz"
    assert invoke("encode", source, str(threads), *SMALL, option, "threads").exit_code == 0
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as made:
        result = invoke("encode", source, str(cluster), *SMALL, option, made.scheduler_address)
    assert result.exit_code == 0, result.stderr
    assert objects(threads) == objects(cluster)


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Of each local cluster of this test: what its workers have."""
    seen: list[dict[str, Any]] = []
    inner = local.local_client

    @contextmanager
    def watched(*sizes: Any) -> Iterator[Any]:
        with inner(*sizes) as client:
            workers = client.scheduler_info(n_workers=-1)["workers"].values()
            one = set(client.run(os.environ.get, "OMP_NUM_THREADS").values())
            seen.append({"n": len(workers), "threads": sum(w["nthreads"] for w in workers), "one": one,
                         "memory": [w["memory_limit"] for w in workers]})  # fmt: skip
            yield client

    monkeypatch.setattr(local, "local_client", watched)
    return seen


@pytest.mark.cluster
def test_a_local_cluster_is_as_large_as_the_machine(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clusters: list[dict[str, Any]]
) -> None:
    """And what began there is gone on with there."""
    monkeypatch.setattr(local, "memory_limit", lambda: 3 * 2**30)
    words = ("encode", source, str(tmp_path / "out.cz"), *SMALL, "--region-cells", "2", "--cluster", "local")
    with monkeypatch.context() as patch:
        patch.setattr("chronozarr_dask.run.job.commit", fail)
        assert "stopped" in invoke(*words).stderr
    assert len(list((tmp_path / "out.cz.run" / "receipts" / "0").iterdir())) > 1
    result = invoke(*words, "--resume")
    assert (result.exit_code, result.stderr) == (0, "")
    for workers in clusters:
        assert workers["threads"] == max(local.LEAST_THREADS, n_cores())
        assert workers["one"] == {"1"}
        assert sum(workers["memory"]) == 3 * 2**30
    assert len(clusters) == 2
    straight = invoke("encode", source, str(tmp_path / "straight.cz"), *SMALL, "--quiet")
    assert straight.exit_code == 0
    assert objects(tmp_path / "out.cz") == objects(tmp_path / "straight.cz")


def fail(*_: Any, **__: Any) -> None:
    raise RunError("stopped")


@pytest.mark.cluster
def test_a_dry_run_is_of_the_cluster_that_is_named(source: str, tmp_path: Path, clusters: list[dict[str, Any]]) -> None:
    words = ("encode", source, str(tmp_path / "out.cz"), *SMALL, "--dry-run", "--json")
    result = invoke(*words, "--cluster", "local")
    assert result.exit_code == 0, result.stderr
    told, (workers,) = json.loads(result.stdout), clusters
    assert told["estimate"]["threads"] == workers["threads"]
    assert told["memory"] < min(workers["memory"])
    json.loads(invoke(*words).stdout)
    assert len(clusters) == 1


def test_a_scheduler_that_does_not_answer(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "CONNECT_SECONDS", 0.5)
    for words in (("--cluster", "tcp://127.0.0.1:1"), ("--scheduler", "tcp://127.0.0.1:1", "--dry-run")):
        result = invoke("encode", source, str(tmp_path / "out.cz"), *SMALL, *words)
        assert result.exit_code == 1
        assert result.stderr.startswith("error: no Dask scheduler answers at tcp://127.0.0.1:1")
    assert not (tmp_path / "out.cz").exists()

"""`info` and `validate`: what they tell of a store, and their exit codes."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chronozarr_dask as czd
from chronozarr_dask.cli.output import warnings_told
from chronozarr_dask.cli.text import nbytes, number, plural, seconds
from chronozarr_dask.run.facts import cadence
from tests.cli.sources import dataset, invoke


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two bands, mask, star-delta, sharded."""
    path = tmp_path_factory.mktemp("store") / "s.cz"
    czd.encode(
        dataset(),
        path,
        chunk_size=16,
        mask="valid",
        shard_time=3,
        bands=[czd.Band("B04", "red", 0.0001, -0.1), czd.Band("B08", units="K")],
        provenance={"sources": ["a", "b"], "composite": "median", "gap_fill": "none", "notes": "by hand"},
    )
    return path


def damaged(store: Path, tmp_path: Path, **block: Any) -> str:
    """The root document of the store with other fields, over the same objects."""
    copy = tmp_path / "damaged.cz"
    copy.mkdir()
    for child in store.iterdir():
        (copy / child.name).symlink_to(child)
    root = json.loads((store / "zarr.json").read_text())
    root["attributes"]["chronozarr"] |= block
    (copy / "zarr.json").unlink()
    (copy / "zarr.json").write_text(json.dumps(root))
    return str(copy)


def test_info_as_json(store: Path) -> None:
    found = json.loads(invoke("info", str(store), "--json").stdout)
    assert found["shape"] == {"time": 5, "band": 2, "y": 70, "x": 50}
    assert found["times"] == {
        "n": 5, "first": "2023-01-01T00:00:00Z", "last": "2023-05-01T00:00:00Z", "cadence": "monthly",
    }  # fmt: skip
    assert found["bounds"] == [500_000, 4_999_300, 500_500, 5_000_000]
    assert found["bands"][0] == {"name": "B04", "common_name": "red", "scale": 0.0001, "offset": -0.1}
    assert [level["grid"] for level in found["levels"]] == [[5, 4], [3, 2], [2, 1], [1, 1]]
    assert (found["dtype"], found["nodata"], found["crs"]) == ("uint16", 0, "EPSG:32631")
    assert found["crs_name"] == "WGS 84 / UTM zone 31N"
    assert (found["chunk_size"], found["shard_time"], found["planes"]) == (16, 3, ["mask"])
    assert found["codec"] == {"name": "zstd", "configuration": {"level": 5, "checksum": False}}
    assert found["temporal"]["anchors"] == 1
    assert found["temporal"]["selection"]["sampled_cells"] == 3
    shards = [p for plane in ("data", "mask") for p in store.glob(f"*/{plane}/c/**/*") if p.is_file()]
    assert found["objects_at_most"] == 2 * 2 * (20 + 6 + 2 + 1) == len(shards)
    assert found["data_bytes"] == sum(p.stat().st_size for p in store.glob("*/data/c/*/*/*/*"))


def test_info_for_a_person_is_plain_when_piped(store: Path) -> None:
    result = invoke("info", str(store))
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[:2] == [str(store), "chronozarr 0.2.0: 5 times x 2 bands x 70 x 50 px, uint16"]
    assert not any(line != line.rstrip() for line in lines)
    assert result.stdout.isascii()
    rows = [" ".join(line.split()) for line in lines]
    for row in (
        "times 2023-01-01T00:00:00Z to 2023-05-01T00:00:00Z, monthly",
        "CRS EPSG:32631 (WGS 84 / UTM zone 31N)",
        "bounds x 500000 to 500500, y 4999300 to 5000000",
        "nodata 0",
        "planes mask",
        "schedule 1 anchor, every 6 timesteps",
        "layout cells of 16 x 16 px, sharded: one object for 3 timesteps",
        "codec zstd, level 5",
        "sources a, b",
        "notes by hand",
        "B04 red 0.0001 -0.1",
        "B08 1 0 K",
        "0 70 50 5 x 4 10",
        "3 9 7 1 x 1 80",
    ):
        assert row in rows


def test_validate_a_store_that_conforms(store: Path) -> None:
    result = invoke("validate", str(store))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{store} conforms to chronozarr v0.2 (pixels were not read: --deep reads them)\n"
    as_json = json.loads(invoke("validate", str(store), "--json").stdout)
    assert as_json == {"store": str(store), "conforms": True, "spec_version": "0.2.0", "problems": []}


def test_validate_prints_a_line_for_each_problem_and_exits_with_1(store: Path, tmp_path: Path) -> None:
    path = damaged(store, tmp_path, crs="EPSG:32632")
    problems = czd.validate(path)
    result = invoke("validate", path)
    assert result.exit_code == 1
    *lines, verdict = result.stdout.splitlines()
    assert [" ".join(line.split()) for line in lines] == [" ".join(str(p).split()) for p in problems]
    assert lines[0].startswith("error ")
    assert "expected 'EPSG:32631', found 'EPSG:32632'" in lines[0]
    assert (
        verdict == f"{path} does not conform: {plural(len(problems), 'error')}, 0 warnings"
        " (pixels were not read: --deep reads them)"
    )
    as_json = invoke("validate", path, "--json")
    assert as_json.exit_code == 1
    assert json.loads(as_json.stdout)["problems"] == [p.to_json() for p in problems]


def test_validate_exits_with_0_when_there_are_only_warnings(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warning = czd.Problem("warning", "3.2", "zarr.json", "Web Mercator")
    monkeypatch.setattr("chronozarr_dask.store.validate.validate", lambda *_: [warning])
    result = invoke("validate", str(store))
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "warning 3.2 zarr.json: Web Mercator",
        f"{store} conforms to chronozarr v0.2, with 1 warning (pixels were not read: --deep reads them)",
    ]


@pytest.mark.parametrize("command", ["info", "validate"])
def test_what_is_no_store(command: str, tmp_path: Path) -> None:
    result = invoke(command, str(tmp_path / "nowhere"))
    assert result.exit_code == 1
    assert not (tmp_path / "nowhere").exists()
    told = result.stderr if command == "info" else result.stdout
    assert told.startswith("error")
    assert "Traceback" not in result.output


@pytest.mark.parametrize("command", ["info", "validate"])
def test_options_are_for_urls(command: str, store: Path) -> None:
    result = invoke(command, str(store), "--storage-option", "anon=true")
    assert result.exit_code == 1
    assert "storage_options are for remote URLs" in result.stderr


@pytest.mark.parametrize(
    ("times", "text"),
    [
        (["2024-01-01"], "one timestep"),
        (["2024-01-31", "2024-02-29"], "every 29 days"),
        (["2024-01-15", "2024-02-15", "2024-03-15"], "monthly"),
        (["2023-11-01", "2024-02-01", "2024-05-01"], "every 3 months"),
        (["2022-06-01", "2023-06-01"], "yearly"),
        (["2020-06-01", "2022-06-01"], "every 2 years"),
        (["2024-01-30", "2024-02-04", "2024-02-09"], "every 5 days"),
        (["2024-01-01", "2024-01-02"], "every day"),
        (["2024-01-01T00:00", "2024-01-01T01:30"], "every 1.5 hours"),
        (["2024-01-01", "2024-01-03", "2024-01-08", "2024-01-13"], "irregular, 5 days in the middle"),
    ],
)
def test_cadence(times: list[str], text: str) -> None:
    assert cadence(np.array(times, "datetime64[ms]")) == text


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0 B"), (999, "999 B"), (1234, "1.23 kB"), (56_789_000, "56.8 MB"), (999_999, "1.00 MB")]
)
def test_bytes(n: int, text: str) -> None:
    assert nbytes(n) == text


@pytest.mark.parametrize(
    ("s", "text"), [(0.123, "0.1 s"), (59.94, "59.9 s"), (59.99, "1 min 0 s"), (75, "1 min 15 s"), (3723, "1 h 2 min")]
)
def test_seconds(s: float, text: str) -> None:
    assert seconds(s) == text


def test_numbers() -> None:
    assert [number(x) for x in (10.0, 0.0001, 4999960.5, -0.1, 5)] == ["10", "0.0001", "4999960.5", "-0.1", "5"]


def test_a_warning_is_told_once_and_the_filters_come_back(capsys: pytest.CaptureFixture[str]) -> None:
    before = warnings.showwarning
    with warnings_told():
        warnings.simplefilter("always")
        for text in ("set crs= of it", "another", "set crs= of it"):
            warnings.warn(text, UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: set --crs of it\nwarning: another\n"
    assert warnings.showwarning is before

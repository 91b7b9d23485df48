"""``validate --deep``: what it says of a store whose documents are right, and its options."""

import json
from pathlib import Path

import click
import pytest
import typer

import chronozarr_dask as czd
from chronozarr_dask.cli.progress import Bars
from chronozarr_dask.cli.validate import FIRST, STAGES, read_part
from chronozarr_dask.run.progress import Step
from tests.cli.sources import dataset, invoke


@pytest.fixture
def store(tmp_path: Path) -> Path:
    czd.encode(dataset(), tmp_path / "s.cz", chunk_size=16, mask="valid", encoding="none")
    return tmp_path / "s.cz"


def test_a_good_store(store: Path) -> None:
    result = invoke("validate", str(store), "--deep")
    assert (result.exit_code, result.stdout) == (0, f"{store} conforms to chronozarr v0.2\n")
    sampled = invoke("validate", str(store), "--deep", "--sample", "10%")
    assert sampled.stdout == f"{store} conforms to chronozarr v0.2 (a sample of 10% of its pixels was read)\n"


def test_a_lost_chunk(store: Path) -> None:
    (store / "0/data/c/2/0/1/1").unlink()
    assert invoke("validate", str(store)).exit_code == 0
    result = invoke("validate", str(store), "--deep")
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert lines[0].startswith("error   6 1/data/c/2/0/0/0: level 1, timestep 2, cell (0, 0), band 0, row 8, column 8:")
    assert any(line.startswith("error   journal 0/data/c/2/0/1/1: the receipt of region 0/0-0-0") for line in lines)
    assert f"{store} does not conform: " in lines[-1]
    as_json = json.loads(invoke("validate", str(store), "--deep", "--json").stdout)
    assert as_json["conforms"] is False
    assert len(as_json["problems"]) == len(lines) - 1


@pytest.mark.parametrize(("text", "part"), [("5%", 0.05), ("0.05", 0.05), (" 12.5% ", 0.125), ("100%", 1), ("1", 1)])
def test_part(text: str, part: float) -> None:
    assert read_part(text) == pytest.approx(part)


@pytest.mark.parametrize("text", ["0", "0%", "5", "101%", "-1%", "half", "5%%", "nan", ""])
def test_no_part(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="above 0 and up to all"):
        read_part(text)


@pytest.mark.parametrize("option", [["--sample", "5%"], ["--journal", "x.run"], ["--scheduler", "tcp://x:1"]])
def test_options_of_the_pixels_need_deep(store: Path, option: list[str]) -> None:
    result = invoke("validate", str(store), *option)
    assert result.exit_code == 2
    assert "goes with --deep" in click.unstyle(result.stderr)


def test_the_bars_are_named_by_what_is_looked_at() -> None:
    with Bars(quiet=True, first=FIRST, names=STAGES) as bars:
        bars(Step("check", 1, 2))
        bars(Step("audit", 1, 1))
    assert [task.description for task in bars._bars.tasks] == ["documents", "pixels", "receipts"]

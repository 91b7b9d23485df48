"""A region that the target refuses three times is set aside: the rest goes on, or nothing more begins."""

import json
from pathlib import Path

import dask
import pytest

import chronozarr_dask as czd
from chronozarr_dask.errors import RunError, TargetError
from chronozarr_dask.store.folder import Folder
from tests.encode.test_resume import make_cube

BROKEN = "0/data/c/0/0/0/0"
HOW = {"crs": "EPSG:32631", "chunk_size": 16, "encoding": "none", "region_cells": 2}


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Keys that were put; one of them is refused each time."""
    put, seen = Folder.put, []

    def refusing(self: Folder, key: str, data: bytes) -> None:
        seen.append(key)
        if key == BROKEN:
            raise TargetError(f"{key}: no answer")
        put(self, key, data)

    monkeypatch.setattr(Folder, "put", refusing)
    return seen


@pytest.mark.parametrize("fail_fast", [False, True])
def test_a_region_that_fails_three_times(
    tmp_path: Path, refused: list[str], monkeypatch: pytest.MonkeyPatch, fail_fast: bool
) -> None:
    target = tmp_path / "s"
    with dask.config.set(num_workers=1), pytest.raises(RunError, match=r"1 of \d+ regions failed 3 times") as error:
        czd.encode(make_cube(), target, fail_fast=fail_fast, **HOW)
    assert BROKEN in str(error.value)
    assert refused.count(BROKEN) == 3
    receipts = list((tmp_path / "s.run" / "receipts").rglob("*-*"))
    assert (len(receipts) == 0) == fail_fast
    assert not (target / "zarr.json").exists()
    lines = (tmp_path / "s.run" / "failures.jsonl").read_text().splitlines()
    assert [json.loads(line)["tries"] for line in lines] == [3]
    monkeypatch.undo()
    czd.encode(make_cube(), target, resume=True, **HOW)
    assert czd.validate_deep(target) == []

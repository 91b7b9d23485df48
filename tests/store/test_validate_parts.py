"""The parts that validation is made of: problems, votes, texts; and the table of rows as a whole."""

import json
from typing import Any

import numcodecs
import numpy as np
import pytest

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.codecs import Codec
from chronozarr_dask.store.validate import Problem
from chronozarr_dask.store.validate.chunks import inflate, texts
from chronozarr_dask.store.validate.problem import REPEATS, Findings
from chronozarr_dask.store.validate.values import vote
from tests.store import (
    test_validate_arrays,
    test_validate_codecs,
    test_validate_documents,
    test_validate_levels,
    test_validate_shards,
)


def test_a_problem_is_one_line_and_json() -> None:
    problem = Problem(
        "error", "3.7", "zarr.json: chronozarr.levels[0].grid", "it is wrong", (1, 2), [np.int64(1), float("inf")]
    )
    assert str(problem) == (
        "error 3.7 zarr.json: chronozarr.levels[0].grid: it is wrong (expected [1, 2], found [1, 'inf'])"
    )
    assert json.loads(json.dumps(problem.to_json(), allow_nan=False)) == {
        "severity": "error",
        "section": "3.7",
        "path": "zarr.json: chronozarr.levels[0].grid",
        "message": "it is wrong",
        "expected": [1, 2],
        "found": [1, "inf"],
    }
    long = Problem("warning", "2", "zarr.json", "x", "y" * 1000, "a\nb")
    assert len(str(long)) < 200
    assert "\n" not in str(long)


def test_the_majority_wins_and_the_first_of_equals() -> None:
    assert vote([None, 3, 4, 4]) == 4
    assert vote([3, 4]) == 3
    assert vote([None]) is None


def test_a_few_problems_are_not_counted() -> None:
    out = Findings()
    out.extend_bounded([Problem("error", "2", str(i), "x") for i in range(REPEATS)], "x")
    assert [p.path for p in out.problems] == [str(i) for i in range(REPEATS)]


@pytest.mark.parametrize("names", [["B04"], ["B04", "été", ""], ["x" * 300]])
@pytest.mark.parametrize(
    ("codec", "encoder"),
    [
        (Codec(), numcodecs.Zstd()),
        (Codec("gzip"), numcodecs.GZip()),
        (Codec("blosc"), numcodecs.Blosc()),
    ],
)
def test_texts_are_read_as_numcodecs_writes_them(names: list[str], codec: Codec, encoder: Any) -> None:
    blob = bytes(encoder.encode(numcodecs.VLenUTF8().encode(np.array(names, object))))
    assert texts(inflate(blob, codec, "k"), len(names), "k") == names
    for n in range(len(blob)):
        with pytest.raises(StoreError):
            texts(inflate(blob[:n], codec, "k"), len(names), "k")


@pytest.mark.parametrize("data", [b"", b"\1\0\0", b"\2\0\0\0", b"\1\0\0\0\xff\xff\xff\xff", b"\1\0\0\0\1\0\0\0\xff"])
def test_bytes_that_hold_no_text_are_an_error(data: bytes) -> None:
    with pytest.raises(StoreError):
        texts(data, 1, "k")


def test_every_section_that_has_a_must_has_a_row() -> None:
    modules = (
        test_validate_arrays,
        test_validate_codecs,
        test_validate_documents,
        test_validate_levels,
        test_validate_shards,
    )
    rows = [r for m in modules for v in vars(m).values() if isinstance(v, list) for r in v]
    sections = "2 2.1 2.2 2.3 2.4 2.5 3.1 3.2 3.3 3.4 3.5 3.6 3.7 3.8 4.1 4.2 4.3 5 6 7.1 7.2 7.3 8".split()
    assert sorted({r.section for r in rows}) == sorted(sections)
    assert len({r.what for r in rows}) == len(rows)

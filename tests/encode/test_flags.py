"""Section 6, case 26: a band of flags or classes is named in a warning, since the means of it say nothing."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chronozarr_dask as czd
from chronozarr_dask.format.bands import Band
from chronozarr_dask.run.encode import ChronozarrWarning
from chronozarr_dask.run.flags import MIN_PIXELS, flag_warnings
from tests.encode import cubes


def texts(values: list[int] | None, nodata: Any = None, n_pixels: int = 10**6) -> tuple[str, ...]:
    return flag_warnings([Band("scl")], [values], nodata, n_pixels)


@pytest.mark.parametrize(
    ("values", "nodata", "part"),
    [
        ([0, 1], None, "two values, 0, 1"),
        ([1, 2], 0, "two values, 1, 2"),
        ([1], 0, "no value but 1 beside nodata 0"),
        ([4, 5, 6, 7, 11], 0, "5 values, 4, 5, 6, 7, 11"),
        (list(range(16)), None, "16 values"),
        ([10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 100], 0, "11 values"),
    ],
)
def test_flags_and_classes_are_named_with_their_values(values: list[int], nodata: Any, part: str):
    (text,) = texts(values, nodata)
    assert text.startswith("band scl")
    assert part in text
    assert "section 6" in text


@pytest.mark.parametrize(
    ("values", "nodata"),
    [
        (None, 0),  # many values: a quantity
        ([], 0),  # nothing but nodata
        ([7], 0),  # a constant
        ([1], None),
        ([0, 10000], None),  # the scaled fraction that section 6 advises
        ([0, 5000, 10000], None),
        ([0, 255], None),
    ],
)
def test_a_quantity_is_not_warned_of(values: list[int] | None, nodata: Any):
    assert texts(values, nodata) == ()


def test_a_small_raster_is_not_warned_of():
    assert texts([0, 1], n_pixels=2 * MIN_PIXELS - 1) == ()
    assert len(texts([0, 1], n_pixels=2 * MIN_PIXELS)) == 1


def flags(seed: int = 0, high: int = 2) -> np.ndarray[Any, Any]:
    """Two bands: the first a quantity, the second `high` values from 0."""
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 200, (4, 2, 64, 64))
    data[:, 1] = rng.integers(0, high, (4, 64, 64))
    return data.astype(np.uint8)


@pytest.mark.parametrize(
    ("high", "how", "part"),
    [
        (2, {"nodata": None}, "band B01 has two values, 0, 1"),
        (2, {}, "band B01 has no value but 1 beside nodata 0"),
        (9, {}, "band B01 has 8 values, 1, 2, 3, 4, 5, 6, 7, 8"),
    ],
)
@pytest.mark.parametrize("cut", [{}, {"region_cells": 2, "time_slab": 1, "encoding": "none"}])
def test_the_warning_is_given_and_reported(
    high: int, how: dict[str, Any], part: str, cut: dict[str, Any], tmp_path: Path
):
    with pytest.warns(ChronozarrWarning, match=part) as caught:
        report = czd.encode(cubes.as_cube(flags(high=high)), tmp_path / "s", chunk_size=16, **how, **cut)
    told = [w for w in caught if w.category is ChronozarrWarning]
    assert [str(w.message) for w in told] == list(report.warnings)
    assert told[0].filename == __file__
    assert czd.validate(tmp_path / "s") == []


def test_under_a_mask_0_is_a_value_like_another(tmp_path: Path):
    cube = cubes.as_cube(flags())
    with pytest.warns(ChronozarrWarning, match="band B01 has two values, 0, 1"):
        czd.encode(cube, tmp_path / "s", chunk_size=16, mask=cubes.mask(cube))


def test_values_are_those_of_the_whole_store(tmp_path: Path):
    """Each region has two values, the store more than 16: a quantity."""
    data = np.empty((10, 1, 64, 96), np.uint8)
    rows, cols = np.indices((64, 96)) // 16
    data[:, 0] = 1 + 2 * (rows * 6 + cols) + np.indices((64, 96)).sum(axis=0) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = czd.encode(cubes.as_cube(data), tmp_path / "s", chunk_size=8, region_cells=2, levels=2)
    assert report.warnings == ()
    assert report.regions > 16

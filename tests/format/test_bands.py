"""Section 3.6: band objects."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from chronozarr_dask.errors import InputError, StoreError
from chronozarr_dask.format.bands import COMMON_NAMES, Band, as_bands
from tests.format import example
from tests.format.strategies import bands


def test_bands_of_the_example() -> None:
    red = Band("B04", "red", 0.0001, 0, "reflectance")
    assert red.to_json() == example.CHRONOZARR["bands"][0]
    assert Band.from_json(example.CHRONOZARR["bands"][0]) == red


def test_scale_and_offset_are_always_written() -> None:
    assert Band("B04").to_json() == {"name": "B04", "scale": 1.0, "offset": 0.0}


def test_string_of_v0_1_reads_as_a_name_of_scale_1() -> None:
    assert Band.from_json("B04") == Band("B04", scale=1, offset=0)


def test_common_names_are_those_of_stac() -> None:
    assert {"red", "green", "blue", "nir", "nir08", "swir16", "swir22", "rededge071", "coastal"} <= COMMON_NAMES


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", 4),
        ("common_name", ""),
        ("units", 1),
        ("scale", 0),
        ("scale", "1"),
        ("scale", True),
        ("scale", float("inf")),
        ("scale", 10**400),
        ("offset", float("nan")),
        ("offset", None),
    ],
    ids=lambda v: str(v)[:12],
)
def test_field_that_is_wrong_is_named(field: str, value: Any) -> None:
    entry = {"name": "B04", field: value}
    with pytest.raises(InputError, match=field):
        Band(**entry)
    with pytest.raises(StoreError, match=r"chronozarr\.bands"):
        Band.from_json(entry)


@pytest.mark.parametrize("entry", [None, 4, [], {}, {"scale": 1}])
def test_entry_that_is_no_band_is_named(entry: Any) -> None:
    with pytest.raises(StoreError, match=r"chronozarr\.bands has"):
        Band.from_json(entry)


def test_numbers_of_numpy_become_numbers_of_json() -> None:
    band = Band("B04", scale=np.float32(0.5), offset=np.int16(-1))  # type: ignore[arg-type]
    assert json.loads(json.dumps(band.to_json())) == {"name": "B04", "scale": 0.5, "offset": -1.0}


def test_names_objects_and_mappings_are_bands() -> None:
    assert as_bands(["a", Band("b"), {"name": "c", "scale": 2}]) == (Band("a"), Band("b"), Band("c", scale=2))


@pytest.mark.parametrize(
    ("given_bands", "message"),
    [
        (["a", "a"], "two bands are named 'a'"),
        ("red", "the text 'red'"),
        ([], "no band"),
        ([{"name": "a", "wavelength": 1}], "give a name, or a Band"),
        ([1], "give a name, or a Band"),
    ],
)
def test_bands_that_are_none_are_refused(given_bands: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_bands(given_bands)


@given(bands())
def test_bands_round_trip_through_json(band: Band) -> None:
    assert Band.from_json(json.loads(json.dumps(band.to_json()))) == band

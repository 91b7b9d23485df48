"""Which pixels count, and offsets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chronozarr_dask.composite.validity import (
    SCL_KEPT,
    BitRule,
    ClassRule,
    apply_offset,
    count_least,
    drop_missing,
)
from chronozarr_dask.errors import InputError


def kept(rule: Any, numbers: Any, dtype: str = "uint8") -> list[int]:
    numbers = np.array([numbers], dtype)
    valid = rule.valid(numbers)
    assert valid.dtype == np.uint8
    assert set(valid.reshape(-1).tolist()) <= {0, 1}
    return numbers[valid == 1].tolist()


def test_classes_that_are_kept() -> None:
    assert kept(ClassRule(), range(256)) == [4, 5, 6, 7, 11]
    assert kept(ClassRule((4, 65535)), [0, 3, 4, 5, 65535], "uint16") == [4, 65535]
    assert kept(ClassRule((4, 300)), range(256)) == [4]
    assert kept(ClassRule((0, 1), nothing=255), range(256)) == [0, 1]
    assert SCL_KEPT == (4, 5, 6, 7, 11)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (lambda: ClassRule(()), "no class is kept"),
        (lambda: ClassRule((4, 70000)), "class 70000 is kept"),
        (lambda: ClassRule((4, -1)), "class -1 is kept"),
        (lambda: ClassRule((0, 4)), "class 0 is kept, and stands for places outside"),
        (lambda: BitRule(("clouds",)), "bit 'clouds' cannot be rejected"),
        (lambda: BitRule((16,)), "bit 16 cannot be rejected"),
    ],
)
def test_a_rule_that_makes_no_sense_is_named(rule: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        rule()


def test_bits_that_are_rejected() -> None:
    """Numbers of Landsat 8: clear land, clear water, cloud, shadow, snow, cirrus, dilated cloud, fill."""
    numbers = [21824, 21952, 22280, 23888, 30048, 54596, 22018, 1]
    assert kept(BitRule(), numbers, "uint16") == [21824, 21952, 30048]
    assert kept(BitRule((*BitRule().reject, "snow")), numbers, "uint16") == [21824, 21952]
    assert kept(BitRule(("cloud",)), numbers, "uint16") == [21824, 21952, 23888, 30048, 54596, 22018]
    assert kept(BitRule((7,)), numbers, "uint16") == [21824, 22280, 23888, 30048, 54596, 22018]
    assert kept(BitRule(("water", 15)), [0, 1, 128, 64], "uint8") == [0, 64]


@pytest.mark.parametrize("rule", [ClassRule(), ClassRule((0,), nothing=9), BitRule(), BitRule(())])
def test_outside_of_a_scene_nothing_is_valid(rule: Any) -> None:
    assert kept(rule, [rule.nothing], "uint16") == []


def missing(bands: Any, dtype: str, nodata: Any) -> Any:
    bands = np.array(bands, dtype)[:, None]
    valid = np.ones((1, bands.shape[2]), np.uint8)
    valid[0, -1] = 0
    drop_missing(valid, bands, nodata)
    return valid[0].tolist()


def test_case_11_a_pixel_with_one_band_missing_is_invalid() -> None:
    assert missing([[0, 5, 7, 7], [900, 900, 0, 9]], "uint16", 0) == [0, 1, 0, 0]


def test_missing_pixels_of_each_dtype() -> None:
    assert missing([[0, 5, 5]], "int16", None) == [1, 1, 0]
    assert missing([[0, -9999, 5]], "int16", -9999) == [1, 0, 0]
    assert missing([[0, 255, 255]], "uint8", 255) == [1, 0, 0]
    assert missing([[0, np.nan, np.inf, -np.inf, -9999, 3]], "float32", None) == [1, 0, 0, 0, 1, 0]
    assert missing([[0, np.nan, np.inf, -np.inf, -9999, 3]], "float32", -9999) == [1, 0, 0, 0, 0, 0]
    assert missing([[0, np.nan, 3]], "float32", np.nan) == [1, 0, 0]
    assert missing([[0.1, 2, 3]], "float32", 0.1) == [0, 1, 0]


def test_case_3_offset_and_nodata() -> None:
    bands = np.array([[[0, 1, 500, 999, 1000, 1001, 2500, 65535]]], np.uint16)
    valid = np.ones((1, 8), np.uint8)
    drop_missing(valid, bands, 0)
    apply_offset(bands, -1000)
    assert bands.tolist() == [[[0, 1, 1, 1, 1, 1, 1500, 64535]]]
    assert valid.tolist() == [[0, 1, 1, 1, 1, 1, 1, 1]]
    assert count_least(bands, valid) == (5, 7)


def test_signed_numbers_may_be_negative_after_an_offset() -> None:
    bands = np.array([[[-9999, 500, 1500]]], np.int16)
    apply_offset(bands, -1000, nodata=-9999)
    assert bands[0, 0].tolist() == [-9999, -500, 500]
    apply_offset(bands, -500, nodata=None)
    assert bands[0, 0].tolist() == [-10499, -1000, 0]


def test_pixels_on_one_are_counted_once_and_only_where_valid() -> None:
    bands = np.array([[[1, 1, 2, 1]], [[1, 5, 5, 5]]], np.uint16)
    assert count_least(bands, np.array([[1, 1, 1, 0]], np.uint8)) == (2, 3)
    assert count_least(bands, np.zeros((1, 4), np.uint8)) == (0, 0)


def test_no_offset_changes_nothing() -> None:
    bands = np.array([[[0, 1, -5]]], np.int16)
    apply_offset(bands, 0, nodata=-5)
    assert bands.tolist() == [[[0, 1, -5]]]


@pytest.mark.parametrize("offset", [0.5, 70000, -70000, float("nan"), True])
def test_an_offset_is_a_whole_number(offset: Any) -> None:
    with pytest.raises(InputError, match="whole number"):
        apply_offset(np.ones((1, 1, 1), np.uint16), offset)


def test_an_offset_is_for_integers() -> None:
    with pytest.raises(InputError, match="float32 bands"):
        apply_offset(np.ones((1, 1, 1), np.float32), -1000)

"""Section 2.3: the four dtypes, nodata and validity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.dtypes import PROFILES, check_nodata, fill_value, is_finite_number, profile, valid_pixels
from tests.format import slow
from tests.format.strategies import dtypes, masks, nodatas, rasters


def test_profiles_are_the_table_of_the_specification() -> None:
    table = {name: (p.default_nodata, p.star_delta, p.is_float) for name, p in PROFILES.items()}
    assert table == {
        "uint8": (0, True, False),
        "uint16": (0, True, False),
        "int16": (None, False, False),
        "float32": (None, False, True),
    }


@pytest.mark.parametrize("dtype", ["<u2", ">u2", np.uint16, np.dtype("uint16")])
def test_byte_order_of_the_input_does_not_matter(dtype: Any) -> None:
    assert profile(dtype).name == "uint16"
    assert profile(dtype).dtype == np.dtype("<u2")


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32", "float64", "bool", "complex64", "datetime64[ns]"])
def test_other_dtypes_are_refused_by_name(dtype: str) -> None:
    with pytest.raises(InputError, match=r"dtype .* cannot be stored: .*uint8, uint16, int16, float32"):
        profile(dtype)


@pytest.mark.parametrize(
    ("nodata", "dtype", "expected"),
    [
        (None, "uint8", None),
        (255, "uint8", 255),
        (0.0, "uint16", 0),
        (np.uint16(65535), "uint16", 65535),
        (-32768, "int16", -32768),
        (-9999, "float32", -9999.0),
        (0.1, "float32", float(np.float32(0.1))),
    ],
)
def test_nodata_is_a_number_of_the_dtype(nodata: Any, dtype: str, expected: Any) -> None:
    got = check_nodata(nodata, dtype)
    assert got == expected
    assert type(got) is type(expected)


@pytest.mark.parametrize(
    ("nodata", "dtype"),
    [
        (-1, "uint8"),
        (256, "uint8"),
        (65536, "uint16"),
        (0.5, "uint16"),
        (32768, "int16"),
        (2**70, "int16"),
        (1e39, "float32"),
        (10**400, "float32"),
        (float("nan"), "float32"),
        (float("inf"), "float32"),
        (float("nan"), "uint8"),
        (True, "uint8"),
        (np.True_, "uint8"),
        ("0", "uint8"),
    ],
    ids=lambda v: str(v)[:12],
)
def test_nodata_that_the_dtype_cannot_hold_is_refused(nodata: Any, dtype: str) -> None:
    with pytest.raises(InputError, match="nodata is"):
        check_nodata(nodata, dtype)


def test_fill_value_is_nodata_or_zero() -> None:
    assert fill_value(None) == 0
    assert fill_value(7) == 7


def test_an_integer_beyond_every_float_is_no_finite_number() -> None:
    assert is_finite_number(10**300)
    assert not any(is_finite_number(v) for v in (10**400, float("inf"), float("nan"), True, None, "1"))


def test_validity_by_mask_alone_when_there_is_one() -> None:
    data = np.array([[[0, 7]]], np.uint16)
    mask = np.array([[1, 0]], np.uint8)
    assert valid_pixels(data, mask, 0).tolist() == [[[True, False]]]


def test_validity_by_nodata_when_there_is_no_mask() -> None:
    assert valid_pixels(np.array([[[0, 7]]], np.uint16), None, 0).tolist() == [[[False, True]]]


def test_everything_is_valid_without_mask_and_nodata() -> None:
    assert valid_pixels(np.array([[[0, 7]]], np.uint16), None, None).all()


def test_each_band_has_its_own_validity_unless_a_mask_speaks_for_all() -> None:
    data = np.array([[[0]], [[5]]], np.uint8)
    assert valid_pixels(data, None, 0).ravel().tolist() == [False, True]
    assert valid_pixels(data, np.array([[1]], np.uint8), 0).ravel().tolist() == [True, True]


def test_negative_zero_is_nodata_0_by_value_but_not_by_bytes() -> None:
    """Case 27: validity compares values; whether a chunk is stored must be decided on bytes."""
    data = np.full((1, 2, 2), -0.0, np.float32)
    assert not valid_pixels(data, None, 0.0).any()
    assert data.tobytes() != np.zeros_like(data).tobytes()


@given(st.data())
def test_validity_equals_the_rule_pixel_by_pixel(data: st.DataObject) -> None:
    dtype = data.draw(dtypes)
    raster, nodata = data.draw(rasters(dtype)), data.draw(nodatas(dtype))
    mask = data.draw(st.none() | masks(raster.shape[1:]))
    got = valid_pixels(raster, mask, nodata)
    assert got.shape == raster.shape
    for b, y, x in np.ndindex(raster.shape):
        expected = slow.is_valid(raster[b, y, x].item(), None if mask is None else int(mask[y, x]), nodata)
        assert got[b, y, x] == expected

"""An offset, added in place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.kernels import offset as kernel
from tests.kernels import observed, views

twins = pytest.mark.parametrize("add", [kernel.add_offset, kernel.add_offset_numpy])
Add = Callable[..., None]


@twins
def test_every_uint16(add: Add) -> None:
    """Case 3, of all numbers."""
    bands = np.arange(65536, dtype=np.uint16).reshape(1, 256, 256)
    add(bands, -1000, 0, 1)
    assert bands.reshape(-1).tolist() == [0, *(max(1, v - 1000) for v in range(1, 65536))]


@twins
def test_the_ends_of_each_dtype(add: Add) -> None:
    for dtype, given_, offset, answer in (
        ("uint8", [0, 1, 255], 7, [0, 8, 255]),
        ("uint16", [0, 1, 65535], 65535, [0, 65535, 65535]),
        ("uint16", [0, 1, 65535], -65535, [0, 1, 1]),
        ("int16", [-32768, 0, 32767, -9999], 1000, [1, 1000, 32767, -9999]),
    ):
        bands = np.array([[given_]], dtype)
        add(bands, offset, -9999 if dtype == "int16" else 0, 1)
        assert bands[0, 0].tolist() == answer


@twins
def test_no_sum_becomes_the_number_of_a_missing_pixel(add: Add) -> None:
    bands = np.array([[[-9999, -8999, 0, 1000, -32768]]], np.int16)
    add(bands, -1000, -9999, -32768)
    assert bands[0, 0].tolist() == [-9999, -9998, -1000, 0, -32768]
    bands = np.array([[[0, 999, 1000, 1001]]], np.int16)
    add(bands, -1000, 0, -32768)
    assert bands[0, 0].tolist() == [0, -1, 1, 1]


@given(st.sampled_from(("uint8", "uint16", "int16")), st.integers(-65535, 65535), st.sampled_from((0, 1, 2)))
def test_twins_agree_on_windows_too(dtype: str, offset: int, turn: int) -> None:
    stack, _ = observed.many(dtype, 3, (4, 9))
    ways = (views.dense, views.window, views.bands_last)
    one, other = ways[turn](stack[0].copy()[None])[0], stack[0].copy()
    kernel.add_offset(one, offset, 0, 1)
    kernel.add_offset_numpy(other, offset, 0, 1)
    assert np.array_equal(one, other)


def test_what_lies_around_a_window_stays() -> None:
    larger = np.full((2, 6, 6), 500, np.uint16)
    kernel.add_offset(larger[:, 1:3, 2:4], -100, 0, 1)
    assert (larger == 400).sum() == 8
    assert (larger == 500).sum() == 64

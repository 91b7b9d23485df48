"""Strided arrays as rows of flat memory."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given

from chronozarr_dask.kernels.rows import flat_rows, has_rows, time_parts
from tests.kernels import views


def test_a_window_is_read_in_place() -> None:
    whole = np.arange(6 * 10, dtype=np.uint16).reshape(6, 10)
    part = whole[2:5, 3:8]
    flat, strides = flat_rows(part)
    assert strides == (10,)
    assert flat.size == 2 * 10 + 5
    assert flat[1 * 10 + 4] == part[1, 4] == 37
    assert np.shares_memory(flat, whole)


def test_a_band_that_is_broadcast_is_read_in_place() -> None:
    one = np.arange(5, dtype=np.uint8)
    flat, strides = flat_rows(np.broadcast_to(one, (1000, 1000, 5)))
    assert strides == (0, 0)
    assert flat.tolist() == [0, 1, 2, 3, 4]
    assert np.shares_memory(flat, one)


def test_a_kernel_cannot_write_to_its_input() -> None:
    flat, _ = flat_rows(np.zeros((2, 3)))
    assert not flat.flags.writeable


@pytest.mark.parametrize("way", [views.flipped, views.bands_last, views.every_second, views.other_byte_order])
def test_what_has_no_rows_is_taken_a_timestep_at_a_time(way: views.Way) -> None:
    a = way(np.arange(2 * 3 * 4 * 5, dtype=np.uint16).reshape(2, 3, 4, 5))
    assert not has_rows(a)
    assert list(time_parts(2, a, None)) == [slice(0, 1), slice(1, 2)]
    assert list(time_parts(2, np.zeros((2, 3)), None)) == [slice(0, 2)]


def test_an_unaligned_array_has_no_rows() -> None:
    assert not has_rows(views.unaligned(np.zeros((1, 1, 2, 2), np.float32)))


def test_an_empty_array_has_no_memory() -> None:
    flat, _ = flat_rows(np.zeros((0, 4, 5), np.uint8))
    assert flat.size == 0


@given(views.stacks("int16"), views.ways)
def test_every_element_is_where_the_strides_say(a: views.Array, way: views.Way) -> None:
    flat, (t, b, y) = flat_rows(way(a))
    for index in product(*map(range, a.shape)):
        assert flat[index[0] * t + index[1] * b + index[2] * y + index[3]] == a[index]

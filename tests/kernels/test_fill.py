"""Sections 2.1 and 7.1: all-fill chunks and padded cells."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.kernels.fill import cut_cell, equals_fill
from tests.format.strategies import dtypes, values
from tests.kernels import views


def test_every_element_counts() -> None:
    chunk = np.full((2, 3, 4), 7, np.uint16)
    assert equals_fill(chunk, 7)
    assert not equals_fill(chunk, 0)
    for index in product(*map(range, chunk.shape)):
        other = chunk.copy()
        other[index] = 8
        assert not equals_fill(other, 7), index


def test_minus_zero_is_not_zero() -> None:
    """Case 27."""
    assert not equals_fill(np.full((1, 2, 2), -0.0, np.float32), 0)
    assert not equals_fill(np.full((1, 2, 2), 0.0, np.float32), -0.0)
    assert equals_fill(np.full((1, 2, 2), -0.0, np.float32), -0.0)
    assert equals_fill(np.full((1, 2, 2), 0.0, np.float32), 0)


def test_nan_is_compared_by_its_bytes() -> None:
    chunk = np.full((1, 2, 2), np.nan, np.float32)
    assert equals_fill(chunk, float("nan"))
    chunk.view(np.uint32)[0, 1, 1] ^= 1
    assert not equals_fill(chunk, float("nan"))


def test_negative_fill() -> None:
    assert equals_fill(np.full((2, 2), -9999, np.int16), -9999)
    assert equals_fill(np.full((2, 2), -9999, ">i2"), -9999)


def test_nothing_is_all_fill() -> None:
    assert equals_fill(np.empty((0, 2, 2), np.uint8), 1)


def test_one_timestep_of_a_plane_has_two_axes() -> None:
    assert equals_fill(np.zeros((4, 4), np.uint8), 0)
    assert not equals_fill(np.eye(4, dtype=np.uint8)[::-1], 0)


@given(st.data(), dtypes, views.ways)
def test_equals_a_comparison_of_bytes(draw: st.DataObject, dtype: str, way: views.Way) -> None:
    fill = draw.draw(values(dtype))
    chunk = np.full((2, 2, 3, 3), fill, dtype)
    for _ in range(draw.draw(st.integers(0, 2))):
        chunk[draw.draw(st.tuples(*[st.integers(0, n - 1) for n in chunk.shape]))] = draw.draw(values(dtype))
    expected = chunk.tobytes() == chunk.dtype.type(fill).tobytes() * chunk.size
    assert equals_fill(way(chunk), fill) is expected


def test_a_full_cell_is_not_copied() -> None:
    frame = np.ones((2, 4, 4), np.uint16)
    assert cut_cell(frame, 4, 0) is frame or np.shares_memory(cut_cell(frame, 4, 0), frame)


def test_an_edge_cell_is_padded_at_the_right_and_at_the_bottom() -> None:
    frame = np.array([[[1, 2, 3], [4, 5, 6]]], np.int16)
    assert cut_cell(frame, 4, -7).tolist() == [[[1, 2, 3, -7], [4, 5, 6, -7], [-7] * 4, [-7] * 4]]
    assert cut_cell(frame[0], 4, 0).tolist() == [[1, 2, 3, 0], [4, 5, 6, 0], [0] * 4, [0] * 4]


def test_room_that_was_used_before_is_written_over() -> None:
    room = np.full((1, 3, 3), 77, np.int16)
    assert cut_cell(np.array([[[1, 2], [3, 4]]], np.int16), 3, -7, room) is room
    assert room.tolist() == [[[1, 2, -7], [3, 4, -7], [-7, -7, -7]]]


def test_padding_keeps_the_sign_of_a_zero_fill() -> None:
    padded = cut_cell(np.ones((1, 1, 1), np.float32), 2, -0.0)
    assert np.signbit(padded).sum() == 3


def test_a_frame_larger_than_the_cell_is_refused() -> None:
    with pytest.raises(AssertionError, match="5 x 4"):
        cut_cell(np.zeros((1, 5, 4), np.uint8), 4, 0)


@given(st.data(), dtypes, views.ways, st.sampled_from([10, 12]))
def test_a_cell_is_its_pixels_and_fill(draw: st.DataObject, dtype: str, way: views.Way, cs: int) -> None:
    frame = way(draw.draw(views.stacks(dtype)))[0]
    fill = draw.draw(values(dtype))
    cell = cut_cell(frame, cs, fill)
    n_band, h, w = frame.shape
    assert cell.shape == (n_band, cs, cs)
    assert cell.flags.c_contiguous
    assert cell.dtype == np.dtype(dtype).newbyteorder("<")
    for index in product(range(n_band), range(cs), range(cs)):
        inside = index[1] < h and index[2] < w
        assert cell[index].tobytes() == np.dtype(dtype).type(frame[index] if inside else fill).tobytes()
    full = cut_cell(frame[:, :h, :w], max(h, w), fill)
    assert full.shape == (n_band, max(h, w), max(h, w))


@pytest.mark.parametrize("way", views.WAYS)
def test_a_full_cell_is_contiguous_and_little_endian_whatever_it_was(way: views.Way) -> None:
    data = np.arange(2 * 2 * 4 * 4, dtype=np.uint16).reshape(2, 2, 4, 4)
    cell = cut_cell(way(data)[1], 4, 0)
    assert cell.flags.c_contiguous
    assert cell.tobytes() == data[1].astype("<u2").tobytes()

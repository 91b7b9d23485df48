"""Section 4.2: the residual of one timestep of one cell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.format.temporal import references, residual, restore
from chronozarr_dask.kernels.residuals import residual_cell
from tests.kernels import views


def test_subtraction_wraps_around() -> None:
    frames = np.array([5, 3, 250], np.uint8).reshape(3, 1, 1, 1)
    assert [int(residual_cell(frames[t], frames[0], 1)[0, 0, 0]) for t in (1, 2)] == [254, 245]
    frames = np.array([65535, 0], np.uint16).reshape(2, 1, 1, 1)
    assert residual_cell(frames[1], frames[0], 1).tolist() == [[[1]]]


@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_other_dtypes_have_no_residuals(dtype: str) -> None:
    with pytest.raises(AssertionError, match="star-delta is for uint8 and uint16"):
        residual_cell(np.zeros((1, 1, 1), dtype), np.zeros((1, 1, 1), dtype), 1)


def test_padding_is_0_whatever_was_there_before() -> None:
    frame, anchor, room = np.full((1, 1, 2), 9, np.uint8), np.full((1, 1, 2), 4, np.uint8), np.full((1, 3, 3), 77, "u1")
    assert residual_cell(frame, anchor, 3, room) is room
    assert room.tolist() == [[[5, 5, 0], [0, 0, 0], [0, 0, 0]]]


@given(st.data(), st.sampled_from(["uint8", "uint16"]), views.ways, st.integers(1, 4))
def test_equals_the_reference_and_restores(draw: st.DataObject, dtype: str, way: views.Way, interval: int) -> None:
    data = draw.draw(views.stacks(dtype))
    seen, (h, w) = way(data), data.shape[-2:]
    for t, a in enumerate(references(len(data), interval)):
        stored = residual_cell(seen[t], seen[a], max(h, w))
        assert (stored.shape, stored.dtype) == ((data.shape[1], max(h, w), max(h, w)), np.dtype(dtype))
        assert stored.flags.c_contiguous
        assert np.array_equal(stored[:, :h, :w], residual(data[t], data[a]))
        assert np.array_equal(data[t], restore(stored[:, :h, :w], data[a]))

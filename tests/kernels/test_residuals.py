"""Section 4.2: residuals of a run of timesteps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.format.temporal import references, residual, restore
from chronozarr_dask.kernels.residuals import residuals
from tests.kernels import views


def test_subtraction_wraps_around() -> None:
    data = np.array([5, 3, 250], np.uint8).reshape(3, 1, 1, 1)
    assert residuals(data, np.array([0, 0, 0])).ravel().tolist() == [5, 254, 245]
    data = np.array([65535, 0], np.uint16).reshape(2, 1, 1, 1)
    assert residuals(data, np.array([0, 0])).ravel().tolist() == [65535, 1]


def test_an_anchor_may_come_after_the_timestep_that_refers_to_it() -> None:
    data = np.array([7, 9, 10], np.uint16).reshape(3, 1, 1, 1)
    assert residuals(data, np.array([1, 1, 1])).ravel().tolist() == [65534, 9, 1]


@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_other_dtypes_have_no_residuals(dtype: str) -> None:
    with pytest.raises(AssertionError, match="star-delta is for uint8 and uint16"):
        residuals(np.zeros((1, 1, 1, 1), dtype), np.array([0]))


@given(st.data(), st.sampled_from(["uint8", "uint16"]), views.ways, st.integers(1, 4))
def test_equals_the_reference_and_restores(draw: st.DataObject, dtype: str, way: views.Way, interval: int) -> None:
    data = draw.draw(views.stacks(dtype))
    anchor_of = references(len(data), interval)
    seen = way(data)
    stored = residuals(seen, anchor_of)
    assert (stored.shape, stored.dtype) == (seen.shape, seen.dtype)
    assert stored.flags.c_contiguous
    stored = stored.astype(dtype)
    for t, a in enumerate(anchor_of):
        assert np.array_equal(stored[t], data[t] if a == t else residual(data[t], data[a]))
        assert np.array_equal(data[t], stored[t] if a == t else restore(stored[t], stored[a]))

"""Sections 2.4 and 2.5: mask and coverage of the next level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from chronozarr_dask.format.planes import PLANE_DTYPE, PLANE_FILL, PLANES, next_coverage, next_mask, saturate
from tests.format import slow
from tests.format.strategies import masks, sizes

Plane = npt.NDArray[np.uint8]
shapes = st.tuples(sizes, sizes)


def test_planes_are_uint8_with_fill_0() -> None:
    assert PLANES == ("mask", "coverage")
    assert (PLANE_DTYPE.name, PLANE_FILL) == ("uint8", 0)


@pytest.mark.parametrize(("block", "expected"), [([0, 0, 0, 0], 0), ([0, 0, 1, 0], 1), ([1, 1, 1, 1], 1)])
def test_mask_is_1_where_any_pixel_is_valid(block: list[int], expected: int) -> None:
    assert next_mask(np.array(block, np.uint8).reshape(2, 2)).item() == expected


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ([1, 0, 0, 0], 0),
        ([1, 1, 0, 0], 1),
        ([1, 1, 1, 0], 1),
        ([0, 3, 3, 0], 2),
        ([255] * 4, 255),
        ([255, 255, 255, 254], 255),
    ],
)
def test_coverage_mean_rounds_halves_up(block: list[int], expected: int) -> None:
    """Case 15."""
    assert next_coverage(np.array(block, np.uint8).reshape(2, 2)).item() == expected


def test_odd_edge_counts_its_pixels_twice() -> None:
    assert next_coverage(np.array([[3, 1, 2]], np.uint8)).tolist() == [[2, 2]]
    assert next_mask(np.array([[0, 0, 1]], np.uint8)).tolist() == [[0, 1]]


def test_coverage_saturates_at_255() -> None:
    counts = np.array([0, 1, 254, 255, 256, 70000])
    assert saturate(counts).tolist() == [0, 1, 254, 255, 255, 255]
    assert saturate(counts).dtype == np.uint8


def test_time_is_carried_along() -> None:
    stack = np.arange(3 * 5 * 4, dtype=np.uint8).reshape(3, 5, 4)
    assert next_coverage(stack).shape == (3, 3, 2)
    np.testing.assert_array_equal(next_coverage(stack)[1], next_coverage(stack[1]))


@given(shapes.flatmap(masks))
def test_mask_equals_the_loop_over_pixels(mask: Plane) -> None:
    np.testing.assert_array_equal(next_mask(mask), slow.next_mask(mask))


@given(hnp.arrays(np.uint8, shapes))
def test_coverage_equals_the_loop_over_pixels(coverage: Plane) -> None:
    np.testing.assert_array_equal(next_coverage(coverage), slow.next_coverage(coverage))


@pytest.mark.parametrize("function", [next_mask, next_coverage])
@given(data=st.data())
def test_a_plane_of_the_next_level_does_not_depend_on_the_cut(
    function: Callable[[Any], Any], data: st.DataObject
) -> None:
    plane = data.draw(hnp.arrays(np.uint8, shapes, elements=st.integers(0, 1 if function is next_mask else 255)))
    y, x = (2 * data.draw(st.integers(0, n // 2)) for n in plane.shape)
    pieces = [[p for p in (rows[:, :x], rows[:, x:]) if p.size] for rows in (plane[:y], plane[y:]) if rows.size]
    np.testing.assert_array_equal(np.block([[function(p) for p in row] for row in pieces]), function(plane))

"""The cells that `auto` measures: a function of the grid alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.plan.sampling import sampled_cells


@pytest.mark.parametrize(
    ("grid", "n"),
    [((1, 1), 1), ((1, 2), 2), ((2, 2), 3), ((5, 6), 3), ((5, 8), 4), ((10, 10), 10), ((17, 20), 32), ((300, 500), 32)],
)
def test_at_least_three_a_tenth_at_most_32(grid: tuple[int, int], n: int):
    assert len(sampled_cells(*grid)) == n


def test_a_small_grid_literally():
    assert sampled_cells(2, 2) == [(0, 0), (0, 1), (1, 1)]


@given(st.integers(1, 200), st.integers(1, 200))
def test_the_cells_are_different_sorted_and_within_the_grid(rows: int, cols: int):
    cells = sampled_cells(rows, cols)
    assert cells == sorted(set(cells)) == sampled_cells(rows, cols)
    assert all(0 <= r < rows and 0 <= c < cols for r, c in cells)


@given(st.integers(32, 200), st.integers(32, 200))
def test_a_large_grid_is_sampled_in_all_four_quarters(rows: int, cols: int):
    quarters = {(2 * r // rows, 2 * c // cols) for r, c in sampled_cells(rows, cols)}
    assert quarters == {(0, 0), (0, 1), (1, 0), (1, 1)}

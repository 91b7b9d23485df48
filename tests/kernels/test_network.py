"""Sorting networks, by the principle of zeros and ones: what sorts every sequence of them sorts everything."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.kernels.network import BOTH, GREATER, LESSER, network


def run(pairs: Any, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    rows = rows.copy()
    for low, high, kind in pairs:
        lesser, greater = np.minimum(rows[low], rows[high]), np.maximum(rows[low], rows[high])
        if kind in (BOTH, LESSER):
            rows[low] = lesser
        if kind in (BOTH, GREATER):
            rows[high] = greater
    return rows


def zeros_and_ones(n: int) -> np.ndarray[Any, Any]:
    """Every sequence of n zeros and ones, one per column."""
    return np.array(list(itertools.product((0, 1), repeat=n)), np.uint8).reshape(-1, n).T


def test_two_rows_take_one_comparator() -> None:
    assert network(0, frozenset()).tolist() == []
    assert network(1, frozenset({0})).tolist() == []
    assert network(2, frozenset({0, 1})).tolist() == [[0, 1, BOTH]]
    assert network(2, frozenset({0})).tolist() == [[0, 1, LESSER]]
    assert network(2, frozenset({1})).tolist() == [[0, 1, GREATER]]


@pytest.mark.parametrize("n", range(1, 14))
def test_everything_is_sorted(n: int) -> None:
    rows = zeros_and_ones(n)
    assert np.array_equal(run(network(n, frozenset(range(n))), rows), np.sort(rows, axis=0))


@given(st.integers(1, 11), st.data())
def test_the_wanted_rows_are_right(n: int, draw: st.DataObject) -> None:
    wanted = draw.draw(st.sets(st.integers(0, n - 1), min_size=1).map(sorted))
    rows = zeros_and_ones(n)
    assert np.array_equal(run(network(n, frozenset(wanted)), rows)[wanted], np.sort(rows, axis=0)[wanted])


@pytest.mark.parametrize("n", [18, 70, 255, 300])
def test_many_rows(n: int) -> None:
    rows = np.random.default_rng(n).permuted(np.tile(np.arange(n), (50, 1)), axis=1).T
    assert np.array_equal(run(network(n, frozenset(range(n))), rows), np.sort(rows, axis=0))


def test_the_number_of_comparators() -> None:
    """They stand in the module's text; a median takes fewer."""
    counts = {n: len(network(n, frozenset(range(n)))) for n in (12, 16, 18, 255)}
    assert counts == {12: 41, 16: 63, 18: 82, 255: 3831}
    assert len(network(18, frozenset({8, 9}))) < 82


def test_a_network_that_is_kept_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        network(5, frozenset({2}))[0, 0] = 1

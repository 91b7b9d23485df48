"""Gaps in time."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.composite.fill import fill_gaps
from tests.format.strategies import dtypes
from tests.kernels import observed


def test_case_12_a_month_of_clouds() -> None:
    def months() -> np.ndarray:  # type: ignore[type-arg]
        return np.array([1500, 0, 1700], np.uint16).reshape(3, 1, 1, 1)

    coverage = np.array([2, 0, 1], np.uint8).reshape(3, 1, 1)
    without, carried = months(), months()
    assert fill_gaps(without, coverage, how="none") is None
    last = fill_gaps(carried, coverage, how="carry-forward")
    assert without.reshape(-1).tolist() == [1500, 0, 1700]
    assert carried.reshape(-1).tolist() == [1500, 1500, 1700]
    assert coverage.reshape(-1).tolist() == [2, 0, 1]
    assert last is not None
    assert last.tolist() == [[[1700]]]


def test_before_the_first_observation_nothing_is_carried() -> None:
    values = np.array([-9999, -9999, 4, -9999, -9999], np.int16).reshape(5, 1, 1, 1)
    fill_gaps(values, (values[:, 0] != -9999).astype(np.uint8), how="carry-forward")
    assert values.reshape(-1).tolist() == [-9999, -9999, 4, 4, 4]


def test_what_is_handed_on_does_not_change_with_the_slab() -> None:
    values, coverage = np.ones((1, 1, 2, 2), np.uint8), np.ones((1, 2, 2), np.uint8)
    last = fill_gaps(values, coverage, how="carry-forward")
    values[:] = 7
    assert last is not None
    assert (last == 1).all()


def test_an_empty_slab_hands_on_what_it_was_given() -> None:
    frame = np.full((1, 2, 2), 5, np.uint8)
    last = fill_gaps(np.zeros((0, 1, 2, 2), np.uint8), np.zeros((0, 2, 2), np.uint8), frame, how="carry-forward")
    assert np.array_equal(last, frame)
    assert fill_gaps(np.zeros((0, 1, 2, 2), np.uint8), np.zeros((0, 2, 2), np.uint8), how="carry-forward") is None


@given(st.data(), dtypes)
def test_slabs_equal_the_whole_and_plain_python(draw: st.DataObject, dtype: str) -> None:
    values, coverage = draw.draw(observed.observations(dtype, least=1))
    values = np.where(coverage[:, None] != 0, values, np.array(3, dtype))
    whole, slabs = values.copy(), values.copy()
    last = fill_gaps(whole, coverage, how="carry-forward")
    handed, cuts = None, sorted(draw.draw(st.sets(st.integers(1, len(values)))) | {0, len(values)})
    for begin, end in itertools.pairwise(cuts):
        handed = fill_gaps(slabs[begin:end], coverage[begin:end], handed, how="carry-forward")
    assert observed.same_bits(slabs, whole)
    assert last is not None
    assert handed is not None
    assert observed.same_bits(handed, last)
    for t, b, y, x in np.ndindex(*values.shape):
        seen = [i for i in range(t + 1) if coverage[i, y, x]]
        expected = values[seen[-1], b, y, x] if seen else np.array(3, dtype)
        assert whole[t, b, y, x].tobytes() == expected.tobytes()

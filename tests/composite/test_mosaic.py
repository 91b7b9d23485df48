"""Tiles of one pass."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.composite.mosaic import merge_tile
from chronozarr_dask.kernels.select import first_valid_numpy
from tests.format.strategies import dtypes
from tests.kernels import observed


def test_the_first_valid_tile_stays() -> None:
    bands, valid = np.full((1, 1, 4), 9, np.uint16), np.zeros((1, 4), np.uint8)
    merge_tile(bands, valid, np.array([[[1, 2, 3, 4]]], np.uint16), np.array([[1, 0, 0, 0]], np.uint8))
    merge_tile(bands, valid, np.array([[[5, 6, 7, 8]]], np.uint16), np.array([[1, 1, 0, 0]], np.uint8))
    merge_tile(bands, valid, np.array([[[0, 0, 30, 40]]], np.uint16), np.array([[1, 1, 1, 0]], np.uint8))
    assert bands.tolist() == [[[1, 6, 30, 9]]]
    assert valid.tolist() == [[1, 1, 1, 0]]


def test_a_tile_of_a_part_of_the_region() -> None:
    bands, valid = np.zeros((2, 3, 4), np.uint16), np.zeros((3, 4), np.uint8)
    part = (slice(1, 3), slice(2, 4))
    merge_tile(bands[(slice(None), *part)], valid[part], np.full((2, 2, 2), 7, np.uint16), np.eye(2, dtype=np.uint8))
    assert valid.tolist() == [[0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert np.array_equal(bands, np.stack([valid * 7] * 2))


@given(st.data(), dtypes)
def test_merging_equals_the_first_valid_of_a_stack(draw: st.DataObject, dtype: str) -> None:
    stack, flags = draw.draw(observed.observations(dtype))
    bands, valid = np.full(stack.shape[1:], 3, dtype), np.zeros(flags.shape[1:], np.uint8)
    for tile, tile_valid in zip(stack, flags, strict=True):
        merge_tile(bands, valid, tile, tile_valid)
    assert observed.same_bits(bands, first_valid_numpy(stack, flags, 3))
    assert np.array_equal(valid, flags.any(axis=0))

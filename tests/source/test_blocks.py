"""Boundaries of the source's blocks, along each axis."""

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.plan.shape import Blocks
from chronozarr_dask.source.blocks import blocks_of
from chronozarr_dask.source.cube import as_cube
from tests.source.cubes import bomb, lazily, make, one_band

DIMS = ("time", "band", "y", "x")


def chunked(*chunks, shape=(6, 1, 8, 8)):
    return xr.DataArray(da.zeros(shape, chunks=chunks, dtype="uint16"), dims=DIMS)


def hinted(**hint):
    lazy, _ = lazily(xr.DataArray(np.zeros((6, 1, 8, 8), "uint16"), dims=DIMS))
    lazy.encoding["preferred_chunks"] = hint
    return lazy


NUMPY = xr.DataArray(np.zeros((6, 1, 8, 8), "uint16"), dims=DIMS)


@pytest.mark.parametrize(
    ("arrays", "blocks"),
    [
        ([NUMPY], Blocks(None, None, None, opaque=False)),
        ([chunked(1, 1, 8, 8)], Blocks((0, 1, 2, 3, 4, 5, 6), (0, 8), (0, 8), True)),
        ([chunked((4, 2), 1, (3, 5), 4)], Blocks((0, 4, 6), (0, 3, 8), (0, 4, 8), True)),
        ([chunked(2, 1, 4, 8), chunked(3, 1, 2, 8)], Blocks((0, 6), (0, 4, 8), (0, 8), True)),
        ([chunked(2, 1, (3, 5), 8), chunked(2, 1, (4, 4), 8)], Blocks((0, 2, 4, 6), (0, 8), (0, 8), True)),
        ([chunked(2, 1, 8, 8), NUMPY], Blocks((0, 2, 4, 6), (0, 8), (0, 8), True)),
        ([chunked(2, 1, 8, 8), hinted(time=1, y=2)], Blocks((0, 2, 4, 6), (0, 8), (0, 8), True)),
        ([chunked(2, 1, 8, 8), hinted(time=3, y=8)], Blocks((0, 2, 4, 6), (0, 8), (0, 8), True)),
        ([hinted()], Blocks(None, None, None, False)),
        ([hinted(time=1, y=5, x=8)], Blocks((0, 1, 2, 3, 4, 5, 6), (0, 5, 8), (0, 8), False)),
        ([hinted(time=100, x=(3, 3, 2))], Blocks((0, 6), None, (0, 3, 6, 8), False)),
        ([hinted(x=(3, 9))], Blocks(None, None, (0, 3, 8), False)),
        ([hinted(time=2), hinted(time=3)], Blocks((0, 6), None, None, False)),
        ([hinted(time=2), NUMPY], Blocks((0, 2, 4, 6), None, None, False)),
    ],
)
def test_literal(arrays, blocks):
    assert blocks_of(arrays) == blocks


splits = st.lists(st.integers(1, 5), min_size=1, max_size=6)


@given(st.lists(splits, min_size=1, max_size=3))
def test_a_cut_goes_through_no_block_and_none_is_missing(every):
    n = max(map(sum, every))
    chunks = [[*c, n - sum(c)] if n > sum(c) else c for c in every]
    arrays = [chunked(tuple(c), 1, 1, 1, shape=(n, 1, 1, 1)) for c in chunks]
    cuts = blocks_of(arrays).time
    for at in range(n + 1):
        through = any(sum(c[:i]) < at < sum(c[: i + 1]) for c in chunks for i in range(len(c)))
        assert (at in cuts) == (not through)


def test_of_a_cube_with_its_planes():
    cube = make(bomb((3, 2, 4, 5), (1, 1, 4, 3)))
    mask = xr.DataArray(bomb((3, 4, 5), (3, 2, 5), "bool"), dims=("time", "y", "x"))
    assert as_cube(cube).source_chunks() == Blocks((0, 1, 2, 3), (0, 4), (0, 3, 5), True)
    assert as_cube(cube, mask=mask).source_chunks() == Blocks((0, 3), (0, 4), (0, 5), True)
    assert as_cube(cube, coverage=mask).source_chunks() == Blocks((0, 3), (0, 4), (0, 5), True)
    assert as_cube(make(), mask=one_band() > 0).source_chunks() == Blocks()

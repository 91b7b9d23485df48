"""Sections 2 and 2.1: levels, cells, chunks and the keys of objects."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.layout import (
    COORDINATES,
    DATA_DIMS,
    PLANE_DIMS,
    Layout,
    array_path,
    centres,
    check_chunk_size,
    check_variable,
    object_key,
)
from tests.format import example
from tests.format.strategies import layouts


def test_shapes_and_grids_of_the_example() -> None:
    layout = example.LAYOUT
    assert layout.data_shape(0) == (5, 2, 700, 600)
    assert layout.plane_shape(0) == (5, 700, 600)
    assert layout.grid(0) == (2, 2)
    assert layout.data_shape(1) == (5, 2, 350, 300)
    assert layout.grid(1) == (1, 1)
    assert layout.chunk_shape == (1, 2, 512, 512)


def test_dimensions_are_named_as_the_arrays_need() -> None:
    assert DATA_DIMS == ("time", "band", "y", "x")
    assert PLANE_DIMS == ("time", "y", "x")
    assert COORDINATES == ("time", "band", "y", "x")


def test_cell_is_a_window_from_the_north_west_cut_to_the_array() -> None:
    first = example.LAYOUT.cell_window(0, 0, 0)
    assert first.slices == (slice(0, 512), slice(0, 512))
    last = example.LAYOUT.cell_window(0, 1, 1)
    assert last.slices == (slice(512, 700), slice(512, 600))
    assert last.shape == (188, 88)


def test_keys_of_unsharded_chunks() -> None:
    assert array_path(0, "data") == "0/data"
    assert object_key(0, "data", 3, 1, 0, has_band=True) == "0/data/c/3/0/1/0"
    assert object_key(2, "mask", 3, 1, 0, has_band=False) == "2/mask/c/3/1/0"


def test_keys_of_the_examples_shards() -> None:
    """Section 3.9 lists the shard objects of each array."""
    layout = example.LAYOUT
    rows, cols = layout.grid(0)
    cells = [(t, r, c) for t in range(layout.n_objects_t) for r in range(rows) for c in range(cols)]
    assert [object_key(0, "data", *cell, has_band=True) for cell in cells] == example.DATA_SHARDS
    assert [object_key(0, "mask", *cell, has_band=False) for cell in cells] == example.MASK_SHARDS


@pytest.mark.parametrize(
    ("n_time", "shard_time", "expected"), [(5, None, 5), (5, 4, 2), (5, 5, 1), (5, 99, 1), (8, 4, 2)]
)
def test_objects_along_time(n_time: int, shard_time: int | None, expected: int) -> None:
    assert Layout(n_time, 1, 8, 8, 8, 1, shard_time).n_objects_t == expected


@pytest.mark.parametrize("cs", [2, 32, 256, 512])
def test_chunk_size_may_be_any_even_number(cs: int) -> None:
    assert check_chunk_size(cs) == cs


@pytest.mark.parametrize("cs", [0, -2, 1, 255])
def test_odd_chunk_size_is_refused(cs: int) -> None:
    with pytest.raises(InputError, match=rf"chunk_size is {cs}: .*even"):
        check_chunk_size(cs)


@pytest.mark.parametrize("name", ["", "a/b", "time", "mask", "coverage", ".hidden", "__private", "zarr.json"])
def test_variable_that_would_hide_another_member_is_refused(name: str) -> None:
    assert check_variable("data") == "data"
    with pytest.raises(InputError, match="variable is"):
        check_variable(name)


def test_centres_lie_half_a_pixel_from_the_edge() -> None:
    assert centres(746090.0, 10.0, 3) == [746095.0, 746105.0, 746115.0]
    assert centres(2540440.0, -10.0, 2) == [2540435.0, 2540425.0]


def test_cells_partition_every_level_of_every_size() -> None:
    """Every pixel in exactly one cell, for all sizes from 1 to 4 cs + 1."""
    cs = 4
    for height in range(1, 4 * cs + 2):
        for width in range(1, 4 * cs + 2):
            layout = Layout(1, 1, height, width, cs, 3)
            for level in range(layout.n_levels):
                count = np.zeros(layout.level_size(level), int)
                rows, cols = layout.grid(level)
                for r in range(rows):
                    for c in range(cols):
                        window = layout.cell_window(level, r, c)
                        assert min(window.shape) > 0
                        count[window.slices] += 1
                assert (count == 1).all(), (height, width, level)


@given(layouts())
def test_each_level_is_half_of_the_one_below(layout: Layout) -> None:
    """ceil(H_0 / 2^k) is the same as halving k times (section 6)."""
    height, width = layout.height, layout.width
    for level in range(layout.n_levels):
        assert layout.level_size(level) == (height, width)
        height, width = (height + 1) // 2, (width + 1) // 2


@given(layouts(), st.data())
def test_no_two_objects_share_a_key(layout: Layout, data: st.DataObject) -> None:
    places = st.tuples(
        st.integers(0, layout.n_levels - 1), st.sampled_from(["data", "mask", "coverage"]), *[st.integers(0, 12)] * 3
    )
    one, other = data.draw(places), data.draw(places)
    keys = [object_key(*place, has_band=place[1] == "data") for place in (one, other)]
    assert (keys[0] == keys[1]) == (one == other)

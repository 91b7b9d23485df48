"""What a read may name: cells, windows, planes, timesteps, levels; and what it says where there is none."""

from typing import Any

import numpy as np
import pytest

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.layout import Window
from tests.store.stores import array_document, compressed, numbered, opened, px, simple, star, two_levels

# ---- cells, windows, planes ------------------------------------------------------------------------------------------


def test_padding_is_never_seen():
    objects, data = numbered()
    store = opened(objects)
    assert np.array_equal(store.read(0), data[0])
    assert np.array_equal(store.read_cell(1, 2, 3), data[1, :, 4:5, 6:7])
    assert np.array_equal(store.read_cell(1, 0, 0), data[1, :, :2, :2])


def test_a_window_reads_its_cells_only():
    objects, data = numbered()
    store = opened(objects)
    assert np.array_equal(store.read_window(1, Window(1, 3, 3, 4)), data[1, :, 1:3, 3:4])
    assert sorted(objects.requests()) == [("get", "0/data/c/1/0/0/1"), ("get", "0/data/c/1/0/1/1")]
    assert np.array_equal(store.read_window(1, (0, 5, 0, 7)), data[1])


@pytest.mark.parametrize("window", [(0, 6, 0, 7), (-1, 2, 0, 2), (2, 2, 0, 1), (0, 1, 5, 4)])
def test_a_window_beyond_the_level_names_the_level_s_size(window: tuple[int, int, int, int]):
    with pytest.raises(InputError, match="y 0 to 5, x 0 to 7"):
        opened(numbered()[0]).read_window(0, window)


def test_a_cell_that_does_not_exist_names_the_grid():
    for cell in ((3, 0), (0, 4), (-1, 0)):
        with pytest.raises(InputError, match="rows 0 to 2, columns 0 to 3"):
            opened(numbered()[0]).read_cell(0, *cell)


def test_planes():
    objects, data = numbered(planes=("mask", "coverage"))
    store = opened(objects)
    assert store.planes == ("mask", "coverage")
    assert np.array_equal(store.read_mask(1), data[1, 0] % 2)
    assert np.array_equal(store.read_coverage(0), data[0, 0] % 2)


def test_absent_planes_are_none():
    store = opened(numbered()[0])
    assert store.read_mask(0) is None
    assert store.read_coverage(0) is None


def test_planes_are_never_residuals():
    arrays = {
        "0/data": array_document((2, 1, 2, 2), "uint8", 2),
        "0/mask": array_document((2, 2, 2), "uint8", 2),
    }
    ones = compressed(np.ones((2, 2), "u1"))
    store = opened(simple(arrays, {"0/mask/c/0/0/0": ones, "0/mask/c/1/0/0": ones}, temporal=star(2, 6, {1: 0})))
    assert store.read_mask(1).tolist() == [[1, 1], [1, 1]]


# ---- which timestep, which level -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "t",
    [
        1,
        -1,
        np.int64(1),
        "2024-02-01",
        "2024-02-01T00:00:00Z",
        "2024-02-01T01:00:00+01:00",
        np.datetime64("2024-02-01", "ns"),
    ],
)
def test_ways_to_name_a_timestep(t: Any):
    objects, data = numbered()
    assert np.array_equal(opened(objects).read(t), data[1])


@pytest.mark.parametrize(
    ("t", "message"),
    [
        (2, r"0 to 1 \(or -2 to -1\)"),
        (-3, r"0 to 1 \(or -2 to -1\)"),
        ("2024-02-02", "from 2024-01-01T00:00:00.000 to 2024-02-01.*nearest is 2024-02-01"),
        (np.datetime64("2024-02-01T00:00:00.000001", "us"), "nearest is 2024-02-01"),
        ("the first", "ISO-8601"),
        (True, "give a timestep's number"),
        (np.datetime64("NaT", "ns"), "give a timestep's number"),
        (1.0, "give a timestep's number"),
    ],
)
def test_a_timestep_that_does_not_exist_names_the_range(t: Any, message: str):
    store = opened(numbered(planes=("mask",))[0])
    for read in (store.read, store.read_mask, lambda t: store.read_cell(t, 0, 0)):
        with pytest.raises(InputError, match=message):
            read(t)


@pytest.mark.parametrize("level", [-1, 1, 1.0, True, "0"])
def test_a_level_that_does_not_exist_names_the_levels(level: Any):
    store = opened(numbered()[0])
    for read in (
        lambda: store.read(0, level),
        lambda: store.read_cell(0, 0, 0, level),
        lambda: store.read_mask(0, level),
        lambda: store.to_xarray(level),
        lambda: store.series(500001, 4999999, level),
    ):
        with pytest.raises(InputError, match="levels 0 to 0"):
            read()


def test_levels_have_their_own_pixels():
    store = opened(two_levels())
    assert np.array_equal(store.read(0, 1), px(5, 6, 7, 8))
    assert [entry.resolution for entry in store.levels] == [10, 20]
    assert store.levels[1].transform == (20, 0, 500000, 0, -20, 5000000)


@pytest.mark.parametrize(("gsd", "level"), [(1, 0), (10, 0), (19.9, 0), (20, 1), (1000, 1)])
def test_the_coarsest_level_that_is_fine_enough(gsd: float, level: int):
    assert opened(two_levels()).level_for(gsd) == level


@pytest.mark.parametrize("gsd", [0, -1, float("nan")])
def test_a_ground_sample_distance_is_positive(gsd: float):
    with pytest.raises(InputError, match="above 0"):
        opened(two_levels()).level_for(gsd)

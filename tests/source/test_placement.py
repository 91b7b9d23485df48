"""Which rasters share the pixels of a grid, and where their pixels lie on it."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.layout import Window
from chronozarr_dask.source.placement import Nested, Raster, Warped, place
from chronozarr_dask.source.stac.grid import Grid

LEFT, TOP = 500000.0, 5000000.0
GRID = Grid("EPSG:32631", (10.0, 0.0, LEFT, 0.0, -10.0, TOP), 70, 50)


def raster(step: float = 10.0, *, row: float = 0.0, col: float = 0.0, size: int = 64, crs: str = GRID.crs) -> Raster:
    """A raster whose corner is at (row, col) in pixels of the grid."""
    return Raster(crs, (step, 0.0, LEFT + 10 * col, 0.0, -step, TOP - 10 * row), size, size)


# ---- literal ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        (raster(), Nested(0, 0, 1, 64, 64)),
        (raster(row=-7, col=12), Nested(-7, 12, 1, 64, 64)),
        (raster(20.0, size=32), Nested(0, 0, 2, 32, 32)),
        (raster(20.0, row=-3, col=1, size=32), Nested(-3, 1, 2, 32, 32)),
        (raster(60.0, row=5, col=-11, size=9), Nested(5, -11, 6, 9, 9)),
        (raster(row=0.0009, col=-0.0009), Nested(0, 0, 1, 64, 64)),
        (raster(row=-7.0004, col=12.0004), Nested(-7, 12, 1, 64, 64)),
    ],
)
def test_pixels_that_share_the_edges_of_the_grid_are_nested(given_: Raster, expected: Nested):
    assert place(given_, GRID) == expected


NOT_NESTED = {
    "half a pixel down": raster(row=0.5),
    "half a pixel to the right": raster(col=0.5),
    "a tenth of a pixel": raster(col=0.1),
    "just over the tolerance": raster(row=0.0011),
    "half a pixel of 20 m is a whole one of 10 m, but a quarter is not": raster(20.0, row=0.5, size=32),
    "another CRS": raster(crs="EPSG:32632"),
    "finer than the grid": raster(5.0),
    "no whole multiple": raster(15.0),
    "a drift of a fifth of a pixel over its width": raster(10.03),
    "a drift that only a wide raster shows": raster(10.0003, size=1000),
    "rotated": Raster(GRID.crs, (10.0, 0.1, LEFT, 0.0, -10.0, TOP), 64, 64),
    "sheared": Raster(GRID.crs, (10.0, 0.0, LEFT, 0.1, -10.0, TOP), 64, 64),
    "south-up": Raster(GRID.crs, (10.0, 0.0, LEFT, 0.0, 10.0, TOP - 640), 64, 64),
    "mirrored": Raster(GRID.crs, (-10.0, 0.0, LEFT + 640, 0.0, -10.0, TOP), 64, 64),
    "wider than high": Raster(GRID.crs, (20.0, 0.0, LEFT, 0.0, -10.0, TOP), 64, 32),
}


@pytest.mark.parametrize("why", NOT_NESTED)
def test_any_other_raster_is_warped(why: str):
    assert place(NOT_NESTED[why], GRID) == Warped(NOT_NESTED[why], GRID)


def test_a_grid_whose_corner_is_on_no_multiple_of_the_pixel():
    """Landsat's corners lie 15 m off; 30 m pixels on a grid of 30 m are its own all the same."""
    grid = Grid("EPSG:32631", (30.0, 0.0, 500085.0, 0.0, -30.0, 5000115.0), 9, 9)
    assert place(Raster(grid.crs, (30.0, 0.0, 499995.0, 0.0, -30.0, 5000205.0), 7, 8), grid) == Nested(-3, -3, 1, 7, 8)
    assert place(Raster(grid.crs, (15.0, 0.0, 499995.0, 0.0, -15.0, 5000205.0), 7, 8), grid) != Nested(-3, -3, 1, 7, 8)


def test_degrees():
    grid = Grid("EPSG:4326", (0.1, 0.0, 5.0, 0.0, -0.1, 50.0), 30, 30)
    assert place(Raster(grid.crs, (0.3, 0.0, 4.7, 0.0, -0.3, 50.2), 3, 4), grid) == Nested(-2, -3, 3, 3, 4)


def test_an_odd_window_of_pixels_that_are_repeated():
    """20 m pixels from column 1 on: grid columns 1 2 | 3 4 | 5 6."""
    nested = Nested(0, 1, 2, 3, 3)
    part = nested.part(Window(1, 4, 0, 5))
    assert part == Window(1, 4, 1, 5)
    assert nested.source(part) == Window(0, 2, 0, 2)
    assert nested.source(Window(2, 3, 2, 3)) == Window(1, 2, 0, 1)
    assert nested.part(Window(6, 9, 0, 5)) is None
    assert nested.part(Window(0, 6, 7, 9)) is None


# ---- against brute force ---------------------------------------------------------------------------------------------

small = st.integers(0, 12)


@given(
    st.builds(Nested, st.integers(-6, 8), st.integers(-6, 8), st.integers(1, 4), st.integers(1, 4), st.integers(1, 4)),
    small, small, st.integers(1, 8), st.integers(1, 8),
)  # fmt: skip
def test_windows_of_nested_rasters(nested: Nested, y0: int, x0: int, height: int, width: int):
    window = Window(y0, y0 + height, x0, x0 + width)
    owner = {
        (nested.row + r * nested.factor + i, nested.col + c * nested.factor + j): (r, c)
        for r, c in product(range(nested.height), range(nested.width))
        for i, j in product(range(nested.factor), repeat=2)
    }
    covered = sorted(set(product(range(window.y0, window.y1), range(window.x0, window.x1))) & set(owner))
    part = nested.part(window)
    if not covered:
        assert part is None
        return
    assert part is not None
    assert covered == list(product(range(part.y0, part.y1), range(part.x0, part.x1)))
    needed = nested.source(part)
    rows = product(range(needed.y0, needed.y1), range(needed.x0, needed.x1))
    assert sorted({owner[at] for at in covered}) == list(rows)


# ---- positions -------------------------------------------------------------------------------------------------------


def test_positions_on_one_crs_are_plain_arithmetic():
    rows, cols = Warped(raster(20.0, row=0.5, col=0.5, size=32), GRID).positions(Window(3, 5, 4, 7))
    assert rows.tolist() == [[1.5, 1.5, 1.5], [2.0, 2.0, 2.0]]
    assert cols.tolist() == [[2.0, 2.5, 3.0]] * 2


def test_positions_in_a_south_up_and_in_a_rotated_raster():
    south_up = Raster(GRID.crs, (10.0, 0.0, LEFT, 0.0, 10.0, TOP - 500), 50, 50)
    rows, cols = Warped(south_up, GRID).positions(Window(0, 1, 0, 2))
    assert (rows.tolist(), cols.tolist()) == ([[49.5, 49.5]], [[0.5, 1.5]])
    turned = Raster(GRID.crs, (0.0, 10.0, LEFT, 10.0, 0.0, TOP - 500), 50, 50)
    rows, cols = Warped(turned, GRID).positions(Window(0, 1, 0, 2))
    assert np.allclose(rows, [[0.5, 1.5]], atol=1e-9)
    assert np.allclose(cols, [[49.5, 49.5]], atol=1e-9)


FAR = replace(GRID, width=5000, height=4000)


@given(st.integers(0, 3990), st.integers(0, 4990), st.integers(1, 9), st.integers(1, 9), st.data())
def test_a_centre_is_the_same_however_the_grid_is_cut(y: int, x: int, h: int, w: int, data: st.DataObject):
    """To the last bit: a choice between two pixels must not depend on who asks."""
    warped = Warped(raster(crs=data.draw(st.sampled_from(["EPSG:32632", "EPSG:4326", "EPSG:3035"]))), FAR)
    whole = warped.positions(Window(y, y + h, x, x + w))
    i, j = data.draw(st.integers(0, h - 1)), data.draw(st.integers(0, w - 1))
    one = warped.positions(Window(y + i, y + i + 1, x + j, x + j + 1))
    assert [p.item() for p in one] == [p[i, j] for p in whole]


def test_half_a_pixel_of_the_grid_in_pixels_of_the_raster():
    assert Warped(raster(5.0), GRID).half == (1.0, 1.0)
    oblong = Raster(GRID.crs, (4.0, 0.0, LEFT, 0.0, -2.0, TOP), 64, 64)
    assert Warped(oblong, GRID).half == (2.5, 1.25)
    degrees = Warped(Raster("EPSG:4326", (0.0001, 0.0, 3.0, 0.0, -0.0001, 45.2), 64, 64), GRID).half
    metres = 111_200.0
    assert degrees[0] == pytest.approx(5 / metres / 0.0001, rel=0.01)
    assert degrees[1] == pytest.approx(5 / (metres * math.cos(math.radians(45.15))) / 0.0001, rel=0.01)


def test_a_grid_that_the_crs_of_a_source_cannot_show():
    world = Grid("EPSG:4326", (1.0, 0.0, -180.0, 0.0, -1.0, 90.0), 360, 180)
    polar: Any = replace(world, transform=(1.0, 0.0, -87.5 - 180, 0.0, -1.0, 90.0))
    warped = Warped(raster(), polar)
    with pytest.raises(InputError, match=r"middle of the grid in EPSG:4326 cannot be shown in EPSG:32631"):
        _ = warped.half

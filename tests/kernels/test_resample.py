"""Gathers at given positions: literal cases, both twins, plain Python, and any cut of source and target."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from chronozarr_dask.kernels import resample
from chronozarr_dask.kernels import resample_twins as twin
from tests.format.strategies import dtypes, nodatas, values
from tests.kernels import observed, views

Array = views.Array
Kernel = Callable[..., Array]
nearests = pytest.mark.parametrize("nearest", [resample.nearest, twin.nearest_numpy])
bilinears = pytest.mark.parametrize("bilinear", [resample.bilinear, twin.bilinear_numpy])
box_means = pytest.mark.parametrize("box_mean", [resample.box_mean, twin.box_mean_numpy])

SQUARE = [[10, 20], [30, 41]]


def at(*places: tuple[float, float]) -> tuple[Array, Array]:
    """Positions, as one row."""
    rows, cols = np.array(places, np.float64).T
    return rows[None], cols[None]


def source(pixels: Any, dtype: str = "uint16") -> Array:
    return np.array([pixels], dtype)


@nearests
def test_nearest_is_the_pixel_that_holds_the_position(nearest: Kernel) -> None:
    places = at((0, 0), (0.999, 1), (1, 0.5), (1.999, 1.999), (2, 1), (-1e-9, 1), (math.nan, 1), (1, math.inf))
    assert nearest(source(SQUARE), *places, 7).tolist() == [[[10, 20, 30, 41, 7, 7, 7, 7]]]


@bilinears
def test_bilinear_weights_four_neighbours(bilinear: Kernel) -> None:
    places = at((0.5, 0.5), (1, 1), (0.5, 1), (1, 1.5), (1.5, 0.75))
    assert bilinear(source(SQUARE), *places, 0).tolist() == [[[10, 25, 15, 31, 33]]]
    exact = bilinear(source(SQUARE, "float32"), *places, None)
    assert exact.tolist() == [[[10, 25.25, 15, 30.5, 32.75]]]


@bilinears
def test_bilinear_beyond_the_outer_centres_takes_what_there_is(bilinear: Kernel) -> None:
    places = at((0, 0), (0.25, 1), (1.75, 1.75), (2, 2), (math.nan, 1))
    assert bilinear(source(SQUARE), *places, 0).tolist() == [[[10, 15, 41, 0, 0]]]


@bilinears
def test_nodata_never_enters_bilinear(bilinear: Kernel) -> None:
    pixels = source([[100, 0, 0], [0, 0, 0], [0, 0, 300]])
    places = at((1, 1), (0.5, 1.25), (0.5, 1.5), (1.5, 1.5), (2, 2), (1.75, 1.5))
    assert bilinear(pixels, *places, 0).tolist() == [[[100, 100, 0, 0, 300, 0]]]
    assert bilinear(pixels, *places, None).tolist() == [[[25, 25, 0, 0, 75, 0]]]
    holes = source([[100, math.nan], [math.inf, -math.inf]], "float32")
    assert bilinear(holes, *at((1, 1), (1.5, 1.5)), -9999).tolist() == [[[100, -9999]]]


@bilinears
@pytest.mark.parametrize(("pair", "answer"), [((1, 2), 2), ((-1, -2), -1), ((-3, 0), -1), ((32767, 32766), 32767)])
def test_bilinear_rounds_half_up(bilinear: Kernel, pair: tuple[int, int], answer: int) -> None:
    assert bilinear(source([pair], "int16"), *at((0.5, 1)), None).tolist() == [[[answer]]]


@bilinears
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_the_greatest_value_stays(bilinear: Kernel, dtype: str) -> None:
    rng = np.random.default_rng(0)
    pixels = np.full((1, 9, 9), np.iinfo(dtype).max, dtype)
    pixels[rng.random(pixels.shape) < 0.3] = 0
    out = bilinear(pixels, 9 * rng.random((40, 40)), 9 * rng.random((40, 40)), 0)
    assert set(out.reshape(-1).tolist()) <= {0, np.iinfo(dtype).max}


@box_means
def test_box_means_of_a_nested_grid_share_no_pixel(box_mean: Kernel) -> None:
    """Case 15's rounding is that of levels; here halves go up, as in bilinear."""
    pixels = source(np.arange(1, 17).reshape(4, 4))
    rows, cols = np.meshgrid([1.0, 3.0], [1.0, 3.0], indexing="ij")
    assert box_mean(pixels, rows, cols, (1, 1), 0).tolist() == [[[4, 6], [12, 14]]]
    assert box_mean(pixels.astype(np.float32), rows, cols, (1, 1), 0).tolist() == [[[3.5, 5.5], [11.5, 13.5]]]
    assert box_mean(pixels, *at((2, 2)), (2, 1), 0).tolist() == [[[9]]]
    assert box_mean(pixels, *at((2, 2)), (0.75, 0.75), 0).tolist() == [[[9]]]


@box_means
def test_box_means_skip_what_is_missing_and_end_at_the_edge(box_mean: Kernel) -> None:
    pixels = source([[0, 8, 0], [2, 0, 0], [0, 0, 0]])
    places = at((1, 1), (2, 2), (0, 0), (3, 3), (math.nan, 0))
    assert box_mean(pixels, *places, (1, 1), 0).tolist() == [[[5, 0, 0, 0, 0]]]
    assert box_mean(pixels, *at((0.5, 0.5)), (1.5, 1.5), 0).tolist() == [[[5]]]
    assert box_mean(pixels, *at((0.5, 0.5)), (9, 9), None).tolist() == [[[1]]]
    holes = source([[1, math.nan], [math.inf, 4]], "float32")
    assert box_mean(holes, *at((1, 1)), (1, 1), None).tolist() == [[[2.5]]]


def test_a_box_holds_a_centre() -> None:
    with pytest.raises(AssertionError, match=r"half \(0.4, 1\)"):
        resample.box_mean(source(SQUARE), *at((1, 1)), (0.4, 1), 0)


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_nested_pixels_are_repeated(dtype: str) -> None:
    plane = np.array([[1, 2, 3], [4, 5, 6]], dtype)
    assert resample.repeat_nested(plane, 2, (0, 0), (2, 6)).tolist() == [[1, 1, 2, 2, 3, 3]] * 2
    assert resample.repeat_nested(plane, 2, (1, 1), (2, 3)).tolist() == [[1, 2, 2], [4, 5, 5]]
    assert resample.repeat_nested(plane, 3, (2, 4), (3, 5)).tolist() == [
        [2, 2, 3, 3, 3],
        [5, 5, 6, 6, 6],
        [5, 5, 6, 6, 6],
    ]
    assert resample.repeat_nested(plane[None], 1, (1, 0), (1, 2)).tolist() == [[[4, 5]]]
    with pytest.raises(AssertionError):
        resample.repeat_nested(plane, 2, (1, 1), (2, 6))


@given(st.integers(1, 4), st.data())
def test_nested_pixels_equal_a_slice_of_all_of_them(factor: int, draw: st.DataObject) -> None:
    plane = np.arange(12, dtype=np.uint8).reshape(3, 4)
    spans = [sorted(draw.draw(st.tuples(*[st.integers(0, n * factor)] * 2))) for n in plane.shape]
    (y0, y1), (x0, x1) = spans
    whole = np.kron(plane, np.ones((factor, factor), np.uint8))
    assert np.array_equal(resample.repeat_nested(plane, factor, (y0, x0), (y1 - y0, x1 - x0)), whole[y0:y1, x0:x1])


# ---- plain Python -----------------------------------------------------------------------------------------------

numbers = st.one_of(st.integers(-2, 22).map(lambda n: n / 2), st.floats(-1.5, 11), st.just(math.nan))


@st.composite
def gathers(draw: st.DrawFn, dtype: str) -> tuple[Array, Array, Array]:
    """A source (band, h, w), and rows and columns (y, x) of which some lie outside."""
    pixels = draw(hnp.arrays(dtype, (2, draw(views.sizes), draw(views.sizes)), elements=values(dtype)))
    if dtype == "float32" and draw(st.booleans()):
        pixels[:, 0, 0] = draw(st.sampled_from([math.nan, math.inf, -math.inf]))
    shape = (draw(views.few), draw(views.sizes))
    return pixels, draw(hnp.arrays(np.float64, shape, elements=numbers)), draw(
        hnp.arrays(np.float64, shape, elements=numbers)
    )  # fmt: skip


def inside(pixels: Array, row: float, col: float) -> bool:
    return 0 <= row < pixels.shape[1] and 0 <= col < pixels.shape[2]


def present(pixels: Array, b: int, r: int, c: int, nodata: Any) -> Any:
    """The pixel as a Python number, or None."""
    if not (0 <= r < pixels.shape[1] and 0 <= c < pixels.shape[2]):
        return None
    v = pixels[b, r, c].item()
    return None if not math.isfinite(v) or v == nodata else v


@nearests
@given(st.data(), dtypes, views.ways)
def test_nearest_equals_plain_python(nearest: Kernel, draw: st.DataObject, dtype: str, way: views.Way) -> None:
    pixels, rows, cols = draw.draw(gathers(dtype))
    out = nearest(way(pixels[:, None])[:, 0], rows, cols, 5).astype(dtype)
    for b, y, x in np.ndindex(out.shape):
        row, col = rows[y, x], cols[y, x]
        expected = pixels[b, math.floor(row), math.floor(col)] if inside(pixels, row, col) else 5
        assert np.array_equal(out[b, y, x], np.array(expected, dtype), equal_nan=dtype == "float32")


@bilinears
@given(st.data(), st.sampled_from(["uint8", "uint16", "int16"]))
def test_bilinear_is_within_one_of_the_exact_value(bilinear: Kernel, draw: st.DataObject, dtype: str) -> None:
    """In fractions; positions near a half make float64 and fractions round apart."""
    pixels, rows, cols = draw.draw(gathers(dtype))
    nodata = draw.draw(nodatas(dtype))
    out = bilinear(pixels, rows, cols, nodata)
    for b, y, x in np.ndindex(out.shape):
        expected = exact_bilinear(pixels, b, float(rows[y, x]), float(cols[y, x]), nodata)
        if expected is None:
            assert out[b, y, x] == (nodata or 0)
        else:
            assert abs(int(out[b, y, x]) - expected) <= Fraction(1, 2) + Fraction(1, 10**6)


def exact_bilinear(pixels: Array, b: int, row: float, col: float, nodata: Any) -> Fraction | None:
    if not inside(pixels, row, col):
        return None
    total = weights = Fraction(0)
    for r in range(math.floor(row - 0.5), math.floor(row - 0.5) + 2):
        for c in range(math.floor(col - 0.5), math.floor(col - 0.5) + 2):
            v = present(pixels, b, r, c, nodata)
            weight = (1 - abs(Fraction(row - 0.5) - r)) * (1 - abs(Fraction(col - 0.5) - c))
            if v is not None and weight > 0:
                total, weights = total + weight * v, weights + weight
    return total / weights if weights else None


@box_means
@given(st.data(), dtypes, st.integers(1, 9).map(lambda n: n / 2), st.floats(0.5, 4))
def test_box_mean_equals_plain_python(
    box_mean: Kernel, draw: st.DataObject, dtype: str, half_height: float, half_width: float
) -> None:
    pixels, rows, cols = draw.draw(gathers(dtype))
    nodata = draw.draw(nodatas(dtype))
    out = box_mean(pixels, rows, cols, (half_height, half_width), nodata)
    for b, y, x in np.ndindex(out.shape):
        row, col, seen = float(rows[y, x]), float(cols[y, x]), []
        if inside(pixels, row, col):
            seen = [
                present(pixels, b, r, c, nodata)
                for r in range(pixels.shape[1])
                if math.ceil(row - half_height - 0.5) <= r < math.ceil(row + half_height - 0.5)
                for c in range(pixels.shape[2])
                if math.ceil(col - half_width - 0.5) <= c < math.ceil(col + half_width - 0.5)
            ]
        assert out[b, y, x] == mean_of([v for v in seen if v is not None], dtype, nodata)


def mean_of(seen: list[Any], dtype: str, nodata: Any) -> Any:
    if not seen:
        return nodata or 0
    if dtype != "float32":
        return math.floor(Fraction(sum(seen), len(seen)) + Fraction(1, 2))
    total = 0.0
    for v in seen:
        total += v
    return np.float32(total / len(seen))


@given(st.data(), dtypes, st.floats(0.5, 3))
def test_twins_agree(draw: st.DataObject, dtype: str, half: float) -> None:
    pixels, rows, cols = draw.draw(gathers(dtype))
    nodata = draw.draw(nodatas(dtype))
    pairs = (
        (resample.nearest(pixels, rows, cols, 1), twin.nearest_numpy(pixels, rows, cols, 1)),
        (resample.bilinear(pixels, rows, cols, nodata), twin.bilinear_numpy(pixels, rows, cols, nodata)),
        (
            resample.box_mean(pixels, rows, cols, (half, 1), nodata),
            twin.box_mean_numpy(pixels, rows, cols, (half, 1), nodata),
        ),
    )
    assert all(observed.same_bits(one, other) for one, other in pairs)

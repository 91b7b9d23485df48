"""Section 3.3: the transform is the exact one that the input declares, else what its pixel centres say."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.layout import centres
from chronozarr_dask.source.grid import find_transform
from tests.source.cubes import TRANSFORM, X, Y, one_band

AXES = {"time": "time", "y": "y", "x": "x"}


def grid(y=Y, x=X, attrs=None, mapping=None):
    array = xr.DataArray(np.zeros((1, len(y), len(x))), dims=("time", "y", "x"), coords={"y": y, "x": x}, attrs=attrs)
    coords = {"spatial_ref": xr.Variable((), 0, mapping)} if mapping else {}
    return array.assign_coords(coords)


def transform_of(array):
    return find_transform(array, AXES, xr.Dataset(coords=array.coords), "the input")


def test_from_pixel_centres():
    assert transform_of(grid()) == TRANSFORM


def test_pixels_need_not_be_square():
    assert transform_of(grid(Y, np.array([0.0, 2.5, 5.0]))) == (2.5, 0.0, -1.25, 0.0, -10.0, 5_000_000.0)


@pytest.mark.parametrize(
    ("origin", "step", "n"),
    [
        (500_000.0, 10.0, 10_980),
        (0.1, 0.1, 3_000),  # neither is a double
        (-180.0, 0.25, 1_440),
        (-180.0, 0.01, 36_000),
        (12.3456, 0.0001, 5_000),
        (600_000.0, 30.0, 7_681),
        (500_000.02, 0.02, 20_000),
    ],
)
@pytest.mark.parametrize("made", [np.linspace, None, "summed"])
def test_decimals_come_back_without_noise(origin, step, n, made):
    first, last = origin + step / 2, origin + step * (n - 0.5)
    if made is np.linspace:
        x = np.linspace(first, last, n)
    elif made is None:
        x = np.arange(n) * step + first
    else:
        x = first + np.cumsum(np.full(n, step)) - step
    a, _, c, _, _, _ = transform_of(grid(Y, x))
    assert (a, c) == (step, origin)


def test_a_third_is_no_short_decimal_and_stays():
    x = np.linspace(1 / 6, 10 - 1 / 6, 30)
    a, _, c, _, _, _ = transform_of(grid(Y, x))
    assert a == pytest.approx(1 / 3, rel=1e-15)
    assert abs(c) < 1e-15


def test_float32_coordinates_are_the_decimals_that_they_stand_for():
    x = (np.arange(100) * 0.1 + 0.05).astype(np.float32)
    y = np.array([45.3, 45.2, 45.1], np.float32)
    assert transform_of(grid(y, x)) == (0.1, 0.0, 0.0, 0.0, -0.1, 45.35)


def test_integers_and_packed_coordinates():
    packed = xr.Variable("x", np.arange(3, dtype=np.int16), {"scale_factor": 10.0, "add_offset": 5.0})
    assert transform_of(grid(np.array([3, 2, 1]), packed)) == (10.0, 0.0, 0.0, 0.0, -1.0, 3.5)


@given(
    st.integers(2, 300),
    st.floats(1e-4, 1e4),
    st.floats(-1e6, 1e6),
)
def test_every_centre_of_the_transform_is_within_a_thousandth_of_a_pixel(n, step, origin):
    x = np.array(centres(origin, step, n))
    a, _, c, _, _, _ = transform_of(grid(Y, x))
    assert np.abs(np.array(centres(c, a, n)) - x).max() <= 0.001 * step


@pytest.mark.parametrize(
    "how",
    [
        {"mapping": {"GeoTransform": "500000.0 10.0 0.0 5000000.0 0.0 -10.0"}},
        {"mapping": {"GeoTransform": [500_000.0, 10.0, 0.0, 5_000_000.0, 0.0, -10.0]}},
        {"attrs": {"transform": TRANSFORM}},
        {"attrs": {"transform": [*TRANSFORM, 0.0, 0.0, 1.0]}},
        {"attrs": {"spatial:transform": list(TRANSFORM)}},
    ],
)
def test_a_declared_transform(how):
    assert transform_of(grid(**how)) == TRANSFORM
    assert transform_of(grid(**how).drop_vars(["x", "y"])) == TRANSFORM


def test_a_declared_transform_gives_its_exact_floats():
    exact = (1 / 3 + 1e-9, 0.0, 1e-7, 0.0, -1 / 3, 2 / 3)
    array = grid(
        np.array(centres(exact[5], exact[4], 4)), np.array(centres(exact[2], exact[0], 5)), {"transform": exact}
    )
    assert transform_of(array) == exact


def test_a_stale_declaration_gives_way_to_the_coordinates():
    clipped = grid(attrs={"transform": TRANSFORM}, mapping={"GeoTransform": "500000 10 0 5000000 0 -10"}).isel(
        x=slice(1, 4)
    )
    assert transform_of(clipped)[2] == 500_010.0


@pytest.mark.parametrize(("by", "believed"), [(0.009, True), (-0.009, True), (0.011, False), (-0.011, False)])
def test_a_declaration_is_believed_within_a_thousandth_of_a_pixel(by, believed):
    shifted = (10.0, 0.0, 500_000.0 + by, 0.0, -10.0, 5_000_000.0)
    assert transform_of(grid(attrs={"transform": shifted})) == (shifted if believed else TRANSFORM)


def test_the_second_declaration_counts_when_the_first_is_stale():
    array = grid(attrs={"transform": TRANSFORM}, mapping={"GeoTransform": "0 10 0 0 0 -10"})
    assert transform_of(array) == TRANSFORM


def test_one_row_or_column_is_of_square_pixels():
    assert transform_of(grid(Y[:1])) == TRANSFORM
    assert transform_of(grid(Y, X[:1])) == TRANSFORM
    assert transform_of(grid(Y[:1], X[:1], {"transform": TRANSFORM})) == TRANSFORM


def moved(values, i, by):
    out = values.copy()
    out[i] += by
    return out


def test_the_tolerance_is_a_thousandth_of_a_pixel():
    assert transform_of(grid(Y, moved(X, 2, 0.009))) == TRANSFORM
    with pytest.raises(InputError, match="number 2"):
        transform_of(grid(Y, moved(X, 2, 0.011)))


@pytest.mark.parametrize(
    ("array", "parts"),
    [
        (
            grid(Y, moved(X, 3, 1)),
            ["x coordinates of the input", "number 3 is 500036.0", "500035.0 is where", "0.001 pixel"],
        ),
        (grid(moved(Y, 1, -1)), ["y coordinates", "number 1", "resample"]),
        (grid(Y, X * 0), ["x coordinates", "not regular"]),
        (grid(Y[::-1]), ["south-up", "4999965.0", "4999995.0", "sortby('y', ascending=False)"]),
        (grid(Y, X[::-1]), ["x of the input decreases", "sortby('x')"]),
        (grid(Y, moved(X, 2, np.nan)), ["x coordinate 2", "nan", "finite"]),
        (
            grid(attrs={"transform": (10.0, 1.0, 5e5, 0.0, -10.0, 5e6)}),
            ["'transform'", "rotated", "b = 1.0", "reproject"],
        ),
        (grid(mapping={"GeoTransform": "0 10 0 0 0.5 -10"}), ["GeoTransform", "'spatial_ref'", "d = 0.5"]),
        (grid(attrs={"transform": (10, 0, 0, 0, 10, 0)}).drop_vars(["x", "y"]), ["south-up", "e = 10.0"]),
        (grid().drop_vars(["x", "y"]), ["nothing tells where the input lies", "'y'", "no transform", "assign_coords"]),
        (grid().drop_vars("x"), ["'x'", "no coordinate"]),
        (
            grid(attrs={"transform": (1, 0, 0, 0, -1, 0)}).drop_vars("x"),
            ["'transform' does not agree with the other axis"],
        ),
        (
            grid(mapping={"gcps": '{"type": "FeatureCollection"}'}),
            ["ground control points", "'spatial_ref'", "reproject"],
        ),
        (grid(Y[:1], X[:1]), ["single pixel", "attrs['transform']"]),
        (grid(attrs={"transform": "north"}), ["'transform'", "not six numbers"]),
        (grid(attrs={"transform": [1, 2]}), ["'transform'", "six finite numbers"]),
        (grid(attrs={"transform": [np.nan] * 6}), ["six finite numbers"]),
        (grid(Y, xr.Variable("x", X / 1000, {"units": "km"})), ["'x' is in km", "unit of the CRS", "* 1000"]),
        (grid(Y, np.array(list("abcde"))), ["'x' has dtype <U1"]),
        (
            grid().drop_vars(["x", "y"]).assign_coords(lat=(("y", "x"), np.zeros((4, 5)))),
            ["2-d coordinates ('lat')", "curvilinear", "warp"],
        ),
    ],
)
def test_refused(array, parts):
    with pytest.raises(InputError) as error:
        transform_of(array)
    assert all(p in str(error.value) for p in parts), str(error.value)


def test_the_hint_for_south_up_works():
    array = one_band().sortby("y")
    with pytest.raises(InputError, match="south-up"):
        transform_of(array)
    assert transform_of(array.sortby("y", ascending=False)) == TRANSFORM

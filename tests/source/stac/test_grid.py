import math

import numpy as np
import pyproj
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.stac.area import bounds_in, lonlat_box
from chronozarr_dask.source.stac.grid import Grid, derive_grid, named_grid
from chronozarr_dask.source.stac.items import parse_item
from tests.source.stac.made import asset, item, scene

BANDS = ["B04", "B08", "SCL"]
X, Y = 500000.0, 5000000.0


def inside(left, bottom, right, top):
    """Bounds in metres from the upper-left corner of the items."""
    return X + left, Y + bottom, X + right, Y + top


# ---- named ---------------------------------------------------------------------------------------------------------


def test_a_named_grid_has_the_corner_of_its_bounds():
    grid = named_grid("EPSG:32631", 10, [500005, 4999360, 500645, 5000000])
    assert grid == Grid("EPSG:32631", (10.0, 0.0, 500005.0, 0.0, -10.0, 5000000.0), 64, 64)
    assert grid.bounds == (500005.0, 4999360.0, 500645.0, 5000000.0)
    assert grid.georeference.crs == "EPSG:32631"


def test_a_named_grid_of_degrees():
    grid = named_grid("EPSG:4326", (1 / 3600, 1 / 1800), [8, 47, 9, 48])
    assert (grid.width, grid.height) == (3600, 1800)


@pytest.mark.parametrize(
    ("crs", "resolution", "bounds", "message"),
    [
        ("EPSG:32631", 10, [0, 0, 645, 640], r"64.5 x 64 pixels of 10 x 10.*\[0.0, 0.0, 650.0, 640.0\]"),
        ("EPSG:32631", 10, [640, 0, 0, 640], "left of right"),
        ("EPSG:32631", 0, [0, 0, 640, 640], "positive"),
        ("EPSG:32631", 10, [0, 0, 640], "left, bottom, right, top"),
        ("EPSG:32631", 10, [0, 0, math.nan, 640], "left, bottom, right, top"),
        ("utm31", 10, [0, 0, 640, 640], "EPSG"),
    ],
)
def test_a_named_grid_that_is_none(crs, resolution, bounds, message):
    with pytest.raises(InputError, match=message):
        named_grid(crs, resolution, bounds)


# ---- derived -------------------------------------------------------------------------------------------------------


def test_without_an_area_everything_that_the_items_cover():
    grid = derive_grid([scene("A"), scene("B", corner=(X + 320, Y - 640))], BANDS)
    assert grid == Grid("EPSG:32631", (10.0, 0.0, X, 0.0, -10.0, Y), 96, 128)


@pytest.mark.parametrize(
    ("bounds", "corner", "size"),
    [
        (inside(100, -200, 200, -100), (X + 100, Y - 100), (10, 10)),
        (inside(101, -199, 199, -101), (X + 100, Y - 100), (10, 10)),
        (inside(99.999999, -200.000001, 200.000001, -99.999999), (X + 100, Y - 100), (10, 10)),  # noise of floats
        (inside(100.1, -200.1, 200.1, -100.1), (X + 100, Y - 100), (11, 11)),
        (inside(99.9, -200, 200, -99.9), (X + 90, Y - 90), (11, 11)),
        (inside(-105, -5, 5, 105), (X - 110, Y + 110), (12, 12)),
        (inside(103, -105, 104, -104), (X + 100, Y - 100), (1, 1)),
    ],
)
def test_bounds_are_snapped_outward(bounds, corner, size):
    grid = derive_grid([scene()], BANDS, bounds=bounds)
    assert (grid.transform[2], grid.transform[5]) == corner
    assert (grid.width, grid.height) == size


@pytest.mark.parametrize("shift", [0.0, 0.5, 5.0, 5.5, 7.25])
def test_the_phase_of_the_items_is_kept_to_the_last_bit(shift):
    items = [scene("A", corner=(X + shift, Y - shift)), scene("B", corner=(X + shift + 30, Y - shift + 50))]
    grid = derive_grid(items, BANDS, bounds=inside(100, -200, 200, -100))
    assert grid.transform[2] % 10 == shift % 10
    assert (-grid.transform[5]) % 10 == shift % 10
    left, bottom, right, top = grid.bounds
    assert left <= X + 100 < left + 10
    assert right - 10 < X + 200 <= right
    assert bottom <= Y - 200 < bottom + 10
    assert top - 10 < Y - 100 <= top


def test_the_phase_of_landsat():
    assets = {"red": asset("r.tif", 7931, 30, (173085, 4904715))}
    grid = derive_grid(
        [scene("LC08", collection="l", epsg=32615, assets=assets)], ["red"], bounds=(2e5, 4.8e6, 3e5, 4.9e6)
    )
    assert grid.transform[2] % 30 == 15
    assert grid.transform[5] % 30 == 15


def test_a_centroid_is_not_a_corner():
    plain, with_centroid = scene(), scene(proj__centroid={"lat": 45.15, "lon": 3.0}, proj__bbox=[0, 0, 1, 1])
    assert derive_grid([with_centroid], BANDS) == derive_grid([plain], BANDS)


def test_the_finest_band_speaks():
    assert derive_grid([scene()], ["SCL"]).transform[0] == 20
    assert derive_grid([scene()], ["SCL", "B04"]).transform[0] == 10


def test_half_a_pixel_is_another_grid():
    items = [scene("A"), scene("B"), scene("C", corner=(X + 5, Y))]
    with pytest.raises(InputError, match=r"on 2 grids.*2 items on EPSG:32631.*1 items on.*grid\.align_to") as caught:
        derive_grid(items, BANDS)
    assert "(0, 0) modulo" in str(caught.value)
    assert "(5, 0) modulo" in str(caught.value)
    assert derive_grid(items, BANDS, align_to="C", bounds=inside(0, -10, 5, 0)).transform[2] == X - 5
    with pytest.raises(InputError, match=r"'Z', which is not among the 3 items"):
        derive_grid(items, BANDS, align_to="Z")


@pytest.mark.parametrize(("shift", "n"), [(0.009, 1), (-0.009, 1), (9.995, 1), (0.011, 2), (-0.011, 2)])
def test_a_thousandth_of_a_pixel_is_the_same_grid(shift, n):
    items = [scene("A"), scene("B", corner=(X + shift, Y))]
    if n == 1:
        assert derive_grid(items, BANDS) == derive_grid(items[::-1], BANDS)
    else:
        with pytest.raises(InputError, match="on 2 grids"):
            derive_grid(items, BANDS)


def test_pixel_sizes_that_drift_apart_are_two_grids():
    drifting = {"B04": asset("a.tif", 64, 10.0001)}
    with pytest.raises(InputError, match="on 2 grids"):
        derive_grid([scene("A"), scene("B", assets=drifting)], ["B04"])


def test_case_14_two_utm_zones():
    items = [scene(f"A{i}") for i in range(3)] + [scene(f"B{i}", epsg=32632) for i in range(2)]
    with pytest.raises(InputError, match=r"2 CRSs: 3 on EPSG:32631, 2 on EPSG:32632.*grid\.crs"):
        derive_grid(items, BANDS, [3.0, 45.1, 3.01, 45.2])
    grid = derive_grid(items, BANDS, crs="EPSG:32632", bounds=inside(0, -640, 640, 0))
    assert (grid.crs, grid.width, grid.height) == ("EPSG:32632", 64, 64)
    with pytest.raises(InputError, match=r"no item is on EPSG:3035 \(grid.crs\), they are on 3 on EPSG:32631, 2 on"):
        derive_grid(items, BANDS, crs="EPSG:3035")


def test_items_that_do_not_tell_their_grid_need_a_named_one():
    bare = item("B")
    del bare["properties"]["proj:code"]
    with pytest.raises(InputError, match=r"1 of 2 items do not tell their grid.*: B; name the grid: grid\.crs"):
        derive_grid([scene("A"), parse_item(bare)], BANDS)
    with pytest.raises(InputError, match="no item to derive the grid from"):
        derive_grid([], BANDS)


@pytest.mark.parametrize(
    ("transform", "message"),
    [([10, 1, X, 1, -10, Y], "rotated"), ([10, 0, X, 0, 10, Y], "south-up"), ([X, 10, 0, Y, 0, -10], "rotated")],
)
def test_a_transform_that_is_not_north_up_names_the_item(transform, message):
    assets = {"B04": {**asset("a.tif", 64, 10), "proj:transform": transform}}
    with pytest.raises(InputError, match=f"asset 'B04' of item 'A'.*{message}"):
        derive_grid([scene("A", assets=assets)], ["B04"])


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=1, max_size=6), st.randoms())
def test_the_order_of_the_items_has_no_say(shifts, order):
    items = [
        scene(f"I{i}", corner=(5271982.576551932 + 10 * x, 2533004.2149151857 + 10 * y))
        for i, (x, y) in enumerate(shifts)
    ]
    shuffled = items.copy()
    order.shuffle(shuffled)
    assert derive_grid(items, BANDS) == derive_grid(shuffled, BANDS)


# ---- areas ---------------------------------------------------------------------------------------------------------


def slow_bounds(west, south, east, north, crs):
    t = pyproj.Transformer.from_crs("EPSG:4326", crs, always_xy=True)
    s = np.linspace(0, 1, 5001)
    lon = np.concatenate([west + s * (east - west)] * 2 + [np.full(5001, west), np.full(5001, east)])
    lat = np.concatenate([np.full(5001, south), np.full(5001, north)] + [south + s * (north - south)] * 2)
    x, y = t.transform(lon, lat)
    return x.min(), y.min(), x.max(), y.max()


def test_a_parallel_is_not_a_straight_line():
    box = (1.0, 52.0, 5.0, 53.0)
    t = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:32631", always_xy=True)
    corner_y = t.transform(1.0, 52.0)[1]
    bottom = bounds_in(box, "EPSG:32631")[1]
    assert corner_y - bottom > 1000  # metres that four corners alone would cut off
    assert np.allclose(bounds_in(box, "EPSG:32631"), slow_bounds(*box, "EPSG:32631"), atol=0.1)


@given(st.floats(0, 5.5), st.floats(-60, 70), st.floats(0.01, 0.5), st.floats(0.01, 0.5))
def test_the_grid_covers_the_area(west, south, width, height):
    box = (west, south, west + width, south + height)
    left, bottom, right, top = derive_grid([scene()], BANDS, box).bounds
    l2, b2, r2, t2 = slow_bounds(*box, "EPSG:32631")
    assert left <= l2 + 0.05
    assert bottom <= b2 + 0.05
    assert right >= r2 - 0.05
    assert top >= t2 - 0.05
    assert max(l2 - left, b2 - bottom, right - r2, top - t2) < 10.1


def test_a_geometry_is_as_good_as_a_box():
    ring = [[3.0, 45.1], [3.01, 45.1], [3.01, 45.2], [3.0, 45.2], [3.0, 45.1]]
    polygon = {"type": "Polygon", "coordinates": [ring]}
    box = [3.0, 45.1, 3.01, 45.2]
    for area in (polygon, {"type": "Feature", "geometry": polygon}, {"type": "MultiPolygon", "coordinates": [[ring]]}):
        assert bounds_in(area, "EPSG:32631") == bounds_in(box, "EPSG:32631")
        assert lonlat_box(area) == tuple(box)


@pytest.mark.parametrize(
    "area",
    [
        [179.5, -17, -179.25, -16],
        [179.5, -17, 180.75, -16],
        [-180.5, -17, -179.25, -16],
        {
            "type": "Polygon",
            "coordinates": [[[179.5, -17], [-179.25, -17], [-179.25, -16], [179.5, -16], [179.5, -17]]],
        },
        {"type": "Polygon", "coordinates": [[[179.5, -17], [180.75, -17], [180.75, -16], [179.5, -16], [179.5, -17]]]},
        {
            "type": "MultiPolygon",
            "coordinates": [
                [[[179.5, -17], [180, -17], [180, -16], [179.5, -16], [179.5, -17]]],
                [[[-180, -17], [-179.25, -17], [-179.25, -16], [-180, -16], [-180, -17]]],
            ],
        },
    ],
)
def test_the_antimeridian_prints_two_half_boxes(area):
    message = r"antimeridian.*\[179.5, -17, 180, -16\] and \[-180, -17, -179.25, -16\]"
    with pytest.raises(InputError, match=message):
        derive_grid([scene()], BANDS, area)
    assert all(lonlat_box(half) == half for half in ((179.5, -17, 180, -16), (-180, -17, -179.25, -16)))


def test_the_whole_earth_is_an_area():
    assert lonlat_box([-180, -90, 180, 90]) == (-180, -90, 180, 90)


@pytest.mark.parametrize(
    "area",
    [
        [0, 0, 1],
        [0, 1, 1, 0],
        [0, 0, 0, 1],
        [0, 0, 1, 91],
        [500000, 4999360, 500640, 5000000],
        {"type": "Point", "coordinates": [0, 0]},
        {"type": "Polygon", "coordinates": []},
        {"type": "Polygon", "coordinates": [[[5e5, 5e6], [6e5, 5e6], [6e5, 6e6], [5e5, 5e6]]]},
    ],
)
def test_what_is_no_area(area):
    with pytest.raises(InputError, match="area"):
        lonlat_box(area)


@given(st.floats(-170, 170), st.floats(-80, 80), st.floats(0.01, 9), st.floats(0.01, 9))
def test_a_box_is_its_own_box(west, south, width, height):
    box = (west, south, west + width, south + height)
    assume(box[2] <= 180)
    assert lonlat_box(box) == box

"""Planes of scenes on a grid, against references that know nothing of how it is done."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyproj
import pytest
import rasterio
from hypothesis import given, settings
from hypothesis import strategies as st
from rasterio import Affine

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.layout import Window
from chronozarr_dask.source.bandfile import Centres, Resampling
from chronozarr_dask.source.observe import Observer, Plane
from chronozarr_dask.source.stac.assets import SceneAsset
from chronozarr_dask.source.stac.grid import Grid
from chronozarr_dask.source.stac.items import Scene

Array = npt.NDArray[Any]
LEFT, TOP = 738000.0, 5000000.0
GRID = Grid("EPSG:32631", (10.0, 0.0, LEFT, 0.0, -10.0, TOP), 70, 60)
ALL = Window(0, 60, 0, 70)


def write(
    path: Path, pixels: Array, *, step: float = 10.0, left: float = LEFT, top: float = TOP, epsg: int = 32631,
    nodata: float | None = None, mask: Array | None = None, **profile: Any,
) -> SceneAsset:  # fmt: skip
    """A GeoTIFF of (y, x) or (band, y, x), and the asset of its first band."""
    bands = pixels if pixels.ndim == 3 else pixels[None]
    transform = Affine(step, 0.0, left, 0.0, -step, top)
    settings_ = {"driver": "GTiff", "crs": f"EPSG:{epsg}", "transform": transform, "nodata": nodata, **profile}
    shape = {"count": len(bands), "height": bands.shape[1], "width": bands.shape[2], "dtype": bands.dtype.name}
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "w", **settings_, **shape) as file:
        file.write(bands)
        if mask is not None:
            file.write_mask(mask)
    return SceneAsset("B04", "B04", str(path))


def scene(*assets: SceneAsset) -> Scene:
    return Scene("S2A_TILE", 0, assets, collection="made")


def classes(asset: SceneAsset, window: Window = ALL, grid: Grid = GRID, nothing: int = 0) -> Plane | None:
    return Observer(grid).classes(scene(asset), asset, Centres(grid, window), nothing)


def band(
    asset: SceneAsset, window: Window = ALL, grid: Grid = GRID, *, how: Resampling = "auto", missing: Any = 0,
    part: Window | None = None,
) -> Plane | None:  # fmt: skip
    return Observer(grid, how).band(scene(asset), asset, Centres(grid, window), part, missing)


def whole(plane: Plane | None, window: Window, fill: Any) -> Array:
    """Pixels of a plane on the whole window."""
    assert plane is not None
    out = np.full(window.shape, fill, plane.pixels.dtype)
    p = plane.part
    out[p.y0 - window.y0 : p.y1 - window.y0, p.x0 - window.x0 : p.x1 - window.x0] = plane.pixels
    return out


# ---- references ------------------------------------------------------------------------------------------------------

ZONES = pyproj.Transformer.from_pipeline(
    "+proj=pipeline +step +inv +proj=utm +zone=31 +ellps=WGS84 +step +proj=utm +zone=32 +ellps=WGS84"
)
"""By the formulas of the two projections, as no EPSG code and no search for an operation has a say in it."""


def centre(grid: Grid, row: int, col: int) -> tuple[float, float]:
    a, _, c, _, e, f = grid.transform
    return c + a * (col + 0.5), f + e * (row + 0.5)


def nearest_of(pixels: Array, x: float, y: float, left: float, top: float, step: float, nothing: int) -> int:
    """The pixel whose centre is nearest, of all whose square holds the point; looked for among all of them."""
    h, w = pixels.shape
    if not (left <= x < left + w * step and top - h * step < y <= top):
        return nothing
    across = np.abs(left + step * (np.arange(w) + 0.5) - x)
    down = np.abs(top - step * (np.arange(h) + 0.5) - y)
    return int(pixels[down.argmin(), across.argmin()])


def bilinear_of(pixels: Array, x: float, y: float, left: float, top: float, step: float, missing: Any) -> float | None:
    """Sum of tents over all pixels of the raster, missing ones left out; None for nothing."""
    h, w = pixels.shape
    if not (left <= x < left + w * step and top - h * step < y <= top):
        return None
    across = np.maximum(0, 1 - np.abs((left + step * (np.arange(w) + 0.5) - x) / step))
    down = np.maximum(0, 1 - np.abs((top - step * (np.arange(h) + 0.5) - y) / step))
    weight = np.outer(down, across) * ((pixels != missing) & np.isfinite(pixels))
    total = weight.sum()
    return None if total <= 1e-12 else float((weight * np.nan_to_num(pixels.astype(float))).sum() / total)


# ---- classes from another zone ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Other:
    """A raster of zone 32 that lies askew over the grid of zone 31, and beyond it on some sides."""

    left: float
    top: float
    step: float
    size: int

    @classmethod
    def around(cls, dx: float, dy: float, step: float, size: int) -> Other:
        x, y = ZONES.transform(*centre(GRID, 30, 35))
        return cls(x + dx - step * size / 2, y + dy + step * size / 2, step, size)


@pytest.mark.parametrize(
    "other",
    [Other.around(3.7, -2.2, 20.0, 50), Other.around(-300, 200, 20.0, 30), Other.around(1.3, -0.7, 10.0, 30),
     Other.around(0, 0, 60.0, 21)],
    ids=["covers", "corner", "inside", "coarse"],
)  # fmt: skip
def test_nearest_is_proved_at_every_pixel(tmp_path: Path, other: Other):
    pixels = np.random.default_rng(3).integers(1, 12, (other.size, other.size)).astype(np.uint8)
    asset = write(tmp_path / "scl.tif", pixels, step=other.step, left=other.left, top=other.top, epsg=32632)
    found = whole(classes(asset), ALL, 0)
    expected = np.zeros_like(found)
    for row in range(GRID.height):
        for col in range(GRID.width):
            x, y = ZONES.transform(*centre(GRID, row, col))
            expected[row, col] = nearest_of(pixels, x, y, other.left, other.top, other.step, 0)
    assert np.count_nonzero(expected) > 600
    assert np.array_equal(found, expected)


@settings(max_examples=15)
@given(st.integers(0, 59), st.integers(0, 69), st.integers(1, 60), st.integers(1, 70))
def test_any_window_is_that_part_of_the_whole(tmp_path_factory: pytest.TempPathFactory, y: int, x: int, h: int, w: int):
    folder = tmp_path_factory.mktemp("cut")
    other = Other.around(-150, 90, 20.0, 30)
    rng = np.random.default_rng(4)
    scl = write(folder / "scl.tif", rng.integers(1, 12, (30, 30)).astype(np.uint8), step=20.0, left=other.left,
                top=other.top, epsg=32632)  # fmt: skip
    dn = rng.integers(0, 9, (60, 60)).astype(np.uint16) * 1000
    b04 = write(folder / "b04.tif", dn, left=other.left, top=other.top, epsg=32632)
    window = Window(y, min(y + h, 60), x, min(x + w, 70))
    reads: list[Callable[[Window], Plane | None]] = [
        lambda cut: classes(scl, cut),
        lambda cut: band(b04, cut),
        lambda cut: band(b04, cut, how="mean"),
        lambda cut: band(b04, cut, how="nearest"),
    ]
    for read in reads:
        expected, plane = whole(read(ALL), ALL, 0)[window.slices], read(window)
        found = np.zeros_like(expected) if plane is None else whole(plane, window, 0)
        assert np.array_equal(found, expected)


# ---- bands that do not lie on the grid -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint16", "int16", "float32"])
def test_bilinear_against_a_sum_of_tents(tmp_path: Path, dtype: str):
    other = Other.around(-250, 110, 10.0, 60)
    rng = np.random.default_rng(5)
    missing = {"uint16": 0, "int16": -32768, "float32": -9999.0}[dtype]
    pixels = rng.integers(1, 9000, (60, 60)).astype(dtype)
    pixels[rng.random(pixels.shape) < 0.3] = missing
    if dtype == "float32":
        pixels[rng.random(pixels.shape) < 0.1] = np.nan
    asset = write(tmp_path / "b.tif", pixels, left=other.left, top=other.top, epsg=32632, nodata=missing)
    found = whole(band(asset), ALL, missing)
    n = 0
    for row in range(GRID.height):
        for col in range(GRID.width):
            x, y = ZONES.transform(*centre(GRID, row, col))
            mean = bilinear_of(pixels, x, y, other.left, other.top, 10.0, missing)
            if mean is None:
                assert found[row, col] == missing
            elif dtype == "float32":
                assert found[row, col] == pytest.approx(mean, rel=1e-5)
            else:
                assert abs(found[row, col] - mean) <= 0.5 + 1e-4
            n += mean is not None
    assert n > 1000


def mean_of(pixels: Array, row: float, col: float, half: float, missing: Any) -> float | None:
    """Mean of the pixels whose centres are in the box around (row, col)."""
    h, w = pixels.shape
    if not (0 <= row < h and 0 <= col < w):
        return None
    r, c = np.arange(h) + 0.5, np.arange(w) + 0.5
    box = np.outer((r >= row - half) & (r < row + half), (c >= col - half) & (c < col + half)) & (pixels != missing)
    return float(pixels[box].mean()) if box.any() else None


@pytest.mark.parametrize(("step", "is_mean"), [(4.0, True), (6.5, True), (7.0, False), (9.0, False), (14.0, False)])
def test_the_mean_where_a_pixel_of_the_grid_is_much_larger(tmp_path: Path, step: float, is_mean: bool):
    size = math.ceil(500 / step)
    pixels = np.random.default_rng(6).integers(0, 5, (size, size)).astype(np.uint16) * 100
    asset = write(tmp_path / "b.tif", pixels, step=step, left=LEFT + 33.3, top=TOP - 41.7)
    found = whole(band(asset), ALL, 0)
    for row in range(GRID.height):
        for col in range(GRID.width):
            at = ((row + 0.5) * 10 - 41.7) / step, ((col + 0.5) * 10 - 33.3) / step
            x, y = centre(GRID, row, col)
            mean = (
                mean_of(pixels, *at, 5 / step, 0)
                if is_mean
                else bilinear_of(pixels, x, y, LEFT + 33.3, TOP - 41.7, step, 0)
            )
            assert abs(found[row, col] - (mean or 0)) <= 0.5 + 1e-6
    assert np.count_nonzero(found) > 1500


def test_half_a_pixel_off_is_resampled_and_not_copied(tmp_path: Path):
    pixels = np.arange(1, 4201, dtype=np.uint16).reshape(60, 70)
    asset = write(tmp_path / "b.tif", pixels, left=LEFT - 5, top=TOP + 5)
    found = whole(band(asset), ALL, 0)
    expected = (pixels[:-1, :-1] + pixels[1:, :-1] + pixels[:-1, 1:] + pixels[1:, 1:] + 2) // 4
    assert np.array_equal(found[:-1, :-1], expected)


# ---- on the grid -----------------------------------------------------------------------------------------------------


def test_pixels_on_the_grid_are_copied(tmp_path: Path):
    pixels = np.random.default_rng(7).integers(0, 65536, (40, 90)).astype(np.uint16)
    asset = write(tmp_path / "b.tif", pixels, left=LEFT - 200, top=TOP - 130, nodata=0)
    plane = band(asset, Window(10, 50, 5, 65))
    assert plane is not None
    assert plane.part == Window(13, 50, 5, 65)
    assert np.array_equal(plane.pixels, pixels[:37, 25:85])
    assert (plane.missing, plane.present) == (0, None)
    assert band(asset, Window(0, 13, 0, 70)) is None


def test_a_part_beyond_the_raster_is_missing(tmp_path: Path):
    asset = write(tmp_path / "b.tif", np.full((8, 8), 7, np.uint16), nodata=9)
    plane = band(asset, part=Window(6, 10, 0, 2))
    assert plane is not None
    assert plane.pixels.tolist() == [[7, 7], [7, 7], [9, 9], [9, 9]]
    beyond = band(asset, part=Window(20, 21, 0, 2))
    assert beyond is not None
    assert beyond.pixels.tolist() == [[9, 9]]


@pytest.mark.parametrize("how", ["auto", "nearest", "bilinear", "mean"])
def test_a_coarser_band_that_nests_is_repeated(tmp_path: Path, how: Resampling):
    pixels = np.random.default_rng(8).integers(1, 65536, (20, 20)).astype(np.uint16)
    asset = write(tmp_path / "b.tif", pixels, step=30.0, left=LEFT - 70, top=TOP + 20)
    plane = band(asset, Window(3, 40, 2, 51), how=how)
    assert plane is not None
    fine = pixels.repeat(3, axis=0).repeat(3, axis=1)
    assert np.array_equal(whole(plane, Window(3, 40, 2, 51), 0), fine[5:42, 9:58])


# ---- what is missing -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 5.0], ids=["on the grid", "beside it"])
@pytest.mark.parametrize("with_alpha", [False, True])
def test_the_mask_of_a_file_counts(tmp_path: Path, offset: float, with_alpha: bool):
    mask = np.zeros((60, 70), np.uint8)
    mask[:, :30] = 255
    pixels = np.full((60, 70), 100, np.uint16)
    if with_alpha:
        stack = np.stack([pixels, mask.astype(np.uint16) * 257])
        asset = write(tmp_path / "b.tif", stack, left=LEFT + offset, alpha="YES")
    else:
        asset = write(tmp_path / "b.tif", pixels, left=LEFT + offset, mask=mask)
    plane = band(asset)
    assert plane is not None
    assert plane.present is not None
    assert np.flatnonzero(plane.present.any(axis=0)).tolist() == list(range(30))
    assert set(np.unique(plane.pixels[:, :30])) == {100}
    assert set(np.unique(plane.present)) == {0, 1}


def test_what_the_mask_hides_never_enters_a_kernel(tmp_path: Path):
    mask = np.full((60, 70), 255, np.uint8)
    mask[:, 30:] = 0
    pixels = np.where(mask > 0, 100, 60000).astype(np.uint16)
    asset = write(tmp_path / "b.tif", pixels, left=LEFT - 3, mask=mask)
    for how in ("bilinear", "mean"):
        plane = band(asset, how=how)  # type: ignore[arg-type]
        assert plane is not None
        assert plane.present is not None
        assert set(np.unique(plane.pixels[plane.present > 0])) == {100}


@pytest.mark.parametrize("how", ["nearest", "bilinear", "mean"])
def test_what_the_mask_hides_never_enters_a_kernel_where_every_number_is_a_value(tmp_path: Path, how: Resampling):
    mask = np.full((60, 70), 255, np.uint8)
    mask[:, 30:] = 0
    pixels = np.where(mask > 0, 0, 255).astype(np.uint8)
    pixels[10, 10] = 200
    plane = band(write(tmp_path / "b.tif", pixels, left=LEFT - 3, mask=mask), missing=None, how=how)
    assert plane is not None
    assert plane.missing is None
    assert plane.present is not None
    assert plane.pixels.dtype == np.uint8
    assert plane.pixels[plane.present > 0].max() <= 200
    assert not plane.pixels[20:, :][plane.present[20:] > 0].any()


def test_the_number_that_is_nodata_anyway_never_enters_a_kernel(tmp_path: Path):
    """A file says that 65535 is nodata, and of uint16 the store takes 0 for nodata too."""
    pixels = np.full((60, 70), 1000, np.uint16)
    pixels[:, 30:40], pixels[:, 50:] = 0, 65535
    asset = write(tmp_path / "b.tif", pixels, left=LEFT + 3, nodata=65535)
    plane = band(asset)
    assert plane is not None
    assert plane.missing == 65535
    assert set(np.unique(plane.pixels)) <= {0, 1000, 65535}


def test_without_nodata_zero_is_a_number_like_others(tmp_path: Path):
    pixels = np.zeros((60, 70), np.uint8)
    pixels[:, ::2] = 100
    asset = write(tmp_path / "b.tif", pixels, left=LEFT + 5, top=TOP + 5)
    plane = band(asset, missing=None)
    assert plane is not None
    assert set(np.unique(plane.pixels[:, 1:-1])) == {50}


@pytest.mark.parametrize("epsg", [32631, 32632])
def test_without_nodata_what_lies_beyond_the_raster_is_told_apart(tmp_path: Path, epsg: int):
    other = Other.around(0, 0, 10.0, 30) if epsg == 32632 else Other(LEFT + 105, TOP - 105, 10.0, 30)
    pixels = np.full((30, 30), 7, np.uint8)
    asset = write(tmp_path / "b.tif", pixels, left=other.left, top=other.top, epsg=epsg)
    plane = band(asset, missing=None)
    assert plane is not None
    present = np.ones_like(plane.pixels) if plane.present is None else plane.present
    assert np.array_equal(plane.pixels == 7, present == 1)
    asked = band(asset, missing=None, part=ALL)
    assert asked is not None
    assert asked.present is not None
    assert np.array_equal(asked.pixels == 7, asked.present == 1)


def test_nodata_of_the_file_then_of_the_item_then_the_default(tmp_path: Path):
    asset = write(tmp_path / "a.tif", np.full((4, 4), 5, np.int16))
    tagged = write(tmp_path / "b.tif", np.full((4, 4), 5, np.int16), nodata=-1)
    cases = [(tagged, 9.0, -1), (asset, 9.0, 9), (asset, None, 0), (asset, math.nan, 0), (asset, 1e9, 0)]
    for one, item, expected in cases:
        plane = band(replace(one, nodata=item))
        assert plane is not None
        assert plane.missing == expected


def test_a_default_that_the_dtype_of_a_file_cannot_hold(tmp_path: Path):
    """A store of int16 takes bytes too; none of them is -32768."""
    plane = band(write(tmp_path / "b.tif", np.full((4, 4), 5, np.uint8)), missing=-32768, part=Window(0, 1, 2, 6))
    assert plane is not None
    assert plane.missing is None
    assert plane.present is not None
    assert (plane.pixels[:, :2].tolist(), plane.present.tolist()) == ([[5, 5]], [[1, 1, 0, 0]])


# ---- classes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int16", "int8", "int32", "float32"])
def test_classes_of_another_dtype(tmp_path: Path, dtype: str):
    pixels = np.array([[4, -1], [11, 0]], dtype)
    if dtype == "float32":
        pixels[1, 1] = np.nan
    plane = classes(write(tmp_path / "scl.tif", pixels, nodata=-1), nothing=99)
    assert plane is not None
    assert plane.pixels.dtype == np.uint16
    assert plane.pixels.tolist() == [[4, 99], [11, 99 if dtype == "float32" else 0]]


@pytest.mark.parametrize(("dtype", "value"), [("int16", -3), ("float32", 4.5), ("int32", 70000), ("uint32", 70000)])
def test_what_is_no_class_is_told(tmp_path: Path, dtype: str, value: float):
    with pytest.raises(InputError, match=rf"{value}.*whole numbers from 0 to 65535"):
        classes(write(tmp_path / "scl.tif", np.full((4, 4), value, dtype)))


def test_small_classes_of_32_bits(tmp_path: Path):
    plane = classes(write(tmp_path / "scl.tif", np.full((4, 4), 4, np.uint32)))
    assert plane is not None
    assert plane.pixels.dtype == np.uint16


# ---- files that do not say where they are ----------------------------------------------------------------------------


def bare(path: Path) -> SceneAsset:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        with rasterio.open(path, "w", driver="GTiff", count=1, height=4, width=4, dtype="uint8") as file:
            file.write(np.full((1, 4, 4), 3, np.uint8))
    return SceneAsset("B04", "B04", str(path))


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_the_item_says_where_a_bare_file_is(tmp_path: Path):
    asset = bare(tmp_path / "b.tif")
    placed = replace(asset, crs="EPSG:32631", transform=(10.0, 0.0, LEFT + 20, 0.0, -10.0, TOP - 30))
    plane = band(placed)
    assert plane is not None
    assert plane.part == Window(3, 7, 2, 6)
    with pytest.raises(InputError, match="has no CRS, and the item has none either"):
        band(asset)
    with pytest.raises(InputError, match="has no transform, and the item has none either"):
        band(replace(asset, crs="EPSG:32631"))


def test_a_jpeg_2000_file(tmp_path: Path, realdata: Path):
    path = realdata / "sentinel2" / "T31TDH_20180101T105441_B01.jp2"
    with rasterio.open(path) as file:
        pixels, transform, crs = file.read(1), file.transform, f"EPSG:{file.crs.to_epsg()}"
    grid = Grid(crs, tuple(transform[:6]), pixels.shape[1], pixels.shape[0])  # type: ignore[arg-type]
    window = Window(300, 400, 500, 640)
    plane = band(SceneAsset("B01", "B01", str(path)), window, grid)
    assert plane is not None
    assert np.array_equal(plane.pixels, pixels[window.slices])
    copy = tmp_path / "b01.bin"
    shutil.copy(path, copy)
    plane = band(SceneAsset("B01", "B01", str(copy), media_type="image/jp2"), window, grid)
    assert plane is not None
    assert np.array_equal(plane.pixels, pixels[window.slices])


# ---- errors ----------------------------------------------------------------------------------------------------------


def test_an_error_names_item_band_and_href(tmp_path: Path):
    asset = SceneAsset("B04", "red", str(tmp_path / "none.tif"))
    for read in (band, classes):
        with pytest.raises(InputError) as caught:
            read(asset)
        for word in ("item 'S2A_TILE' of collection 'made'", "band 'B04'", asset.href):
            assert word in str(caught.value)


def test_a_band_that_the_file_has_not(tmp_path: Path):
    asset = replace(write(tmp_path / "b.tif", np.ones((4, 4), np.uint8)), band_index=3)
    with pytest.raises(InputError, match=r"band 'B04' of item 'S2A_TILE'.*b\.tif.*has 1 bands.*band 3"):
        band(asset)


@dataclass(frozen=True)
class Signed:
    """Signs as `Signer` does, in its own way: a file of a folder is found only by the signed name."""

    folder: Path
    asked: list[str]

    def read(self, href: str, read: Callable[[str], Any]) -> Any:
        self.asked.append(href)
        return read(f"{self.folder}/{Path(href).name}?sig=secret")


def test_a_signed_href_is_never_shown(tmp_path: Path):
    href = "https://account.blob.core.windows.net/container/b.tif"
    made = write(tmp_path / "b.tif?sig=secret", np.full((4, 4), 6, np.uint8))
    asset, signer = replace(made, href=href), Signed(tmp_path, [])
    observer = Observer(GRID, "auto", signer)  # type: ignore[arg-type]
    plane = observer.band(scene(asset), asset, Centres(GRID, ALL), None, 0)
    assert plane is not None
    assert plane.pixels.tolist() == [[6] * 4] * 4
    assert signer.asked == [href]
    Path(made.href).write_bytes(b"II*\0 and nothing more")
    with pytest.raises(InputError) as caught:
        observer.band(scene(asset), asset, Centres(GRID, ALL), None, 0)
    error: BaseException | None = caught.value
    assert href in str(error)
    while error is not None:
        assert "secret" not in str(error)
        error = error.__cause__ or error.__context__

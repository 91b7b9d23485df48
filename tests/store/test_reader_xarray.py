"""A level as a Dataset: lazy, indexed in every way, physical values, CRS for others, Dask, other processes; series."""

import pickle
import warnings
from typing import Any

import dask
import numpy as np
import pytest
import rioxarray  # noqa: F401  (registers .rio)
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.errors import InputError, StoreError
from chronozarr_dask.store.cells import pieces
from tests.store.stores import Memory, array_document, compressed, opened, shard, simple, star

T, B, H, W, CS = 4, 2, 5, 7, 2
BANDS = [{"name": "red", "scale": 0.0001, "offset": -0.1}, {"name": "nir", "scale": 2, "offset": 1}]
rng = np.random.default_rng(3)
DATA = rng.integers(0, 4, (T, B, H, W)).astype("<u2") * 1000
PLANES = {"mask": rng.integers(0, 2, (T, H, W)).astype("u1"), "coverage": rng.integers(0, 9, (T, H, W)).astype("u1")}
REFERENCES = {1: 0, 2: 3}


def cube(
    planes: tuple[str, ...] = (), *, encoding: str = "star-delta", shard_time: int | None = None, **root: Any
) -> Memory:
    """`DATA` and some planes, cut into cells by hand."""
    stored = {"data": DATA.copy(), **{p: PLANES[p] for p in planes}}
    if encoding == "star-delta":
        for t, a in REFERENCES.items():
            stored["data"][t] = DATA[t] - DATA[a]
        root["temporal"] = star(T, 3, REFERENCES)
    arrays, objects = {}, {}
    for name, values in stored.items():
        arrays[f"0/{name}"] = array_document(values.shape, values.dtype.name, CS, shard_time=shard_time)
        edges = [(0, 0)] * (values.ndim - 2) + [(0, H % CS), (0, W % CS)]
        padded = np.pad(values, edges, constant_values=77)
        for r in range(3):
            for c in range(4):
                cell = "0/" * (name == "data") + f"{r}/{c}"
                box = padded[..., r * CS : (r + 1) * CS, c * CS : (c + 1) * CS]
                chunks = [compressed(box[t]) for t in range(T)]
                if shard_time is None:
                    objects |= {f"0/{name}/c/{t}/{cell}": chunk for t, chunk in enumerate(chunks)}
                    continue
                for ts in range(0, T, shard_time):
                    held = chunks[ts : ts + shard_time]
                    blob = shard([*held, *[None] * (shard_time - len(held))])
                    objects[f"0/{name}/c/{ts // shard_time}/{cell}"] = blob
    return simple(arrays, objects, **{"bands": BANDS, **root})


# ---- lazy ------------------------------------------------------------------------------------------------------------


def test_a_dataset_says_what_the_store_says():
    ds = opened(cube(("mask", "coverage"))).to_xarray()
    assert ds.data.dims == ("time", "band", "y", "x")
    assert (ds.mask.dims, ds.coverage.dims) == (("time", "y", "x"),) * 2
    assert ds.data.dtype == "uint16"
    assert ds.time.values[1] == np.datetime64("2024-02-01")
    assert ds.band.values.tolist() == ["red", "nir"]
    assert ds.x.values.tolist() == [500005 + 10 * i for i in range(W)]
    assert ds.y.values.tolist() == [4999995 - 10 * i for i in range(H)]
    assert ds.data.attrs == {
        "crs": "EPSG:32631",
        "transform": [10.0, 0.0, 500000.0, 0.0, -10.0, 5000000.0],
        "nodata": 0,
    }
    assert np.array_equal(ds.data, DATA)
    assert np.array_equal(ds.mask, PLANES["mask"])
    assert np.array_equal(ds.coverage, PLANES["coverage"])


def test_nothing_is_read_before_values_are_asked_for():
    objects = cube()
    ds = opened(objects).to_xarray()
    one = ds.data.isel(time=1, y=slice(0, 2)).sel(x=500005)
    assert objects.requests() == []
    assert np.array_equal(one, DATA[1, :, :2, 0])
    assert sorted(objects.requests()) == [("get", "0/data/c/0/0/0/0"), ("get", "0/data/c/1/0/0/0")]


def test_times_that_are_not_asked_for_are_not_read():
    objects = cube(encoding="none")
    ds = opened(objects).to_xarray()
    assert np.array_equal(ds.data.isel(time=[3, 0], y=[0], x=[6]), DATA[[3, 0]][:, :, :1, 6:])
    assert sorted(objects.requests()) == [("get", "0/data/c/0/0/0/3"), ("get", "0/data/c/3/0/0/3")]


def test_a_whole_read_takes_every_chunk_once():
    for shard_time in (None, 3):
        objects = cube(shard_time=shard_time)
        assert np.array_equal(opened(objects).to_xarray().data, DATA)
        requests = objects.requests()
        cells = 12
        # A shard: its index, and one range of all its chunks.
        assert len(requests) == cells * (T if shard_time is None else 2 * 2)
        assert len(set(requests)) == len(requests)


axis = {n: st.one_of(
    st.integers(-n, n - 1),
    st.slices(n),
    st.lists(st.integers(0, n - 1), min_size=1, max_size=n + 2),
) for n in (T, B, H, W)}  # fmt: skip


@given(axis[T], axis[B], axis[H], axis[W])
def test_every_way_to_index(t: Any, b: Any, y: Any, x: Any):
    lazy = opened(cube()).to_xarray().data.isel(time=t, band=b, y=y, x=x)
    expected = xr.DataArray(DATA, dims=("time", "band", "y", "x")).isel(time=t, band=b, y=y, x=x)
    assert lazy.shape == expected.shape
    assert np.array_equal(lazy, expected)


def test_points():
    points = {"y": xr.DataArray([0, 4, 2], dims="p"), "x": xr.DataArray([6, 1, 1], dims="p")}
    assert np.array_equal(opened(cube()).to_xarray().data.isel(points), DATA[:, :, [0, 4, 2], [6, 1, 1]])


@given(st.lists(st.integers(0, 40), max_size=20), st.integers(1, 9))
def test_pieces_put_together_are_the_index(index: list[int], cs: int):
    out = np.full(len(index), -1)
    for piece in pieces(np.array(index, int), cs):
        out[piece.into] = np.arange(piece.cell * cs, (piece.cell + 1) * cs)[piece.within]
    assert out.tolist() == index


# ---- Dask, other processes -------------------------------------------------------------------------------------------


def test_chunks_of_dask():
    objects = cube(("mask",))
    ds = opened(objects).to_xarray().chunk(time=1, y=CS, x=CS)
    assert objects.requests() == []
    assert ds.data.chunks[0] == (1,) * T
    with dask.config.set(scheduler="threads"):
        assert np.array_equal(ds.data.compute(), DATA)
        assert np.array_equal(ds.mask.compute(), PLANES["mask"])


def test_a_lazy_dataset_travels():
    for ds in (opened(cube()).to_xarray(), opened(cube()).to_xarray().chunk(time=2)):
        assert np.array_equal(pickle.loads(pickle.dumps(ds)).data, DATA)


def test_a_dask_array_has_the_same_name_every_time():
    names = {opened(cube()).to_xarray().chunk(time=2).data.data.name for _ in range(2)}
    assert len(names) == 1
    assert opened(cube(nodata=5)).to_xarray().chunk(time=2).data.data.name not in names


def test_it_can_be_written_again(tmp_path: Any):
    ds = opened(cube(("mask",))).to_xarray()
    ds.to_netcdf(tmp_path / "cube.nc", engine="netcdf4")
    with xr.open_dataset(tmp_path / "cube.nc", engine="netcdf4", decode_coords="all") as again:
        assert np.array_equal(again.data, DATA)
        assert np.array_equal(again.time, ds.time)
        assert again.data.encoding["grid_mapping"] == "spatial_ref"


# ---- physical values -------------------------------------------------------------------------------------------------


def slow_physical(mask: bool, nodata: float | None) -> np.ndarray:
    out = np.full(DATA.shape, np.nan, np.float32)
    for i, value in np.ndenumerate(DATA):
        valid = PLANES["mask"][i[0], i[2], i[3]] == 1 if mask else nodata is None or value != nodata
        if valid:
            band = BANDS[i[1]]
            out[i] = np.float32(float(value) * band["scale"] + band["offset"])
    return out


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("nodata", [0, None])
def test_physical_values(mask: bool, nodata: int | None):
    """A mask counts alone: a pixel of the nodata value under mask 1 is valid (2.3)."""
    objects = cube(("mask",) if mask else (), nodata=nodata)
    data = opened(objects).to_xarray(physical=True).data
    assert objects.requests() == []
    assert (data.dtype, data.attrs["crs"]) == ("float32", "EPSG:32631")
    assert np.isnan(data.attrs["nodata"])
    expected = slow_physical(mask, nodata)
    assert np.array_equal(data, expected, equal_nan=True)
    assert np.array_equal(data.isel(time=2, band=[1, 0], x=3), expected[2, [1, 0], :, 3], equal_nan=True)
    assert np.array_equal(pickle.loads(pickle.dumps(data)), expected, equal_nan=True)
    assert np.array_equal(data.chunk(time=1).compute(), expected, equal_nan=True)


def test_physical_values_stay_lazy_in_their_mask():
    objects = cube(("mask",))
    opened(objects).to_xarray(physical=True).data.isel(time=0, y=0, x=0).load()
    assert sorted(objects.requests())[-2:] == [("get", "0/data/c/0/0/0/0"), ("get", "0/mask/c/0/0/0")]


# ---- CRS for others --------------------------------------------------------------------------------------------------


def test_rioxarray_finds_crs_and_grid():
    ds = opened(cube()).to_xarray()
    with warnings.catch_warnings():
        # rioxarray 0.19 multiplies affine 3's transforms with *, whatever it reads
        warnings.filterwarnings("ignore", "Use `@` matmul", PendingDeprecationWarning)
        assert ds.rio.crs.to_epsg() == 32631
        assert tuple(ds.rio.transform())[:6] == (10, 0, 500000, 0, -10, 5000000)
        assert ds.data.rio.nodata == 0
        assert ds.rio.bounds() == (500000, 4999950, 500070, 5000000)


def test_the_grid_mapping_says_it_in_both_ways():
    attrs = opened(cube()).to_xarray().spatial_ref.attrs
    assert attrs["GeoTransform"] == "500000.0 10.0 0.0 5000000.0 0.0 -10.0"
    assert attrs["crs_wkt"] == attrs["spatial_ref"]
    assert attrs["grid_mapping_name"] == "transverse_mercator"


def test_a_crs_that_is_not_known_is_named():
    store = opened(cube(crs="EPSG:99999"))
    assert store.read(0).shape == (B, H, W)
    with pytest.raises(StoreError, match="crs is 'EPSG:99999', which PROJ does not know"):
        store.to_xarray()


# ---- series ----------------------------------------------------------------------------------------------------------


def test_a_series_by_nodata():
    objects = cube()
    series = opened(objects).series(500035.0, 4999969.0)  # column 3, row 3
    assert np.array_equal(series["data"], DATA[:, :, 3, 3])
    assert np.array_equal(series["valid"], DATA[:, :, 3, 3] != 0)
    assert series["valid"].dims == ("time", "band")
    assert "coverage" not in series
    assert (float(series.x), float(series.y)) == (500035, 4999965)
    assert series.attrs == {"crs": "EPSG:32631"}
    assert sorted(objects.requests()) == [("get", f"0/data/c/{t}/0/1/1") for t in range(T)]


def test_a_series_by_mask_with_coverage():
    series = opened(cube(("mask", "coverage"))).series(500000.0, 5000000.0)
    assert np.array_equal(series["valid"], np.stack([PLANES["mask"][:, 0, 0]] * B, axis=1))
    assert np.array_equal(series["coverage"], PLANES["coverage"][:, 0, 0])


@pytest.mark.parametrize(
    ("x", "y", "row", "col"),
    [(500000, 5000000, 0, 0), (500069.9, 4999950.1, 4, 6), (500070, 4999950, 4, 6), (500010, 4999990, 1, 1)],
)
def test_which_pixel_is_under_a_coordinate(x: float, y: float, row: int, col: int):
    assert np.array_equal(opened(cube()).series(x, y)["data"], DATA[:, :, row, col])


@pytest.mark.parametrize(
    ("x", "y"), [(499999, 4999999), (500071, 4999999), (500001, 4999949), (500001, 5000001), (float("nan"), 4999999)]
)
def test_a_coordinate_outside_names_the_bounds(x: float, y: float):
    with pytest.raises(InputError, match=r"x is 500000\.0 to 500070\.0, y is 4999950\.0 to 5000000\.0"):
        opened(cube()).series(x, y)


def test_the_half_pixel_that_a_coarser_level_adds_is_outside():
    """Level 1 of 5 x 7 pixels is 3 x 4, which reaches 5 m beyond the raster."""
    objects = cube()
    arrays = {
        "0/data": array_document((T, B, H, W), "uint16", CS),
        "1/data": array_document((T, B, 3, 4), "uint16", CS),
    }
    coarse = simple(arrays, {**objects.objects, "1/data/c/0/0/1/1": compressed(np.full((B, 2, 2), 9, "<u2"))})
    store = opened(coarse)
    assert store.series(500070, 4999950, level=1)["data"][0].values.tolist() == [9, 9]
    with pytest.raises(InputError, match="outside of the raster"):
        store.series(500075, 4999999, level=1)

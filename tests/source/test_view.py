"""A view of a file has the format's axes, and reads what is asked of it and no more."""

import pickle
from itertools import permutations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.format.layout import DATA_DIMS
from chronozarr_dask.source.view import is_chunked, is_in_memory, view
from tests.source.cubes import bomb, lazily, pixels

AXES = {a: a for a in DATA_DIMS}
BARE = xr.DataArray(pixels(), dims=DATA_DIMS)


@pytest.mark.parametrize("order", list(permutations(DATA_DIMS)))
def test_every_order_of_dimensions(order):
    lazy, counting = lazily(BARE.transpose(*order))
    out = view(lazy, AXES, DATA_DIMS, np.dtype("uint16"))
    assert (out.dims, out.shape, counting.n_read) == (DATA_DIMS, BARE.shape, 0)
    np.testing.assert_array_equal(out.values, BARE.values)


indices = st.one_of(
    st.integers(0, 2),
    st.slices(3).filter(lambda s: (s.step or 1) > 0),  # xarray itself fails on an empty one that runs backwards
    st.just(slice(None, None, -1)),
    st.lists(st.integers(0, 2), min_size=1, max_size=4).map(np.array),
)


@given(st.permutations(("time", "y", "x")), indices, indices, indices, st.sampled_from([0, slice(None), slice(0, 0)]))
def test_any_index_reads_its_window(order, t, y, x, band):
    data = np.arange(27, dtype=np.int16).reshape(3, 3, 3)
    flat = xr.DataArray(data, dims=("time", "y", "x"))
    lazy, counting = lazily(flat.transpose(*order))
    axes = {a: a for a in ("time", "y", "x")}
    out = view(lazy, axes, DATA_DIMS, np.dtype("int16"))
    expected = flat.expand_dims(band=1, axis=1).isel(time=t, band=band, y=y, x=x)
    got = out.isel(time=t, band=band, y=y, x=x)
    assert (got.dims, counting.n_read) == (expected.dims, 0)
    np.testing.assert_array_equal(got.values, expected.values)
    assert counting.n_read <= flat.isel(time=t, y=y, x=x).size or any(isinstance(i, np.ndarray) for i in (t, y, x))


def test_a_window_is_read_as_the_file_has_it():
    lazy, counting = lazily(BARE.transpose("x", "y", "band", "time"))
    out = view(lazy, AXES, DATA_DIMS, np.dtype("uint16"))
    window = out.isel(time=slice(1, 3), y=slice(0, 2), x=slice(2, 5)).values
    np.testing.assert_array_equal(window, pixels()[1:3, :, 0:2, 2:5])
    assert counting.windows == [(3, 2, 2, 2)]


@pytest.mark.parametrize(
    ("stored", "dtype"),
    [
        (np.array([0, 1, 40_000, 65_535], ">u2"), "uint16"),
        (np.array([0, 1, -25_536, -1], "<i2"), "uint16"),
        (np.array([0, 1, -25_536, -1], ">i2"), "uint16"),
        (np.array([0.5, -0.0, 1e30, np.nan], ">f4"), "float32"),
        (np.array([True, False, True, False]), "uint8"),
    ],
)
@pytest.mark.parametrize("kind", ["numpy", "dask", "file"])
def test_converted_when_read(kind, stored, dtype):
    flat = xr.DataArray(stored.reshape(1, 2, 2), dims=("time", "y", "x"))
    source = {"numpy": flat, "dask": flat.chunk(y=1), "file": lazily(flat)[0]}[kind]
    out = view(source, {a: a for a in flat.dims}, DATA_DIMS, np.dtype(dtype))
    assert out.dtype == np.dtype(dtype)
    assert out.dtype.isnative
    expected = stored.astype(stored.dtype.newbyteorder("=")).view(dtype).reshape(1, 1, 2, 2)
    assert out.values.tobytes() == expected.tobytes()


def test_dask_stays_dask_with_its_blocks():
    array = xr.DataArray(bomb((5, 4, 3), ((2, 2, 1), (3, 1), (3,))), dims=("x", "y", "time"))
    out = view(array, {"time": "time", "y": "y", "x": "x"}, DATA_DIMS, np.dtype("uint16"))
    assert out.chunks == ((3,), (1,), (3, 1), (2, 2, 1))
    with pytest.raises(AssertionError, match="a block was computed"):
        out.compute(scheduler="synchronous")


def test_numpy_is_not_copied():
    out = view(BARE.transpose("x", "y", "band", "time"), AXES, DATA_DIMS, np.dtype("uint16"))
    assert np.shares_memory(out.values, BARE.values)
    assert is_in_memory(out)


def test_a_window_of_numpy_travels_without_the_rest():
    array = xr.DataArray(np.zeros((4, 100, 100), "uint16"), dims=("time", "y", "x"))
    window = view(array, {a: a for a in array.dims}, DATA_DIMS, np.dtype("uint16")).isel(time=slice(1), y=slice(5))
    assert len(pickle.dumps(window)) < 5_000


def test_what_is_in_memory():
    assert is_in_memory(BARE)
    assert is_in_memory(BARE.transpose(*DATA_DIMS[::-1]).isel(x=slice(1, 3)))
    assert not is_in_memory(BARE.chunk())
    lazy, counting = lazily(BARE)
    assert not is_in_memory(lazy)
    assert not is_in_memory(lazy.isel(x=slice(1, 3)))
    assert not is_in_memory(view(lazy, AXES, DATA_DIMS, np.dtype("uint16")))
    assert counting.n_read == 0
    assert is_in_memory(lazy.load())
    assert is_chunked(BARE.chunk())
    assert not is_chunked(BARE)


def test_the_hint_of_blocks_moves_with_the_axes():
    lazy, _ = lazily(BARE.rename(y="lat").transpose("lat", "x", "time", "band"))
    lazy.encoding["preferred_chunks"] = {"lat": 2, "x": 5, "time": 1, "band": 2}
    out = view(lazy, AXES | {"y": "lat"}, DATA_DIMS, np.dtype("uint16"))
    assert out.encoding["preferred_chunks"] == {"time": 1, "band": 2, "y": 2, "x": 5}


def test_a_window_survives_pickling():
    lazy, _ = lazily(BARE.transpose("x", "y", "band", "time"))
    window = view(lazy, AXES, DATA_DIMS, np.dtype("uint16")).isel(y=slice(1, 3))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(window)).values, pixels()[:, :, 1:3])

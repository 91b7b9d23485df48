"""Over a counting web server: requests are never more than those of 0.2.1, chunks at most two a timestep of a cell."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import chronozarr
import numpy as np
import pytest
import xarray as xr

from chronozarr_dask.run.encode import encode
from chronozarr_dask.store.reader import Store, open_store
from tests.services.web import Server

pytestmark = pytest.mark.oracle

T, ROWS, COLS, CS = 24, 4, 5, 16


@pytest.fixture(scope="module", params=["none", "star-delta"])
def encoding(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=[None, 12], ids=["unsharded", "sharded"])
def cube(request: pytest.FixtureRequest, encoding: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of 24 timesteps and 20 cells."""
    height, width = ROWS * CS, COLS * CS
    data = np.random.default_rng(2).integers(1, 4000, (T, 2, height, width)).astype("uint16")
    coords = {
        "time": np.arange("2022-01", "2024-01", dtype="datetime64[M]").astype("datetime64[ns]"),
        "band": ["red", "nir"],
        "y": 5_000_000 - 10 * (np.arange(height) + 0.5),
        "x": 500_000 + 10 * (np.arange(width) + 0.5),
    }
    target = tmp_path_factory.mktemp("latency") / "cube"
    source = xr.DataArray(data, coords, ("time", "band", "y", "x"))
    encode(source, target, crs="EPSG:32631", encoding=encoding, chunk_size=CS, shard_time=request.param, levels=1)
    return target


def frame(store: Store) -> Any:
    return store.read(8)


def series(store: Store) -> Any:
    return store.to_xarray().data[:, :, CS : 2 * CS, CS : 2 * CS].values


def window(store: Store) -> Any:
    return store.read_window(8, (10, 40, 10, 40))


READS: dict[str, tuple[Callable[[Store], Any], Callable[[Any], Any], int]] = {
    "frame": (frame, lambda store: np.asarray(store.read(8)), ROWS * COLS),
    "series": (series, lambda store: np.stack([np.asarray(store.read_cell(t, 1, 1)) for t in range(T)]), T),
    "window": (window, lambda store: np.asarray(store.read(8))[:, 10:40, 10:40], 9),
}


@pytest.mark.parametrize("what", READS)
def test_requests_are_never_more_than_the_oracle_s(cube: Path, what: str):
    ours, theirs, timesteps = READS[what]
    with Server(cube) as server:
        oracle = chronozarr.open_store(server.url)
        server.forget()
        expected = theirs(oracle)
        limit = len(server.forget())
        store = open_store(server.url)
        assert len(server.forget()) == 1
        with store.measure() as cost:
            assert np.array_equal(ours(store), expected)
        assert cost.requests == len(server.forget()) <= limit
        assert cost.chunks <= 2 * timesteps


@pytest.mark.parametrize("what", READS)
def test_requests_are_sent_together(cube: Path, what: str):
    """An unsharded read is one round trip, a sharded one two: the indexes, then the ranges."""
    with Server(cube, latency=0.6) as server:
        store = open_store(server.url)
        server.forget()
        READS[what][0](store)
        trips = 1 if store.cells(0, "data").chunks.meta.sharding is None else 2
        assert server.most_at_once >= len(server.forget()) // trips // 2  # half of them: room for a busy machine

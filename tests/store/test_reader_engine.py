"""The engine of xarray: found by name, lazy, chunked as stored, picklable; and what it does not take for a store."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from chronozarr_dask.errors import InputError, StoreError
from chronozarr_dask.store.engine import ChronozarrEntrypoint
from tests.services.web import Server
from tests.store.stores import two_levels
from tests.store.test_reader_xarray import BANDS, CS, DATA, PLANES, B, T, cube

ENGINE = "chronozarr_dask"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with both planes."""
    return written(cube(("mask", "coverage")).objects, tmp_path / "cube")


def written(objects: dict[str, bytes], root: Path) -> Path:
    for key, data in objects.items():
        (root / key).parent.mkdir(parents=True, exist_ok=True)
        (root / key).write_bytes(data)
    return root


def test_the_engine_is_installed():
    assert isinstance(xr.backends.list_engines()[ENGINE], ChronozarrEntrypoint)


@pytest.mark.parametrize("as_text", [True, False])
def test_a_store_opens(folder: Path, as_text: bool):
    with xr.open_dataset(str(folder) if as_text else folder, engine=ENGINE) as ds:
        assert np.array_equal(ds.data, DATA)
        assert np.array_equal(ds["mask"], PLANES["mask"])
        assert ds.data.encoding["preferred_chunks"] == {"time": 1, "band": B, "y": CS, "x": CS}


def test_levels(tmp_path: Path):
    root = written(two_levels().objects, tmp_path / "cube")
    assert xr.open_dataset(root, engine=ENGINE, level=1).data.values.tolist() == [[[[5, 6], [7, 8]]]]
    with pytest.raises(InputError, match=r"level is 2: .* has levels 0 to 1"):
        xr.open_dataset(root, engine=ENGINE, level=2)


def test_physical_values_with_the_mask_dropped(folder: Path):
    ds = xr.open_dataset(folder, engine=ENGINE, physical=True, drop_variables=["mask", "no such variable"])
    assert list(ds.data_vars) == ["data", "coverage"]
    scale, offset = (np.array([b[k] for b in BANDS]).reshape(1, 2, 1, 1) for k in ("scale", "offset"))
    expected = np.where(PLANES["mask"][:, None] == 1, DATA * scale + offset, np.nan).astype("f4")
    assert np.array_equal(ds.data, expected, equal_nan=True)
    assert list(xr.open_dataset(folder, engine=ENGINE, drop_variables="data").data_vars) == ["mask", "coverage"]


def test_opening_over_the_web_is_one_request_and_lazy():
    with Server(cube(shard_time=3).objects) as server:
        ds = xr.open_dataset(server.url, engine=ENGINE, chunks={}, storage_options={"headers": {"X-Key": "v"}})
        assert server.forget() == [("GET", "zarr.json", None)]
        assert server.headers[-1]["X-Key"] == "v"
        one = ds.data.isel(time=0, y=0, x=0).compute()
        assert np.array_equal(one, DATA[0, :, 0, 0])
        assert {key for _, key, _ in server.forget()} == {"0/data/c/0/0/0/0"}


def test_chunks_of_dask_are_stored_chunks(folder: Path):
    ds = xr.open_dataset(folder, engine=ENGINE, chunks={})
    assert ds.data.chunks == ((1,) * T, (B,), (2, 2, 1), (2, 2, 2, 1))
    assert ds["mask"].chunks == ((1,) * T, (2, 2, 1), (2, 2, 2, 1))
    assert np.array_equal(ds.data.compute(scheduler="threads"), DATA)
    assert np.array_equal(pickle.loads(pickle.dumps(ds)).data.sum("time"), DATA.sum(0, dtype="u8"))


def test_a_lazy_dataset_is_pickled(folder: Path):
    ds = pickle.loads(pickle.dumps(xr.open_dataset(folder, engine=ENGINE)))
    assert np.array_equal(ds.data, DATA)


def test_a_folder_with_a_store_is_known(folder: Path):
    """Which engine opens it when none is named depends on what else is installed."""
    guess = ChronozarrEntrypoint().guess_can_open
    assert guess(folder) is guess(str(folder)) is guess(f"file://{folder}") is True


class Broken(type(Path())):  # type: ignore[misc]
    def __fspath__(self) -> Any:
        return b"bytes"


def test_what_is_no_store_is_left_to_others(tmp_path: Path):
    guess = ChronozarrEntrypoint().guess_can_open
    plain = written({"zarr.json": b'{"zarr_format": 3, "node_type": "group", "attributes": {}}'}, tmp_path / "p.czarr")
    (tmp_path / "file.nc").write_bytes(b"CDF\x01")
    for other in (
        plain,
        tmp_path,
        tmp_path / "file.nc",
        tmp_path / "nothing.czarr",
        "https://host/cube.zarr",
        "https://host/a.nc",
        "nul\0byte",
        b"CDF",
        None,
        3,
        {},
        Broken("x"),
        xr.Dataset(),
        open,
    ):
        assert guess(other) is False
    assert guess("https://host/cube.czarr/") is True


def test_what_cannot_be_a_store_is_named(tmp_path: Path):
    with pytest.raises(InputError, match="a folder or a URL, and was given a bytes"):
        ChronozarrEntrypoint().open_dataset(b"CDF")
    with pytest.raises(StoreError, match="there is no store"):
        xr.open_dataset(tmp_path, engine=ENGINE)

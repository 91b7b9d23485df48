"""Small worlds that gave wrong pixels: DN 0 of Sentinel-2 is no value, whatever marks one in the store."""

from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster

from chronozarr_dask.errors import InputError, ReadError
from chronozarr_dask.run.found import Found
from tests.run.made import World, counts, level0

ROW = [0, 500, 1001, 2500]


@pytest.fixture
def world(tmp_path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize(("baseline", "seen"), [("02.00", [500, 1001, 2500]), ("05.10", [1, 1, 1500])])
@pytest.mark.parametrize("tag", [None, 0, 65535])
@pytest.mark.parametrize(
    ("changes", "fill"),
    [
        ({}, 0),
        ({"encode__nodata": 65535}, 65535),
        ({"composite__dtype": "int16"}, -32768),
        ({"composite__dtype": "int16", "encode__nodata": 0}, 0),
        ({"composite__dtype": "float32"}, -9999),
    ],
)
def test_dn_0_is_no_value(world, baseline, seen, tag, changes: dict[str, Any], fill):
    pixels = np.tile(np.array(ROW * 16), (64, 1))
    world.add("A", "2024-03-02T10:00:00Z", {"B04": pixels, "B08": 3000}, nodata=tag, s2__processing_baseline=baseline)
    if tag is not None and changes.get("composite__dtype"):
        changes = {"encode__nodata": fill, **changes}
    store = world.store(**changes)
    assert level0(store)[0, 0, 9, :4].tolist() == [fill, *seen]
    assert counts(store)[0, 9, :4].tolist() == [0, 1, 1, 1]


def test_dn_0_enters_no_kernel(world):
    pixels = np.full((64, 64), 1500)
    pixels[:, ::3] = 0
    world.add("A", "2024-03-02T10:00:00Z", {"B04": pixels}, scl=None, s2__processing_baseline="02.00")
    grid = {"crs": "EPSG:32631", "resolution": 20.0, "bounds": [500000.0, 4999360.0, 500640.0, 5000000.0]}
    store = world.store(grid=grid, source__classes=None, composite__dtype="int16")
    assert set(np.unique(level0(store))) == {1500}


def test_the_offset_comes_before_the_cast(world):
    world.add("A", "2024-03-02T10:00:00Z", {"B04": 1200}, s2__processing_baseline="05.10")
    assert set(np.unique(level0(world.store(composite__dtype="uint8")))) == {200}


def test_a_missing_file_is_the_same_error_on_a_cluster(world):
    world.add("A", "2024-03-02T10:00:00Z", {"B04": 1500}, s2__processing_baseline="02.00")
    world.add("B", "2024-04-02T10:00:00Z", {"B04": 1500}, s2__processing_baseline="02.00")
    (world.folder / "B" / "B04.tif").unlink()
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        pytest.raises(ReadError, match="item 'B'"),
    ):
        world.run(client=client)


@pytest.mark.parametrize("wrong", [{"scenes": None}, {"offsets": [["A", -1000]]}, {"dropped": [["x"]]}])
def test_an_edited_item_list_is_one_error(wrong):
    with pytest.raises(InputError, match="was it edited"):
        Found.from_json({"scenes": [], "offsets": [], "dropped": [], **wrong})

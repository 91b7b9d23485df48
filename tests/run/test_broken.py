"""Small worlds that were once wrong: DN 0 of Sentinel-2, errors on a cluster, items that err about their files."""

from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster

from chronozarr_dask.errors import InputError, ReadError
from chronozarr_dask.run.found import Found
from tests.run.made import CORNER, World, counts, level0

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


# ---- an item that is wrong about its file ---------------------------------------------------------------------------


def wrong(world: World, **fields: Any) -> None:
    pixels = np.tile(np.array([1000, 2000], "uint16"), (64, 32))
    item = world.add("A", "2024-01-10T10:00:00Z", {"B04": pixels})
    item["assets"]["B04"].update({k.replace("__", ":"): v for k, v in fields.items()})


SHIFTED = [10.0, 0.0, CORNER[0] + 5, 0.0, -10.0, CORNER[1] - 5]
NAMED = {"crs": "EPSG:32631", "resolution": 10, "bounds": [CORNER[0], CORNER[1] - 640, CORNER[0] + 640, CORNER[1]]}


@pytest.mark.parametrize(
    ("fields", "grid", "told"),
    [
        ({"proj__shape": [20, 20]}, NAMED, "64 x 64 pixels"),
        ({"proj__shape": [20, 20]}, None, "64 x 64 pixels"),
        ({"proj__transform": SHIFTED}, None, "0.5 pixels off"),
        ({"proj__transform": [10.0, 0.0, CORNER[0] + 100, 0.0, -10.0, CORNER[1]]}, NAMED, "10 pixels off"),
        ({"proj__code": "EPSG:32632"}, NAMED, "its item says EPSG:32632"),
    ],
)
def test_an_item_that_is_wrong_about_its_file_is_refused(tmp_path, fields, grid, told):
    world = World(tmp_path)
    wrong(world, **fields)
    with pytest.raises(InputError, match=r"band 'B04' of item 'A'") as error:
        world.run(source__offset="none", source__classes=None, **({"grid": grid} if grid else {}))
    assert told in str(error.value)
    assert not (tmp_path / "store" / "zarr.json").exists()


def test_half_a_pixel_is_the_files_word_where_the_grid_is_named(tmp_path):
    world = World(tmp_path)
    wrong(world, proj__transform=SHIFTED)
    store = world.store(source__offset="none", source__classes=None, grid=NAMED)
    assert store.read(0)[0, 5, :4].tolist() == [1000, 2000, 1000, 2000]
    assert (store.read_coverage(0) == 1).all()

"""Cases 1 to 6 and 11 to 14 from the field, and the kind of fault behind each of them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from chronozarr_dask.errors import InputError
from chronozarr_dask.store.reader import open_store
from tests.run.made import CORNER, World, counts, level0, objects, write_tif
from tests.services.web import Fault, Server


@pytest.fixture
def world(tmp_path) -> World:
    return World(tmp_path)


def program(world: World, *arguments: str, **changes):
    """The command line, as a user calls it."""
    path = world.folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(world.recipe(**changes)))
    command = [sys.executable, "-m", "chronozarr_dask", "run", str(path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def only(array):
    values = np.unique(array)
    assert values.size == 1, values
    return values[0]


# ---- 1: the offset follows the baseline, not the date ---------------------------------------------------------------


@pytest.mark.parametrize(("year", "before", "after"), [("2019", "02.12", "05.00"), ("2024", "03.01", "05.10")])
def test_1_offset_by_baseline(world, year, before, after):
    world.add("A", f"{year}-03-02T10:00:00Z", {"B04": 1500}, s2__processing_baseline=before, constellation="sentinel-2")
    world.add("B", f"{year}-03-17T10:00:00Z", {"B04": 2500}, s2__processing_baseline=after, constellation="sentinel-2")
    store = world.store()
    assert (only(level0(store)), only(counts(store))) == (1500, 2)


def test_1_a_missing_baseline_ends_the_run(world):
    world.add("A", "2019-03-02T10:00:00Z", {"B04": 1500}, s2__processing_baseline="02.12", constellation="sentinel-2")
    world.add("WITHOUT", "2019-03-17T10:00:00Z", {"B04": 2500}, constellation="sentinel-2")
    done = program(world)
    assert done.returncode == 1
    assert "WITHOUT" in done.stderr
    assert "processing_baseline" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (world.folder / "store").exists()


# ---- 2: the offset was applied already ------------------------------------------------------------------------------


@pytest.mark.parametrize("flag", ["earthsearch__boa_offset_applied", "sentinel__boa_offset_applied"])
@pytest.mark.parametrize(("applied", "dn"), [(True, 1500), (False, 2500)])
def test_2_offset_applied(world, flag, applied, dn):
    raster = {"raster:bands": [{"data_type": "uint16", "scale": 0.0001, "offset": -0.1}]}
    world.add(
        "A", "2024-03-02T10:00:00Z", {"B04": dn}, fields=raster, s2__processing_baseline="05.10", **{flag: applied}
    )
    store = world.store()
    assert only(level0(store)) == 1500
    assert (store.bands[0].scale, store.bands[0].offset) == (0.0001, 0.0)


# ---- 3: offset and nodata -------------------------------------------------------------------------------------------


def test_3_offset_and_nodata(world):
    row = np.array([0, 1, 500, 999, 1000, 1001, 2500, 65535] * 8)
    world.add("A", "2024-03-02T10:00:00Z", {"B04": np.tile(row, (64, 1))}, s2__processing_baseline="05.10")
    store = world.store()
    assert store.read(0)[0, 17, :8].tolist() == [0, 1, 1, 1, 1, 1, 1500, 64535]
    assert store.read_coverage(0)[17, :8].tolist() == [0, 1, 1, 1, 1, 1, 1, 1]


def test_3_a_nodata_tag_of_another_value(world):
    row = np.array([0, 1, 65535, 2500] * 16)
    pixels = np.tile(row, (64, 1))
    world.add("A", "2024-03-02T10:00:00Z", {"B04": pixels}, nodata=65535, s2__processing_baseline="02.00")
    store = world.store()
    assert store.read(0)[0, 17, :4].tolist() == [0, 1, 0, 2500]
    assert store.read_coverage(0)[17, :4].tolist() == [0, 1, 0, 1]


# ---- 4: reprocessed twins -------------------------------------------------------------------------------------------


def twins(world, order):
    strip = "S2A_OPER_MSI_L2A_DS_{}_{}_S20200203T105911_N{}"
    scenes = [
        ("S2A_31UDQ_20200203_0", "2020-02-03T10:59:00.999500Z", 1500, "02.13", "MPS_", "20200203T121212"),
        ("S2A_31UDQ_20200203_1", "2020-02-03T10:59:01.000500Z", 2700, "05.00", "MPC_", "20230401T010101"),
        ("S2B_31UDQ_20200218_0", "2020-02-18T10:59:11.024000Z", 2800, "05.00", "MPC_", "20230402T010101"),
    ]
    for name, moment, dn, baseline, centre, processed in scenes[::order]:
        ds = strip.format(centre, processed, baseline) if "0203" in name else None
        world.add(
            name, moment, {"B04": dn}, platform="sentinel-2a" if name.startswith("S2A") else "sentinel-2b",
            s2__processing_baseline=baseline, grid__code="MGRS-31UDQ", **({"s2__datastrip_id": ds} if ds else {}),
        )  # fmt: skip
    return world.run()


def test_4_twins_count_once(tmp_path):
    reports = {}
    for order in (1, -1):
        world = World(tmp_path / str(order))
        world.folder.mkdir()
        report = reports[order] = twins(world, order)
        store = open_store(report.target)
        assert (only(level0(store)), only(counts(store))) == (1750, 2)
        assert [d["id"] for d in report.scenes["dropped"]] == ["S2A_31UDQ_20200203_0"]
        assert "S2A_31UDQ_20200203_1" in report.scenes["dropped"][0]["reason"]
    assert objects(reports[1].target) == objects(reports[-1].target)


# ---- 5: a read that fails -------------------------------------------------------------------------------------------


def a_missing_file(world):
    world.add("JAN", "2024-01-10T10:00:00Z", {"B04": 1500, "B08": 1600})
    world.add("FEB1", "2024-02-10T10:00:00Z", {"B04": 1700, "B08": 1800})
    world.add("FEB2", "2024-02-20T10:00:00Z", {"B04": 1900, "B08": 2000})
    (world.folder / "FEB2" / "B08.tif").unlink()


def test_5_a_read_that_fails_ends_the_run(world):
    a_missing_file(world)
    done = program(world, source__offset="none")
    assert done.returncode == 1
    for word in ("FEB2", "B08", str(world.folder / "FEB2" / "B08.tif")):
        assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert not (world.folder / "store" / "zarr.json").exists()


def test_5_keep_going(world):
    a_missing_file(world)
    done = program(world, "--keep-going", "--json", source__offset="none")
    assert done.returncode == 0, done.stderr
    assert "2024-02 lost 1 scene that could not be read: FEB2" in done.stderr
    store = open_store(world.folder / "store")
    assert only(store.read_coverage(1)) == 1
    assert store.read(1)[:, 5, 5].tolist() == [1700, 1800]
    lost = yaml.safe_load(done.stdout)["scenes"]["lost"]
    assert [(one["id"], one["timestep"]) for one in lost] == [("FEB2", "2024-02")]
    assert "B08" in lost[0]["error"]


def test_5_a_run_that_met_the_fault_goes_on_once_it_is_mended(world):
    a_missing_file(world)
    saved = (world.folder / "FEB1" / "B08.tif").read_bytes()
    with pytest.raises(InputError, match="FEB2"):
        world.run(source__offset="none")
    (world.folder / "FEB2" / "B08.tif").write_bytes(saved)
    report = world.run(source__offset="none", resume=True)
    assert open_store(report.target).read(1)[:, 5, 5].tolist() == [1800, 1800]


# ---- 6: a flaky host ------------------------------------------------------------------------------------------------


def test_6_a_flaky_host(world, monkeypatch):
    world.add("A", "2024-01-10T10:00:00Z", {"B04": 1500})
    world.add("B", "2024-02-10T10:00:00Z", {"B04": 1700})
    monkeypatch.setenv("GDAL_HTTP_MAX_RETRY", "0")
    made = {}
    for flaky in (False, True):
        fault = (lambda method, key, n: Fault(503) if n < 3 else None) if flaky else (lambda method, key, n: None)
        with Server(world.folder, fault=fault) as server:
            for item in world.items:
                for key, asset in item["assets"].items():
                    asset["href"] = f"{server.url}/{item['id']}/{key}.tif"
            made[flaky] = world.run(source__offset="none", target=str(world.folder / f"store-{flaky}"))
            assert len(server.requests) >= 4 * (4 if flaky else 1)
    assert objects(made[True].target) == objects(made[False].target)


# ---- 11: the median of integers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "masked", "expected", "n"),
    [
        ([1500, 1503], [], 1501, 2),
        ([1500, 9999, 1503], [1], 1501, 2),
        ([65533, 65535], [], 65534, 2),
        ([7], [], 7, 1),
        ([9], [0], 0, 0),
        ([1, 2, 65535], [], 2, 3),
    ],
)
def test_11_the_median_of_integers(world, values, masked, expected, n):
    for i, value in enumerate(values):
        world.add(f"S{i}", f"2024-01-{i + 1:02d}T10:00:00Z", {"B04": value}, 9 if i in masked else 4)
    store = world.store(source__offset="none")
    assert (only(level0(store)), only(counts(store))) == (expected, n)


def test_11_a_band_without_a_value_takes_the_pixel(world):
    world.add("A", "2024-01-01T10:00:00Z", {"B04": 0, "B08": 900})
    store = world.store(source__offset="none")
    assert (only(level0(store)), only(counts(store))) == (0, 0)


# ---- 12: a month of clouds ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["none", "star-delta"])
def test_12_a_month_of_clouds(world, encoding):
    for month, value, scl in (("01", 1500, 4), ("02", 1600, 9), ("03", 1700, 4)):
        world.add(f"M{month}", f"2024-{month}-10T10:00:00Z", {"B04": value}, scl)
    report = world.run(source__offset="none", encode__encoding=encoding)
    store = open_store(report.target)
    assert [only(store.read(t)) for t in range(3)] == [1500, 0, 1700]
    assert list(report.scenes["empty"]) == ["2024-02"]
    assert any("2024-02" in text for text in report.warnings)
    report = world.run(
        source__offset="none", encode__encoding=encoding, composite__gap_fill="carry-forward",
        target=str(world.folder / "carried"),
    )  # fmt: skip
    store = open_store(report.target)
    assert [only(store.read(t)) for t in range(3)] == [1500, 1500, 1700]
    assert [only(store.read_coverage(t)) for t in range(3)] == [1, 0, 1]
    assert store.provenance.gap_fill == "carry-forward"


# ---- 13: month edges and time zones ---------------------------------------------------------------------------------


@pytest.mark.parametrize("platform", [None, "sentinel-2a"])
def test_13_month_edges_and_time_zones(world, platform):
    scenes = [
        ("2024-01-31T23:59:59.024000Z", 100), ("2024-02-01T00:00:01Z", 250), ("2024-02-01T01:30:00+02:00", 300),
        ("2023-02-10T10:00:00Z", 900),
    ]  # fmt: skip
    for i, (moment, value) in enumerate(scenes):
        more = {"platform": platform} if platform else {}
        world.add(f"S{i}", moment, {"B04": value}, s2__processing_baseline="02.00", **more)
    store = world.store()
    months = {str(t)[:7]: only(store.read(i)) for i, t in enumerate(store.times)}
    assert {m: v for m, v in months.items() if v} == {"2023-02": 900, "2024-01": 200, "2024-02": 250}
    assert len(months) == 13


# ---- 14: two UTM zones ----------------------------------------------------------------------------------------------


def two_zones(world):
    import pyproj

    world.add("W", "2024-01-01T10:00:00Z", {"B04": 1000})
    world.add("W2", "2024-01-02T10:00:00Z", {"B04": 1000})
    x, y = pyproj.Transformer.from_crs(32631, 32632, always_xy=True).transform(CORNER[0] + 320, CORNER[1] - 320)
    corner = (round(x / 10) * 10 - 400.0, round(y / 10) * 10 + 400.0)
    world.add("E", "2024-01-03T10:00:00Z", {"B04": 2000}, epsg=32632, corner=corner, size=80)


def test_14_two_zones_are_an_error_with_counts(world):
    two_zones(world)
    done = program(world, source__offset="none")
    assert done.returncode == 1
    for word in ("2 on EPSG:32631", "1 on EPSG:32632", "grid.crs"):
        assert word in done.stderr
    assert not (world.folder / "store").exists()


def test_14_with_a_grid_named_it_runs(world):
    two_zones(world)
    bounds = [CORNER[0], CORNER[1] - 640, CORNER[0] + 640, CORNER[1]]
    grid = {"crs": "EPSG:32631", "resolution": 10, "bounds": bounds}
    store = world.store(source__offset="none", grid=grid, composite__method="mean")
    assert only(counts(store)) == 3
    assert only(level0(store)) == 1333


def test_a_corrupt_tile_names_its_scene(world):
    world.add("A", "2024-01-01T10:00:00Z", {"B04": np.arange(4096).reshape(64, 64) + 1})
    path: Path = world.folder / "A" / "B04.tif"
    whole = path.read_bytes()
    path.write_bytes(whole[:-400])
    with pytest.raises(InputError, match=r"band 'B04' of item 'A'"):
        world.run(source__offset="none")
    write_tif(path, np.full((64, 64), 7, "uint16"))

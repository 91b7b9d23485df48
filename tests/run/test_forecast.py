"""What a run would do, against what it then does; from headers and items alone."""

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import rasterio
import yaml

from chronozarr_dask.errors import InputError, PlanError, RunError, TargetError
from chronozarr_dask.options.prices import Prices
from chronozarr_dask.run.forecast import Forecast, forecast
from chronozarr_dask.run.recipes import Document
from chronozarr_dask.run.sweep import clean
from chronozarr_dask.run.workers import make_workers
from tests.run.made import SIZE, World, objects

N_BAND = 2


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Scenes of January and March, two twins among them, one of April outside of the period."""
    made = World(tmp_path)
    noise = np.random.default_rng(0)
    for name, moment in (
        ("J1", "2024-01-03T10:00:00Z"), ("J2", "2024-01-13T10:00:00Z"), ("M1", "2024-03-03T10:00:00Z"),
        ("A1", "2024-04-03T10:00:00Z"),
    ):  # fmt: skip
        pixels = {band: noise.integers(1, 9000, (SIZE, SIZE)) for band in ("B04", "B08")}
        made.add(name, moment, pixels, s2__processing_baseline="05.10" if name == "M1" else "02.00")
    for name in ("M1", "M1-twin"):
        item = made.items[2] if name == "M1" else dict(made.items[2], id=name)
        item["properties"] = item["properties"] | {"platform": "sentinel-2a", "grid:code": "MGRS-31UDQ"}
        if name != "M1":
            item["properties"]["s2:processing_baseline"] = "02.00"
            made.items.append(item)
    return made


def document(world: World, **changes: Any) -> Document:
    return Document.parse(yaml.safe_dump(world.recipe(period={"end": "2024-03"}, **changes)), "recipe.yaml")


def told(world: World, **changes: Any) -> Forecast:
    prices: Prices | None = changes.pop("prices", None)
    read = document(world, **changes)
    recipe = read.recipe()
    encode: Any = recipe.encode
    return forecast(read, recipe, make_workers(None, encode.memory), prices)


def test_scenes_and_what_they_are_taken_for(world: World) -> None:
    f = told(world)
    assert f.scenes == {"2024-01": 2, "2024-02": 0, "2024-03": 1}
    assert f.empty == ("2024-02",)
    ((name, reason),) = f.dropped
    assert name == "M1-twin"
    assert "the same acquisition as M1" in reason
    assert sum(f.offsets.values()) == 3
    assert len(f.offsets) == 2


def test_what_is_read(world: World) -> None:
    """Of each scene two bands of 64 x 64 uint16, and a class plane of half the edge."""
    assert told(world).read_bytes == 3 * (N_BAND * SIZE * SIZE * 2 + SIZE * SIZE // 4)
    half = [500000, 4999680, 500640, 5000000]
    assert told(world, grid__bounds=half).read_bytes == 3 * (N_BAND * SIZE * SIZE * 2 + SIZE * SIZE // 4) // 2


def test_without_a_class_plane_the_last_band_is_a_band(world: World) -> None:
    assert told(world, source__classes=None).read_bytes == 3 * N_BAND * SIZE * SIZE * 2


def test_a_plane_of_bits_is_of_two_bytes(world: World) -> None:
    more = {"source__classes": None, "source__bits": {"asset": "SCL"}}
    assert told(world, **more).read_bytes == 3 * (N_BAND * SIZE * SIZE * 2 + SIZE * SIZE // 4 * 2)


def test_what_is_written(world: World) -> None:
    f = told(world)
    pixels = 64 * 64 + 32 * 32
    assert (f.shape, f.levels, f.regions, f.passes) == ((3, N_BAND, 64, 64), 2, 1, 1)
    assert f.raw_bytes == 3 * pixels * (N_BAND * 2 + 1)
    assert set(f.write_bytes) == {"none", "star-delta"}
    assert f.write_bytes["star-delta"] < f.write_bytes["none"] < f.raw_bytes
    assert set(told(world, encode__encoding="none").write_bytes) == {"none"}
    assert 0 < f.region_bytes <= f.worker_bytes <= f.memory
    assert f.tasks > 0
    assert f.refused == ()


def test_the_run_keeps_to_it(world: World) -> None:
    f = told(world)
    report = world.run(period={"end": "2024-03"})
    found = [key for key in objects(report.target) if "/c/" in key and key.split("/")[1] in ("data", "coverage")]
    assert report.regions == f.regions
    assert 0 < len(found) <= f.objects
    assert report.scenes is not None
    assert [s["id"] for s in report.scenes["used"]] == ["J1", "J2", "M1"]
    assert list(report.scenes["empty"]) == list(f.empty)


def test_the_journal_keeps_the_estimate_that_was_shown(world: World) -> None:
    """The report compares it with what the run took."""
    f = told(world)
    world.run(period={"end": "2024-03"})
    kept = json.loads((world.folder / "store.run" / "estimate.json").read_text())
    assert kept.pop("journal_version") == 1
    assert kept == json.loads(json.dumps(f.estimate.to_json()))
    run = kept["stages"]["run"]
    assert (run["units"], run["objects"]) == (f.regions, f.objects)
    assert f.estimate.source_bytes == f.read_bytes


def test_there_is_a_cost_where_there_are_prices(world: World) -> None:
    assert (told(world).cost, told(world).currency) == (None, None)
    f = told(world, prices=Prices(currency="EUR", put_1000=1000, gb_month=1e9))
    assert f.currency == "EUR"
    assert f.cost is not None
    assert f.cost["month"] == f.estimate.stored_bytes
    assert f.cost["puts"] == sum(s.puts for s in f.estimate.stages.values())
    assert f.cost["cores"] == f.cost["source"] == 0


def test_no_pixel_is_read_and_nothing_is_written(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.recipe()
    before = objects(world.folder)

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("a pixel is read")

    with monkeypatch.context() as patch:
        for name in ("read", "read_masks", "dataset_mask", "sample"):
            patch.setattr(rasterio.io.DatasetReader, name, never)
        with pytest.raises(AssertionError, match="a pixel is read"), rasterio.open(world.folder / "J1/B04.tif") as file:
            file.read(1)
        assert told(world).scenes["2024-01"] == 2
    assert objects(world.folder) == before


def test_one_scene_is_opened(world: World) -> None:
    """The rest may be anywhere: a dry run over a year of scenes asks for the headers of one."""
    for name in ("J2", "M1"):
        for path in (world.folder / name).iterdir():
            path.unlink()
    assert sum(told(world).scenes.values()) == 3
    (world.folder / "J1" / "B04.tif").unlink()
    with pytest.raises(InputError, match=r"band 'B04' of item 'J1'"):
        told(world)


# ---- refusals ------------------------------------------------------------------------------------------------------


def test_a_target_that_is_not_empty(world: World) -> None:
    (world.folder / "store").mkdir()
    (world.folder / "store" / "mine.txt").write_text("mine")
    (refused,) = told(world).refused
    assert f"{world.folder / 'store'} is not empty" in refused


def test_a_run_that_was_interrupted(world: World) -> None:
    (world.folder / "store.run").mkdir()
    (world.folder / "store.run" / "claim.json").write_text('{"journal_version": 1}')
    (refused,) = told(world).refused
    assert "interrupted or is still running" in refused
    (refused,) = told(world, target={"url": str(world.folder / "store"), "journal": str(world.folder / "j")}).refused
    assert "interrupted or is still running" in refused


def test_a_run_that_has_stored_something(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """That there is something is no reason to name another target."""
    with monkeypatch.context() as patch:
        patch.setattr("chronozarr_dask.run.job.commit", fail)
        with pytest.raises(RunError):
            world.run()
    assert any((world.folder / "store").iterdir())
    (refused,) = told(world).refused
    assert f"go on with it with `chronozarr-dask resume {world.folder / 'store'}`" in refused.lower()


def fail(*_: Any, **__: Any) -> None:
    raise RunError("stopped")


@pytest.mark.parametrize("place", [None, "j"])
def test_a_run_that_was_complete_and_whose_store_is_gone(world: World, place: str | None) -> None:
    target = {"url": str(world.folder / "store"), "journal": place and str(world.folder / place)}
    world.run(target=target)
    shutil.rmtree(world.folder / "store")
    (refused,) = told(world, target=target).refused
    assert "of a run that was complete, whose store is gone" in refused
    assert "resume" not in refused
    assert f"`chronozarr-dask clean {world.folder / 'store'}`" in refused
    clean(world.folder / "store")
    assert told(world, target=target).refused == ()


def test_a_journal_below_the_claim(world: World) -> None:
    place = {"url": str(world.folder / "store"), "journal": str(world.folder / "store.run" / "x")}
    (refused,) = told(world, target=place).refused
    assert re.search(r"journal .*store\.run/x lies in .*store\.run, where the claim .* goes.*journal=", refused)
    with pytest.raises(TargetError, match="where the claim"):
        world.run(target=place)
    assert not (world.folder / "store.run").exists()


def test_a_journal_in_the_store(world: World) -> None:
    place = {"url": str(world.folder / "store"), "journal": str(world.folder / "store" / "run")}
    (refused,) = told(world, target=place).refused
    assert "one in the other" in refused


def test_a_region_that_does_not_fit(world: World) -> None:
    with pytest.raises(PlanError, match=r"a region of .* needs .* and the regions of a process have .*; raise memory"):
        told(world, encode__memory="100kB")


def test_too_many_objects_or_tasks(world: World) -> None:
    with pytest.raises(PlanError, match=r"the store has up to 30 objects, and max_objects is 29: set shard_time"):
        told(world, encode__max_objects=29)
    with pytest.raises(PlanError, match=r"tasks for the scheduler, and max_tasks is 3: make regions larger"):
        told(world, encode__max_tasks=3)


def test_no_disk_that_holds_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=100))
    (refused,) = told(world).refused
    assert "free" in refused


def test_json(world: World) -> None:
    doc = json.loads(json.dumps(told(world).to_json()))
    assert doc["scenes"] == {"2024-01": 2, "2024-02": 0, "2024-03": 1}
    assert doc["grid"]["crs"] == "EPSG:32631"

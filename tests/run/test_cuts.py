"""One recipe over two UTM zones: the same bytes however the work is cut, and each pixel read once."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pyproj
import pytest
import rasterio
import yaml
from distributed import Client, LocalCluster

from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.run.progress import Step
from chronozarr_dask.store.folder import Folder
from chronozarr_dask.store.journal import Journal
from chronozarr_dask.store.reader import open_store
from tests.run.made import CORNER, World, counts, level0, objects, write_tif

WIDTH, HEIGHT, CS = 150, 130, 16
BOUNDS = [CORNER[0], CORNER[1] - 10 * HEIGHT, CORNER[0] + 10 * WIDTH, CORNER[1]]
MONTHS = [f"{2023 + m // 12}-{m % 12 + 1:02d}" for m in range(9, 24)]
EMPTY = {MONTHS[4], MONTHS[11]}
CLASSES = np.array([3, 4, 5, 6, 8, 9, 11])
GRID = {"grid__crs": "EPSG:32631", "grid__resolution": 10, "grid__bounds": BOUNDS}
FIXED = {"source__offset": "none", "encode__chunk_size": CS, "composite__gap_fill": "none", **GRID}


def class_plane(rng: np.random.Generator, size: int) -> Any:
    """Blotches of classes; in a third of the scenes clouds alone on one side."""
    coarse = CLASSES[rng.integers(0, CLASSES.size, (size // 8 + 1, size // 8 + 1))]
    plane = coarse.repeat(8, 0).repeat(8, 1)[:size, :size].astype("uint8")
    if rng.random() < 0.3:
        plane[:, size // 2 :] = 9
    return plane


def fill(world: World) -> World:
    """Two scenes a month: tiles of one pass that overlap, scenes of the next zone, some of another time."""
    rng = np.random.default_rng(11)
    ground = rng.integers(200, 3000, (200, 200))
    to_next = pyproj.Transformer.from_crs(32631, 32632, always_xy=True)
    for m, month in enumerate(MONTHS):
        if month in EMPTY:
            continue
        for k in range(2):
            size = int(rng.choice([80, 96, 112]))
            corner = (CORNER[0] + 20 * int(rng.integers(-20, 60)), CORNER[1] - 20 * int(rng.integers(-20, 40)))
            epsg = 32631
            if (m + k) % 3 == 0:
                x, y = to_next.transform(*corner)
                corner, epsg = (round(x / 20) * 20, round(y / 20) * 20), 32632
            values = {b: ground[:size, :size] + 40 * m + rng.integers(0, 9, (size, size)) for b in ("B04", "B08")}
            values["B04"][rng.random((size, size)) < 0.02] = 0
            moment = f"{month}-10T10:00:0{k}Z" if m % 4 else f"{month}-{10 + k}T10:00:00Z"
            world.add(
                f"S{m}-{k}", moment, values, class_plane(rng, size // 2), epsg=epsg, corner=corner, size=size,
                platform="sentinel-2a",
            )  # fmt: skip
    return world


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return fill(World(tmp_path_factory.mktemp("tiles of 32")))


@pytest.fixture(scope="module")
def other_tiles(world: World, tmp_path_factory: pytest.TempPathFactory) -> World:
    """The same scenes in files of other tiles, their items in reverse order."""
    folder = tmp_path_factory.mktemp("tiles of 80")
    for path in world.folder.rglob("*.tif"):
        with rasterio.open(path) as file:
            t = file.transform
            write_tif(
                folder / path.relative_to(world.folder), file.read(), step=t.a, corner=(t.c, t.f),
                epsg=file.crs.to_epsg(), tile=80,
            )  # fmt: skip
    return World(folder, world.items[::-1])


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as made,
    ):
        yield made


def plan_of(journal: str) -> Plan:
    doc = Journal(Folder(journal)).read("plan.json")
    assert doc is not None
    return Plan.from_json(doc["plan"])


# ---- the same bytes --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """One way to do the same work."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    threads: int = 2
    is_other_files: bool = False
    is_cluster: bool = False
    stop_after: int | None = None


WHOLE = Cut("one region", {"encode__region_cells": 16, "encode__time_slab": 15})
A = (
    Cut("slabs, one thread, stopped", {"encode__region_cells": 8, "encode__time_slab": 4}, threads=1, stop_after=3),
    Cut("oblong, four threads", {"encode__region_cells": (4, 8)}, threads=4, is_other_files=True),
)
B = (
    Cut("little memory", {"encode__memory": "16MB", "encode__region_cells": 8, "run__reads": 2}, is_other_files=True),
    Cut("cluster, slabs", {"encode__region_cells": 8, "encode__time_slab": 9}, is_cluster=True),
)
C = (
    Cut("wide slabs, stopped", {"encode__region_cells": (16, 8), "encode__time_slab": 5}, stop_after=2),
    Cut("one read at a time", {"encode__region_cells": (4, 16), "encode__time_slab": 8, "run__reads": 1}, threads=3),
)

CARRY = {"composite__gap_fill": "carry-forward"}
PLAIN, DELTA, AUTO = ({"encode__encoding": name} for name in ("none", "star-delta", "auto"))
VARIANTS: dict[str, tuple[dict[str, Any], tuple[Cut, ...]]] = {
    "none": ({**PLAIN}, A),
    "none, carried": ({**PLAIN, **CARRY}, B[:1]),
    "none, carried, sharded 4": ({**PLAIN, "encode__shard_time": 4, **CARRY}, C),
    "star-delta, carried": ({**DELTA, **CARRY}, (A[0], B[1])),
    "star-delta, sharded 3": ({**DELTA, "encode__shard_time": 3}, A[1:]),
    "star-delta, carried, sharded 3": ({**DELTA, "encode__shard_time": 3, **CARRY}, C[:1]),
    "star-delta, carried, sharded 4": ({**DELTA, "encode__shard_time": 4, **CARRY}, (A[0], B[0])),
    "star-delta, carried, sharded 13": ({**DELTA, "encode__shard_time": 13, **CARRY}, A[1:]),
    "interval 13, carried, sharded 4": (
        {**DELTA, "encode__anchor_interval": 13, "encode__shard_time": 4, **CARRY}, (A[0], C[1]),
    ),
    "auto": ({**AUTO}, C),
    "auto, carried, sharded 4": ({**AUTO, "encode__shard_time": 4, **CARRY}, (A[0], B[1])),
}  # fmt: skip


class Stop(Exception):
    """Ends a run from its progress."""


def run(world: World, target: Path, cut: Cut, client: Any, **options: Any) -> tuple[dict[str, bytes], int]:
    """(Objects, regions) of a run; with `stop_after` interrupted, and resumed."""
    changes = {**FIXED, **options, **cut.options, "target": str(target)}

    def stop(step: Step) -> None:
        if step.stage == "run" and cut.stop_after is not None and step.done >= cut.stop_after:
            raise Stop

    with dask.config.set(num_workers=cut.threads):
        if cut.stop_after is not None:
            with pytest.raises(Stop):
                world.run(progress=stop, **changes)
            assert not (target / "zarr.json").exists()
        report = world.run(resume=cut.stop_after is not None, client=client if cut.is_cluster else None, **changes)
    assert (cut.stop_after or 0) <= report.regions_resumed < report.regions
    made = objects(target)
    shutil.rmtree(target)
    shutil.rmtree(f"{target}.run")
    return made, report.regions


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_cut_gives_the_same_bytes(
    variant: str, world: World, other_tiles: World, client: Client, tmp_path: Path
) -> None:
    options, cuts = VARIANTS[variant]
    expected, n_regions = run(world, tmp_path / "store", WHOLE, client, **options)
    assert n_regions <= 3
    assert "zarr.json" in expected
    for cut in cuts:
        found, n_regions = run(other_tiles if cut.is_other_files else world, tmp_path / "store", cut, client, **options)
        different = sorted(k for k in {*expected, *found} if expected.get(k) != found.get(k))
        assert not different, f"{cut.name}: {different[:5]} of {len(different)} differ"
        assert n_regions > 5, cut.name


def test_the_scenes_are_what_the_cuts_need(world: World, tmp_path: Path) -> None:
    """Both zones, gaps in time and space, pixels that several scenes share."""
    changes = {**FIXED, "target": str(tmp_path / "store"), "encode__encoding": "none", **A[0].options}
    report = world.run(**changes)
    store = open_store(report.target)
    seen = counts(store)
    assert seen.shape == (15, HEIGHT, WIDTH)
    assert [bool(frame.any()) for frame in seen] == [m not in EMPTY for m in MONTHS]
    assert set(np.unique(seen)) == {0, 1, 2}
    assert {item["properties"]["proj:code"] for item in world.items} == {"EPSG:32631", "EPSG:32632"}
    assert len(plan_of(report.journal).passes) > 1


def test_carried_pixels_are_those_of_the_last_month_that_saw_them(world: World, tmp_path: Path) -> None:
    plain = open_store(world.run(**FIXED, **WHOLE.options, target=str(tmp_path / "a")).target)
    changes = {**FIXED, **CARRY, **A[0].options, "encode__shard_time": 4, "target": str(tmp_path / "b")}
    carried = open_store(world.run(**changes).target)
    values, seen = level0(plain), counts(plain)
    for t in range(1, len(values)):
        values[t] = np.where(seen[t] == 0, values[t - 1], values[t])
    assert np.array_equal(level0(carried), values)
    assert np.array_equal(counts(carried), seen)


KILLED = """
import os, signal, sys, yaml
from chronozarr_dask.run.produce import run_document
from chronozarr_dask.run.recipes import Document
from chronozarr_dask.store.folder import Folder

put = Folder.put

def put_and_die(self, key, data):
    put(self, key, data)
    if key.startswith("receipts/0/") and key.endswith("-0"):
        os.kill(os.getpid(), signal.SIGKILL)

Folder.put = put_and_die
document = Document.parse(open(sys.argv[1]).read(), "recipe.yaml")
run_document(document, document.recipe())
"""


@pytest.mark.parametrize("shard", [None, 4])
def test_killed_between_two_slabs(shard: int | None, world: World, tmp_path: Path) -> None:
    changes = {**FIXED, **CARRY, "encode__encoding": "star-delta", "encode__region_cells": 16, "encode__time_slab": 10}
    if shard:
        changes["encode__shard_time"] = shard
    straight = world.run(**changes, target=str(tmp_path / "straight"))
    changes["target"] = str(tmp_path / "killed")
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(world.recipe(**changes)))
    command = [sys.executable, "-W", "ignore", "-c", KILLED, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = {p.name for p in (tmp_path / "killed.run" / "receipts" / "0").iterdir()}
    assert "0-0-0" in left
    assert "0-0-1" not in left
    assert not (tmp_path / "killed" / "zarr.json").exists()
    report = world.run(resume=True, **changes)
    assert report.regions_resumed >= 1
    assert plan_of(report.journal).passes[0].n_slabs == 2
    assert objects(report.target) == objects(straight.target)
    assert os.listdir(report.journal).count("handover") == 0


# ---- each pixel once -------------------------------------------------------------------------------------------------

Box = tuple[tuple[int, int], tuple[int, int]]


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, list[Box]]]:
    """Windows that are read, by file."""
    boxes: dict[str, list[Box]] = defaultdict(list)
    lock, read = threading.Lock(), rasterio.io.DatasetReader.read

    def noted(self: Any, index: Any, *, window: Any) -> Any:
        with lock:
            boxes[self.name].append(window)
        return read(self, index, window=window)

    with monkeypatch.context() as patch:
        patch.setattr(rasterio.io.DatasetReader, "read", noted)
        yield boxes


def times_read(boxes: list[Box], height: int, width: int) -> Any:
    n = np.zeros((height, width), int)
    for rows, cols in boxes:
        n[slice(*rows), slice(*cols)] += 1
    return n


ONE_PLACE = {"encode__region_cells": 16}


@pytest.mark.parametrize(
    "options",
    [
        {"encode__encoding": "none", **ONE_PLACE},
        {"encode__encoding": "auto", **ONE_PLACE, **CARRY, "encode__time_slab": 1},
        {"encode__encoding": "auto", **CARRY, "encode__region_cells": 8, "encode__shard_time": 4},
        {"encode__encoding": "auto", "encode__region_cells": (4, 8), "encode__time_slab": 6},
    ],
    ids=lambda options: ", ".join(str(v) for v in options.values()),
)
def test_each_pixel_is_read_once(
    options: dict[str, Any], world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a place is cut, a scene that is resampled is read a pixel or two beyond its region."""
    with counted(monkeypatch) as boxes:
        world.run(**{**FIXED, **options, "target": str(tmp_path / "store")})
    assert len({Path(name).parent.name for name in boxes}) == len(world.items)
    for item in world.items:
        is_once = item["properties"]["proj:code"] == "EPSG:32631" or options["encode__region_cells"] == 16
        for key, asset in item["assets"].items():
            read = boxes.get(str(world.folder / asset["href"]), [])
            n = times_read(read, *asset["proj:shape"])
            assert len(set(read)) == len(read), (item["id"], key)
            assert n.max() <= (1 if is_once else 4), (item["id"], key)
            assert n.sum() <= n.size * (1 if is_once else 1.6), (item["id"], key)


def test_bands_are_read_only_where_a_pixel_counts(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {**FIXED, "encode__region_cells": 2, "encode__encoding": "none", "target": str(tmp_path / "store")}
    with counted(monkeypatch) as boxes:
        report = world.run(**changes)
    plan = plan_of(report.journal)
    windows = [plan.passes[0].pixels(region, plan.layout) for region in plan.passes[0].regions()]
    n_left_out = 0
    for item in world.items:
        if item["properties"]["proj:code"] != "EPSG:32631":
            continue
        transform, size = item["assets"]["B04"]["proj:transform"], item["assets"]["B04"]["proj:shape"][0]
        row, col = round((CORNER[1] - transform[5]) / 10), round((transform[2] - CORNER[0]) / 10)
        with rasterio.open(world.folder / item["assets"]["SCL"]["href"]) as file:
            counts_here = np.isin(file.read(1), [4, 5, 6, 7, 11]).repeat(2, 0).repeat(2, 1)
        expected = []
        for w in windows:
            y0, y1 = max(w.y0 - row, 0), min(w.y1 - row, size)
            x0, x1 = max(w.x0 - col, 0), min(w.x1 - col, size)
            if y0 < y1 and x0 < x1:
                seen = counts_here[y0:y1, x0:x1].any()
                n_left_out += not seen
                expected += [((y0, y1), (x0, x1))] if seen else []
        for key in ("B04", "B08"):
            assert sorted(boxes.get(str(world.folder / item["assets"][key]["href"]), [])) == sorted(expected)
    assert n_left_out > 20

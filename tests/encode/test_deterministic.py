"""One cube, encoded under many settings: every object, documents included, has the same bytes each time."""

from __future__ import annotations

import hashlib
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
import xarray as xr
from distributed import Client, LocalCluster

import chronozarr_dask as czd
from chronozarr_dask.errors import TargetError
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.run import job
from chronozarr_dask.run.order import Order
from chronozarr_dask.run.progress import Step
from chronozarr_dask.store.folder import Folder

N_TIME, N_BAND, HEIGHT, WIDTH, CS = 18, 2, 75, 39, 16
VARIANTS = {
    "uint16 none": ("uint16", {"encoding": "none"}),
    "uint16 star-delta": ("uint16", {"encoding": "star-delta"}),
    "uint16 none sharded": ("uint16", {"encoding": "none", "shard_time": 4}),
    "uint16 star-delta sharded": ("uint16", {"encoding": "star-delta", "shard_time": 4}),
    "float32 none": ("float32", {"encoding": "none"}),
    "float32 none sharded": ("float32", {"encoding": "none", "shard_time": 4}),
}


def make_cube(dtype: str) -> xr.Dataset:
    """A cube with odd edges, gaps, a mask and coverage."""
    rng = np.random.default_rng(7)
    shape = (N_TIME, N_BAND, HEIGHT, WIDTH)
    data = rng.integers(1, 4000, (1, *shape[1:])) + rng.integers(0, 60, shape)
    data = (data * 1.7 if dtype == "float32" else data).astype(dtype)
    data[3, :, :40] = 0
    data[:, :, 20:24, 5:9] = 0
    mask = (rng.random((N_TIME, HEIGHT, WIDTH)) > 0.2).astype("uint8")
    coords = {
        "time": np.datetime64("2021-01-05", "ns") + np.arange(N_TIME) * np.timedelta64(11, "D"),
        "band": ["red", "nir"],
        "y": 4_000_000 - 10 * (np.arange(HEIGHT) + 0.5),
        "x": 300_000 + 10 * (np.arange(WIDTH) + 0.5),
    }
    planes = {"valid": (("time", "y", "x"), mask), "seen": (("time", "y", "x"), mask * 3)}
    return xr.Dataset({"data": (("time", "band", "y", "x"), data), **planes}, coords)


def hashes(store: Path) -> dict[str, str]:
    """Digest of every file below a folder, by its key."""
    return {
        str(p.relative_to(store)): hashlib.sha256(p.read_bytes()).hexdigest() for p in store.rglob("*") if p.is_file()
    }


@dataclass(frozen=True)
class Setting:
    """One way to run the same encode."""

    name: str
    chunks: dict[str, int] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    threads: int = 2
    cluster: int | None = None
    how: str = "straight"


MAPS = {"time": 1, "y": -1, "x": -1, "band": -1}
CELLS = {"time": -1, "y": 2 * CS, "x": 2 * CS, "band": -1}
ODD = {"time": 5, "y": 23, "x": 17, "band": 1}
SETTINGS = (
    Setting("numpy"),
    Setting("numpy, one thread", threads=1),
    Setting("numpy, four threads", threads=4),
    Setting("numpy, slabs", options={"region_cells": 2, "time_slab": 6}),
    Setting("numpy, long slabs", options={"region_cells": 2, "time_slab": 12}),
    Setting("numpy, large regions", options={"region_cells": 4}),
    Setting("numpy, oblong regions", options={"region_cells": (4, 2), "time_slab": 10}),
    Setting("numpy, one region", options={"region_cells": 16, "time_slab": N_TIME}),
    Setting("maps", MAPS),
    Setting("maps, small memory", MAPS, {"memory": 700_000}),
    Setting("maps, slabs of small regions: staged", MAPS, {"region_cells": 2, "time_slab": 6}),
    Setting("cells", CELLS),
    Setting("cells, small regions", CELLS, {"region_cells": 2}),
    Setting("odd blocks", ODD),
    Setting("odd blocks, small regions: staged", ODD, {"region_cells": 2, "time_slab": 8}),
    Setting("shuffled", options={"region_cells": 2, "time_slab": 6}, how="shuffled"),
    Setting("shuffled cells", CELLS, {"region_cells": 2}, how="shuffled"),
    Setting("retried", options={"region_cells": 2, "time_slab": 6}, how="retried"),
    Setting("resumed", options={"region_cells": 2, "time_slab": 6}, how="resumed"),
    Setting("resumed, staged", ODD, {"region_cells": 2, "time_slab": 6}, how="resumed"),
    Setting("2 processes", options={"region_cells": 2, "time_slab": 6}, cluster=2),
    Setting("2 processes, maps", MAPS, {"region_cells": 2}, cluster=2),
    Setting("4 processes, cells", CELLS, {"region_cells": 2}, cluster=4),
    Setting("4 processes, odd blocks", ODD, cluster=4, how="resumed"),
)


class Shuffled(Order):
    """Hands regions out in any order that their inputs allow."""

    seed = 3

    def next(self) -> Region | None:
        pool: list[Region] = self.__dict__.setdefault("pool", [])
        while (region := super().next()) is not None:
            pool.append(region)
        rng = random.Random(self.seed + len(pool) + self.n_left)
        return pool.pop(rng.randrange(len(pool))) if pool else None


class Stop(Exception):
    """Ends a run from its progress."""


@pytest.fixture(scope="module")
def clients() -> Iterator[dict[int, Client]]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=2, processes=True, dashboard_address=":0") as two,
        LocalCluster(n_workers=4, threads_per_worker=1, processes=True, dashboard_address=":0") as four,
        Client(two) as first,
        Client(four) as second,
    ):
        yield {2: first, 4: second}


@contextmanager
def faults(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What a setting does to the run, and the keywords that it adds."""
    keywords: dict[str, Any] = {}
    broken: set[str] = set()
    with monkeypatch.context() as patch, dask.config.set(num_workers=setting.threads):
        if setting.how == "shuffled":
            patch.setattr(job, "Order", Shuffled)
        if setting.how == "retried":
            put = Folder.put
            broken |= {"0/data/c/0/0/0/0", "0/data/c/0/0/2/2", "1/mask/c/1/1/0", "2/data/c/0/0/0/0"}

            def torn(self: Folder, key: str, data: bytes) -> None:
                if key in broken:
                    broken.discard(key)
                    put(self, key, data[: len(data) // 2])
                    raise TargetError(f"{key}: the connection broke")
                put(self, key, data)

            patch.setattr(Folder, "put", torn)
        if setting.how == "resumed":

            def stop(step: Step) -> None:
                if step.stage == "run" and (step.done >= 5 or step.done == step.total):
                    raise Stop

            keywords["progress"] = stop
        yield keywords
    assert not broken, "a fault was not met"


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_setting_gives_the_same_bytes(
    variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clients: dict[int, Client], capsys: Any
) -> None:
    dtype, options = VARIANTS[variant]
    whole = make_cube(dtype)
    expected: dict[str, str] = {}
    lines = []
    for setting in SETTINGS:
        cube = whole if setting.chunks is None else whole.chunk(setting.chunks)
        given = {"crs": "EPSG:32631", "chunk_size": CS, "variable": "data", "mask": "valid", "coverage": "seen"}
        given |= {**options, **setting.options}
        client = clients[setting.cluster] if setting.cluster else None
        target = tmp_path / "store"
        with faults(setting, monkeypatch) as keywords:
            if setting.how == "resumed":
                with pytest.raises(Stop):
                    czd.encode(cube, target, client=client, **given, **keywords)
                assert not (target / "zarr.json").exists()
                keywords = {"resume": True}
            report = czd.encode(cube, target, client=client, **given, **keywords)
        found = hashes(target)
        expected = expected or found
        different = sorted(k for k in {*expected, *found} if expected.get(k) != found.get(k))
        lines.append(f"  {setting.name:40} {report.regions:4} regions, {len(found)} files")
        assert not different, f"{variant}, {setting.name}: {different[:5]} of {len(different)} differ"
        assert bool(report.regions_resumed) == (setting.how == "resumed" and report.regions > 1) or report.regions <= 5
        shutil.rmtree(target)
        shutil.rmtree(f"{target}.run")
    with capsys.disabled():
        digest = hashlib.sha256("".join(sorted(expected.values())).encode()).hexdigest()
        print(f"\n{variant}: {len(SETTINGS)} settings, one hash {digest[:16]}", *lines, sep="\n")


def test_the_cube_is_what_the_settings_need(tmp_path: Path) -> None:
    cube = make_cube("uint16")
    report = czd.encode(
        cube,
        tmp_path / "s",
        variable="data",
        crs="EPSG:32631",
        chunk_size=CS,
        region_cells=2,
        time_slab=6,
        encoding="none",
    )
    plan = job.Plan.from_json(job.Journal(Folder(report.journal)).read("plan.json")["plan"])  # type: ignore[index]
    assert plan.layout.n_levels >= 4
    assert len(plan.passes) >= 3
    assert plan.n_regions >= 12
    assert plan.passes[0].n_slabs >= 3

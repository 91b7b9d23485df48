"""What the seeds share: sources, undisturbed stores, a cluster that outlives its clients, an S3 server."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import dask
import fsspec
import numpy as np
import xarray as xr
import yaml

import chronozarr_dask as czd
from chronozarr_dask.source.files import open_source
from tests.chaos.child import serve
from tests.chaos.gate import CONTROL, OWNER, Control
from tests.chaos.scenario import Product, Scenario
from tests.encode import cubes
from tests.run.made import CORNER, World
from tests.services import seaweedfs

N_WORKERS = 2
SHARED = "all"
"""Owner of the workers that outlive clients."""

CUBE = {"chunk_size": 16, "levels": 3, "region_cells": 2}
CUBE_SHAPE = (13, 2, 108, 70)
SIZE = 96
MONTHS = [f"2024-{m:02d}" for m in range(1, 12)]
EMPTY = {MONTHS[3], MONTHS[8]}
BOUNDS = [CORNER[0], CORNER[1] - 10 * SIZE, CORNER[0] + 10 * SIZE, CORNER[1]]


def make_scenes(folder: Path) -> World:
    """A scene a month, clouded in part; two months without any."""
    world, rng = World(folder), np.random.default_rng(5)
    ground = rng.integers(200, 3000, (SIZE, SIZE))
    for m, month in enumerate(MONTHS):
        if month not in EMPTY:
            classes = np.array([4, 5, 9])[rng.integers(0, 3, (6, 6))].repeat(8, 0).repeat(8, 1)
            pixels = {band: ground + 40 * m + rng.integers(0, 9, (SIZE, SIZE)) for band in ("B04", "B08")}
            world.add(f"S{m}", f"{month}-10T10:00:00Z", pixels, classes, size=SIZE)
    return world


@dataclass
class Stage:
    """Where the seeds play.

    Attributes
    ----------
    folder : Path
    environment : dict
        Of the processes that are killed.
    """

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    references: dict[Product, dict[str, str]] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def control(self) -> Path:
        """Folder of the gates' control files."""
        return self.folder / "control"

    def control_of(self, name: str) -> Control:
        """Make the control files of one store."""
        (self.control / name).mkdir(parents=True)
        return Control(self.control / name)

    @cached_property
    def cube(self) -> str:
        """A Zarr array whose blocks do not meet the cells."""
        made: xr.DataArray = cubes.cube("uint16", CUBE_SHAPE)
        path = str(self.folder / "cube.zarr")
        made.chunk({"time": 5, "y": 40, "x": 40}).to_dataset(name="data").to_zarr(path, zarr_format=2)
        return path

    @cached_property
    def scenes(self) -> World:
        """Scenes and their items."""
        return make_scenes(self.folder / "scenes")

    @cached_property
    def cluster(self) -> Any:
        """A LocalCluster that outlives its clients; a worker that dies is started again."""
        from distributed import LocalCluster

        environment = {**self.environment, OWNER: SHARED}
        config = {"distributed.worker.preload": ["tests.chaos.gate"], "distributed.nanny.environ": environment}
        dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"})  # else a slow start ends a nanny
        with dask.config.set(config):
            made = LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
        self.stack.callback(_close, made)
        return made

    @cached_property
    def s3(self) -> tuple[seaweedfs.S3Server, str]:
        """A server and a bucket."""
        server = self.stack.enter_context(seaweedfs.running())
        return server, server.new_bucket("chaos")

    def storage(self, scenario: Scenario) -> dict[str, Any]:
        """Storage options of its target; keys are in the environment."""
        return {"endpoint_url": self.s3[0].endpoint} if scenario.on_s3 else {}

    def target(self, scenario: Scenario) -> str:
        """URL of its target."""
        name = f"seed-{scenario.seed}"
        return f"s3://{self.s3[1]}/{name}" if scenario.on_s3 else str(self.folder / name)

    def objects(self, scenario: Scenario, suffix: str = "") -> Mapping[str, bytes]:
        """Objects of its store, or with ".run" of its journal, listed anew."""
        target = self.target(scenario) + suffix
        if not scenario.on_s3:
            return _files(Path(target))
        server = self.s3[0]
        keys = {"key": server.key, "secret": server.secret, "use_listings_cache": False}
        fs = fsspec.filesystem("s3", **keys, **self.storage(scenario))
        begin = target.removeprefix("s3://") + "/"
        found = fs.cat(fs.find(begin), on_error="omit") if fs.find(begin) else {}
        return {key.removeprefix(begin): data for key, data in found.items()}

    def reference(self, product: Product) -> dict[str, str]:
        """Hashes of the store of an undisturbed run, in this process, uncut along time."""
        with self.lock:
            if product not in self.references:
                target = self.folder / f"undisturbed-{len(self.references)}"
                self._encode(product, target)
                self.references[product] = hashes(cubes.objects(target))
            return self.references[product]

    def _encode(self, product: Product, target: Path) -> None:
        if product.kind == "scenes":
            self.scenes.run(**scene_changes(product, None), target=str(target))
            return
        how: Any = {**CUBE, "encoding": product.encoding, "shard_time": product.shard_time}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            czd.encode(open_source(self.cube), target, **how)

    def arguments(self, scenario: Scenario) -> list[str]:
        """The command line of a seed, without ``--resume``."""
        product = scenario.product
        if product.kind == "scenes":
            return ["run", str(self._recipe(scenario)), "--quiet"]
        words = ["encode", self.cube, self.target(scenario), "--encoding", product.encoding, "--quiet"]
        options: dict[str, Any] = {**CUBE, "shard_time": product.shard_time, "time_slab": scenario.time_slab}
        for name, value in options.items():
            words += [] if value is None else [f"--{name.replace('_', '-')}", str(value)]
        words += self._storage_words(scenario)
        return [*words, *(["--scheduler", self.cluster.scheduler_address] if scenario.runner == "cluster" else [])]

    def resume_arguments(self, scenario: Scenario) -> list[str]:
        """The command line that goes on with a seed by its journal alone."""
        words = ["resume", self.target(scenario), "--quiet", *self._storage_words(scenario)]
        by_address = scenario.runner == "cluster" and scenario.product.kind == "cube"  # a recipe names its cluster
        return [*words, *(["--cluster", self.cluster.scheduler_address] if by_address else [])]

    def _storage_words(self, scenario: Scenario) -> list[str]:
        return [w for pair in self.storage(scenario).items() for w in ("--storage-option", "{}={}".format(*pair))]

    def _recipe(self, scenario: Scenario) -> Path:
        changes = scene_changes(scenario.product, scenario.time_slab)
        target: Any = self.target(scenario)
        if scenario.on_s3:
            target = {"url": target, "storage_options": self.storage(scenario)}
        kind: dict[str, Any] = {"kind": scenario.runner}
        if scenario.runner == "cluster":
            kind["kind"] = self.cluster.scheduler_address
        if scenario.runner == "local":
            kind |= {"workers": N_WORKERS, "threads": 1}
        path = self.folder / f"seed-{scenario.seed}.yaml"
        path.write_text(yaml.safe_dump(self.scenes.recipe(**changes, target=target, cluster=kind)))
        return path


def scene_changes(product: Product, time_slab: int | None) -> dict[str, Any]:
    """Fields of the recipe of a product of scenes."""
    out = {
        "source__offset": "none", "grid__crs": "EPSG:32631", "grid__resolution": 10, "grid__bounds": BOUNDS,
        "composite__gap_fill": "carry-forward", "period": {"start": MONTHS[0], "end": MONTHS[-1]},
        "encode__chunk_size": 16, "encode__levels": 3, "encode__region_cells": 2, "encode__encoding": product.encoding,
        "encode__shard_time": product.shard_time, "encode__time_slab": time_slab,
    }  # fmt: skip
    return {name: value for name, value in out.items() if value is not None}


def hashes(objects: Mapping[str, bytes]) -> dict[str, str]:
    """Key to sha256."""
    return {key: sha256(data).hexdigest() for key, data in objects.items()}


@contextlib.contextmanager
def stage() -> Iterator[Stage]:
    """Build a stage in a temporary folder; all that it started ends with it."""
    with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as name, contextlib.ExitStack() as st:
        environment = {
            CONTROL: str(Path(name) / "control"),
            "AWS_ACCESS_KEY_ID": seaweedfs.KEY,
            "AWS_SECRET_ACCESS_KEY": seaweedfs.SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        made = Stage(Path(name), environment, st)
        made.control.mkdir()
        serve()
        yield made


def _files(folder: Path) -> dict[str, bytes]:
    """Objects of a folder that a run is at work in: what it removes meanwhile is left out."""
    found = {}
    for file in [Path(at) / name for at, _, names in os.walk(folder) for name in names]:
        with contextlib.suppress(FileNotFoundError):
            found[file.relative_to(folder).as_posix()] = file.read_bytes()
    return found


def _close(cluster: Any) -> None:
    with contextlib.suppress(KeyError):  # a LocalCluster that does not know its dead worker any more
        cluster.close()

"""What once broke an encode: blocks that are not what Dask was told, nested prefixes, workers that die anywhere."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

import chronozarr_dask as czd
from chronozarr_dask.errors import InputError, TargetError
from chronozarr_dask.run.progress import Step
from tests.encode import cubes

SHAPE = (4, 2, 40, 36)
STAGED = {"memory": 60_000, "encoding": "none"}
SAMPLED = {"encoding": "auto"}
PLAIN = {"encoding": "none"}


def encode(of: Any, target: Path, **options: Any) -> czd.RunReport:
    return czd.encode(of, target, **({"chunk_size": 16} | options))


# ---- blocks are what the array says of them --------------------------------------------------------------------------


def lying(values: cubes.Array, block: Callable[[Any], Any]) -> da.Array:
    meta = np.empty((0,) * values.ndim, values.dtype)
    return da.from_array(values, chunks=(2, *values.shape[1:])).map_blocks(block, dtype=values.dtype, meta=meta)


def halves(block: Any) -> Any:
    return block * 0.5


def narrow(block: Any) -> Any:
    return block.astype(np.uint8)


def signed(block: Any) -> Any:
    return block.view(np.int16)


def short(block: Any) -> Any:
    return block[:, :, :8]


@pytest.mark.parametrize("options", [PLAIN, SAMPLED, STAGED], ids=["plain", "sampled", "staged"])
@pytest.mark.parametrize("block", [halves, narrow, signed])
def test_blocks_of_another_dtype_than_was_said_are_never_stored(
    tmp_path: Path, block: Callable[[Any], Any], options: dict[str, Any]
) -> None:
    cube = cubes.cube("uint16", SHAPE)
    with pytest.raises(InputError, match=r"blocks of data are \w+ .* promises uint16"):
        encode(cube.copy(data=lying(cube.values, block)), tmp_path / "store", **options)
    assert not (tmp_path / "store" / "zarr.json").exists()


@pytest.mark.parametrize("options", [PLAIN, SAMPLED, STAGED], ids=["plain", "sampled", "staged"])
def test_a_mask_of_another_dtype_than_was_said_is_never_stored(tmp_path: Path, options: dict[str, Any]) -> None:
    cube = cubes.cube("uint16", SHAPE)
    mask = cubes.mask(cube)
    with pytest.raises(InputError, match="blocks of mask are float64"):
        encode(cube, tmp_path / "store", mask=mask.copy(data=lying(mask.values, halves)), **options)


@pytest.mark.parametrize("order", ["<", ">"])
def test_blocks_of_the_other_byte_order_are_the_same_pixels(tmp_path: Path, order: str) -> None:
    cube = cubes.cube("uint16", SHAPE)
    turned = cube.copy(data=lying(cube.values, lambda block: block.astype(f"{order}u2")))
    encode(turned, tmp_path / "store")
    assert czd.open_store(tmp_path / "store").to_xarray(0)["data"].values.tobytes() == cube.values.tobytes()


@pytest.mark.parametrize("options", [PLAIN, SAMPLED, STAGED], ids=["plain", "sampled", "staged"])
@pytest.mark.parametrize(("name", "value"), [("mask", 257), ("coverage", 300), ("coverage", -1)])
def test_a_plane_never_wraps_around(tmp_path: Path, name: str, value: int, options: dict[str, Any]) -> None:
    cube = cubes.cube("uint16", SHAPE)
    values = np.ones((4, 40, 36), np.int32)
    values[1, 3, 5] = value
    lazy = cubes.plane(cube, da.from_array(values, chunks=(1, 40, 36)))
    blocks = cube.copy(data=da.from_array(cube.values, chunks=(1, 2, 40, 36)))
    with pytest.raises(InputError, match=rf"a plane has {value} at timestep 1 .*, row 3, column 5"):
        encode(blocks, tmp_path / "store", **{name: lazy}, **options)


# ---- a store and its journal never lie one in the other --------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "journal"),
    [("s", "s"), ("s", "s/"), ("s", "s/run"), ("s", "other/../s/run"), ("run/staging", "run"), ("s", "link/run")],
)
def test_a_journal_in_the_store_or_a_store_in_the_journal_is_refused(tmp_path: Path, target: str, journal: str) -> None:
    (tmp_path / "link").symlink_to("s")
    with pytest.raises(TargetError, match="lie one in the other"):
        encode(cubes.cube("uint16", SHAPE), tmp_path / target, journal=f"{tmp_path}/{journal}")
    assert os.listdir(tmp_path) == ["link"]


@pytest.mark.parametrize(("target", "journal"), [("s", "s"), ("s/", "s"), ("s", "s/run"), ("run/handover", "run")])
def test_so_it_is_in_a_bucket(target: str, journal: str) -> None:
    at = "memory://nested"
    with pytest.raises(TargetError, match="lie one in the other"):
        czd.encode(cubes.cube("uint16", SHAPE), f"{at}/{target}", journal=f"{at}/{journal}", chunk_size=16)


def test_a_name_that_another_begins_with_is_not_a_folder_above_it(tmp_path: Path) -> None:
    encode(cubes.cube("uint16", SHAPE), tmp_path / "store", journal=str(tmp_path / "store-journal"))
    assert (tmp_path / "store" / "zarr.json").exists()


# ---- a worker that dies ----------------------------------------------------------------------------------------------


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    made = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50)
    yield made
    with suppress(KeyError):  # a LocalCluster that does not know its dead worker any more
        made.close()


@pytest.mark.parametrize(("stage", "after"), [("run", 2), ("select", 0), ("select", 1)])
def test_pixels_in_memory_survive_the_worker_that_held_them(
    tmp_path: Path, cluster: LocalCluster, stage: str, after: int
) -> None:
    cube = cubes.cube("uint16", (10, 2, 200, 200))
    encode(cube, tmp_path / "quiet")
    killed: list[int] = []

    def kill(step: Step) -> None:
        if step.stage == stage and step.done >= after and not killed:
            killed.append(next(w.pid for w in cluster.workers.values() if w.pid))
            os.kill(killed[0], signal.SIGKILL)

    with Client(cluster) as client:
        encode(cube, tmp_path / "killed", client=client, progress=kill, region_cells=2)
    assert killed
    assert cubes.objects(tmp_path / "killed") == cubes.objects(tmp_path / "quiet")


def test_no_memory_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="memory is 0"):
        encode(cubes.cube("uint16", SHAPE), tmp_path / "store", memory=0)

"""Bad input: one error that says what, where and how to mend it; what headers can show leaves nothing behind."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cftime
import dask.array as da
import numpy as np
import pytest
import xarray as xr

import chronozarr_dask as czd
from chronozarr_dask.errors import ChronozarrError, InputError, PlanError, TargetError, TargetFullError
from chronozarr_dask.run.encode import ChronozarrWarning
from tests.encode import cubes

SHAPE = (4, 2, 40, 36)


def cube(dtype: str = "uint16") -> xr.DataArray:
    return cubes.cube(dtype, SHAPE)


def encode(of: xr.DataArray, target: Path, **options: Any) -> czd.RunReport:
    return czd.encode(of, target, **({"chunk_size": 16} | options))


def is_untouched(target: Path) -> bool:
    return not target.exists() and not target.with_name(target.name + ".run").exists()


# ---- what headers, shapes, coordinates and options can show ----------------------------------------------------------


def with_coordinate(name: str, values: Any) -> xr.DataArray:
    return cube().assign_coords({name: values})


def jittered() -> xr.DataArray:
    x = cube().x.values.copy()
    x[5] += 1
    return with_coordinate("x", x)


def rotated() -> xr.DataArray:
    bare = cube().drop_vars(["x", "y"])
    return bare.assign_attrs(transform=(10.0, 1.0, 500_000.0, 1.0, -10.0, 5_000_000.0))


def times(*texts: str) -> xr.DataArray:
    return with_coordinate("time", np.array(texts, "datetime64[ns]"))


def julian() -> xr.DataArray:
    return with_coordinate("time", [cftime.DatetimeNoLeap(2024, m, 1) for m in range(1, 5)])


def custom_crs() -> str:
    return "+proj=laea +lat_0=12.3 +lon_0=4.5 +ellps=GRS80 +units=m"


def planar(values: Any) -> dict[str, Any]:
    return {"mask": xr.DataArray(values, dims=("time", "y", "x"))}


Case = tuple[Callable[[], xr.DataArray], dict[str, Any], tuple[str, ...]]
CASES: dict[str, Case] = {
    "odd chunk size": (cube, {"chunk_size": 15}, ("chunk_size is 15", "even", "2.1")),
    "x not regular": (jittered, {}, ("x", "5", "regular")),
    "south-up": (lambda: cube().isel(y=slice(None, None, -1)), {}, ("y increases", "north", "sortby")),
    "rotated": (rotated, {}, ("rotated", "b = 1.0", "reproject")),
    "no CRS": (lambda: cubes.as_cube(cubes.pixels(shape=SHAPE), crs=None), {}, ("CRS", "crs=")),
    "CRS without EPSG code": (cube, {"crs": custom_crs()}, ("EPSG",)),
    "times not increasing": (
        lambda: times("2024-01-01", "2024-03-01", "2024-02-01", "2024-04-01"),
        {},
        ("2024-03-01", "timestep 2 (2024-02-01", "not after", "sort"),
    ),
    "the same time twice": (
        lambda: times("2024-01-01", "2024-02-01", "2024-02-01", "2024-04-01"),
        {},
        ("timestep 2 (2024-02-01", "not after", "duplicates"),
    ),
    "NaT": (lambda: times("2024-01-01", "NaT", "2024-02-01", "2024-04-01"), {}, ("1", "NaT")),
    "finer than a millisecond": (
        lambda: times("2024-01-01", "2024-02-01T00:00:00.000001", "2024-03-01", "2024-04-01"),
        {},
        ("millisecond", "1"),
    ),
    "calendar": (julian, {}, ("noleap", "calendar")),
    "duplicate band names": (lambda: with_coordinate("band", ["a", "a"]), {}, ("'a'", "band")),
    "bands of another number": (cube, {"bands": ["a", "b", "c"]}, ("3", "2")),
    "dtype": (lambda: cube().astype("float64"), {}, ("float64", "float32")),
    "star-delta on int16": (lambda: cube("int16"), {"encoding": "star-delta"}, ("star-delta", "int16", "none")),
    "star-delta on float32": (lambda: cube("float32"), {"encoding": "star-delta"}, ("star-delta", "float32", "none")),
    "nodata out of range": (cube, {"nodata": 65536}, ("65536", "65535")),
    "nodata with a fraction": (cube, {"nodata": 0.5}, ("0.5",)),
    "nodata NaN": (lambda: cube("float32"), {"nodata": float("nan")}, ("nan",)),
    "mask of another shape": (cube, planar(np.ones((4, 40, 35), np.uint8)), ("mask", "(4, 40, 35)", "(4, 40, 36)")),
    "mask of floats": (cube, planar(np.ones((4, 40, 36))), ("mask", "float64", "uint8")),
    "zstd level": (cube, {"codec_level": 23}, ("23", "22", "zstd")),
    "gzip level": (cube, {"codec": "gzip", "codec_level": 0}, ("0", "1", "9", "gzip")),
    "blosc options": (cube, {"codec": "blosc", "codec_options": {"cname": "snappy"}}, ("snappy", "lz4")),
    "codec": (cube, {"codec": "lzma"}, ("codec", "lzma", "zstd")),
    "unknown option": (cube, {"chunks": 16}, ("no option 'chunks'", "chunk_size", "shard_time")),
    "shard_time": (cube, {"shard_time": 0}, ("shard_time is 0", "all")),
    "anchor_interval": (cube, {"anchor_interval": 0}, ("anchor_interval is 0", "1")),
    "levels": (cube, {"levels": 0}, ("levels is 0", "1")),
    "region_cells": (cube, {"region_cells": 3}, ("region_cells is 3", "even")),
    "memory as text": (cube, {"memory": "lots"}, ("memory", "lots")),
    "nan_to_mask of integers": (cube, {"nan_to_mask": True}, ("nan_to_mask", "uint16")),
    "fill_masked without a mask": (cube, {"fill_masked": True}, ("fill_masked", "mask")),
    "provenance": (cube, {"provenance": {"sources": ["s2"], "composite": "median"}}, ("gap_fill",)),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_is_refused_with_a_reason_before_anything_is_written(case: Case, tmp_path: Path):
    make, options, parts = case
    target = tmp_path / "s"
    with pytest.raises(InputError) as caught:
        encode(make(), target, **options)
    text = str(caught.value)
    assert [p for p in parts if p.lower() not in text.lower()] == [], text
    assert "\n" not in text
    assert is_untouched(target)
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_fit_the_memory_is_refused_before_anything_is_written(tmp_path: Path):
    with pytest.raises(PlanError, match=r"needs .* KiB .* have 8.0 KiB; raise memory to"):
        encode(cube(), tmp_path / "s", memory="8KiB")
    assert list(tmp_path.iterdir()) == []


def test_a_slab_shorter_than_a_shard_is_refused(tmp_path: Path):
    with pytest.raises(PlanError, match=r"time_slab is 2.*shard of 4"):
        encode(cube(), tmp_path / "s", time_slab=2, shard_time=4)
    assert list(tmp_path.iterdir()) == []


# ---- what only pixels can show ---------------------------------------------------------------------------------------


def with_pixels(*places: tuple[int, int, int, int], value: float) -> xr.DataArray:
    data = cubes.pixels("float32", SHAPE)
    for place in places:
        data[place] = value
    return cubes.as_cube(data)


def assert_stopped(target: Path) -> None:
    """The journal tells of the run, and there is no root document."""
    assert (target.with_name(target.name + ".run") / "claim.json").exists()
    assert not (target / "zarr.json").exists()


@pytest.mark.parametrize(
    ("value", "count"), [(np.nan, "2 NaN and 0 infinite"), (np.inf, "0 NaN and 2 infinite"), (-np.inf, "2 infinite")]
)
def test_nan_and_infinities_stop_the_run_with_place_and_count(value: float, count: str, tmp_path: Path):
    bad = with_pixels((2, 1, 33, 20), (3, 0, 39, 35), value=value)
    with pytest.raises(InputError) as caught:
        encode(bad, tmp_path / "s", region_cells=4)
    text = str(caught.value)
    for part in (count, "timestep 2 (2024-01-01T00:00:00Z)", "band B01", "row 33, column 20", "nan_to_mask"):
        assert part in text
    assert_stopped(tmp_path / "s")


def test_infinities_stop_the_run_even_where_nan_are_a_mask(tmp_path: Path):
    bad = with_pixels((1, 0, 3, 4), value=np.inf)
    with pytest.raises(InputError, match=r"1 infinite values .*timestep 1 .*band B00, row 3, column 4.*nan_to_mask"):
        encode(bad, tmp_path / "s", nan_to_mask=True)
    assert_stopped(tmp_path / "s")


def test_a_mask_of_other_values_stops_the_run(tmp_path: Path):
    mask = cubes.mask(cube())
    mask.values[3, 21, 7] = 255
    with pytest.raises(InputError) as caught:
        encode(cube(), tmp_path / "s", mask=mask)
    text = str(caught.value)
    for part in ("the mask has 255", "timestep 3 (2024-02-01T00:00:00Z), row 21, column 7", "1 values", "astype"):
        assert part in text
    assert_stopped(tmp_path / "s")


def test_a_coverage_that_uint8_cannot_hold_stops_the_run(tmp_path: Path):
    counts = cubes.coverage(cube()).astype("int64")
    counts.values[0, 5, 6] = 256
    with pytest.raises(InputError, match=r"256 at timestep 0 .*row 5, column 6.*0 to 255"):
        encode(cube(), tmp_path / "s", coverage=counts)
    assert_stopped(tmp_path / "s")


def test_an_input_that_raises_stops_the_run_with_its_own_error(tmp_path: Path):
    def broken(place: tuple[int, ...]) -> None:
        raise ValueError(f"tile {place} is torn")

    data = cubes.computed_by(cubes.pixels(shape=SHAPE), (1, 2, 40, 36), broken)
    with pytest.raises(ValueError, match=r"tile .* is torn"):
        encode(cubes.as_cube(data), tmp_path / "s")
    assert_stopped(tmp_path / "s")


# ---- a target that cannot be written ---------------------------------------------------------------------------------


def test_a_target_that_holds_a_file_is_refused(tmp_path: Path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "notes.txt").write_text("mine")
    with pytest.raises(TargetError, match=r"s is not empty.*another target"):
        encode(cube(), tmp_path / "s")
    assert cubes.objects(tmp_path) == {"s/notes.txt": b"mine"}


def test_a_target_that_holds_a_store_is_refused(tmp_path: Path):
    encode(cube(), tmp_path / "s")
    before = cubes.objects(tmp_path)
    with pytest.raises(TargetError, match="not empty"):
        encode(cube(), tmp_path / "s")
    assert cubes.objects(tmp_path) == before


def test_a_target_with_the_journal_of_another_run_is_refused(tmp_path: Path):
    encode(cube(), tmp_path / "s")
    shutil.rmtree(tmp_path / "s")
    before = cubes.objects(tmp_path)
    with pytest.raises(
        TargetError, match=r"s\.run is the journal of a run that was complete, whose store is gone.*clean"
    ):
        encode(cube(), tmp_path / "s")
    assert cubes.objects(tmp_path) == before
    (tmp_path / "s.run" / "report.json").unlink()
    del before["s.run/report.json"]
    with pytest.raises(
        TargetError, match=r"not complete: .*s\.run is the journal of a run.*encode\(cube, .*resume=True"
    ):
        encode(cube(), tmp_path / "s")
    assert cubes.objects(tmp_path) == before


def test_a_journal_that_holds_something_else_is_refused(tmp_path: Path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "todo.txt").write_text("mine")
    with pytest.raises(TargetError, match=r"notes, where the journal .* goes, is not empty.*journal="):
        encode(cube(), tmp_path / "s", journal=tmp_path / "notes")
    assert cubes.objects(tmp_path) == {"notes/todo.txt": b"mine"}


def test_a_target_that_is_a_file_is_refused(tmp_path: Path):
    (tmp_path / "s").write_text("mine")
    with pytest.raises(TargetError, match="s"):
        encode(cube(), tmp_path / "s")
    assert cubes.objects(tmp_path) == {"s": b"mine"}


def test_a_target_below_a_file_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(TargetError, match="file is a file"):
        encode(cube(), tmp_path / "file" / "s")
    assert cubes.objects(tmp_path) == {"file": b"mine"}


@contextmanager
def without_rights() -> Iterator[None]:
    """As a user who is not root: root may write anywhere."""
    if os.geteuid() != 0:
        yield
        return
    nobody = 65534
    os.setegid(nobody)
    os.seteuid(nobody)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def test_no_permission_to_write_is_said_at_once(tmp_path_factory: pytest.TempPathFactory):
    folder = Path("/tmp" if os.geteuid() == 0 else tmp_path_factory.mktemp("open")) / f"closed-{os.getpid()}"
    folder.mkdir(mode=0o555)
    try:
        with without_rights(), pytest.raises(TargetFullError, match=r"permission denied.*rights of this user"):
            encode(cube(), folder / "s")
        assert list(folder.iterdir()) == []
    finally:
        folder.rmdir()


def test_no_permission_to_look_is_said_at_once(tmp_path: Path):
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed").chmod(0)
    try:
        with without_rights(), pytest.raises(TargetFullError, match="permission denied"):
            encode(cube(), tmp_path / "closed" / "s")
    finally:
        (tmp_path / "closed").chmod(0o755)
    assert list((tmp_path / "closed").iterdir()) == []


# ---- a disk that is full ---------------------------------------------------------------------------------------------


def never(_: Any) -> Any:
    raise AssertionError("a block was computed")


def test_a_disk_that_is_surely_too_small_is_said_before_anything_is_written(tmp_path: Path):
    """A raster of 50 times the free space: no compression brings that down."""
    free = shutil.disk_usage(tmp_path).free
    n = int((free * 50 * 1.1 / 2 / 512**2) ** 0.5 + 1) * 512
    zeros = da.zeros((1, 1, n, n), dtype=np.uint16, chunks=(1, 1, n // 64 // 512 * 512 + 512, 2**14))
    huge = cubes.as_cube(zeros.map_blocks(never, dtype=np.uint16, meta=np.empty((0,) * 4, np.uint16)))
    with pytest.raises(TargetFullError, match=r"s: .* are free, and a store of .* needs at least .*make room"):
        czd.encode(huge, tmp_path / "s", encoding="none", memory="64GiB")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("small disk: to mount one needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_becomes_full_keeps_what_is_finished(small_disk: Path, tmp_path: Path):
    """One folder of the target lies on a disk that is full. With room again, a resume goes on to the same bytes."""
    data = cubes.pixels(shape=(4, 1, 40, 36)) | 1  # no chunk is left out
    target = tmp_path / "s"
    full = target / "0/data/c/3/0/2"

    fits = shutil.disk_usage(small_disk).free

    def fill(place: tuple[int, ...]) -> None:
        if place[2] == 1 and not full.exists():
            (small_disk / "filler").write_bytes(bytes(fits))
            full.parent.mkdir(parents=True, exist_ok=True)
            full.symlink_to(small_disk)

    source = cubes.as_cube(cubes.computed_by(data, (4, 1, 32, 36), fill))
    how: dict[str, Any] = {"encoding": "none", "region_cells": (2, 4)}
    with pytest.raises(TargetFullError, match=r"0/data/c/3/0/2/0: no space left.*resume"):
        encode(source, target, **how)
    assert_stopped(target)
    full.unlink()
    full.mkdir()  # there is room
    report = encode(source, target, resume=True, **how)
    assert (report.regions, report.regions_resumed) == (3, 1)
    encode(cubes.as_cube(data), tmp_path / "other", **how)
    assert cubes.objects(target) == cubes.objects(tmp_path / "other")


@pytest.mark.filterwarnings("ignore:the report of this run could not be written")
def test_a_small_disk_fills_up_and_is_made_larger(small_disk: Path):
    data = np.random.default_rng(0).integers(1, 60000, (8, 1, 256, 256)).astype(np.uint16)  # 1 MiB that stays 1 MiB
    with pytest.raises(TargetFullError, match="no space left"):
        encode(cubes.as_cube(data), small_disk / "s", encoding="none")
    assert not (small_disk / "s" / "zarr.json").exists()
    subprocess.run(["mount", "-o", "remount,size=16m", str(small_disk)], check=True)
    encode(cubes.as_cube(data), small_disk / "s", encoding="none", resume=True)
    cubes.assert_levels(small_disk / "s", cubes.levels(data, n_levels=5))


def test_a_disk_that_is_read_only_is_said_at_once(small_disk: Path):
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(TargetFullError, match=r"disk: the file system is mounted read-only.*another"):
        encode(cube(), small_disk / "s")


def test_an_error_of_the_system_that_is_none_of_these_keeps_its_own_words(tmp_path: Path):
    name = "n" * 300
    with pytest.raises(TargetError, match=os.strerror(errno.ENAMETOOLONG)):
        encode(cube(), tmp_path / name)


# ---- what is allowed, with a warning ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("crs", "part"), [("EPSG:3857", "Web Mercator"), ("EPSG:4326", "geographic")])
def test_a_crs_that_a_store_should_not_have_is_warned_of(crs: str, part: str, tmp_path: Path):
    given = cubes.as_cube(cubes.pixels(shape=SHAPE), crs=crs)
    if crs == "EPSG:4326":
        given = given.assign_coords(x=given.x / 1e6, y=given.y / 1e6)
    with pytest.warns(ChronozarrWarning, match=f"{part}.*3.2") as caught:
        report = encode(given, tmp_path / "s")
    assert [str(w.message) for w in caught if w.category is ChronozarrWarning] == list(report.warnings)


def test_every_error_of_the_package_is_one_kind():
    for kind in (InputError, PlanError, TargetError, TargetFullError):
        assert issubclass(kind, ChronozarrError)

"""``run`` as a user types it: a recipe in, a store out; what a dry run prints; what is refused; how a run goes on."""

import json
import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from chronozarr_dask.cli.run import in_fields
from chronozarr_dask.errors import ResumeError
from chronozarr_dask.store.reader import open_store
from tests.cli.sources import invoke, objects, run, start
from tests.run.made import World

SIZE = 256  # 16 regions of 2 x 2 cells of 32
MONTHS = ("2024-01", "2024-02", "2024-03")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Small scenes: two of January, none of February, one of March; hrefs with a version and a signature in them."""
    made = World(tmp_path)
    for name, moment, value in (
        ("J1", "2024-01-03T10:00:00Z", 1500), ("J2", "2024-01-13T10:00:00Z", 1503), ("M1", "2024-03-03T10:00:00Z", 900),
    ):  # fmt: skip
        made.add(name, moment, {"B04": value, "B08": value + 1})
    return made


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> World:
    made = World(tmp_path_factory.mktemp("large"))
    noise = np.random.default_rng(3)
    for i, month in enumerate(MONTHS * 2):
        pixels = {band: noise.integers(1, 5000, (SIZE, SIZE)) for band in ("B04", "B08")}
        made.add(
            f"S{i}", f"{month}-{3 + i:02d}T10:00:00Z", pixels, noise.integers(3, 8, (SIZE // 2, SIZE // 2)), size=SIZE
        )
    return made


def written(world: World, folder: Path | None = None, **changes: Any) -> str:
    path = (folder or world.folder) / "recipe.yaml"
    path.write_text(yaml.safe_dump(world.recipe(source__offset="none", **changes), sort_keys=False))
    return str(path)


# ---- from end to end ------------------------------------------------------------------------------------------------


def test_a_recipe_becomes_a_store(world: World) -> None:
    code, out, err = run(
        "run", written(world), "--set", "composite.method=mean", "--set", f"target={world.folder}/other"
    )
    assert code == 0
    assert err == "warning: timesteps without an observation: 2024-02\n"
    assert re.search(r"^scenes +3 used, no observation in 2024-02$", out, re.MULTILINE)
    assert "Open it in Python" in out
    store = open_store(world.folder / "other")
    assert [str(t)[:7] for t in store.times] == list(MONTHS)
    assert store.read(0)[:, 5, 5].tolist() == [1501, 1502]
    assert not (world.folder / "store").exists()


def test_json_and_quiet(world: World) -> None:
    result = invoke("run", written(world), "--json")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert [s["id"] for s in report["scenes"]["used"]] == ["J1", "J2", "M1"]
    assert report["scenes"]["empty"] == ["2024-02"]
    result = invoke("run", written(world, target=str(world.folder / "second")), "--quiet")
    assert (result.exit_code, result.stdout) == (0, "")


def test_the_journal_keeps_the_recipe_and_unsigned_hrefs(world: World) -> None:
    path = written(world)
    items = json.loads((world.folder / "items.json").read_text())
    for item in items["features"]:
        for asset in item["assets"].values():
            asset["alternate"] = {"https": {"href": "https://h/x.tif?sv=2024&sig=abcdef&version=3"}}
    (world.folder / "items.json").write_text(json.dumps(items))
    assert invoke("run", path, "--set", "encode.codec_level=3").exit_code == 0
    journal = world.folder / "store.run"
    kept = yaml.safe_load((journal / "recipe.yaml").read_text())
    given = yaml.safe_load(Path(path).read_text())
    assert kept == given | {"encode": given["encode"] | {"codec_level": 3}}
    frozen = json.loads((journal / "items.json").read_text())
    assert [s["id"] for s in frozen["scenes"]] == ["J1", "J2", "M1"]
    assert frozen["scenes"][0]["assets"][0]["href"] == str(world.folder / "J1" / "B04.tif")
    for file in journal.rglob("*"):
        assert not file.is_file() or b"abcdef" not in file.read_bytes(), file


def test_the_recipe_is_kept_as_it_was_written(world: World) -> None:
    path = Path(written(world))
    path.write_text(f"# mine\n{path.read_text()}")
    assert invoke("run", str(path), "-q").exit_code == 0
    assert (world.folder / "store.run" / "recipe.yaml").read_text() == path.read_text()


# ---- a dry run -----------------------------------------------------------------------------------------------------


def test_a_dry_run_prints_what_would_be_done(world: World) -> None:
    result = invoke("run", written(world), "--dry-run")
    assert (result.exit_code, result.stderr) == (0, "")
    for pattern in (
        r"^scenes +3 in 3 timesteps, 52\.2 kB to read$",
        r"^offset +3 scenes: policy none",
        r"^grid +EPSG:32631, 64 x 64 pixels of 10 x 10, corner 500000, 5000000$",
        r"^store +3 timesteps, 2 bands, 2 levels, at most \d+ objects$",
        r"^write +76\.8 kB of pixels before compression: none about 47\.6 kB, star-delta about 40\.7 kB$",
        r"^encoding +auto: measured on a sample when the run begins$",
        r"^work +1 region in 1 pass, \d+ tasks$",
        r"^memory +[\d.]+ [kM]B a region, [\d.]+ [kM]B in one process of [\d.]+ GB at hand$",
        r"^2024-01 +2 +█{30}$",
        r"^2024-02 +0 +no scene$",
        r"^2024-03 +1 +█{15}$",
    ):
        assert re.search(pattern, result.stdout, re.MULTILINE), f"{pattern} is not in\n{result.stdout}"
    assert "refused" not in result.stdout
    assert not any(p.name.startswith("store") for p in world.folder.iterdir())


def test_a_dry_run_as_json(world: World) -> None:
    found = json.loads(invoke("run", written(world), "--dry-run", "--json").stdout)
    assert found["scenes"] == {"2024-01": 2, "2024-02": 0, "2024-03": 1}
    assert found["refused"] == []


def test_a_dry_run_of_what_would_be_refused(world: World) -> None:
    (world.folder / "store").mkdir()
    (world.folder / "store" / "mine").touch()
    result = invoke("run", written(world), "--dry-run")
    assert result.exit_code == 1
    assert "scenes" in result.stdout
    assert re.search(r"^refused: .*/store is not empty", result.stdout, re.MULTILINE)
    result = invoke("run", written(world), "--dry-run", "--json")
    assert result.exit_code == 1
    assert len(json.loads(result.stdout)["refused"]) == 1


def test_a_region_that_does_not_fit_names_the_fields_of_the_recipe(world: World) -> None:
    for more in ([], ["--dry-run"]):
        result = invoke("run", written(world), "--set", "encode.memory=100kB", *more)
        assert result.exit_code == 1
        assert re.match(r"error: a region of .*; raise encode\.memory to .*encode\.chunk_size", result.stderr)
    assert not (world.folder / "store.run").exists()


def test_messages_name_the_fields_of_a_recipe() -> None:
    assert in_fields("set region_cells to 4 or time_slab to 24; name another place with journal=") == (
        "set encode.region_cells to 4 or encode.time_slab to 24; name another place with target.journal="
    )
    assert (
        in_fields("encode.chunk_size is 63, in /data/chunk_size.tif")
        == "encode.chunk_size is 63, in /data/chunk_size.tif"
    )


# ---- what is wrong -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--set", "run.reads=0"], 1, "error: --set: run.reads: 0 is not allowed; give a whole number from 1 to 256\n"),
        (["--set", "sources.x=0"], 1, "error: --set: sources: there is no such field; did you mean source?"),
        (["--set", "period.start=2030"], 1, "error: no item was found at"),
        (
            ["--set", "source.bands=[B99]"],
            1,
            "error: item 'J1' of collection 'sentinel-2-l2a' has no asset or band 'B99'",
        ),
        (["--resume"], 1, "error: there is no run to resume"),
        (["--resume", "--dry-run"], 2, "Usage"),
        (["--sett", "x=1"], 2, "Usage"),
    ],
)
def test_exit_codes(world: World, arguments: list[str], code: int, said: str) -> None:
    result = invoke("run", written(world), *arguments)
    assert result.exit_code == code
    assert result.stderr.startswith(said)
    assert "Traceback" not in result.stderr
    assert not any(p.name.startswith("store") for p in world.folder.iterdir())


def test_a_recipe_that_is_not_there() -> None:
    assert run("run", "nowhere.yaml")[::2] == (
        1, "error: the recipe nowhere.yaml cannot be read: [Errno 2] No such file or directory: 'nowhere.yaml'\n"
    )  # fmt: skip
    assert run("run")[0] == 2


# ---- going on ------------------------------------------------------------------------------------------------------


def receipts(target: Path) -> int:
    return sum(p.is_file() for p in (target.with_name(f"{target.name}.run") / "receipts").rglob("*"))


def interrupted(arguments: list[str], target: Path, signum: int) -> "subprocess.Popen[str]":
    """The program, after a signal at its third receipt."""
    process = start(*arguments)
    end = time.monotonic() + 120
    while receipts(target) < 3:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.005)
    process.send_signal(signum)
    return process


@pytest.fixture(scope="module")
def whole(large: World, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("whole")
    assert invoke("run", written(large, folder, target=str(folder / "store")), "-q").exit_code == 0
    return objects(folder / "store")


CUT = ["--set", "encode.region_cells=2", "--set", "cluster.threads=1"]


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_an_interrupted_run_goes_on(large: World, whole: dict[str, str], tmp_path: Path, signum: int) -> None:
    target = tmp_path / "store"
    path = written(large, tmp_path, target=str(target))
    process = interrupted(["run", path, *CUT], target, signum)
    _, err = process.communicate(timeout=100)
    assert not (target / "zarr.json").exists()
    left = receipts(target)
    assert left >= 3
    words = ["run", path, *CUT, "--resume"]
    if signum == signal.SIGINT:
        assert process.returncode == 1
        assert shlex.split(err.splitlines()[-1]) == ["chronozarr-dask", *words]
    # A run that would make another product is refused, with what differs.
    refused = invoke(*words, "--set", "period.end=2024-02", "--set", "composite.gap_fill=carry-forward")
    assert refused.exit_code == 1
    assert re.match(
        r"error: .*/store was begun with another recipe, and cannot go on with this one\. composite\.gap_fill: the run "
        r"began with none, now it is carry-forward; period\.end: the run began with None, now it is 2024-02\. To begin",
        refused.stderr,
    )
    refused = invoke(*words, "--set", "encode.codec_level=7")
    assert refused.exit_code == 1
    assert "codec: the run began with" in refused.stderr
    # The scenes are those that were found then: the items may be gone.
    (large.folder / "items.json").rename(large.folder / "away.json")
    try:
        code, out, err = run(*words)
    finally:
        os.rename(large.folder / "away.json", large.folder / "items.json")
    assert (code, err) == (0, "")
    found = re.search(r"in (\d+) regions, (\d+) of them from the run before", out)
    assert found is not None
    assert 1 <= int(found[2]) <= left < int(found[1]), "what stops at once may leave a receipt that is torn"
    assert objects(target) == whole


def test_grace_stands_in_place_of_the_recipe_s(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []

    def seen(document: Any, recipe: Any, **_: Any) -> None:
        told.append(recipe.run.grace)
        raise ResumeError("seen")

    monkeypatch.setattr("chronozarr_dask.run.produce.run_document", seen)
    path = written(world, run__grace=60)
    for given in ((), ("--grace", "5"), ("--grace", "0")):
        assert "seen" in invoke("run", path, *given).stderr
    assert told == [60, 5, 0]


def test_a_run_into_what_another_left_is_refused(world: World) -> None:
    (world.folder / "store.run").mkdir()
    (world.folder / "store.run" / "claim.json").write_text(
        json.dumps({"journal_version": 1, "journal": str(world.folder / "store.run")})
    )
    result = invoke("run", written(world))
    assert result.exit_code == 1
    assert re.search(r"interrupted or is still running\. Go on with it with `chronozarr-dask resume .*`", result.stderr)


def test_the_work_is_that_of_a_cluster(large: World, whole: dict[str, str], tmp_path: Path) -> None:
    path = written(large, tmp_path, target=str(tmp_path / "store"))
    more = ["--set", "cluster.workers=1", "--set", "cluster.threads=1"]
    code, _, err = run("run", path, "-q", "--cluster", "local", *more)
    assert (code, err) == (0, "")
    assert objects(tmp_path / "store") == whole

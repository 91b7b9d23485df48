"""`validate_deep`: what is right has no problem; one thing that is wrong is found, and the place of it is named."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client

import chronozarr_dask as czd
from chronozarr_dask.errors import InputError
from chronozarr_dask.run.deep import validate_deep
from chronozarr_dask.run.progress import Step
from chronozarr_dask.store.deep import places as places_module
from chronozarr_dask.store.journal import SUFFIX
from chronozarr_dask.store.validate import Problem
from tests.encode.cubes import CS, as_cube, cube, pixels
from tests.run_deep.damage import KINDS, Array, copied, edit_chunk, encode, swap
from tests.store import validate_cases

Make = Callable[..., Path]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("made")
    return {kind: encode(kind, folder / f"{kind}.cz") for kind in KINDS}


@pytest.fixture
def make(made: dict[str, Path], tmp_path: Path) -> Make:
    """A copy of a store to damage; its journal comes along only where that is asked for."""

    def copy(kind: str, *, journal: bool = False) -> Path:
        return copied(made[kind], tmp_path / "copy.cz", journal=journal)

    return copy


def where(problems: list[Problem]) -> list[tuple[str, str, str]]:
    return [(p.severity, p.section, p.path) for p in problems]


# ---- what is right -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_good_store_has_no_problem(made: dict[str, Path], kind: str) -> None:
    assert validate_deep(made[kind]) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("timesteps", [1, 3])
def test_runs_of_timesteps_may_be_cut_anywhere(
    made: dict[str, Path], kind: str, timesteps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places_module, "RUN_BYTES", timesteps * 5 * 2 * CS * CS * 2)
    steps: list[Step] = []
    assert validate_deep(made[kind], progress=steps.append) == []
    levels = KINDS[kind].get("levels", 3)
    cells = {1: 4, 3: 5}[levels]  # level 1 has 2 x 2, level 2 has 1
    n = cells * -(-10 // timesteps)
    assert {s.total for s in steps if s.stage == "check"} == {n}
    assert max(s.done for s in steps if s.stage == "check") == n


@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_a_good_store_of_another_dtype(tmp_path: Path, dtype: str) -> None:
    czd.encode(cube(dtype), tmp_path / "s.cz", chunk_size=CS)
    assert validate_deep(tmp_path / "s.cz") == []


@pytest.mark.oracle
@pytest.mark.parametrize("name", validate_cases.STORES)
def test_pixels_of_the_reference_encoder_have_no_problem(tmp_path: Path, name: str) -> None:
    folder = validate_cases.encode(name, tmp_path / "s.cz")
    assert validate_deep(folder) == czd.validate(folder)


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["star", "full"])
def test_appends_of_the_reference_encoder_have_no_problem(tmp_path: Path, name: str) -> None:
    folder = validate_cases.encode(name, tmp_path / "s.cz")
    validate_cases.append(name, folder, 1)
    validate_cases.append(name, folder, 2)
    assert validate_deep(folder) == czd.validate(folder)


@pytest.mark.oracle
def test_the_schedule_of_an_appended_none_store_is_not_recorded(tmp_path: Path) -> None:
    """7 timesteps, then 4: timestep 9 refers to 6 in one batch, and to 6 or 12 in others."""
    folder = validate_cases.encode("none", tmp_path / "s.cz")
    validate_cases.append("none", folder, 3)
    validate_cases.append("none", folder, 2)
    problems = validate_deep(folder)
    assert {p.severity for p in problems} <= {"warning"}
    assert {p.path for p in problems} <= {"volatility/c/0/0"}


# ---- one thing is wrong: without a journal -------------------------------------------------------------------------


def test_one_changed_pixel_in_level_1(make: Make) -> None:
    store = make("none")
    before = czd.open_store(store).read(4, 1)[1, 40, 20]
    edit_chunk(store, "1/data/c/4/0/1/0", lambda chunk: chunk.__setitem__((1, 8, 20), before + 1))
    first, *others = validate_deep(store)
    assert where([first]) == [("error", "6", "1/data/c/4/0/1/0")]
    assert (first.expected, first.found) == (before, before + 1)
    assert first.message == (
        "level 1, timestep 4, cell (1, 0), band 1, row 40, column 20: not the block mean of level 0; this object, or "
        "0/data/c/4/0/2/1 that it is made from, is not what was written"
    )
    assert all(p.path == "2/data/c/4/0/0/0" for p in others)  # the level above may show it too


def test_a_changed_pixel_in_level_0_names_the_chunk_that_it_is_in(make: Make) -> None:
    store = make("planes")
    values = czd.open_store(store)
    valid = np.argwhere(values.read_mask(6)[64:96, 32:64])  # type: ignore[index]
    y, x = valid[5]
    edit_chunk(store, "0/data/c/6/0/2/1", lambda chunk: chunk.__setitem__((0, y, x), chunk[0, y, x] ^ 0x4000))
    problems = {p.path: p.message for p in validate_deep(store) if p.path.startswith("1/")}
    message = problems["1/data/c/6/0/1/0"]
    assert f"row {32 + y // 2}, column {16 + x // 2}: not the block mean" in message
    assert message.endswith("or 0/data/c/6/0/2/1 that it is made from, is not what was written")
    # Timestep 6 is an anchor: those that refer to it change with it.
    assert {path.split("/")[3] for path in problems} == {"4", "5", "6", "7", "8", "9"}
    assert problems["1/data/c/4/0/1/0"].endswith(", or timestep 6 of the same cells is not, the anchor")


@pytest.mark.parametrize("level", [0, 1])
def test_swapped_residuals(make: Make, level: int) -> None:
    store = make("star")
    swap(store, f"{level}/data/c/1/0/1/1", f"{level}/data/c/2/0/1/1")
    problems = [p for p in validate_deep(store) if p.section == "6" and p.path.startswith("1/")]
    assert {p.path.split("/")[3] for p in problems} == {"1", "2"}
    assert all(f"{level}/data/c/{p.path.split('/')[3]}/0/1/1" in f"{p.path} {p.message}" for p in problems)


@pytest.mark.parametrize(("plane", "section"), [("mask", "2.4"), ("coverage", "2.5")])
def test_a_changed_plane(make: Make, plane: str, section: str) -> None:
    store = make("planes")
    edit_chunk(store, f"1/{plane}/c/3/1/0", lambda chunk: chunk.__setitem__((3, 4), 1 - min(chunk[3, 4], 1)))
    problems = [p for p in validate_deep(store) if p.section == section]
    assert problems[0].path == f"1/{plane}/c/3/1/0"
    assert f"timestep 3, cell (1, 0), row 35, column 4: not the {'maximum' if plane == 'mask' else 'rounded mean'}" in (
        problems[0].message
    )


def test_a_mask_has_two_values(make: Make) -> None:
    store = make("planes")
    edit_chunk(store, "2/mask/c/3/0/0", lambda chunk: chunk.__setitem__((24, 16), 2))
    problems = validate_deep(store)
    assert (
        Problem(
            "error",
            "2.4",
            "2/mask/c/3/0/0",
            "timestep 3, cell (0, 0), row 24, column 16 is neither 1 (valid) nor 0 (invalid)",
            "0 or 1",
            2,
        )
        in problems
    )


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite(tmp_path: Path, value: float) -> None:
    store = tmp_path / "s.cz"
    czd.encode(cube("float32"), store, chunk_size=CS)
    shutil.rmtree(f"{store}{SUFFIX}")
    edit_chunk(store, "0/data/c/3/0/1/2", lambda chunk: chunk.__setitem__((1, 5, 0), value))
    problems = validate_deep(store)
    assert ("warning", "2.3", "0/data/c/3/0/1/2") in where(problems)
    assert any(p.section == "6" and p.path == "1/data/c/3/0/0/1" for p in problems)


def test_the_last_bit_of_a_float_mean_is_a_warning(tmp_path: Path) -> None:
    store = tmp_path / "s.cz"
    czd.encode(cube("float32"), store, chunk_size=CS, levels=2)
    shutil.rmtree(f"{store}{SUFFIX}")

    def edit(chunk: Array) -> None:
        chunk[0, 3, 3] = np.nextafter(chunk[0, 3, 3], np.float32(np.inf))

    edit_chunk(store, "1/data/c/3/0/1/0", edit)
    (problem,) = validate_deep(store)
    assert (problem.severity, problem.path) == ("warning", "1/data/c/3/0/1/0")
    edit_chunk(store, "1/data/c/3/0/1/0", edit)
    (problem,) = validate_deep(store)
    assert problem.severity == "error"


def test_padding(make: Make) -> None:
    store = make("star")
    edit_chunk(store, "0/data/c/1/0/3/2", lambda chunk: chunk.__setitem__((1, 1, 5), 9))
    assert [str(p) for p in validate_deep(store)] == [
        "error 2.1 0/data/c/1/0/3/2: timestep 1, cell (3, 2), band 1, row 97, column 69, beyond the raster's edge, is "
        "padding and should be 0 in a chunk of residuals (expected 0, found 9)"
    ]


def test_volatility_of_a_star_delta_store(make: Make) -> None:
    store = make("star")
    edit_volatility(store, (2, 1))
    (problem,) = validate_deep(store)
    assert where([problem]) == [("error", "5", "volatility/c/0/0")]
    assert problem.message.startswith("cell (2, 1) is not the mean change")


def test_volatility_of_a_none_store_rests_on_a_schedule_that_is_not_recorded(make: Make) -> None:
    store = make("none")
    edit_volatility(store, (2, 1))
    (problem,) = validate_deep(store)
    assert where([problem]) == [("warning", "5", "volatility/c/0/0")]
    assert "interval 6" in problem.message


def edit_volatility(store: Path, cell: tuple[int, int]) -> None:
    from chronozarr_dask.format.codecs import Codec
    from chronozarr_dask.store.compress import compress, decompress

    file = store / "volatility/c/0/0"
    values = decompress(file.read_bytes(), Codec(), np.dtype("<f4"), (4, 3), "")
    values[cell] *= 1.01
    file.write_bytes(compress(values, Codec()))


@pytest.mark.parametrize("kind", ["none", "sharded"])
def test_a_lost_object_of_level_0_shows_in_the_level_above(make: Make, kind: str) -> None:
    store = make(kind)
    (store / "0/data/c/1/0/2/1").unlink()
    problems = [p for p in validate_deep(store) if p.section == "6"]
    object_t = 1 if kind == "none" else 0
    assert problems[0].path == f"1/data/c/{object_t + (kind == 'sharded')}/0/1/0"
    t = 1 if kind == "none" else 4  # shard 1 begins with timestep 4
    assert f"timestep {t} is not stored in 0/data/c/1/0/2/1 and reads as fill: it may be lost" in problems[0].message


def test_without_a_journal_a_lost_object_of_one_level_shows_in_volatility_alone(make: Make) -> None:
    store = make("one level")
    (store / "0/data/c/1/0/2/1").unlink()
    assert where(validate_deep(store)) == [("warning", "5", "volatility/c/0/0")]


def test_a_torn_chunk(make: Make) -> None:
    store = make("none")
    file = store / "0/data/c/1/0/2/1"
    file.write_bytes(file.read_bytes()[:-20])
    (problem,) = validate_deep(store)
    assert where([problem]) == [("error", "8", "0/data/c/1/0/2/1")]
    assert problem.message.startswith("timestep 1 of cell (2, 1) cannot be read: its ")


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_torn_shard(make: Make, level: int) -> None:
    store = make("sharded")
    file = store / f"{level}/data/c/1/0/0/0"
    file.write_bytes(file.read_bytes()[:-20])
    problems = validate_deep(store)
    assert ("error", "7.2", f"{level}/data/c/1/0/0/0") in where(problems)
    told = [p.message for p in problems if p.section == "8"]
    assert [m.split(":")[0] for m in told] == [f"timestep {t} of cell (0, 0) cannot be read" for t in (4, 5, 6, 7)]


def test_a_damaged_chunk_within_a_shard(make: Make) -> None:
    store = make("sharded")
    file = store / "0/data/c/0/0/1/1"
    blob = bytearray(file.read_bytes())
    blob[:4] = b"oops"
    file.write_bytes(blob)
    problems = validate_deep(store)
    assert where(problems) == [("error", "8", "0/data/c/0/0/1/1")]
    assert "timestep 0 of cell (1, 1)" in problems[0].message


def test_a_stale_mirror_is_found_and_the_pixels_are_still_read(make: Make) -> None:
    store = make("none")
    edit_root(store, lambda block: block.update(band_names=["B00", "other"]))
    edit_chunk(store, "1/data/c/4/0/1/0", lambda chunk: chunk.__setitem__((1, 8, 20), 1))
    problems = validate_deep(store)
    assert ("error", "6", "1/data/c/4/0/1/0") in where(problems)
    assert any("band_names" in p.path for p in problems)


def test_where_the_documents_contradict_each_other_no_pixel_is_read(make: Make) -> None:
    store = make("none")
    edit_root(store, lambda block: block["levels"][1].update(grid=[9, 9]))
    *others, last = validate_deep(store)
    assert others == czd.validate(store)
    assert (last.severity, last.path) == ("warning", "zarr.json")
    assert last.message.startswith("the pixels were not looked at: ")


def edit_root(store: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    root = json.loads((store / "zarr.json").read_text())
    edit(root["attributes"]["chronozarr"])
    (store / "zarr.json").write_text(json.dumps(root))


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    problems = validate_deep(tmp_path / "nowhere")
    assert problems[: len(problems) - 1] == czd.validate(tmp_path / "nowhere")


# ---- against the receipts ------------------------------------------------------------------------------------------


def test_a_lost_object_is_in_the_receipt(make: Make) -> None:
    store = make("one level", journal=True)
    (store / "0/data/c/1/0/2/1").unlink()
    problem = next(p for p in validate_deep(store) if p.section == "journal")
    assert (problem.path, problem.found) == ("0/data/c/1/0/2/1", "no object")
    assert "it was deleted" in problem.message


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda blob: blob[:-1] + bytes([blob[-1] ^ 1]), "its crc32c is not that of the receipt"),
        (lambda blob: blob[:-1], "its length is not that of the receipt"),
    ],
)
def test_a_changed_object_differs_from_its_receipt(make: Make, edit: Callable[[bytes], bytes], told: str) -> None:
    store = make("one level", journal=True)
    file = store / "0/data/c/1/0/2/1"
    file.write_bytes(edit(file.read_bytes()))
    problem = next(p for p in validate_deep(store) if p.section == "journal")
    assert problem.path == "0/data/c/1/0/2/1"
    assert problem.message.startswith(told)


def test_an_object_that_no_receipt_has(make: Make) -> None:
    store = make("none", journal=True)
    edit_chunk(store, "0/data/c/3/0/0/0", lambda chunk: None)  # cell (0, 0) is all fill: nothing was stored
    (problem,) = validate_deep(store)
    assert where([problem]) == [("error", "journal", "0/data/c/3/0/0/0")]
    assert problem.expected == "no object"


@pytest.mark.parametrize("torn", [False, True])
def test_a_region_without_a_receipt(make: Make, torn: bool) -> None:
    store = make("none", journal=True)
    receipt = next(p for p in Path(f"{store}{SUFFIX}/receipts").rglob("*") if p.is_file())
    if torn:
        receipt.write_bytes(receipt.read_bytes()[:50])
    else:
        receipt.unlink()
    (problem,) = validate_deep(store)
    assert problem.section == "journal"
    assert problem.path == str(receipt)
    assert "of its objects are there" in problem.message


def test_a_journal_may_be_named(make: Make, made: dict[str, Path], tmp_path: Path) -> None:
    store = make("star")
    (store / "2/data/c/9/0/0/0").unlink()
    journal = f"{made['star']}{SUFFIX}"
    assert ("error", "journal", "2/data/c/9/0/0/0") in where(validate_deep(store, journal=journal))
    with pytest.raises(InputError, match=r"has no plan\.json"):
        validate_deep(store, journal=str(tmp_path / "none.run"))
    (problem,) = validate_deep(made["none"], journal=f"{made['one level']}{SUFFIX}")
    assert "the plan is of another store" in problem.message


def test_a_journal_of_another_version_is_told(make: Make) -> None:
    store = make("none", journal=True)
    plan = Path(f"{store}{SUFFIX}/plan.json")
    plan.write_text(json.dumps(json.loads(plan.read_text()) | {"journal_version": 99}))
    (problem,) = validate_deep(store)
    assert (problem.severity, problem.path) == ("warning", str(plan))


@pytest.mark.oracle
@pytest.mark.parametrize("shard_time", [None, 4])
def test_what_was_appended_since_has_no_receipts(tmp_path: Path, shard_time: int | None) -> None:
    import chronozarr

    store = tmp_path / "s.cz"
    data = pixels(shape=(10, 2, 97, 65))
    czd.encode(as_cube(data), store, chunk_size=CS, encoding="star-delta", shard_time=shard_time)
    times = np.array(["2030-01-01"], "datetime64[ns]")
    chronozarr.append(store, iter([data[3]]), times=times)
    problems = validate_deep(store)
    assert [p for p in problems if p.section == "journal"] == [
        Problem(
            "warning",
            "journal",
            f"{store}{SUFFIX}/plan.json",
            "timesteps from 10 on were appended since: the objects that hold them have no receipts here",
        )
    ]
    assert not [p for p in problems if p.severity == "error"]


# ---- how much, and on what -----------------------------------------------------------------------------------------


def test_a_sample_looks_at_the_same_part_every_time(make: Make) -> None:
    store = make("none", journal=True)
    for row in range(4):
        for col in range(3):
            edit_chunk(store, f"0/data/c/5/0/{row}/{col}", lambda chunk: chunk.__iadd__(1))
    found = [validate_deep(store, sample=0.25) for _ in range(2)]
    assert found[0] == found[1]
    lost = [p.path for p in found[0] if p.section == "journal"]
    assert 0 < len(lost) <= 4  # one of the four places of level 0
    assert len([p for p in validate_deep(store, sample=1) if p.section == "journal"]) == 12
    assert validate_deep(store, sample=1) == validate_deep(store)


@pytest.mark.parametrize("sample", [0, -0.1, 1.5, float("nan")])
def test_a_sample_is_a_fraction(made: dict[str, Path], sample: float) -> None:
    with pytest.raises(InputError, match="sample is"):
        validate_deep(made["none"], sample=sample)


def test_on_a_client(make: Make) -> None:
    store = make("sharded", journal=True)
    (store / "0/data/c/1/0/2/1").unlink()
    expected = validate_deep(store)
    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
        assert validate_deep(store, client=client) == expected


def test_secrets_do_not_travel(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="storage_options has secret"):
        validate_deep("s3://bucket/s.cz", storage_options={"secret": "x"}, client=object())


def test_problems_are_bounded_in_number(tmp_path: Path) -> None:
    store = tmp_path / "s.cz"
    czd.encode(as_cube(pixels(shape=(4, 1, 60, 60))), store, chunk_size=8, encoding="none", levels=1)
    data = sorted(p for p in (store / "0/data/c").rglob("*") if p.is_file())
    for file in data:
        file.write_bytes(b"no")
    problems = [p for p in validate_deep(store) if p.section == "8"]
    assert len(problems) == 101
    assert problems[-1].message.startswith(f"{len(data) - 100} more of the same kind: timestep 0 of cell (")


def test_the_claim_beside_a_store_leads_to_its_journal(tmp_path: Path) -> None:
    store = tmp_path / "s.cz"
    czd.encode(cube(), store, chunk_size=CS, encoding="none", levels=1, journal=str(tmp_path / "far"))
    (store / "0/data/c/1/0/2/1").unlink()
    assert ("error", "journal", "0/data/c/1/0/2/1") in where(validate_deep(store))
    shutil.rmtree(tmp_path / "far")
    problem = next(p for p in validate_deep(store) if p.section == "journal")
    assert (problem.severity, problem.path) == ("warning", f"{tmp_path}/far/plan.json")
    assert problem.message.startswith("no object was compared with a receipt: ")

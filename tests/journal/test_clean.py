"""`clean` removes what a run left and nothing else, in an order that may be broken off anywhere."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import chronozarr_dask as czd
from chronozarr_dask.errors import ChronozarrWarning, ResumeError, RunError, TargetError
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.run import owners, sweep
from chronozarr_dask.run.belongings import is_planned, turn
from chronozarr_dask.run.journals import find_run
from chronozarr_dask.run.owners import Owner, heartbeat_key, read_claim
from chronozarr_dask.run.sweep import clean
from chronozarr_dask.store.journal import Journal
from chronozarr_dask.store.listing import delete_all
from chronozarr_dask.store.target import Objects, open_target
from tests.journal.runs import OPTIONS, files, interrupt, make_cube

# ---- which keys are whose --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a mask, and its journal."""
    target = tmp_path_factory.mktemp("committed") / "s"
    cube = make_cube()
    czd.encode(
        cube, target, mask=(cube.isel(band=0) % 5 > 0).astype("uint8").drop_vars("band", errors="ignore"), **OPTIONS
    )
    return target


@pytest.fixture
def plan(committed: Path) -> Plan:
    found = find_run(committed).plan
    assert found is not None
    return found


def test_every_object_of_a_store_but_its_root_is_planned(committed: Path, plan: Plan) -> None:
    keys = set(files(committed))
    assert len(keys) > 100
    assert {key for key in keys if not is_planned(plan, key)} == {"zarr.json"}
    derived = {key for region in plan.regions() for array in plan.arrays(region) for key in array.keys()}  # noqa: SIM118
    assert all(is_planned(plan, key) for key in derived)


@pytest.mark.parametrize(
    "key",
    ["zarr.json", "README", "0/notes.txt", "0/data/c/4/0/0/0", "0/data/c/0/1/0/0", "0/data/c/00/0/0/0", "9/zarr.json",
     "0/data/c/0/0/5/0", "0/data/c/0/0/0/4", "0/data/c/0/0/0/0/x", "0/coverage/c/0/0/0", "0/mask/c/0/0/0/0", "0/data/c",
     "0/other/zarr.json", "volatility/c/0/1", "-1/zarr.json", "0/time/c/1", "0/data/c/1/0/0/0.bak", "s.run/claim.json"],
)  # fmt: skip
def test_what_no_region_and_no_commit_writes_is_foreign(plan: Plan, key: str) -> None:
    assert not is_planned(plan, key)


def test_every_object_of_a_journal_is_its_own(committed: Path) -> None:
    journal = committed.with_name("s.run")
    assert [key for key in files(journal) if turn(key) is None] == []
    assert turn("notes.txt") is None
    assert turn("other/receipts/0/0-0-0") is None
    assert turn("claim.json/x") is None


# ---- a committed run -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["s", "s.run"])
def test_of_a_complete_store_only_the_journal_goes(tmp_path: Path, given: str) -> None:
    czd.encode(make_cube(), tmp_path / "s", **OPTIONS)
    before, n_journal = files(tmp_path / "s"), len(files(tmp_path / "s.run"))
    swept = clean(tmp_path / given)
    assert files(tmp_path / "s") == before
    assert not (tmp_path / "s.run").exists()
    assert swept.committed
    assert (swept.store.objects, swept.journal.objects >= n_journal, swept.n_foreign) == (0, True, 0)
    with pytest.raises(ResumeError, match="is a store, and there is no journal of its run beside it"):
        clean(tmp_path / "s")


# ---- an unfinished run -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["stage", "select", "run", "commit"])
def test_an_unfinished_run_leaves_nothing(tmp_path: Path, stage: str) -> None:
    interrupt(tmp_path / "s", stage, 0 if stage in ("commit", "stage") else 2, make_cube().chunk({"time": 1}))
    counted = clean(tmp_path / "s", dry_run=True)
    assert counted.store.objects == (len(files(tmp_path / "s")) if (tmp_path / "s").exists() else 0)
    assert counted.journal.objects == len(files(tmp_path / "s.run"))
    assert counted.journal.nbytes == sum(map(len, files(tmp_path / "s.run").values()))
    swept = clean(tmp_path / "s.run")
    assert not list(tmp_path.iterdir())
    assert swept.store == counted.store
    czd.encode(make_cube(), tmp_path / "s", **OPTIONS)


@pytest.mark.parametrize("made", [["s"], ["s.run"], ["j"], ["s", "s.run", "j"]])
def test_a_folder_that_was_there_before_the_run_stays(tmp_path: Path, made: list[str]) -> None:
    """Somebody made it, with rights of its own."""
    for name in made:
        (tmp_path / name).mkdir(mode=0o750)
    for resumed in (False, True):
        interrupt(tmp_path / "s", journal=str(tmp_path / "j"))
        if resumed:
            interrupt(tmp_path / "s", journal=str(tmp_path / "j"), stage="commit", done=0, resume=True)
        clean(tmp_path / "s")
        assert sorted(p.name for p in tmp_path.rglob("*")) == sorted(made)
        assert {(tmp_path / name).stat().st_mode & 0o777 for name in made} == {0o750}


def test_a_root_of_which_the_claim_says_nothing_stays(tmp_path: Path) -> None:
    interrupt(tmp_path / "s")
    journal = Journal(open_target(tmp_path / "s.run"))
    claim = journal.read("claim.json")
    assert claim is not None
    assert claim.pop("folders") == []
    journal.write("claim.json", claim)
    clean(tmp_path / "s")
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["s", "s.run"]


def test_an_object_without_a_receipt_goes_too(tmp_path: Path) -> None:
    """A worker that died had stored some objects of its region."""
    interrupt(tmp_path / "s")
    for receipt in (tmp_path / "s.run" / "receipts").rglob("*-*"):
        receipt.unlink()
    clean(tmp_path / "s")
    assert not list(tmp_path.iterdir())


def test_what_is_foreign_survives_and_is_told(tmp_path: Path) -> None:
    interrupt(tmp_path / "s")
    mine = [
        "s/README.md",
        "s/0/data/notes.txt",
        "s/0/data/c/99/0/0/0",
        "s.run/notes.txt",
        "s.run2/x",
        "s2/0/data/c/0/0/0/0",
    ]
    for name in mine:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("mine")
    swept = clean(tmp_path / "s")
    assert sorted(files(tmp_path)) == sorted(mine)
    assert sorted(swept.foreign) == sorted(str(tmp_path / name) for name in mine[:4])
    assert swept.n_foreign == 4


def test_a_run_that_was_claimed_and_not_planned(tmp_path: Path) -> None:
    interrupt(tmp_path / "s")
    (tmp_path / "s.run" / "plan.json").unlink()
    before = files(tmp_path / "s")
    swept = clean(tmp_path / "s")
    assert files(tmp_path / "s") == before, "without a plan nothing tells what is the run's"
    assert not (tmp_path / "s.run").exists()
    assert swept.store.objects == 0


def test_the_claim_beside_the_store_goes_with_a_journal_elsewhere(tmp_path: Path) -> None:
    for given in ("s", "s.run", "j"):
        interrupt(tmp_path / "s", journal=str(tmp_path / "j"))
        assert sorted(p.name for p in tmp_path.iterdir()) == ["j", "s", "s.run"]
        clean(tmp_path / given)
        assert not list(tmp_path.iterdir())


def test_a_clean_that_is_broken_off_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each batch: the claim is there as long as anything is, and nothing is taken for done that is gone."""
    monkeypatch.setattr(sweep, "BATCH", 12)
    remove, left = sweep.delete_all, [0]

    def breaking(objects: Any, keys: list[str]) -> None:
        if not left[0]:
            raise TargetError("no answer")
        left[0] -= 1
        remove(objects, keys)

    interrupt(tmp_path / "s")
    kept = tmp_path.with_name(f"{tmp_path.name}-kept")
    shutil.copytree(tmp_path, kept)
    for n in range(100):
        shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
        left[0] = n
        with monkeypatch.context() as patch:
            patch.setattr(sweep, "delete_all", breaking)
            try:
                clean(tmp_path / "s")
            except TargetError:
                pass
            else:
                break
        check_left(tmp_path)
        clean(tmp_path / "s")
        assert not list(tmp_path.iterdir())
    assert n > 7
    assert not list(tmp_path.iterdir())


def check_left(folder: Path) -> None:
    """There is a claim, and every receipt that is there tells of objects that are there."""
    assert (folder / "s.run" / "claim.json").is_file()
    stored = set(files(folder / "s")) if (folder / "s").exists() else set()
    run = find_run(folder / "s")
    for region in run.plan.regions() if run.plan is not None else ():
        receipt = run.journal.receipt(region)
        if receipt is not None:
            assert run.plan is not None
            keys = [key for array in run.plan.arrays(region) for key in array.keys()]  # noqa: SIM118
            lengths = [n for array in receipt.arrays for n in array.lengths]
            assert {key for key, n in zip(keys, lengths, strict=True) if n} <= stored


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_a_run_that_is_alive_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(tmp_path / "s")
    journal = Journal(open_target(tmp_path / "s.run"))
    (tmp_path / "s.run" / heartbeat_key(1)).unlink()
    claim = read_claim(journal)
    assert claim is not None
    assert claim.owner.process == Owner.me().process
    monkeypatch.setattr(owners, "AT_WORK", {claim.owner.token})
    before = files(tmp_path)

    def tell(owner: str, passed: float, long: float) -> None:
        raise KeyboardInterrupt  # it is watched: that is enough here

    with pytest.raises(KeyboardInterrupt):
        clean(tmp_path / "s", tell=tell)
    assert files(tmp_path) == before


def test_a_place_without_a_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(ResumeError, match="there is no run: it is neither a journal nor a store with a journal"):
        clean(tmp_path / "s")


def test_a_journal_that_was_moved_removes_nothing(tmp_path: Path) -> None:
    interrupt(tmp_path / "s")
    (tmp_path / "s.run").rename(tmp_path / "t.run")
    before = files(tmp_path)
    with pytest.raises(ResumeError, match=r"journal of a run into .*/s, whose journal is .*/s\.run: was it moved"):
        clean(tmp_path / "t.run")
    assert files(tmp_path) == before


# ---- a clean that is not alone ---------------------------------------------------------------------------------------


def test_a_clean_that_was_taken_over_removes_nothing_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stood still for longer than a resume watches, and that one goes on with what is there."""
    interrupt(tmp_path / "s")
    n_removed: list[int] = []

    def remove(objects: Objects, keys: list[str]) -> None:
        delete_all(objects, keys)
        if not n_removed:
            Journal(open_target(tmp_path / "s.run")).write("claim.3.json", asdict(Owner.me()))
        n_removed.append(len(keys))

    monkeypatch.setattr(sweep, "delete_all", remove)
    stored = files(tmp_path / "s")
    with pytest.raises(RunError, match="taken over"):
        clean(tmp_path / "s")
    assert len(n_removed) == 1
    assert files(tmp_path / "s") == stored


def test_a_store_that_is_another_run_s_is_left_alone(tmp_path: Path) -> None:
    """Journals are elsewhere; the store was removed by hand, and begun anew with another journal."""
    interrupt(tmp_path / "s", journal=str(tmp_path / "one"))
    shutil.rmtree(tmp_path / "s")
    shutil.rmtree(tmp_path / "s.run")
    interrupt(tmp_path / "s", journal=str(tmp_path / "two"))
    stored, claim = files(tmp_path / "s"), files(tmp_path / "s.run")
    with pytest.raises(ResumeError, match=r"that of another run, whose journal is .*/two"):
        czd.encode(make_cube(), tmp_path / "s", resume=True, journal=str(tmp_path / "one"), **OPTIONS)
    with pytest.warns(ChronozarrWarning, match=r"/two: .*Nothing of that store is touched"):
        swept = clean(tmp_path / "one")
    assert swept.store.objects == 0
    assert not (tmp_path / "one").exists()
    assert (files(tmp_path / "s"), files(tmp_path / "s.run")) == (stored, claim)
    czd.encode(make_cube(), tmp_path / "s", resume=True, journal=str(tmp_path / "two"), **OPTIONS)


def test_a_store_whose_journal_elsewhere_is_gone_can_be_freed(tmp_path: Path) -> None:
    interrupt(tmp_path / "t", journal=str(tmp_path / "two"))
    shutil.rmtree(tmp_path / "two")
    stored = files(tmp_path / "t")
    swept = clean(tmp_path / "t")
    assert not (tmp_path / "t.run").exists()
    assert files(tmp_path / "t") == stored, "without a plan nobody knows what is whose"
    assert swept.store.objects == 0
    shutil.rmtree(tmp_path / "t")
    czd.encode(make_cube(), tmp_path / "t", **OPTIONS)


def test_a_clean_broken_off_at_the_claims_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(tmp_path / "s", journal=str(tmp_path / "one"))

    def remove(objects: Objects, keys: list[str]) -> None:
        if objects.url.endswith("s.run"):
            raise TargetError("the network is gone")
        delete_all(objects, keys)

    monkeypatch.setattr(sweep, "delete_all", remove)
    with pytest.raises(TargetError, match="gone"):
        clean(tmp_path / "s")
    monkeypatch.undo()
    assert not any(files(tmp_path / "one"))
    clean(tmp_path / "s")
    assert not any(files(tmp_path))
    czd.encode(make_cube(), tmp_path / "s", **OPTIONS)

"""Who may write a run: claims, heartbeats, and when a resume takes over."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from chronozarr_dask.errors import ChronozarrWarning, ResumeError, RunError, TargetError
from chronozarr_dask.run import claims, heartbeat
from chronozarr_dask.run.heartbeat import Heartbeat
from chronozarr_dask.run.machine import process_start
from chronozarr_dask.run.owners import Beat, Claim, Owner, heartbeat_key, read_beat, read_claim, read_heartbeat
from chronozarr_dask.store.folder import Folder
from chronozarr_dask.store.journal import Journal, dump

PERIOD = 0.05


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "BEAT_SECONDS", PERIOD)
    monkeypatch.setattr(claims, "WATCH_SECONDS", 10 * PERIOD)
    monkeypatch.setattr(claims, "POLL_SECONDS", PERIOD)


@pytest.fixture
def target(tmp_path: Path) -> Folder:
    return Folder(str(tmp_path / "s"))


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(Folder(str(tmp_path / "s.run")))


def quiet(who: str, passed: float, long: float) -> None:
    raise AssertionError(f"{who} is watched")


class Watched(list[str]):
    def __call__(self, who: str, passed: float, long: float) -> None:
        assert 0 <= passed <= long
        self.append(who)


def claim_by(journal: Journal, **owner: Any) -> Claim:
    """A first claim by another process."""
    claim = claims.begin(Folder(f"{journal.url}-of"), journal, journal)
    other = replace(claim.owner, **owner)
    doc = json.loads(Path(journal.url, "claim.json").read_bytes())
    Path(journal.url, "claim.json").write_text(json.dumps(doc | {k: getattr(other, k) for k in owner}))
    return replace(claim, owner=other)


def beaten(journal: Journal, claim: Claim, **changes: Any) -> None:
    owner = claim.owner
    beat = Beat(claim.generation, owner.token, 3, "running", owner.host, owner.process, owner.since, "", PERIOD)
    journal.objects.put(heartbeat_key(claim.generation), replace(beat, **changes).pack())


@contextmanager
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


# ---- documents -------------------------------------------------------------------------------------------------------


def test_a_claim_names_its_owner(target: Folder, journal: Journal) -> None:
    claim = claims.begin(target, journal, journal)
    doc = json.loads(Path(journal.url, "claim.json").read_bytes())
    assert (doc["host"], doc["process"]) == (socket.gethostname(), os.getpid())
    assert (doc["target"], doc["journal"]) == (target.url, journal.url)
    assert Owner.of(doc) == claim.owner
    assert read_claim(journal) == claim
    assert read_heartbeat(journal) is None
    with pytest.raises(TargetError, match="still running"):
        claims.begin(target, journal, journal)


def test_a_heartbeat_counts_and_says_when_it_has_ended(target: Folder, journal: Journal) -> None:
    claim = claims.begin(target, journal, journal)
    with Heartbeat(journal, claim) as beating:
        first = read_heartbeat(journal)
        assert first is not None
        assert (first.generation, first.token, first.state) == (1, claim.owner.token, "running")
        wait_for(lambda: (read_heartbeat(journal) or first).counter >= first.counter + 3)
        beating.check()
        beating.confirm()
    last = read_heartbeat(journal)
    assert last is not None
    assert last.state == "ended"
    assert last.counter > first.counter


def wait_for(condition: Any, seconds: float = 10) -> None:
    pause = threading.Event()
    for _ in range(int(seconds / 0.01)):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("it did not come")


def test_no_claim_makes_no_conditional_create(
    target: Folder, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def create(self: Folder, key: str, data: bytes) -> bool:
        raise AssertionError(key)

    monkeypatch.setattr(Folder, "create", create)
    claim = claims.begin(target, journal, journal, conditional=False)
    beaten(journal, claim, state="ended")
    assert claims.take_over(target, journal, quiet, conditional=False).generation == 2
    with pytest.raises(TargetError, match="still running"):
        claims.begin(target, journal, journal, conditional=False)


# ---- a journal elsewhere ---------------------------------------------------------------------------------------------


@pytest.fixture
def elsewhere(tmp_path: Path) -> Journal:
    return Journal(Folder(str(tmp_path / "j")))


def test_both_places_are_looked_at_before_one_is_claimed(target: Folder, journal: Journal, elsewhere: Journal) -> None:
    """`journal` lies beside the store."""
    journal.objects.put(".DS_Store", b"")
    with pytest.raises(TargetError, match=r"s\.run, where the claim of a run goes, is not empty: empty it, or name an"):
        claims.begin(target, elsewhere, journal)
    assert elsewhere.objects.is_empty(), "it can be tried again"
    journal.objects.delete(".DS_Store")
    elsewhere.objects.put("mine", b"")
    with pytest.raises(TargetError, match=r"/j, where the journal or the claim of a run goes, is not empty.*journal="):
        claims.begin(target, elsewhere, journal)
    assert journal.objects.is_empty()
    elsewhere.objects.delete("mine")
    claims.begin(target, elsewhere, journal)
    assert journal.read("claim.json") == elsewhere.read("claim.json")


@pytest.mark.parametrize("conditional", [True, False])
def test_who_loses_the_race_beside_the_store_leaves_nothing(
    target: Folder, journal: Journal, elsewhere: Journal, tmp_path: Path, conditional: bool
) -> None:
    winner = Journal(Folder(str(tmp_path / "winner")))

    class Overtaken(Folder):
        """Another claims the store after this place was claimed."""

        def is_empty(self) -> bool:
            return True

        def put(self, key: str, data: Any) -> None:
            super().put(key, data)
            claims.begin(target, winner, journal)

        def create(self, key: str, data: bytes | memoryview) -> bool:
            out = super().create(key, data)
            claims.begin(target, winner, journal)
            return out

    mine = Journal(Overtaken(elsewhere.url))
    with pytest.raises(TargetError, match=r"winner is the journal of a run that .* is still running"):
        claims.begin(target, mine, journal, conditional=conditional)
    assert elsewhere.objects.is_empty()
    assert journal.read("claim.json") == winner.read("claim.json")


def test_a_claim_that_cannot_be_completed_is_withdrawn(
    target: Folder, journal: Journal, elsewhere: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But that of another, which has come in its place since."""
    other = dump(asdict(Owner.me()))

    def create(self: Folder, key: str, data: bytes) -> bool:
        if self.url == journal.url:
            if is_replaced:
                elsewhere.objects.put(key, other)
            else:
                self.put(key, data)
            raise TargetError("no network")
        self.put(key, data)
        return True

    monkeypatch.setattr(Folder, "create", create)
    for is_replaced in (False, True):
        with pytest.raises(TargetError, match="no network"):
            claims.begin(target, elsewhere, journal)
        assert journal.objects.is_empty(), "of a claim that was made the answer may be lost"
        assert elsewhere.objects.get("claim.json") == (other if is_replaced else None)


def test_a_run_that_ended_between_its_two_claims_is_told(target: Folder, journal: Journal, elsewhere: Journal) -> None:
    claims.begin(target, elsewhere, journal)
    journal.objects.delete("claim.json")
    with pytest.raises(TargetError, match=r"interrupted or is still running.*resume .*/j`"):
        claims.begin(target, elsewhere, journal)
    with pytest.raises(TargetError, match=r"/j, where .* is not empty"):
        claims.begin(Folder(f"{target.url}2"), elsewhere, Journal(Folder(f"{target.url}2.run")))


# ---- taking over -----------------------------------------------------------------------------------------------------


def test_there_must_be_a_claim(target: Folder, journal: Journal) -> None:
    with pytest.raises(ResumeError, match="no run to resume"):
        claims.take_over(target, journal, quiet)


def test_an_owner_that_has_ended_is_taken_over_at_once(target: Folder, journal: Journal) -> None:
    with Heartbeat(journal, claims.begin(target, journal, journal)):
        pass
    for generation in (2, 3, 4):
        claim = claims.take_over(target, journal, quiet)
        assert claim.generation == generation
        with Heartbeat(journal, claim):
            pass
    assert sorted(p.name for p in Path(journal.url).glob("claim*")) == [
        "claim.2.json", "claim.3.json", "claim.4.json", "claim.json",
    ]  # fmt: skip


def test_a_process_of_this_machine_that_is_no_more_is_taken_over_at_once(target: Folder, journal: Journal) -> None:
    with child() as process:
        claim = claim_by(journal, process=process.pid, started=process_start(process.pid))
        beaten(journal, claim)
        assert not claim.owner.is_gone()
        process.kill()
        wait_for(claim.owner.is_gone)  # nobody has asked about its end yet
    assert claims.take_over(target, journal, quiet).generation == 2


def test_a_process_id_that_another_has_now_is_that_of_nobody(target: Folder, journal: Journal) -> None:
    started = process_start(os.getpid())
    assert started is not None
    beaten(journal, claim_by(journal, started=started - 1))
    assert claims.take_over(target, journal, quiet).generation == 2


@pytest.mark.parametrize("has_beaten", [True, False])
@pytest.mark.parametrize("machine", ["another boot pid:[1]", None])
def test_a_process_elsewhere_is_watched_until_its_heartbeat_stood_still(
    target: Folder, journal: Journal, machine: str | None, has_beaten: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process id of another machine says nothing, not even where the host has the same name."""
    claim = claim_by(journal, process=2**22 + 1, machine=machine)
    if has_beaten:
        beaten(journal, claim)
    monkeypatch.setattr(claims, "WATCH_SECONDS", 40 * PERIOD)  # of 40 polls a busy machine may miss most
    watched = Watched()
    assert claims.take_over(target, journal, watched).generation == 2
    assert len(watched) >= 5
    assert watched[0] == claim.owner.told


def test_that_an_owner_is_watched_is_one_warning(
    target: Folder, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "POLL_SECONDS", 5.0)  # told within the first half of it
    claim = claim_by(journal, machine=None)
    with pytest.warns(ChronozarrWarning, match=rf"{claim.owner.process} .* is watched for up to \d+ s") as told:
        claims.take_over(target, journal, claims.warn_watched)
    assert [w.category for w in told].count(ChronozarrWarning) == 1


def test_while_its_owner_lives_a_run_is_not_taken_over(
    target: Folder, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "WATCH_SECONDS", 30.0)  # over at the first beat that changes
    claim = claims.begin(target, journal, journal)
    with Heartbeat(journal, claim), pytest.raises(ResumeError, match=r"is still running: process \d+ on .*; then go"):
        claims.take_over(target, journal, Watched())
    assert read_claim(journal) == claim


def test_an_owner_that_ends_while_it_is_watched_is_taken_over(target: Folder, journal: Journal) -> None:
    claim = claim_by(journal, machine=None)
    beaten(journal, claim)
    watched = Watched()

    def tell(who: str, passed: float, long: float) -> None:
        watched(who, passed, long)
        beaten(journal, claim, counter=4, state="ended")

    assert claims.take_over(target, journal, tell).generation == 2
    assert len(watched) == 1


def test_of_two_resumes_one_wins(target: Folder, journal: Journal) -> None:
    """Eight, of which all saw the same owner gone."""
    beaten(journal, claims.begin(target, journal, journal), state="ended")
    barrier = threading.Barrier(8)
    create = journal.objects.create

    class Together(Folder):
        def create(self, key: str, data: bytes) -> bool:
            barrier.wait()
            return create(key, data)

    def resume(_: int) -> int | str:
        try:
            return claims.take_over(target, Journal(Together(journal.url)), quiet).generation
        except ResumeError as error:
            return str(error)

    with ThreadPoolExecutor(8) as pool:
        ends = list(pool.map(resume, range(8)))
    assert ends.count(2) == 1
    assert sum("taken over by another resume" in str(end) for end in ends) == 7


# ---- an owner that is one no more ------------------------------------------------------------------------------------


def test_an_owner_that_was_taken_over_stops(target: Folder, journal: Journal) -> None:
    claim = claims.begin(target, journal, journal)
    with Heartbeat(journal, claim) as beating:
        beating.confirm()
        other = Claim(2, Owner.me())
        journal.objects.put("claim.2.json", dump(asdict(other.owner)))
        with pytest.raises(RunError, match=r"taken over by process \d+"):
            beating.confirm()
        wait_for(lambda: not beating._thread.is_alive())
        with pytest.raises(RunError, match="taken over"):
            beating.check()
    last = read_beat(journal, claim)
    assert last is not None
    assert last.state == "running", "what it says does not matter any more, and it says nothing"


def test_an_owner_whose_run_was_cleaned_stops(target: Folder, journal: Journal) -> None:
    """It stood still for so long that a clean took it for dead; and another run may have begun in its place."""
    claim = claims.begin(target, journal, journal)
    with Heartbeat(journal, claim) as beating:
        journal.objects.delete("claim.json")
        with pytest.raises(RunError, match=r"claim is gone: a clean has removed the run"):
            beating.confirm()
    journal.objects.put("claim.json", dump(asdict(Owner.me())))
    with Heartbeat(journal, claim) as beating, pytest.raises(RunError, match=r"removed by a clean, and another run"):
        beating.confirm()


def test_what_a_clean_removed_meanwhile_is_not_taken_over(target: Folder, journal: Journal) -> None:
    claim = claim_by(journal, machine=None)

    def cleaned(who: str, passed: float, long: float) -> None:
        journal.objects.delete("claim.json")

    with pytest.raises(ResumeError, match="removed by a clean at this moment"):
        claims.take_over(target, journal, cleaned)
    assert journal.objects.is_empty(), f"not even a claim after {claim}"


def test_a_store_that_another_run_has_claimed_since_is_not_written(target: Folder, tmp_path: Path) -> None:
    """A run was ended between its two claims: in its journal, and beside the store."""
    mine, beside = Journal(Folder(str(tmp_path / "mine"))), Journal(Folder(str(tmp_path / "s.run")))
    claims.begin(target, mine, beside)
    beside.objects.delete("claim.json")
    assert claims.take_over(target, mine, quiet, beside=beside).generation == 2
    assert beside.read("claim.json")["journal"] == mine.url, "it is created now"
    beside.objects.delete("claim.json")
    claims.begin(target, Journal(Folder(str(tmp_path / "other"))), beside)
    with pytest.raises(ResumeError, match=r"that of another run, whose journal is .*/other"):
        claims.take_over(target, mine, quiet, beside=beside)
    assert read_claim(mine).generation == 2


def test_a_heartbeat_that_fails_for_a_while_ends_nothing(
    target: Folder, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "LOST_SECONDS", 5)
    put, down = Folder.put, threading.Event()

    def maybe(self: Folder, key: str, data: bytes) -> None:
        if down.is_set():
            raise TargetError("no network")
        put(self, key, data)

    monkeypatch.setattr(Folder, "put", maybe)
    with Heartbeat(journal, claims.begin(target, journal, journal)) as beating:
        down.set()
        threading.Event().wait(4 * PERIOD)
        beating.check()
        down.clear()
        before = beating._counter
        wait_for(lambda: beating._counter > before)
        beating.check()
        monkeypatch.setattr(heartbeat, "LOST_SECONDS", 4 * PERIOD)
        down.set()
        threading.Event().wait(16 * PERIOD)
        with pytest.raises(RunError, match=r"could not be renewed for .* \(no network\)"):
            beating.check()

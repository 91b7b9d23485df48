"""One seed from beginning to end: start, wait at the place, look, kill, go on, compare."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from chronozarr_dask.errors import NotCompleteError
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.store.journal import CLAIM, PLAN
from chronozarr_dask.store.reader import open_store
from tests.chaos.child import start
from tests.chaos.gate import Control, later, workers_of
from tests.chaos.keys import read_plan, region_of_keys
from tests.chaos.scenario import Kill, Phase, Scenario
from tests.chaos.world import N_WORKERS, SHARED, Stage, hashes

LONGEST = 400.0
"""Seconds that a process may take."""

SETTLE = 0.3
"""Seconds from a SIGTERM to the opening of the gate: so long nothing goes on."""


class ChaosError(AssertionError):
    """Something that must never be."""


@dataclass
class Row:
    """What became of a seed.

    Attributes
    ----------
    met : bool
        Whether the phase was truly met when the first kill came.
    alive : bool
        Whether the victims were alive when they were killed.
    objects : int
        Of the store, at the first kill.
    kills : int
        How many kills there were; a second process may be killed too.
    resumed : int
        Processes that went on: with ``--resume``, or ``resume RUN``.
    by_journal : int
        Those by ``resume RUN``.
    redone : int
        Objects that were stored again.
    fault : str
        What went wrong; nothing where all is well.
    """

    scenario: Scenario
    met: bool = False
    alive: bool = False
    objects: int = 0
    kills: int = 0
    resumed: int = 0
    by_journal: int = 0
    redone: int = 0
    equal: bool = False
    seconds: float = 0.0
    fault: str = ""

    @property
    def counts(self) -> bool:
        """Whether the seed tried what it is for."""
        return self.met and self.alive


@dataclass
class Drive:
    """Drives one seed."""

    stage: Stage
    scenario: Scenario
    row: Row = field(init=False)
    control: Control = field(init=False)
    undone: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.row = Row(self.scenario)
        self.control = self.stage.control_of(f"seed-{self.scenario.seed}")

    def run(self) -> Row:
        """Play the scenario; the row has what went wrong."""
        begun = time.monotonic()
        try:
            self._play()
        except ChaosError as error:
            self.row.fault = str(error)
        finally:
            for i in range(len(self.scenario.kills)):
                self.control.open(i)
        self.row.seconds = time.monotonic() - begun
        return self.row

    def _play(self) -> None:
        expected = self.stage.reference(self.scenario.product)
        process = self._start(resume=False)
        try:
            for i, kill in enumerate(self.scenario.kills):
                if not self._kill(process, i, kill):
                    break
                if kill.victim == "client":
                    self._check_unfinished()
                    process = self._start(resume=True)
            self._end(process)
        finally:
            process.kill()
            process.join()
        self._compare(expected)

    # ---- processes -------------------------------------------------------------------------------------------------

    def _lost(self) -> int:
        """Workers that were killed: each may have stored a region, and not told the client of it."""
        victims = [kill.victim for kill in self.scenario.kills[: self.row.kills]]
        return victims.count("worker") + N_WORKERS * victims.count("workers")

    def _start(self, *, resume: bool) -> Any:
        words = self.stage.arguments(self.scenario)
        if resume:
            kept = self.stage.objects(self.scenario, ".run")
            if CLAIM not in kept:
                raise ChaosError("the claim is gone")
            self.row.resumed += 1
            if self.scenario.by_journal and PLAN in kept:
                self.row.by_journal += 1
                words = self.stage.resume_arguments(self.scenario)
            else:
                words.append("--resume")
        else:
            self.control.set(0, self.scenario.kills[0].place)
        return start(words, self.stage.environment, self._log)

    @property
    def _log(self) -> Path:
        return self.stage.folder / f"seed-{self.scenario.seed}.log"

    def _said(self) -> str:
        return self._log.read_text(errors="replace")[-1500:]

    def _wait(self, process: Any, is_there: Callable[[], bool]) -> bool:
        """Wait for something; False when the process ended before."""
        until = time.monotonic() + LONGEST
        while not is_there():
            if process.exitcode is not None:
                return is_there()
            if time.monotonic() > until:
                raise ChaosError(f"nothing happened for {LONGEST:.0f} s: {self._said()}")
            time.sleep(0.02)
        return True

    def _end(self, process: Any) -> None:
        self._wait(process, lambda: process.exitcode is not None)
        if process.exitcode:
            raise ChaosError(f"exit code {process.exitcode}: {self._said()}")

    # ---- a kill ----------------------------------------------------------------------------------------------------

    def _kill(self, process: Any, i: int, kill: Kill) -> bool:
        """Wait for the place and kill; False when the process came to its end without it (the first must come)."""
        if i:
            self.control.set(i, later(kill.place, kill.place.n // 4))
        if not self._wait(process, lambda: self.control.reached(i) is not None):
            if not i:
                raise ChaosError(f"the place was never reached: {self._said()}")
            return False
        time.sleep(kill.delay)
        reached = self.control.reached(i)
        assert reached is not None
        victims = self._victims(process, reached[0], kill)
        self._look(i, kill.phase)
        alive = all(map(_is_alive, victims)) and bool(victims)
        number = signal.SIGKILL if kill.signal == "KILL" else signal.SIGTERM
        for pid in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        self.row.kills += 1
        if not i:
            self.row.alive = alive
        time.sleep(SETTLE if number == signal.SIGTERM else 0)
        self.control.open(i)
        if kill.victim == "client":
            process.join(LONGEST)
        return True

    def _victims(self, process: Any, stopped: int, kill: Kill) -> list[int]:
        if kill.victim == "client":
            return [process.pid]
        owner = SHARED if self.scenario.runner == "cluster" else str(process.pid)
        files = workers_of(self.stage.control, owner).iterdir()
        workers = sorted(pid for pid in (int(file.name) for file in files) if _is_alive(pid))
        if kill.victim == "workers":
            return workers
        return [stopped if stopped in workers else workers[self.scenario.seed % len(workers)]]

    def _look(self, i: int, phase: Phase) -> None:
        """Look at what is stored: there is no root, and the phase is what it should be."""
        store, run = self.stage.objects(self.scenario), self.stage.objects(self.scenario, ".run")
        if "zarr.json" in store:
            raise ChaosError("there is a root document before the end")
        plan = read_plan(run["plan.json"]) if "plan.json" in run else None
        regions = {} if plan is None else region_of_keys(plan)
        receipts = {key.removeprefix("receipts/") for key in run if key.startswith("receipts/")}
        self.undone |= set(regions.values()) - receipts
        if not i:
            self.row.objects = len(store)
            self.row.met = is_met(phase, set(store), receipts, plan, regions)

    def _check_unfinished(self) -> None:
        """The unfinished target says that it is not complete, and how to go on."""
        if "zarr.json" in self.stage.objects(self.scenario):
            raise ChaosError("a killed client left a root document")
        keys = {}
        if self.scenario.on_s3:
            keys = {"key": self.stage.s3[0].key, "secret": self.stage.s3[0].secret, **self.stage.storage(self.scenario)}
        try:
            open_store(self.stage.target(self.scenario), storage_options=keys or None)
        except NotCompleteError as error:
            if "not complete" not in str(error) or "resume" not in str(error):
                raise ChaosError(f"open_store does not say how to go on: {error}") from error
        else:
            raise ChaosError("open_store opened a store that is not complete")

    # ---- the end ---------------------------------------------------------------------------------------------------

    def _compare(self, expected: dict[str, str]) -> None:
        run = self.stage.objects(self.scenario, ".run")
        regions = region_of_keys(read_plan(run["plan.json"]))
        puts = Counter(key for _, _, where, key in self.control.log() if where == "store")
        twice = {key for key, n in puts.items() if n > 1}
        self.row.redone = sum(puts[key] - 1 for key in twice)
        found = hashes(self.stage.objects(self.scenario))
        self.row.equal = found == expected
        if not self.row.equal:
            differ = sorted(k for k in {*found, *expected} if found.get(k) != expected.get(k))
            raise ChaosError(f"{len(differ)} objects differ, the first are {differ[:5]}")
        again = {regions[key] for key in twice if key in regions} - self.undone
        if len(again) > self._lost():
            raise ChaosError(f"regions with receipts were done again: {sorted(again)[:5]}")
        left = [key for key in run if key.startswith(("staging/", "handover/"))]
        if left or "report.json" not in run:
            raise ChaosError(f"the journal is not what it is after a commit: {left[:5] or sorted(run)[:10]}")


def is_met(phase: Phase, store: set[str], receipts: set[str], plan: Plan | None, regions: dict[str, str]) -> bool:
    """Whether a run is in a phase, by what is stored."""
    if phase == "before the first object":
        return not store
    if plan is None:
        return False
    if phase == "mid-region":
        return any(key in regions and regions[key] not in receipts for key in store)
    names = [{r.name for r in p.regions()} for p in plan.passes]
    if phase == "between passes":
        return names[0] <= receipts and not set().union(*names[1:]) <= receipts
    return set().union(*names) <= receipts and any(key not in regions for key in store)


def _is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False

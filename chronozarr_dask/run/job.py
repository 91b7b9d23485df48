"""The part of an encode that computes pixels: stage, select, run, commit. Each finds what an earlier run has done."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from chronozarr_dask.errors import ChronozarrError, RunError, TargetError
from chronozarr_dask.format.provenance import GapFill
from chronozarr_dask.format.temporal import Encoding, Selection
from chronozarr_dask.graph.frames import FrameSource, StagedFrames
from chronozarr_dask.graph.region import Job, RegionDone, region_receipt
from chronozarr_dask.graph.staging import SamplePart, measure_part, sample_parts, staged_sample
from chronozarr_dask.options import EncodeOptions
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.plan.sampling import sampled_cells
from chronozarr_dask.plan.spec import StoreSpec
from chronozarr_dask.run.begun import check_there
from chronozarr_dask.run.cleanup import remove_temporary
from chronozarr_dask.run.clock import Clock, now
from chronozarr_dask.run.engine import Failure, Outcome, read_failures, run_all, run_regions
from chronozarr_dask.run.flags import flag_warnings
from chronozarr_dask.run.heartbeat import Heartbeat
from chronozarr_dask.run.order import Chosen, Order
from chronozarr_dask.run.progress import Meter, Progress, Step
from chronozarr_dask.run.report import Ledger, RunReport
from chronozarr_dask.run.scenebook import SceneBook, Scenes
from chronozarr_dask.run.staging import Stager
from chronozarr_dask.run.workers import Build, Workers
from chronozarr_dask.store.commit import Tally, commit, tally
from chronozarr_dask.store.inorder import in_order
from chronozarr_dask.store.journal import SELECTION, TEMPORARY, Journal, run_url
from chronozarr_dask.store.target import Objects


@dataclass
class Encode:
    """A claimed encode.

    Attributes
    ----------
    choice : "auto", "none" or "star-delta"
        `auto` only where there is something to measure.
    source : FrameSource
        The cube, or the cube staged as a whole.
    in_flight : int
        Regions in flight in one process.
    resumed : bool
        Whether an earlier run may have left receipts.
    gap_fill : "none" or "carry-forward"
    book : SceneBook or None
        Tells of the scenes of composites.
    fail_fast : bool
        Whether the first region that is set aside ends the run.
    only : set of Region or None
        What is done alone, with what waits for it; all that is left when None.
    heartbeat : Heartbeat or None
        Of the claim: asked before the commit.
    conditional : bool
        Whether the root is created on condition that there is none.
    way_on : str
        How a person goes on with it: `run.goingon.way_on`.
    """

    target: Objects
    journal: Journal
    spec: StoreSpec
    plan: Plan
    options: EncodeOptions
    choice: str
    source: FrameSource
    workers: Workers
    warnings: tuple[str, ...]
    in_flight: int
    resumed: bool
    gap_fill: GapFill = "none"
    book: SceneBook | None = None
    fail_fast: bool = False
    only: frozenset[Region] | None = None
    heartbeat: Heartbeat | None = None
    conditional: bool = True
    way_on: str = ""
    ledger: Ledger = field(default_factory=Ledger)

    def __post_init__(self) -> None:
        self._set_aside = Outcome()
        self._failed_before: list[Failure] | None = None
        self._stager = Stager(self.workers, self.journal, self.plan, self.resumed)

    @property
    def _url(self) -> str:
        """By which commands find the run again."""
        return run_url(self.target.url, self.journal.url)

    def finish(self, clock: Clock, progress: Progress) -> RunReport:
        """Run to the end and give the report."""
        self.workers.limit(self.in_flight)
        done = self._done()
        if self.plan.staged and not all(done):
            assert isinstance(self.source, StagedFrames)
            with clock.stage("stage"):
                self._stager.everything(self.source, progress)
        encoding, selection = self.ledger.encoding, self.ledger.selection = self._select(clock, progress)
        with clock.stage("run"):
            self._run(encoding, done, progress)
        with clock.stage("commit"):
            progress(Step("commit", 0, 1))
            total = tally(self.journal, self.plan, encoding, self.options.shard_bytes_limit)
            scenes = self._scenes()
            self._confirm()
            how: Any = {"confirm": self._confirm, "conditional": self.conditional}
            commit(self.target, self.spec, self.spec.temporal(encoding, selection), total, **how)
            self._remove_temporary()
            progress(Step("commit", 1, 1))
        return self._report(clock, total, scenes)

    def _confirm(self) -> None:
        """RunError when the run is not this process's own any more."""
        if self.heartbeat is not None:
            self.heartbeat.confirm()

    def _remove_temporary(self) -> None:
        """What the journal held for the run; a store that is complete stays so where that cannot be removed."""
        try:
            for prefix in TEMPORARY:
                self.journal.objects.delete_prefix(prefix)
        except TargetError as error:
            self.ledger.left.append(
                f"the store is complete, but what the run kept meanwhile in {self.journal.url} could not be removed "
                f"({error}): remove it with `chronozarr-dask clean {self._url}`, which takes the journal with it"
            )

    def _done(self) -> list[bool]:
        """For each region in the plan's order, whether its receipt is there; those that are, are counted."""
        if not self.resumed:
            return [False] * self.plan.n_regions
        done = []
        for receipt in in_order(self.journal.receipt, self.plan.regions()):
            done.append(receipt is not None)
            if receipt is not None:
                self.ledger.add_found(receipt.n_objects, receipt.n_bytes)
        check_there(self.target, self.journal, self.ledger.objects_resumed, self.ledger.regions_resumed)
        return done

    def _meter(self, progress: Progress, stage: str, total: int, done: int = 0) -> Meter:
        return Meter(progress, stage, total, done=done, dashboard=self.workers.dashboard)

    def _select(self, clock: Clock, progress: Progress) -> tuple[Encoding, Selection | None]:
        """The encoding: as it was named, as an earlier run has chosen, or by measuring (4.3)."""
        if self.choice != "auto":
            return self.choice, None  # type: ignore[return-value]
        with clock.stage("select"):
            if not isinstance(self.source, StagedFrames):
                self.source = staged_sample(self.source, self.plan, self.journal.objects, self.spec)
            doc = self.journal.read(SELECTION)
            if doc is not None:
                self.source = self._stager.still_staged(self.source)
                selection = Selection(doc["sampled_cells"], doc["star_delta_bytes"], doc["plain_bytes"])
                return selection.encoding, selection
            assert isinstance(self.source, StagedFrames)
            if not self.plan.staged:
                self._stager.sample(self.source, progress)
            selection = self._measure(self.source, progress)
            self.journal.write(SELECTION, {name: getattr(selection, name) for name in Selection.__dataclass_fields__})
            return selection.encoding, selection

    def _measure(self, staged: StagedFrames, progress: Progress) -> Selection:
        cells = sampled_cells(*self.spec.layout.grid(0))
        parts = sample_parts(self.plan, cells)

        def build(part: SamplePart) -> Build:
            how: Any = {"fill_masked": self.options.fill_masked, "gap_fill": self.gap_fill}
            return lambda unit: measure_part(staged, self.spec, self.plan, part, unit=unit, **how)

        star_delta, plain = 0, 0
        meter = self._meter(progress, "select", len(parts))
        for _, sizes in run_all(self.workers, parts, build, meter):
            star_delta, plain = star_delta + sizes[0], plain + sizes[1]
            meter.done()
        return Selection(len(cells), star_delta, plain)

    def _run(self, encoding: Encoding, done: list[bool], progress: Progress) -> None:
        job = Job(
            target=self.target,
            journal=self.journal,
            spec=self.spec,
            plan=self.plan,
            encoding=encoding,
            source=self.source,
            nan_to_mask=self.options.nan_to_mask,
            fill_masked=self.options.fill_masked,
            gap_fill=self.gap_fill,
        )
        everything = self.plan, encoding, iter(done)
        order = Order(*everything) if self.only is None else Chosen(*everything, self.only)
        total = self.plan.n_regions
        meter = self._meter(progress, "run", total, done=total - order.n_left)

        def on_stored(region: Region, result: RegionDone) -> None:
            with suppress(TargetError):  # it goes with all the rest at the end
                remove_temporary(self.journal, self.plan, self.source, region)
            self.ledger.add(region, result.n_objects, result.n_bytes, result.taken.nbytes)
            meter.done(bytes_in=result.taken.nbytes, bytes_out=result.n_bytes, lost=result.taken.lost)

        def build(region: Region) -> Build:
            self.ledger.in_flight.add(region)
            return partial(region_receipt, job, region)

        self._set_aside = outcome = Outcome(self.ledger.failures, self._keep_failures)
        run_regions(self.workers, order, build, on_stored, meter, outcome, fail_fast=self.fail_fast)
        if outcome.failures:
            outcome.keep_all()
            first = outcome.failures[0]
            raise RunError(
                f"{len(outcome.failures)} of {total} regions failed {first.tries} times and there is no root document; "
                f"the first is {first.region}: {first.error}. What is finished is kept in {self.journal.url}: mend the "
                f"cause and go on with {self.way_on}"
            )
        if order.n_left:
            raise RunError(
                f"what had failed is stored, and {order.n_left} of {total} regions are left, so there is no root "
                f"document: go on with {self.way_on}"
            )

    def _keep_failures(self, failures: Sequence[Failure]) -> None:
        """Write them, with those of earlier attempts that are not among them; only while the run is this process's."""
        self._confirm()
        if self._failed_before is None:
            self._failed_before = read_failures(self.journal) if self.resumed else []
        now_failed = {f.region for f in failures}
        before = [f for f in self._failed_before if f.region not in now_failed]
        self.journal.write_failures([f.to_json() for f in (*before, *failures)])

    def _scenes(self) -> Scenes | None:
        """What became of the scenes; RunError where none of them could be read."""
        scenes = None if self.book is None else self.book.read(self.journal, self.plan)
        if scenes is not None and scenes.lost and not any(scenes.covered_pixels.values()):
            raise RunError(
                f"{len(scenes.lost)} scenes could not be read and the others have no valid pixel: nothing would be in "
                f"the store, and there is no root document; the first is {scenes.lost[0]['error']}. Mend the cause and "
                f"begin again with another target"
            )
        return scenes

    def _report(self, clock: Clock, total: Tally, scenes: Scenes | None) -> RunReport:
        return replace(
            self._so_far(clock, scenes, self._flags(total)),
            objects=sum(total.objects.values()),
            objects_by_level=dict(total.objects),
            stored_bytes=sum(total.nbytes.values()),
            bytes_by_level=dict(total.nbytes),
            regions_done=self.plan.n_regions,
        )

    def broken(self, clock: Clock, error: BaseException) -> RunReport:
        """The report of a run that `error` ended. The scenes are told of where the target still answers."""
        with suppress(TargetError):  # the error that ended the run is told
            self._set_aside.keep_all()
        for region in sorted(self.ledger.in_flight):
            if (receipt := self.journal.receipt(region)) is not None:
                self.ledger.add(region, receipt.n_objects, receipt.n_bytes)
        is_failure = isinstance(error, Exception)
        tells = is_failure and self.book is not None and not isinstance(error, TargetError)
        scenes = self.book.read(self.journal, self.plan) if tells and self.book is not None else None
        report = self._so_far(clock, scenes, ())
        text = str(error) if isinstance(error, ChronozarrError) else f"{type(error).__name__}: {error}".rstrip(": ")
        return replace(report, status="failed" if is_failure else "interrupted", error=text)

    def _so_far(self, clock: Clock, scenes: Scenes | None, flags: tuple[str, ...]) -> RunReport:
        ledger, told = self.ledger, () if scenes is None else scenes.warnings
        return RunReport(
            target=self.target.url,
            journal=self.journal.url,
            encoding=ledger.encoding,
            selection=None if ledger.selection is None else ledger.selection.to_json(),
            objects=ledger.objects_resumed + ledger.objects,
            stored_bytes=ledger.bytes_resumed + ledger.nbytes,
            bytes_by_level={},
            seconds_by_stage=dict(clock.seconds),
            failures=tuple(ledger.failures),
            regions=self.plan.n_regions,
            regions_done=ledger.regions_resumed + ledger.regions,
            regions_resumed=ledger.regions_resumed,
            attempt=ledger.attempt(),
            staged_bytes=self._stager.nbytes,
            warnings=(*self.warnings, *flags, *told, *ledger.left),
            scenes=None if scenes is None else scenes.to_json(),
            began=clock.began,
            ended=now(),
        )

    def _flags(self, total: Tally) -> tuple[str, ...]:
        layout = self.spec.layout
        n_pixels = layout.n_time * layout.height * layout.width
        return flag_warnings(self.spec.bands, total.values, self.spec.no_value, n_pixels)

"""``--verify``: what is stored against the receipts, before a run goes on; what does not agree is done again.

A receipt is trusted without a request otherwise. A region that does not agree loses its receipt, and with it go those
of

- the slabs before it in its place that hand something to it: what they handed over is gone since it was stored,
- the regions of later passes that were made from what it stored, which may have been wrong then.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from chronozarr_dask.errors import ResumeError
from chronozarr_dask.graph.deep import receipt_task
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.run.claims import Tell, take_over
from chronozarr_dask.run.engine import run_all
from chronozarr_dask.run.heartbeat import Heartbeat
from chronozarr_dask.run.journals import Run, stored_regions
from chronozarr_dask.run.order import Order
from chronozarr_dask.run.progress import Meter, NoProgress, Progress
from chronozarr_dask.run.workers import Build, Workers, make_workers
from chronozarr_dask.store.deep.receipts import Ledger
from chronozarr_dask.store.journal import STAGED, Journal, receipt_key, staged_key
from chronozarr_dask.store.listing import delete_all, names
from chronozarr_dask.store.target import Objects

Depth = Literal["full", "head"]
"""Whether objects are read and their checksums compared, or their lengths alone."""

TOLD = 3
"""Faults that are told one by one."""


@dataclass(frozen=True)
class Verified:
    """What a verification found.

    Attributes
    ----------
    regions : int
        Regions that had a receipt.
    nbytes : int
        Bytes that were read.
    wrong : tuple of str
        Regions that do not agree with their receipts.
    again : tuple of str
        Regions that are done again: these, and those that go with them.
    faults : tuple of str
        The first faults.
    """

    regions: int = 0
    nbytes: int = 0
    wrong: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """In a sentence."""
        if not self.wrong:
            return f"{self.regions:,} regions agree with their receipts"
        return (
            f"{len(self.wrong):,} of {self.regions:,} regions do not agree with their receipts, and with what goes "
            f"along {len(self.again):,} are done again. {'; '.join(self.faults)}"
        )


def verify_run(
    run: Run, depth: Depth, *, client: Any, tell: Tell, progress: Progress | None = None, claim: bool = True
) -> Verified:
    """Compare what is stored with the receipts, and take away the receipts of what is to be done again.

    Raises
    ------
    ResumeError
        If the store is complete, or its run is alive.
    TargetError
        If store or journal do not answer.
    """
    plan = run.plan
    if run.is_committed:
        raise ResumeError(
            f"{run.target.url} is complete: check it with `chronozarr-dask validate --deep {run.target.url}`"
        )
    if plan is None:
        return Verified()
    workers = make_workers(client, None)
    owned = take_over(run.target, run.journal, tell, beside=run.beside, conditional=claim)
    with Heartbeat(run.journal, owned) as heartbeat:
        workers.check = heartbeat.check
        try:
            done = {region for region, _ in stored_regions(run.journal, plan)}
            wrong, verified = _compare(run, plan, done, depth, workers, progress or NoProgress())
        except BaseException:
            workers.close(cancel=True)
            raise
        workers.close(cancel=False)
        again = _with_what_goes_along(plan, wrong) & done
        heartbeat.confirm()
        _forget(run.target, run.journal, plan, wrong, again)
    return replace(verified, again=tuple(r.name for r in sorted(again)))


def _compare(
    run: Run, plan: Plan, done: Collection[Region], depth: Depth, workers: Workers, progress: Progress
) -> tuple[set[Region], Verified]:
    ledger = Ledger(run.target, run.journal, plan, plan.layout, None, heads=depth == "head")

    def build(region: Region) -> Build:
        return lambda unit: receipt_task(ledger, region, 0, unit)

    wrong, faults, nbytes = set[Region](), list[str](), 0
    meter = Meter(progress, "audit", len(done), dashboard=workers.dashboard)
    for region, audited in run_all(workers, sorted(done), build, meter):
        problems = list(audited.found.problems())
        nbytes += audited.nbytes
        if problems:
            wrong.add(region)
            faults += [f"{problems[0].path}: {problems[0].message}"][: TOLD - len(faults)]
        meter.done(bytes_in=audited.nbytes)
    return wrong, Verified(len(done), nbytes, tuple(r.name for r in sorted(wrong)), (), tuple(faults))


def _with_what_goes_along(plan: Plan, wrong: Collection[Region]) -> set[Region]:
    """The regions with the slabs that hand something to them, and with what was made from them."""
    out = set(wrong)
    order = Order(plan, "star-delta", iter([True] * plan.n_regions))  # its regions read the most
    waiting = list(wrong)
    while waiting:
        region = waiting.pop()
        above = list(order.above(region)) if region.pass_index + 1 < len(plan.passes) else []
        waiting += set(above) - out
        out.update(above)
    for region in [r for r in out if r.pass_index == 0]:
        slab = region.slab
        while plan.slabs.handed(slab):
            slab -= 1
            out.add(replace(region, slab=slab))
    return out


def _forget(
    target: Objects, journal: Journal, plan: Plan, wrong: Collection[Region], again: Collection[Region]
) -> None:
    """Take away the receipts, the marks of what was staged for them, and objects that should not be there.

    The receipts last: until then the same command finds the same again.
    """
    extra = [key for region in wrong for key in _left_out(journal, plan, region)]
    marks = {staged_key(region.name) for region in again}
    if plan.staged and again:  # by blocks, each of which may serve many regions
        marks = set(names(journal.objects, STAGED))
    delete_all(target, extra)
    delete_all(journal.objects, sorted(marks))
    delete_all(journal.objects, [receipt_key(region) for region in sorted(again, reverse=True)])


def _left_out(journal: Journal, plan: Plan, region: Region) -> Sequence[str]:
    """Keys of the objects that a region has not stored, as all fill."""
    receipt = journal.receipt(region)
    if receipt is None:
        return []
    keys = [key for array in plan.arrays(region) for key in array.keys()]  # noqa: SIM118
    lengths = [n for stored in receipt.arrays for n in stored.lengths]
    return [key for key, n in zip(keys, lengths, strict=False) if not n] if len(keys) == len(lengths) else []

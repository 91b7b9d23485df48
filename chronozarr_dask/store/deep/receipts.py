"""Every object against the receipt of the region that stored it: length and crc32c.

This alone finds a chunk of a store of one level that was lost, and one that was replaced by another that decodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from chronozarr_dask.format.layout import Layout
from chronozarr_dask.plan.objects import ArrayObjects
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.store.compress import crc32c
from chronozarr_dask.store.deep.found import Found
from chronozarr_dask.store.deep.places import is_looked_at
from chronozarr_dask.store.journal import Journal, receipt_key
from chronozarr_dask.store.receipts import Receipt, Stored
from chronozarr_dask.store.target import Objects
from chronozarr_dask.store.validate.problem import Problem

SECTION = "journal"


@dataclass(frozen=True)
class Ledger:
    """A store and the journal of the run that made it.

    Attributes
    ----------
    objects : Objects
        The store's.
    journal : Journal
    plan : Plan
    layout : Layout
        The store's, which may have grown since.
    sample : float or None
    heads : bool
        Whether only lengths are compared, without reading an object.
    """

    objects: Objects
    journal: Journal
    plan: Plan
    layout: Layout
    sample: float | None
    heads: bool = False

    @property
    def is_same_store(self) -> bool:
        """Whether the plan made this store: all but an append is as it was."""
        made = self.plan.layout
        return replace(made, n_time=self.layout.n_time) == self.layout and made.n_time <= self.layout.n_time

    def positions(self, array: ArrayObjects) -> Iterator[tuple[int, str] | None]:
        """(time index, key) of each object in the plan's order; None for one that is not looked at.

        Outside of the sample, or a shard that an append has replaced since (14).
        """
        made = self.plan.layout
        grown = made.n_time < self.layout.n_time
        for (t, row, col), key in zip(array.positions(), array.keys(), strict=True):
            replaced = grown and (t + 1) * made.object_times > made.n_time
            wanted = is_looked_at(self.layout, self.sample, array.level, row, col)
            yield (t, key) if wanted and not replaced else None


@dataclass
class Audited:
    """What the check of a region's receipt gives: problems, and bytes read."""

    found: Found
    nbytes: int = 0


def audit(ledger: Ledger, region: Region, number: int) -> Audited:
    """Read the objects of a region and compare each with the region's receipt.

    Raises
    ------
    TargetError
        If the target or the journal does not answer.
    """
    out = Audited(Found(number))
    arrays = ledger.plan.arrays(region)
    receipt = ledger.journal.receipt(region)
    if receipt is None or not _matches(receipt, region, arrays):
        key = f"{ledger.journal.url}/{receipt_key(region)}"
        what = "there is no receipt, or it is torn" if receipt is None else "the receipt is not of this plan"
        there = sum(_is_there(ledger, a) for a in arrays)
        message = f"{what}: nothing tells what region {region.name} stored; {there} of its objects are there"
        out.found.add("receipt", Problem("error", SECTION, key, message))
        return out
    for array, stored in zip(arrays, receipt.arrays, strict=True):
        _check_array(ledger, region, array, stored, out)
    return out


def _matches(receipt: Receipt, region: Region, arrays: list[ArrayObjects]) -> bool:
    return receipt.region == region.name and [len(a.lengths) for a in receipt.arrays] == [len(a) for a in arrays]


def _is_there(ledger: Ledger, array: ArrayObjects) -> int:
    """Objects of an array that are there without a receipt."""
    return sum(1 for p in ledger.positions(array) if p is not None and ledger.objects.size(p[1]) is not None)


def _check_array(ledger: Ledger, region: Region, array: ArrayObjects, stored: Stored, out: Audited) -> None:
    for position, length, checksum in zip(ledger.positions(array), stored.lengths, stored.checksums, strict=True):
        if position is None:
            continue
        key = position[1]
        expected = (length, None if ledger.heads else checksum)
        problem = _check_object(ledger.objects, key, *expected, region.name, out)
        if problem is not None:
            kind, message, wanted, found = problem
            out.found.add(kind, Problem("error", SECTION, key, message, wanted, found))


def _check_object(
    objects: Objects, key: str, length: int, checksum: int | None, region: str, out: Audited
) -> tuple[str, str, str | None, str | None] | None:
    """(kind, message, expected, found) of what is wrong with one object; without a checksum it is not read."""
    if not length:
        size = objects.size(key)
        if size is None:
            return None
        message = f"region {region} left it out, as all fill: its receipt does not have this object"
        return "extra", message, "no object", f"{size} bytes"
    blob = None if checksum is None else objects.get(key)
    size = objects.size(key) if checksum is None else None if blob is None else len(blob)
    if size is None:
        message = f"the receipt of region {region} has this object, and it is not there: it was deleted"
        return "lost", message, f"{length} bytes", "no object"
    out.nbytes += 0 if blob is None else size
    if size != length:
        message = f"its length is not that of the receipt of region {region}: it is torn, or was replaced"
        return "length", message, f"{length} bytes", f"{size} bytes"
    if blob is not None and (actual := crc32c(blob)) != checksum:
        message = f"its crc32c is not that of the receipt of region {region}: it was changed, or replaced by another"
        return "checksum", message, f"{checksum:08x}", f"{actual:08x}"
    return None

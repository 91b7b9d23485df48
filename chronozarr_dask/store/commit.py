"""The serial end of a run: receipts against the plan, then coordinates, volatility, lower documents, the root last."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numcodecs
import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import RunError, TargetError
from chronozarr_dask.format.attributes import ShardBytes
from chronozarr_dask.format.codecs import Codec
from chronozarr_dask.format.hosting import upload_order
from chronozarr_dask.format.layout import ROOT_DOCUMENT, VOLATILITY, array_path
from chronozarr_dask.format.temporal import Encoding, Temporal
from chronozarr_dask.format.volatility import volatility
from chronozarr_dask.kernels.distinct import MOST
from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.plan.spec import StoreSpec
from chronozarr_dask.store.compress import compress
from chronozarr_dask.store.inorder import in_order
from chronozarr_dask.store.journal import Journal
from chronozarr_dask.store.receipts import Receipt
from chronozarr_dask.store.target import Objects


@dataclass
class Tally:
    """What the receipts of a run add up to.

    Attributes
    ----------
    objects : Counter
        Stored chunk and shard objects by level path.
    nbytes : Counter
        Their bytes by level path.
    volatility : ndarray (rows, cols), float32
    shard_bytes : dict or None
        Lengths of the data shards (7.3); None when unsharded, or more than the limit.
    values : list
        For each band its values at level 0, sorted; None where they are many.
    """

    objects: Counter[str] = field(default_factory=Counter)
    nbytes: Counter[str] = field(default_factory=Counter)
    volatility: npt.NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    shard_bytes: dict[str, dict[str, int]] | None = None
    values: list[list[int] | None] = field(default_factory=list)

    def unite(self, values: Sequence[Sequence[int] | None]) -> None:
        """Add the values that the bands take in one region."""
        both = zip(self.values or [[] for _ in values], values, strict=True)
        united = [None if a is None or b is None else sorted({*a, *b}) for a, b in both]
        self.values = [None if found is None or len(found) > MOST else found for found in united]


def tally(journal: Journal, plan: Plan, encoding: Encoding, limit: int) -> Tally:
    """Add up the receipts, one place of regions at a time; several are read at once, few are in hand.

    Raises
    ------
    RunError
        If a region has no receipt, or one that does not match the plan.
    """
    out = Tally(volatility=np.zeros(plan.layout.grid(0), np.float32))
    shards: dict[str, dict[str, int]] | None = None
    if plan.layout.shard_time is not None:
        shards = {str(k): {} for k in range(plan.layout.n_levels)}
    n_shards = 0
    changes: list[list[list[int | float]]] = []
    for region, receipt in _receipts(journal, plan):
        for array, stored in zip(plan.arrays(region), receipt.arrays, strict=True):
            level = str(array.level)
            out.objects[level] += sum(1 for n in stored.lengths if n)
            out.nbytes[level] += sum(stored.lengths)
            if shards is not None and array.name == plan.layout.variable:
                found = {f"{t}/{r}/{c}": n for (t, r, c), n in zip(array.positions(), stored.lengths, strict=True) if n}
                n_shards += len(found)
                shards[level] |= found
                shards = shards if n_shards <= limit else None
        if region.pass_index == 0:
            out.unite(receipt.values)
            changes.append([list(c) for c in receipt.changes])
            if region.slab == plan.slabs.n - 1:
                _place_volatility(out.volatility, plan, encoding, region, changes)
                changes = []
    out.shard_bytes = shards
    return out


def _receipts(journal: Journal, plan: Plan) -> Iterator[tuple[Region, Receipt]]:
    for region, receipt in zip(plan.regions(), in_order(journal.receipt, plan.regions()), strict=True):
        if receipt is None:
            raise RunError(f"region {region.name} has no receipt in {journal.url}: the run is not finished; resume it")
        expected = [len(a) for a in plan.arrays(region)]
        found = [len(a.lengths) for a in receipt.arrays]
        if found != expected or receipt.region != region.name:
            raise RunError(
                f"the receipt of region {region.name} in {journal.url} does not match the plan: {found}, {expected}"
            )
        yield region, receipt


def _place_volatility(
    grid: npt.NDArray[np.float32],
    plan: Plan,
    encoding: Encoding,
    region: Region,
    changes: list[list[list[int | float]]],
) -> None:
    """Volatility of the cells of one place out of the sums of all its slabs (5)."""
    layout = plan.layout
    cells = plan.passes[0].cells(region, 0)
    n_deltas = sum(1 for t, a in enumerate(plan.references(encoding)) if t != a)
    i = 0
    for row in range(cells.y0, cells.y1):
        for col in range(cells.x0, cells.x1):
            h, w = layout.cell_window(0, row, col).shape
            sums = [s for slab in changes for s in slab[i]]
            grid[row, col] = volatility(sums, n_deltas * layout.n_band * h * w)
            i += 1


def shard_bytes_in_order(found: Mapping[str, Mapping[str, int]] | None) -> ShardBytes | None:
    """`shard_bytes` with its entries sorted by time shard, row and column, whatever order the regions came in."""
    if found is None:
        return None
    return {
        level: dict(sorted(entries.items(), key=lambda e: tuple(map(int, e[0].split("/")))))
        for level, entries in found.items()
    }


def _nothing() -> None:
    """Nothing is confirmed."""


def commit(
    target: Objects,
    spec: StoreSpec,
    temporal: Temporal,
    total: Tally,
    *,
    confirm: Callable[[], None] = _nothing,
    conditional: bool = True,
) -> dict[str, int]:
    """Write coordinates, volatility and documents in upload order, the root last (9).

    Where the root document is there already, nothing is written: one with the same bytes is a success, since the
    commit was interrupted after it.

    Parameters
    ----------
    confirm : callable
        Called right before the root document is created: an error that it raises leaves the store without one.
    conditional : bool
        Whether the root is created on condition that there is none, beside the look before.

    Returns
    -------
    Bytes by level path; documents and volatility of no level under ""

    Raises
    ------
    TargetError
        If another root document is there.
    """
    objects = dict(_coordinates(spec))
    objects[f"{VOLATILITY}/c/0/0"] = compress(np.ascontiguousarray(total.volatility, "<f4"), Codec())
    documents = spec.documents()
    objects |= {f"{path}/{ROOT_DOCUMENT}": _dump(doc) for path, doc in documents.items()}
    root = _dump(spec.root(temporal, shard_bytes_in_order(total.shard_bytes)).document(documents))
    written: Counter[str] = Counter()
    if (there := target.get(ROOT_DOCUMENT)) is not None:
        _check_root(target, there, root)
        return {}
    for key in upload_order(objects):
        target.put(key, objects[key])
        head = key.split("/", 1)[0]
        written[head if head.isdecimal() else ""] += len(objects[key])
    confirm()
    if not conditional:
        target.put(ROOT_DOCUMENT, root)
    elif not target.create(ROOT_DOCUMENT, root):
        _check_root(target, target.get(ROOT_DOCUMENT), root)
    written[""] += len(root)
    return dict(written)


def _check_root(target: Objects, there: bytes | None, root: bytes) -> None:
    if there != root:
        raise TargetError(
            f"{target.url}/{ROOT_DOCUMENT} exists already and is another: something else wrote there during this run"
        )


def _coordinates(spec: StoreSpec) -> Iterator[tuple[str, bytes]]:
    """Key and bytes of every coordinate chunk (2.2)."""
    layout, codec = spec.layout, Codec()
    names = np.array([b.name for b in spec.bands], dtype=object)
    shared = {
        "time": compress(np.array(spec.times, "<i8"), codec),
        "band": compress(np.frombuffer(bytes(numcodecs.VLenUTF8().encode(names)), np.uint8), codec),
    }
    for level in range(layout.n_levels):
        height, width = layout.level_size(level)
        yield f"{array_path(level, 'time')}/c/0", shared["time"]
        yield f"{array_path(level, 'band')}/c/0", shared["band"]
        yield f"{array_path(level, 'y')}/c/0", compress(np.array(spec.georef.y(level, height), "<f8"), codec)
        yield f"{array_path(level, 'x')}/c/0", compress(np.array(spec.georef.x(level, width), "<f8"), codec)


def _dump(doc: Mapping[str, Any]) -> bytes:
    return json.dumps(doc, indent=2, allow_nan=False).encode()

"""The end of a run: receipts added up and held to the plan, then documents in their order, the root last and once."""

from __future__ import annotations

import json
import threading
from typing import Any

import numpy as np
import pytest

from chronozarr_dask.errors import RunError, TargetError
from chronozarr_dask.format.bands import Band
from chronozarr_dask.format.codecs import Codec
from chronozarr_dask.format.georef import Georeference
from chronozarr_dask.format.layout import Layout
from chronozarr_dask.plan.memory import PixelBytes
from chronozarr_dask.plan.plan import Plan, make_plan, schedule
from chronozarr_dask.plan.shape import Blocks, Budget, Problem, Wish
from chronozarr_dask.plan.spec import StoreSpec
from chronozarr_dask.store.commit import Tally, commit, shard_bytes_in_order, tally
from chronozarr_dask.store.compress import decompress
from chronozarr_dask.store.journal import Journal
from chronozarr_dask.store.receipts import Receipt, Stored
from tests.store.stores import Memory, opened

N = 8


def spec_of(shard: int | None = None) -> StoreSpec:
    """3 x 2 cells of 4 pixels, 3 levels, a mask."""
    layout = Layout(N, 1, 10, 7, 4, 3, shard)
    georef = Georeference("EPSG:32631", (10.0, 0.0, 500000.0, 0.0, -10.0, 5000000.0))
    return StoreSpec(layout, "uint16", Codec(), 0, georef, tuple(range(N)), (Band("red"),), ("mask",), 6)


def plan_of(spec: StoreSpec, **wish: Any) -> Plan:
    problem = Problem(
        spec.layout, (schedule(N, 6),), PixelBytes(2, 1), Blocks(), Budget(2**40, 2, 2), Wish((2, 2), **wish)
    )
    return make_plan(problem, spec.planes, (6,))


def receipts(plan: Plan, journal: Journal, skip: str | None = None) -> None:
    """Every region done: each object 10 bytes, those of timestep 0 left out; each cell has changed by 24000 a slab."""
    for region in plan.regions():
        arrays = []
        for a in plan.arrays(region):
            lengths = tuple(0 if t == 0 else 10 for t, _, _ in a.positions())
            arrays.append(Stored(lengths, tuple(int(n > 0) for n in lengths)))
        rows, cols = plan.passes[0].cells(region, 0).shape if region.pass_index == 0 else (0, 0)
        if region.name != skip:
            journal.put_receipt(region, Receipt(region.name, tuple(arrays), [[24000]] * (rows * cols), [[1, 2]]))


@pytest.mark.parametrize("wish", [{}, {"time_slab": 4}])
def test_receipts_add_up_to_objects_bytes_and_volatility(wish: dict[str, Any]):
    spec = spec_of()
    plan, journal = plan_of(spec, **wish), Journal(Memory())
    receipts(plan, journal)
    total = tally(journal, plan, "none", 100)
    assert dict(total.objects) == {"0": 2 * 7 * 6, "1": 2 * 7 * 2, "2": 2 * 7}
    assert dict(total.nbytes) == {"0": 840, "1": 280, "2": 140}
    assert total.shard_bytes is None
    assert total.values == [[1, 2]]
    # 0 and 6 are anchors: 6 timesteps of 16 pixels, or fewer in the last row and column of cells
    n_slabs = plan.slabs.n
    pixels = np.outer([4, 4, 2], [4, 3])
    expected = np.minimum(n_slabs * 24000 / (6 * pixels) / 10000, 1).astype(np.float32)
    assert np.array_equal(total.volatility, expected)


def test_a_region_without_a_receipt_is_named():
    spec = spec_of()
    plan, journal = plan_of(spec), Journal(Memory())
    receipts(plan, journal, skip="0/1-0-0")
    with pytest.raises(RunError, match=r"0/1-0-0 has no receipt in memory.*resume"):
        tally(journal, plan, "none", 100)


def test_a_receipt_of_another_plan_is_named():
    spec = spec_of()
    plan, journal = plan_of(spec), Journal(Memory())
    receipts(plan, journal)
    region = next(plan.regions())
    journal.put_receipt(region, Receipt(region.name, (Stored((1,), (1,)),), [], []))
    with pytest.raises(RunError, match=r"0/0-0-0 .* does not match the plan"):
        tally(journal, plan, "none", 100)


def test_shard_bytes_are_those_of_the_data_in_order():
    spec = spec_of(shard=4)
    plan, journal = plan_of(spec), Journal(Memory())
    receipts(plan, journal)
    total = tally(journal, plan, "none", 100)
    found = shard_bytes_in_order(total.shard_bytes)
    assert found == {
        "0": {f"1/{r}/{c}": 10 for r in range(3) for c in range(2)},
        "1": {f"1/{r}/0": 10 for r in range(2)},
        "2": {"1/0/0": 10},
    }
    assert list(found["0"]) == ["1/0/0", "1/0/1", "1/1/0", "1/1/1", "1/2/0", "1/2/1"]
    assert tally(journal, plan, "none", 9).shard_bytes == total.shard_bytes
    assert tally(journal, plan, "none", 8).shard_bytes is None


def test_numbers_are_sorted_as_numbers():
    assert shard_bytes_in_order({"0": {"10/0/0": 1, "9/0/0": 2, "9/0/10": 3, "9/0/9": 4}}) == {
        "0": {"9/0/0": 2, "9/0/9": 4, "9/0/10": 3, "10/0/0": 1}
    }
    assert list(shard_bytes_in_order({"0": {"10/0/0": 1, "9/0/10": 3, "9/0/9": 4}}) or {}) == ["0"]
    assert list((shard_bytes_in_order({"0": {"10/0/0": 1, "9/0/10": 3, "9/0/9": 4}}) or {})["0"]) == [
        "9/0/9",
        "9/0/10",
        "10/0/0",
    ]


# ---- the values of the bands -----------------------------------------------------------------------------------------


def test_values_are_united_and_given_up_beyond_16():
    total = Tally()
    total.unite([[1, 3], [5], None])
    total.unite([[2, 3], list(range(6, 22)), [1]])
    assert total.values == [[1, 2, 3], None, None]
    total.unite([[0], [5], []])
    assert total.values == [[0, 1, 2, 3], None, None]


# ---- documents -------------------------------------------------------------------------------------------------------


def committed(target: Memory, spec: StoreSpec) -> dict[str, int]:
    total = Tally(volatility=np.full((3, 2), 0.5, np.float32))
    return commit(target, spec, spec.temporal("none"), total)


def test_coordinates_come_first_and_the_root_last():
    target = Memory()
    written = committed(target, spec_of())
    keys = list(target.objects)
    chunks = [k for k in keys if "/c/" in k]
    documents = [k for k in keys if k.endswith("zarr.json")]
    assert keys == [*chunks, *documents]
    assert keys[-1] == "zarr.json"
    assert len(chunks) == 3 * 4 + 1
    assert sum(written.values()) == sum(map(len, target.objects.values()))
    assert target.requests() == [("get", "zarr.json")]  # whether an earlier try came that far
    found = decompress(target.objects["volatility/c/0/0"], Codec(), np.dtype("<f4"), (3, 2), "here")
    assert (found == 0.5).all()


def test_what_was_committed_opens():
    target = Memory()
    committed(target, spec_of())
    store = opened(target)
    assert [level.shape for level in store.levels] == [(8, 1, 10, 7), (8, 1, 5, 4), (8, 1, 3, 2)]
    assert store.times.astype("int64").tolist() == list(range(N))
    assert not store.read(3).any()


def test_a_commit_that_was_interrupted_after_the_root_is_done_again():
    target = Memory()
    committed(target, spec_of())
    before = dict(target.objects)
    assert committed(target, spec_of()) == {}
    assert target.objects == before


def test_another_root_is_never_replaced():
    target = Memory({"zarr.json": b"{}"})
    with pytest.raises(TargetError, match=r"memory/zarr.json exists already and is another"):
        committed(target, spec_of())
    assert target.objects == {"zarr.json": b"{}"}


class Late(Memory):
    """Another root appears between the look and the create."""

    def create(self, key: str, data: bytes) -> bool:
        self.objects[key] = b"{}"
        return False


def test_a_root_that_appears_meanwhile_is_not_replaced_either():
    target = Late()
    with pytest.raises(TargetError, match="another"):
        committed(target, spec_of())
    assert target.objects["zarr.json"] == b"{}"


def test_documents_have_no_nan_and_nothing_of_the_run():
    target = Memory()
    committed(target, spec_of())
    texts = "".join(v.decode() for k, v in target.objects.items() if k.endswith("zarr.json"))
    assert "NaN" not in texts
    root = json.loads(target.objects["zarr.json"])["attributes"]["chronozarr"]
    assert set(root) <= {
        "spec_version", "variable", "times", "bands", "band_names", "nodata", "crs", "temporal", "volatility_path",
        "mask_variable", "levels",
    }  # fmt: skip


def test_receipts_are_read_several_at_once_and_few_in_hand():
    """Twelve places by fours: a read waits until four are under way, so that one at a time would never end."""
    spec = spec_of()
    plan, memory = plan_of(spec, time_slab=4), Memory()
    receipts(plan, Journal(memory))
    together, n = threading.Barrier(4, timeout=10), plan.n_regions // 4 * 4
    places = iter(range(plan.n_regions))

    class Slow(Memory):
        def get(self, key: str) -> bytes | None:
            if next(places) < n:
                together.wait()
            return memory.get(key)

    total = tally(Journal(Slow()), plan, "none", 100)
    assert dict(total.nbytes) == dict(tally(Journal(memory), plan, "none", 100).nbytes)

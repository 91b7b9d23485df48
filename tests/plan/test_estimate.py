"""What a plan will take, by hand for small plans; and how it grows."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from chronozarr_dask.format.bands import Band
from chronozarr_dask.format.codecs import Codec
from chronozarr_dask.format.georef import Georeference
from chronozarr_dask.format.layout import Layout
from chronozarr_dask.options.prices import Prices, Speeds
from chronozarr_dask.plan.estimate import Estimate, Reading, estimate
from chronozarr_dask.plan.limits import count_tasks
from chronozarr_dask.plan.memory import PixelBytes
from chronozarr_dask.plan.plan import Plan, make_plan, schedule
from chronozarr_dask.plan.shape import Blocks, Budget, Problem, Wish
from chronozarr_dask.plan.spec import StoreSpec

# 4 x 4, 2 x 2 and 1 x 1 cells of 16 x 16 pixels of one uint16 band
LAYOUT = Layout(8, 1, 64, 64, 16, 3)
LEVELS = 64 * 64 + 32 * 32 + 16 * 16
UNIT = Speeds(
    codec_mb_s=1000, kept={"none": 0.5, "star-delta": 0.25}, encode_ns=2, read_ns=4, reduce_ns=1, staged_ns=3,
    task_ms=0, scheduler_ms=0, request_ms=0, source_ms=0, file_ms=0,
)  # fmt: skip
"""One nanosecond a byte of the codec, and nothing for tasks and requests."""


def case(layout: Layout = LAYOUT, planes: Any = (), **wish: Any) -> tuple[Plan, StoreSpec]:
    georef = Georeference("EPSG:32631", (10.0, 0.0, 500000.0, 0.0, -10.0, 5000000.0))
    bands = tuple(Band(f"b{i}") for i in range(layout.n_band))
    spec = StoreSpec(layout, "uint16", Codec(), 0, georef, tuple(range(layout.n_time)), bands, planes, 6)
    given = Problem(
        layout, (schedule(layout.n_time, 6),), PixelBytes(2 * layout.n_band, len(planes)), Blocks(),
        Budget(2**40, 2, 2), Wish(**{"edges": (4, 4), "time_slab": layout.n_time, **wish}),
    )  # fmt: skip
    return make_plan(given, planes, (6,)), spec


def of(plan: Plan, spec: StoreSpec, speeds: Speeds = UNIT, reading: Reading | None = None, **how: Any) -> Estimate:
    cube = Reading(spec.layout.n_time * spec.layout.height * spec.layout.width * 2, 2)
    return estimate(
        plan, spec, reading or cube, **{"choice": "none", "threads": 1, "remote": True, **how}, speeds=speeds
    )


def test_one_region_by_hand() -> None:
    found = of(*case())
    assert list(found.stages) == ["run", "commit"]
    run = found.stages["run"]
    assert (run.units, run.objects) == (1, 8 * (16 + 4 + 1))
    assert run.bytes_in == 8 * 64 * 64 * 2
    assert run.bytes_out == found.stored_bytes == 8 * LEVELS * 2 // 2
    assert (run.puts, run.gets) == (run.objects + 1, 0)
    assert run.core_seconds == pytest.approx(8 * LEVELS * 2 * 3e-9)
    assert run.seconds == pytest.approx(run.core_seconds)
    assert found.stages["commit"].gets == 1


def test_padding_is_compressed_and_not_stored() -> None:
    """40 x 64 pixels are 3 x 4 cells of 16."""
    run = of(*case(Layout(8, 1, 40, 64, 16, 1))).stages["run"]
    assert run.core_seconds == pytest.approx(8 * 48 * 64 * 2 * 3e-9)
    assert run.bytes_out == 8 * 40 * 64 * 2 // 2


def test_star_delta_stores_less_and_auto_is_reckoned_as_none() -> None:
    plan, spec = case()
    none, delta, auto = (of(plan, spec, choice=c) for c in ("none", "star-delta", "auto"))
    assert delta.stored_bytes * 2 == none.stored_bytes == auto.stored_bytes
    assert (delta.encoding, auto.encoding) == ("star-delta", "none")


def test_auto_measures_its_sample_both_ways() -> None:
    """Three of 16 cells; all in the one region, which is read for them."""
    plan, spec = case()
    select = of(plan, spec, choice="auto").stages["select"]
    assert (select.units, select.bytes_in) == (3, 8 * 64 * 64 * 2)
    both, kept = 2 * 3 * 8 * 16 * 16 * 2 * 1e-9, 8 * 64 * 64 * 2 * 3e-9
    assert select.core_seconds == pytest.approx(both + kept)


def test_later_passes_read_what_is_stored() -> None:
    plan, spec = case(edges=(2, 2))
    run = of(plan, spec).stages["run"]
    assert run.bytes_in == 8 * 64 * 64 * 2 + 8 * 32 * 32 * 2 // 2
    assert run.gets == 8 * 4
    sharded = of(*case(replace(LAYOUT, shard_time=8), edges=(2, 2))).stages["run"]
    assert (sharded.objects, sharded.gets) == (16 + 4 + 1, 4 * 2)


def test_scenes_are_read_and_composited() -> None:
    scenes = Reading(4_000_000, 2, is_composite=True)
    run = of(*case(), reading=scenes).stages["run"]
    assert run.core_seconds == pytest.approx(8 * LEVELS * 2 * 3e-9 + 2_000_000 * 5e-9)
    assert run.source_gets == 2
    assert run.puts == run.objects + 2


def test_slabs_of_a_place_hand_over() -> None:
    """Shards of 6: timesteps 4 and 5 refer to 6, which the first slab makes and hands to the second."""
    plan, spec = case(replace(LAYOUT, shard_time=6), time_slab=6)
    run = of(plan, spec).stages["run"]
    assert plan.slabs.handed(1)
    assert (run.puts, run.gets) == (run.objects + 2 + 1, 2)


def test_threads_wait_for_requests_and_for_the_scheduler() -> None:
    plan, spec = case()
    n = 8 * 21 + 1
    slow = replace_speeds(request_ms=10)
    assert of(plan, spec, slow).stages["run"].seconds == pytest.approx(n * 0.01, rel=0.01)
    assert of(plan, spec, slow, threads=13).stages["run"].seconds == pytest.approx(n * 0.01 / 13, rel=0.01)
    assert of(plan, spec, slow, remote=False).stages["run"].seconds < 0.001
    busy = replace_speeds(scheduler_ms=10)
    assert of(plan, spec, busy, threads=100).stages["run"].seconds == pytest.approx(count_tasks(plan) * 0.01)


def replace_speeds(**fields: Any) -> Speeds:
    return UNIT.model_copy(update=fields)


def test_a_staged_source_is_read_once_and_written_once() -> None:
    plan, spec = case()
    found = of(replace(plan, staged=True), spec)
    assert list(found.stages) == ["stage", "run", "commit"]
    assert found.stages["stage"].bytes_in == 8 * 64 * 64 * 2
    assert found.stages["run"].bytes_in == 0


def test_costs_by_hand() -> None:
    plan, spec = case()
    hour = replace_speeds(scheduler_ms=3600_000 / count_tasks(plan))  # the run takes an hour
    found = of(plan, spec, hour, threads=4)
    prices = Prices(currency="EUR", core_hour=2, gb_month=3e9, put_1000=1000, get_1000=500, egress_gb=1e9)
    cost = found.cost(prices)
    assert cost["cores"] == pytest.approx(8, rel=1e-3)
    assert cost["month"] == pytest.approx(3 * found.stored_bytes)
    assert cost["puts"] == pytest.approx(sum(s.puts for s in found.stages.values()))
    assert cost["gets"] == pytest.approx(sum(s.gets for s in found.stages.values()) / 2)
    assert cost["source"] == pytest.approx(found.source_bytes)


def test_json() -> None:
    doc = json.loads(json.dumps(of(*case(), choice="auto").to_json()))
    assert set(doc["stages"]) == {"select", "run", "commit"}
    assert {"seconds", "core_seconds", "bytes_in", "bytes_out", "objects", "requests", "units"} <= set(
        doc["stages"]["run"]
    )
    assert doc["stages"]["run"]["requests"] == doc["stages"]["run"]["puts"] + doc["stages"]["run"]["gets"]

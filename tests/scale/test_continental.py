"""`deploy/continental.md` says what the code reckons, and its figures are of the size that arithmetic by hand gives."""

from __future__ import annotations

import pytest

from chronozarr_dask.options.prices import read_prices
from tests.scale.continental import CASES, PAGE, PRICES, THREADS, continental, filled, reading, reckon


def test_the_page_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page) == page, "run python -m tests.scale.continental"


def test_objects_and_bytes_by_hand() -> None:
    """Cells of all levels x months x (data, coverage); 9 bytes a pixel, of which 0.62 are kept."""
    cells = sum(-(-375 // 2**k) * -(-400 // 2**k) for k in range(10))
    prices = read_prices(str(PRICES))
    for case, objects_t in zip(CASES[:2], (120, 10), strict=True):
        _, _, will = reckon(case, prices)
        assert will.stages["run"].objects == cells * objects_t * 2
        assert will.stored_bytes == pytest.approx(375 * 400 * 512**2 * 120 * 9 * 0.62 * 4 / 3, rel=0.001)


def test_core_hours_by_hand() -> None:
    """Every value read and composited, every padded byte compressed and made ready, every task."""
    prices = read_prices(str(PRICES))
    plan, _, will = reckon(CASES[1], prices)
    values = reading().nbytes / 2
    nbytes = sum(-(-375 // 2**k) * -(-400 // 2**k) for k in range(plan.layout.n_levels)) * 512**2 * 120 * 9
    hours = (values * 14.0e-9 + nbytes * (3.7e-9 + 1 / 107e6) + will.tasks * 2.25e-3) / 3600
    assert will.core_seconds / 3600 == pytest.approx(hours, rel=0.001)
    assert will.cost(prices)["cores"] == pytest.approx(will.seconds * THREADS / 3600 * prices.core_hour)


def test_every_thread_has_a_region_that_fits() -> None:
    for case in CASES:
        plan, _ = continental(case.shard_time, case.codec, case.region)
        assert plan.region_bytes <= 1024 * 2**20
        rows, cols, _ = plan.passes[0].counts
        assert rows * cols >= 10 * THREADS

"""The masked median and rank: literal cases, both twins, and the same in plain Python."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.kernels import median as kernel
from chronozarr_dask.kernels import observations as lying
from tests.format.strategies import dtypes
from tests.kernels import observed, views

Median = Callable[..., views.Array]
twins = pytest.mark.parametrize("median", [kernel.masked_median, kernel.masked_median_numpy])
rank_twins = pytest.mark.parametrize("rank", [kernel.masked_rank, kernel.masked_rank_numpy])


@twins
@pytest.mark.parametrize(
    ("dtype", "seen", "answer"),
    [
        ("uint16", [1500, 1503], 1501),
        ("uint16", [1500, None, 1503], 1501),
        ("uint16", [65533, 65535], 65534),
        ("uint16", [65534, 65535, None], 65534),
        ("uint16", [65535, 65535], 65535),
        ("uint16", [65535, None, 65535, None], 65535),
        ("uint16", [7], 7),
        ("uint16", [None, None, 7, None], 7),
        ("uint16", [None], 0),
        ("uint16", [1, 2, 65535], 2),
        ("uint16", [1, 65535, None, None, None, None], 32768),
        ("uint8", [254, 255], 254),
        ("uint8", [255, None, 255], 255),
        ("int16", [-1, -2], -2),
        ("int16", [-1, 0], -1),
        ("int16", [-32768, 32767], -1),
        ("int16", [-32768, -32767, None], -32768),
        ("int16", [None, 32767, 32766], 32766),
        ("float32", [0.1, 0.2], np.float32((np.float64(np.float32(0.1)) + np.float64(np.float32(0.2))) / 2)),
        ("float32", [3e38, 3.2e38], 3.1e38),
        ("float32", [16777216, 16777217.0, None, 16777218], 16777216),
        ("float32", [-1.5, None, 4, 2.5], 2.5),
    ],
)
def test_one_pixel(median: Median, dtype: str, seen: list[Any], answer: Any) -> None:
    """Case 11, and the ends of every dtype."""
    stack, valid = observed.column(dtype, seen)
    assert median(stack, valid, 0).tolist() == [[[np.array(answer, dtype).item()]]]


@twins
@pytest.mark.parametrize(("dtype", "fill"), [("uint8", 0), ("uint16", 65535), ("int16", -9999), ("float32", -0.5)])
def test_nothing_is_fill_in_every_band(median: Median, dtype: str, fill: Any) -> None:
    stack = np.full((3, 2, 4, 5), 9, dtype)
    assert (median(stack, np.zeros((3, 4, 5), np.uint8), fill) == np.array(fill, dtype)).all()
    assert (median(stack[:0], np.zeros((0, 4, 5), np.uint8), fill) == np.array(fill, dtype)).all()


@twins
def test_every_pair_of_uint8(median: Median) -> None:
    a, b = np.meshgrid(np.arange(256), np.arange(256))
    pair = np.stack([a, b]).astype(np.uint8)[:, None]
    assert np.array_equal(median(pair, np.ones((2, 256, 256), np.uint8), 0)[0], (a + b) // 2)


@twins
def test_no_sum_is_minus_zero(median: Median) -> None:
    """Which of 0.0 and -0.0 a sort puts first would decide, and differ from one sort to another."""
    stack, valid = observed.column("float32", [-0.0, 0.0], [0.0, -0.0], [-0.0], [None, -0.0, -0.0])
    assert not np.signbit(median(stack, valid, 1)).any()


@twins
@given(st.data(), dtypes, views.ways, views.ways)
def test_equals_plain_python(
    median: Median, draw: st.DataObject, dtype: str, way: views.Way, mask_way: views.Way
) -> None:
    stack, valid = draw.draw(observed.observations(dtype))
    seen = way(stack)
    out = median(seen, mask_way(valid), 3)
    assert out.dtype == seen.dtype
    assert observed.same_bits(out.astype(dtype), observed.pixel_by_pixel(stack, valid, 3, observed.median))


@pytest.mark.parametrize("dtype", observed.DTYPES)
@pytest.mark.parametrize("n", [1, 2, 3, 11, 12, 18, 70, 256, 300])
def test_twins_agree_on_many_observations(dtype: str, n: int) -> None:
    stack, valid = observed.many(dtype, n)
    assert observed.same_bits(kernel.masked_median(stack, valid, 5), kernel.masked_median_numpy(stack, valid, 5))


@pytest.mark.parametrize("width", [1, 31, 4095, 4096, 4097])
def test_rows_of_every_width(width: int) -> None:
    stack, valid = observed.many("uint16", 6, (2, width))
    assert observed.same_bits(kernel.masked_median(stack, valid, 0), kernel.masked_median_numpy(stack, valid, 0))


def test_a_bool_is_a_validity_too() -> None:
    stack, valid = observed.many("uint16", 5)
    assert observed.same_bits(kernel.masked_median(stack, valid != 0, 0), kernel.masked_median(stack, valid, 0))
    assert observed.same_bits(kernel.masked_median(stack, valid * 9, 0), kernel.masked_median(stack, valid, 0))


def test_the_order_of_observations_does_not_matter() -> None:
    stack, valid = observed.many("float32", 9)
    turned = kernel.masked_median(stack[::-1].copy(), valid[::-1].copy(), 0)
    assert observed.same_bits(turned, kernel.masked_median(stack, valid, 0))


def test_a_stack_is_read_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("copied")

    stack, valid = observed.many("uint16", 4)
    stack, valid = views.window(stack), views.window(valid)
    monkeypatch.setattr(np, "ascontiguousarray", fail)
    kernel.masked_median(stack, valid, 0)


@pytest.mark.parametrize("limit", [1, 1500, 5000])
def test_what_has_to_be_copied_is_copied_a_few_rows_at_a_time(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    stack, valid = observed.many("int16", 4, (7, 30))
    monkeypatch.setattr(lying, "COPY_BYTES", limit)
    parts = [part for part, _, _ in lying.row_parts(views.bands_last(stack), valid)]
    assert max(part.stop - part.start for part in parts) == min(7, max(1, limit * 7 // stack.nbytes))
    out = kernel.masked_median(views.bands_last(stack), valid, 0)
    assert observed.same_bits(out, kernel.masked_median(stack, valid, 0))


# ---- ranks ------------------------------------------------------------------------------------------------------


@rank_twins
def test_ranks_of_one_pixel(rank: Median) -> None:
    stack, valid = observed.column("uint16", [50, 15, 20, 40, 35], [50, None, 20, None, 35], [None] * 5, [65535, 3])
    table = [0, 0, 1, 1, 2, 3]
    assert rank(stack, valid, table, 0).tolist() == [[[40, 35, 0, 65535]]]


@rank_twins
def test_no_rank_is_minus_zero(rank: Median) -> None:
    stack, valid = observed.column("float32", [-0.0, 0.0], [0.0, -0.0], [-0.0], [None, -0.0])
    assert not np.signbit(rank(stack, valid, [0, 0, 1], 1)).any()


@rank_twins
@given(st.data(), dtypes, views.ways, st.integers(0, 100))
def test_ranks_equal_plain_python(rank: Median, draw: st.DataObject, dtype: str, way: views.Way, p: int) -> None:
    stack, valid = draw.draw(observed.observations(dtype))
    out = rank(way(stack), valid, observed.ranks(p, len(stack)), 3).astype(dtype)
    assert observed.same_bits(out, observed.pixel_by_pixel(stack, valid, 3, observed.percentile(p)))


@pytest.mark.parametrize("dtype", observed.DTYPES)
@pytest.mark.parametrize(("n", "p"), [(1, 50), (12, 25), (70, 90), (260, 10)])
def test_rank_twins_agree_on_many_observations(dtype: str, n: int, p: int) -> None:
    stack, valid = observed.many(dtype, n)
    table = observed.ranks(p, n)
    assert observed.same_bits(
        kernel.masked_rank(stack, valid, table, 5), kernel.masked_rank_numpy(stack, valid, table, 5)
    )


# ---- threads ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("one", [kernel._median, kernel._rank, kernel._exchange])
def test_kernels_release_the_gil_and_keep_the_order_of_additions(one: Any) -> None:
    assert one.targetoptions["nogil"] is True
    assert not one.targetoptions.get("fastmath")
    assert not one.targetoptions.get("parallel")


def test_threads_do_not_change_the_result_and_another_runs_meanwhile() -> None:
    stack, valid = observed.many("uint16", 12, (256, 512))
    whole = kernel.masked_median(stack, valid, 0)
    outs: list[Any] = [None] * 4
    wide = np.broadcast_to(stack[:, :1], (12, 60, 256, 512))

    def work(i: int) -> None:
        outs[i] = kernel.masked_median(wide if i == 3 else stack, valid, 0)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    ticks = 0
    while any(thread.is_alive() for thread in threads):
        time.sleep(0.0005)
        ticks += 1
    assert ticks > 10
    assert all(observed.same_bits(out, whole) for out in outs[:3])
    assert all(observed.same_bits(band, whole[0]) for band in outs[3])

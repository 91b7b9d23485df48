"""Any cut of source and target gives the same pixels, and a cut that is too small is noticed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from chronozarr_dask.kernels import resample
from chronozarr_dask.kernels import resample_twins as twin
from tests.kernels import observed, views

Array = views.Array
Kernel = Callable[..., Array]


def at(*places: tuple[float, float]) -> tuple[Array, Array]:
    """Positions, as one row."""
    rows, cols = np.array(places, np.float64).T
    return rows[None], cols[None]


def turned(h: int, w: int) -> tuple[Array, Array]:
    """Positions of a grid that is turned a little against a source of 60 x 70, part of it outside."""
    y, x = np.meshgrid(np.arange(h) + 0.5, np.arange(w) + 0.5, indexing="ij")
    return 1.31 * y - 0.07 * x - 3.3, 0.06 * y + 1.27 * x - 5.1


@pytest.mark.parametrize("dtype", observed.DTYPES)
@pytest.mark.parametrize("cut", [1, 7, 16, 64])
def test_cuts_of_target_and_source_change_nothing(dtype: str, cut: int) -> None:
    stack, _ = observed.many(dtype, 1, (60, 70))
    pixels = stack[0]
    pixels[np.random.default_rng(1).random(pixels.shape) < 0.2] = 0
    rows, cols = turned(51, 64)
    half = (0.8, 0.9)
    for kernel, reference, margin, more in (
        (resample.nearest, twin.nearest_numpy, resample.NEAREST_MARGIN, (9,)),
        (resample.bilinear, twin.bilinear_numpy, resample.BILINEAR_MARGIN, (0,)),
        (resample.box_mean, twin.box_mean_numpy, resample.box_margin(half), (half, 0)),
    ):
        whole = reference(pixels, rows, cols, *more)
        put_together = np.full_like(whole, more[-1])
        for y in range(0, 51, cut):
            for x in range(0, 64, cut):
                part = (slice(y, y + cut), slice(x, x + cut))
                span = resample.window(rows[part], cols[part], (60, 70), margin)
                if span is None:
                    continue
                put_together[(slice(None), *part)] = kernel(
                    pixels[(slice(None), *span)].copy(), rows[part], cols[part], *more,
                    origin=(span[0].start, span[1].start), size=(60, 70),
                )  # fmt: skip
        assert observed.same_bits(put_together, whole)


def test_the_window_that_positions_need() -> None:
    rows, cols = at((3.5, 4.25), (math.nan, 0), (99, 0))
    assert resample.window(rows, cols, (10, 12), resample.NEAREST_MARGIN) == (slice(3, 4), slice(4, 5))
    assert resample.window(rows, cols, (10, 12), resample.BILINEAR_MARGIN) == (slice(3, 5), slice(3, 5))
    assert resample.window(rows, cols, (10, 12), resample.box_margin((2, 9))) == (slice(1, 7), slice(0, 12))
    assert resample.window(rows, cols, (3, 4), resample.NEAREST_MARGIN) is None


@pytest.mark.parametrize("kernel", [resample.nearest, resample.bilinear])
def test_a_part_of_the_source_that_is_too_small_is_noticed(kernel: Kernel) -> None:
    part = np.ones((1, 2, 2), np.uint16)
    with pytest.raises(AssertionError, match="lie in the source and not in the part"):
        kernel(part, *at((5.2, 5.2)), 0, origin=(3, 3), size=(10, 10))
    with pytest.raises(AssertionError, match="lie in the source and not in the part"):
        resample.box_mean(part, *at((4, 4)), (2, 1), 0, origin=(3, 3), size=(10, 10))
    assert kernel(part, *at((4, 4)), 0, origin=(3, 3), size=(10, 10)).tolist() == [[[1]]]


@pytest.mark.parametrize("one", [resample._nearest, resample._bilinear, resample._box_mean])
def test_kernels_release_the_gil_and_keep_the_order_of_additions(one: Any) -> None:
    assert one.targetoptions["nogil"] is True
    assert not one.targetoptions.get("fastmath")
    assert not one.targetoptions.get("parallel")

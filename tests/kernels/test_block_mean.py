"""Section 6 compiled: both twins are the reference, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.format.planes import next_coverage, next_mask
from chronozarr_dask.format.pyramid import next_level
from chronozarr_dask.kernels import block_mean as kernel
from tests.format.strategies import dtypes, masks, nodatas
from tests.kernels import views

BlockMean = Callable[..., views.Array]
twins = pytest.mark.parametrize("block_mean", [kernel.block_mean, kernel.block_mean_numpy])


def mean(block_mean: BlockMean, block: Any, dtype: str, nodata: Any = None, mask: Any = None) -> Any:
    """Of one timestep and band, as a list of rows."""
    flags = None if mask is None else np.array([mask], np.uint8)
    out = block_mean(np.array([[block]], dtype), flags, nodata)
    assert out.dtype == dtype
    return out[0, 0].tolist()


def same_bits(one: views.Array, other: views.Array) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


@twins
@pytest.mark.parametrize(
    ("block", "dtype", "nodata", "answer"),
    [
        ([[1000, 0], [0, 0]], "uint16", 0, 1000),
        ([[65535, 65535], [65535, 65535]], "uint16", 0, 65535),
        ([[65535, 65535], [65534, 65535]], "uint16", None, 65534),
        ([[65535, 65535], [0, 65534]], "uint16", 0, 65534),
        ([[1, 2], [2, 2]], "uint16", 0, 1),
        ([[0, 0], [0, 0]], "uint16", 0, 0),
        ([[9, 9], [9, 9]], "uint8", 9, 9),
        ([[255, 255], [255, 254]], "uint8", 0, 254),
        ([[-1, -2], [-2, -2]], "int16", None, -2),
        ([[-1, 0], [0, 0]], "int16", None, -1),
        ([[-1, -1], [0, 5]], "int16", 5, -1),
        ([[-32768] * 2] * 2, "int16", 0, -32768),
        ([[-9999] * 2] * 2, "int16", -9999, -9999),
        ([[1e30, 1], [1, -1e30]], "float32", None, 0.0),
        ([[1e30, -1e30], [1, 1]], "float32", None, 0.5),
        ([[16777216, 1], [1, 1]], "float32", None, 4194305.0),
        ([[-0.5, -0.25], [0, 0]], "float32", 0, -0.375),
    ],
)  # fmt: skip
def test_one_block(block_mean: BlockMean, block: Any, dtype: str, nodata: Any, answer: Any) -> None:
    """Cases 15 and 17."""
    assert mean(block_mean, block, dtype, nodata) == [[answer]]


@twins
def test_the_largest_float32_does_not_overflow(block_mean: BlockMean) -> None:
    biggest = np.finfo(np.float32).max
    assert mean(block_mean, [[biggest, biggest], [biggest, biggest]], "float32") == [[biggest]]


@twins
def test_the_sign_of_zero(block_mean: BlockMean) -> None:
    """A sum begins at +0.0, so a block of -0.0 has the mean +0.0; a fill of -0.0 stays one."""
    of_zeros = block_mean(np.full((1, 1, 2, 2), -0.0, np.float32), None, None)
    of_nothing = block_mean(np.ones((1, 1, 2, 2), np.float32), np.zeros((1, 2, 2), np.uint8), -0.0)
    assert not np.signbit(of_zeros).any()
    assert np.signbit(of_nothing).all()


@twins
def test_a_mask_decides_alone(block_mean: BlockMean) -> None:
    assert mean(block_mean, [[0, 0], [0, 8]], "uint8", 0, [[1, 1], [1, 1]]) == [[2]]
    assert mean(block_mean, [[4, 9], [9, 9]], "uint8", 0, [[1, 0], [0, 0]]) == [[4]]
    assert mean(block_mean, [[5, 6], [7, 8]], "uint8", None, [[0, 0], [0, 0]]) == [[0]]
    assert mean(block_mean, [[5, 6], [7, 8]], "uint8", 3, [[0, 0], [0, 0]]) == [[3]]


@twins
def test_the_edge_is_repeated_with_its_validity(block_mean: BlockMean) -> None:
    """Cases 15 and 16."""
    assert mean(block_mean, [[10, 20, 40]], "uint16", 0) == [[15, 40]]
    assert mean(block_mean, [[1], [4], [0]], "uint16", 0) == [[2], [0]]
    assert mean(block_mean, [[8, 1, 5]], "uint8", None, [[1, 0, 0]]) == [[8, 0]]
    assert mean(block_mean, [[8, 2, 5], [8, 2, 7]], "uint8", None, [[1, 1, 1], [1, 1, 0]]) == [[5, 5]]
    assert np.array(mean(block_mean, np.ones((7, 5)), "uint8", 0)).shape == (4, 3)


def test_the_quotient_in_float32_is_exact_for_every_sum() -> None:
    """The sums 0 to 3 x 65535 by 3, of which every one is made by three valid pixels of four."""
    total = np.arange(3 * 65535 + 1)
    data = np.zeros((1, 1, 2, 2 * total.size), np.uint16)
    data[0, 0, 0, 0::2] = total // 3
    data[0, 0, 0, 1::2] = (total + 1) // 3
    data[0, 0, 1, 0::2] = (total + 2) // 3
    mask = np.ones((1, 2, 2 * total.size), np.uint8)
    mask[0, 1, 1::2] = 0
    assert np.array_equal(kernel.block_mean(data, mask, None)[0, 0, 0], total // 3)
    lowered = (data.astype(np.int32) - 32768).astype(np.int16)
    assert np.array_equal(kernel.block_mean(lowered, mask, None)[0, 0, 0], (total - 3 * 32768) // 3)


@twins
@given(st.data(), dtypes, views.ways, views.ways)
def test_equals_the_reference(
    block_mean: BlockMean, draw: st.DataObject, dtype: str, way: views.Way, mask_way: views.Way
) -> None:
    data = draw.draw(views.stacks(dtype))
    n_time, _, h, w = data.shape
    mask = draw.draw(st.none() | masks((n_time, h, w)))
    nodata = draw.draw(nodatas(dtype))
    seen = way(data)
    out = block_mean(seen, None if mask is None else mask_way(mask), nodata)
    assert out.dtype == seen.dtype
    assert same_bits(out.astype(data.dtype), next_level(data, mask, nodata))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16", "float32"])
@pytest.mark.parametrize("size", [(64, 64), (63, 65), (37, 130)])
def test_equals_the_reference_where_vector_instructions_run(dtype: str, size: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    raw = rng.integers(0, 256, (2, 2, *size, np.dtype(dtype).itemsize), np.uint8)
    data = raw.view(dtype)[..., 0]
    data[~np.isfinite(data)] = 1
    data[rng.random(data.shape) < 0.3] = 0
    mask = (rng.random((2, *size)) < 0.7).astype(np.uint8)
    for flags, nodata in ((None, None), (None, 0), (mask, 0), (mask, None)):
        reference = next_level(data, flags, nodata)
        assert same_bits(kernel.block_mean(data, flags, nodata), reference)
        assert same_bits(kernel.block_mean_numpy(data, flags, nodata), reference)


def test_no_timestep_gives_no_timestep() -> None:
    assert kernel.block_mean(np.zeros((0, 2, 5, 4), np.uint16), None, 0).shape == (0, 2, 3, 2)


def test_a_window_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("copied")

    data = views.window(np.ones((2, 2, 6, 6), np.uint16))
    monkeypatch.setattr(np, "ascontiguousarray", fail)
    assert kernel.block_mean(data, None, 0).shape == (2, 2, 3, 3)


@pytest.mark.parametrize("mask_max", [kernel.mask_max, kernel.mask_max_numpy])
@pytest.mark.parametrize("coverage_mean", [kernel.coverage_mean, kernel.coverage_mean_numpy])
class TestPlanes:
    def test_a_mask_is_1_where_any_pixel_is(self, mask_max: BlockMean, coverage_mean: BlockMean) -> None:
        assert mask_max(np.array([[[0, 0, 0], [0, 1, 0]]], np.uint8)).tolist() == [[[1, 0]]]

    def test_coverage_rounds_halves_up(self, mask_max: BlockMean, coverage_mean: BlockMean) -> None:
        """Case 15."""
        assert coverage_mean(np.array([[[1, 0, 1, 1], [0, 0, 0, 0]]], np.uint8)).tolist() == [[[0, 1]]]
        assert coverage_mean(np.array([[[255, 255], [255, 254]]], np.uint8)).tolist() == [[[255]]]
        assert coverage_mean(np.array([[[1, 2, 3]]], np.uint8)).tolist() == [[[2, 3]]]

    @given(views.stacks("uint8"), views.ways)
    def test_equal_the_reference(
        self, mask_max: BlockMean, coverage_mean: BlockMean, stack: views.Array, way: views.Way
    ) -> None:
        plane = stack[:, 0]
        assert same_bits(mask_max(way(plane & 1)), next_mask(plane & 1))
        assert same_bits(coverage_mean(way(plane)), next_coverage(plane))

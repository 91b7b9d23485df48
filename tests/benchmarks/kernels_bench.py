"""Each kernel against its numpy twin, or, where there is none, against a copy of the same memory; and compile times.

One thread; the two sides of a row alternate in one run, so that what else the machine does falls on both. Run it:
``python tests/benchmarks/kernels_bench.py``.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.kernels import block_mean, change, checks, fill
from chronozarr_dask.kernels.residuals import residual_cell

Call = Callable[[], object]
ROUNDS = 25
SHAPE = (1, 4, 512, 512)  # one chunk: 2 MB in uint16
INVALID = 0.1  # share of pixels that are nodata or masked, one by one: the worst case for a branch

FIRST_USE = """
import time
started = time.process_time()
import numpy as np
from chronozarr_dask.kernels import block_mean, change
imported = time.process_time()
data = np.ones((2, 1, 4, 4), "{dtype}")
block_mean.block_mean(data, None, 0)
change.change_sums(data, np.array([[0, 1]]))
if "{dtype}" == "uint8":
    block_mean.mask_max(data[:, 0])
used = time.process_time()
print(imported - started, used - imported)
"""


def run(rounds: int = ROUNDS) -> list[dict[str, Any]]:
    """Medians of every kernel.

    Returns
    -------
    list of dict
        ``kernel``, ``case``, ``against``, ``kernel_ms``, ``against_ms`` (medians), ``ratio`` (median over the rounds of
        kernel over against: below 1 is faster) and ``ratio_low``, ``ratio_high`` (its quartiles).
    """
    return [_row(name, case, against, ours, theirs, rounds) for name, case, against, ours, theirs in _cases()]


def compile_times() -> list[dict[str, Any]]:
    """Processor seconds of a fresh process for the first use of one dtype's kernels, without and with kept code."""
    rows = []
    for dtype in ("uint8", "uint16", "int16", "float32"):
        with tempfile.TemporaryDirectory() as folder:
            for kept in ("nothing kept", "kept on disk"):
                done = subprocess.run(
                    [sys.executable, "-c", FIRST_USE.format(dtype=dtype)],
                    env=os.environ | {"NUMBA_CACHE_DIR": folder},
                    check=True, capture_output=True, text=True,
                )  # fmt: skip
                imports, first = map(float, done.stdout.split())
                rows.append({"dtype": dtype, "case": kept, "import_s": imports, "first_use_s": first})
    return rows


def _cases() -> Iterator[tuple[str, str, str, Call, Call]]:
    rng = np.random.default_rng(0)
    mask = (rng.random((SHAPE[0], *SHAPE[2:])) >= INVALID).astype(np.uint8)
    for dtype in ("uint8", "uint16", "int16", "float32"):
        data = _pixels(rng, dtype)
        for case, flags, nodata in (("all valid", None, None), ("nodata", None, 0), ("mask", mask, 0)):
            yield _block_mean_case(f"{dtype}, {case}", data, flags, nodata)
        pairs = np.array([[0, 1]])
        two = np.concatenate([data, _pixels(rng, dtype)])
        yield (
            "change_sums", dtype, "numpy twin",
            lambda two=two, pairs=pairs: change.change_sums(two, pairs),
            lambda two=two, pairs=pairs: change.change_sums_numpy(two, pairs),
        )  # fmt: skip
    data = _pixels(rng, "uint16")
    larger = np.zeros((2, 4, 1000, 1000), np.uint16)
    larger[:1, :, 7:519, 9:521] = data
    yield _block_mean_case("uint16, nodata, a window", larger[:1, :, 7:519, 9:521], None, 0)
    yield _block_mean_case("uint16, nodata, bands last", np.moveaxis(np.moveaxis(data, 1, -1).copy(), -1, 1), None, 0)
    yield (
        "mask_max", "uint8", "numpy twin",
        lambda: block_mean.mask_max(mask), lambda: block_mean.mask_max_numpy(mask),
    )  # fmt: skip
    yield (
        "coverage_mean", "uint8", "numpy twin",
        lambda: block_mean.coverage_mean(mask), lambda: block_mean.coverage_mean_numpy(mask),
    )  # fmt: skip
    yield from _memory_cases(rng)


def _memory_cases(rng: np.random.Generator) -> Iterator[tuple[str, str, str, Call, Call]]:
    """Kernels in numpy alone."""
    copy = "copy of the input"
    six = np.concatenate([_pixels(rng, "uint16") for _ in range(6)])
    room = np.empty_like(six[0])
    yield "residual_cell", "uint16", copy, lambda: residual_cell(six[1], six[0], 512, room), six[0].copy
    empty = np.zeros(SHAPE[1:], np.uint16)
    yield "equals_fill", "uint16, all fill", copy, lambda: fill.equals_fill(empty, 0), empty.copy
    full = _pixels(rng, "uint16")[0]
    yield "equals_fill", "uint16, no fill", copy, lambda: fill.equals_fill(full, 0), full.copy
    edge = six[0, :, :500, :300]
    yield "cut_cell", "uint16, 500 x 300 of 512", copy, lambda: fill.cut_cell(edge, 512, 0), full.copy
    floats = _pixels(rng, "float32")
    yield "count_not_finite", "float32", copy, lambda: checks.count_not_finite(floats), floats.copy
    yield "nan_mask", "float32", copy, lambda: checks.nan_mask(floats), floats.copy


def _block_mean_case(
    case: str, data: npt.NDArray[Any], mask: npt.NDArray[np.uint8] | None, nodata: int | None
) -> tuple[str, str, str, Call, Call]:
    return (
        "block_mean", case, "numpy twin",
        lambda: block_mean.block_mean(data, mask, nodata),
        lambda: block_mean.block_mean_numpy(data, mask, nodata),
    )  # fmt: skip


def _pixels(rng: np.random.Generator, dtype: str) -> npt.NDArray[Any]:
    data = rng.integers(1, 200 if dtype == "uint8" else 10000, SHAPE).astype(dtype)
    data[rng.random(SHAPE) < INVALID] = 0
    data[..., 0, 0] = 1
    return data


def _row(name: str, case: str, against: str, ours: Call, theirs: Call, rounds: int) -> dict[str, Any]:
    ours()  # compiles, or loads what was kept
    theirs()
    pairs = [(_seconds(ours), _seconds(theirs)) for _ in range(rounds)]
    low, middle, high = statistics.quantiles([a / b for a, b in pairs], n=4)
    return {
        "kernel": name,
        "case": case,
        "against": against,
        "kernel_ms": 1e3 * statistics.median(a for a, _ in pairs),
        "against_ms": 1e3 * statistics.median(b for _, b in pairs),
        "ratio": middle,
        "ratio_low": low,
        "ratio_high": high,
    }


def _seconds(call: Call) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def main() -> None:
    """Print both tables."""
    print(f"{'kernel':17} {'case':27} {'against':18} {'ms':>7} {'ms':>8} {'ratio':>7}  quartiles")
    for r in run():
        print(
            f"{r['kernel']:17} {r['case']:27} {r['against']:18} {r['kernel_ms']:7.3f} {r['against_ms']:8.3f} "
            f"{r['ratio']:7.3f}  {r['ratio_low']:.3f} .. {r['ratio_high']:.3f}"
        )
    print(f"\n{'first use of':17} {'compiled code':15} {'import, cpu s':>14} {'first use, cpu s':>17}")
    for r in compile_times():
        print(f"{r['dtype']:17} {r['case']:15} {r['import_s']:14.2f} {r['first_use_s']:17.2f}")


if __name__ == "__main__":
    main()

"""The masked median against np.nanmedian on the same observations."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.benchmarks.measure import run
from tests.benchmarks.tables import Claim, Table

ROUNDS, QUICK_ROUNDS = 5, 3
CALLS = 5
EDGE, QUICK_EDGE = 512, 160
VALID = 0.6
CASES = (("uint16", 12), ("uint16", 18), ("uint16", 70), ("float32", 12), ("float32", 18))
CLAIMED = (("uint16", 12), ("uint16", 18))
TIMES_FASTER = 50
COLUMNS = ("dtype", "observations", "kernel, ns a pixel", "np.nanmedian, ns a pixel", "kernel / np.nanmedian")


def table(folder: Path, *, quick: bool) -> Table:
    """Nanoseconds of one thread for each pixel of the composite."""
    rounds, edge = (QUICK_ROUNDS, QUICK_EDGE) if quick else (ROUNDS, EDGE)
    about = (
        f"One thread, 4 bands of {edge} x {edge} pixels, {VALID:.0%} of them valid at random, the same in all bands. "
        f"np.nanmedian gets the stack as float32 with NaN, made before the clock starts. Processor time for each pixel "
        f"and band of the result, medians of {rounds} rounds in which {CALLS} calls of the kernel and one of "
        f"np.nanmedian alternate, with the quartiles of the ratio."
    )
    out = Table("Composites", about, COLUMNS)
    for dtype, n in CASES:
        r = run("compositing:measured", dtype=dtype, n=n, edge=edge, rounds=rounds).result
        spread = f"{r['ratio']:.4f} ({r['ratio_low']:.4f}..{r['ratio_high']:.4f})"
        out.rows.append((dtype, str(n), f"{r['kernel']:.1f}", f"{r['nanmedian']:.0f}", spread))
        if (dtype, n) in CLAIMED:
            text = f"time of the masked median of {n} observations of {dtype}, as a share of np.nanmedian's"
            out.claims.append(Claim(text, r["ratio"], 1 / TIMES_FASTER))
    return out


# ---- jobs -------------------------------------------------------------------------------------------------------


def measured(dtype: str, n: int, edge: int, rounds: int) -> dict[str, Any]:
    """Both medians of the same observations, checked to be the same where an integer can tell."""
    import numpy as np

    from chronozarr_dask.kernels.median import masked_median

    rng = np.random.default_rng(n)
    stack = rng.integers(1, 10000, (n, 4, edge, edge)).astype(dtype)
    valid = (rng.random((n, edge, edge)) < VALID).astype(np.uint8)
    with_nan = np.where(valid[:, None] != 0, stack, np.float32(np.nan)).astype(np.float32)
    ours = masked_median(stack, valid, 0)  # compiles, or loads what was kept
    theirs = np.nan_to_num(np.nanmedian(with_nan, axis=0))
    same = np.array_equal(ours, np.floor(theirs) if stack.dtype.kind == "u" else theirs)
    assert same, "the two medians differ"
    pairs = [
        (_seconds(lambda: masked_median(stack, valid, 0), CALLS), _seconds(lambda: np.nanmedian(with_nan, axis=0)))
        for _ in range(rounds)
    ]
    low, middle, high = statistics.quantiles([a / b for a, b in pairs], n=4)
    kernel, nanmedian = (1e9 / ours.size * statistics.median(times) for times in zip(*pairs, strict=True))
    return {"kernel": kernel, "nanmedian": nanmedian, "ratio": middle, "ratio_low": low, "ratio_high": high}


def _seconds(call: Callable[[], object], times: int = 1) -> float:
    """Processor seconds of one call."""
    started = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - started) / times

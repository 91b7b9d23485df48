"""The kernels, measured by `kernels_bench`, as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.benchmarks.measure import run
from tests.benchmarks.tables import Table

ROUNDS, QUICK_ROUNDS = 25, 5
COLUMNS = ("kernel", "case", "against", "kernel, ms", "against, ms", "kernel / against")
FIRST_USE = ("dtype", "compiled code", "imports, s", "first use, s")


def table(folder: Path, *, quick: bool) -> Table:
    """Every kernel against its twin or against a copy."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    about = (
        f"One thread, one chunk of 4 x 512 x 512 where nothing else is said: wall time, medians of {rounds} rounds in "
        f"which the two alternate, with the quartiles of the ratio."
    )
    out = Table("Kernels", about, COLUMNS)
    for r in run("kernels:measured", n=rounds).result["rows"]:
        spread = f"{r['ratio']:.2f} ({r['ratio_low']:.2f}..{r['ratio_high']:.2f})"
        out.rows.append(
            (r["kernel"], r["case"], r["against"], f"{r['kernel_ms']:.3f}", f"{r['against_ms']:.3f}", spread)
        )
    return out


def first_use(folder: Path, *, quick: bool) -> Table:
    """What compiling costs a process, once."""
    about = "Processor seconds of a fresh process that uses the kernels of one dtype for the first time; one run each."
    out = Table("First use of the kernels", about, FIRST_USE)
    for r in run("kernels:compiled").result["rows"]:
        out.rows.append((r["dtype"], r["case"], f"{r['import_s']:.2f}", f"{r['first_use_s']:.2f}"))
    return out


# ---- jobs -------------------------------------------------------------------------------------------------------


def measured(n: int) -> dict[str, list[dict[str, Any]]]:
    """Rows of `kernels_bench`."""
    from tests.benchmarks import kernels_bench

    return {"rows": kernels_bench.run(n)}


def compiled() -> dict[str, list[dict[str, Any]]]:
    """Rows of its compile times."""
    from tests.benchmarks import kernels_bench

    return {"rows": kernels_bench.compile_times()}

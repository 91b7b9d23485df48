"""Compare a store with the truth, to the last bit, and plot one pixel's series.

``python -m scripts.demo.compare STORE TRUTH`` does it again for what ``make demo`` left: exit code 1 where they differ.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import chronozarr_dask as czd
from scripts.demo.plot import plot_series
from scripts.demo.processes import DemoError


@dataclass(frozen=True)
class Truth:
    """What `world.write_truth` wrote."""

    data: npt.NDArray[np.uint16]
    coverage: npt.NDArray[np.uint8]
    months: list[str]
    bands: list[str]
    crs: str
    corner: tuple[float, float]
    pixel: tuple[int, int]

    @classmethod
    def read(cls, file: Path) -> Truth:
        """Read the file."""
        with np.load(file) as t:
            return cls(
                t["data"], t["coverage"], t["months"].tolist(), t["bands"].tolist(), str(t["crs"]),
                tuple(t["corner"].tolist()), tuple(t["pixel"].tolist()),
            )  # fmt: skip


def compare(store: Any, truth: Truth) -> list[str]:
    """Lines that say what is equal; DemoError at the first difference."""
    _same("bands", [band.name for band in store.bands], truth.bands)
    _same("months", [str(t)[:7] for t in store.times], truth.months)
    _same("CRS", store.crs, truth.crs)
    level = store.levels[0]
    _same("corner", (level.transform[2], level.transform[5]), truth.corner)
    empty = []
    for t, month in enumerate(truth.months):
        _same_planes(month, ["coverage"], store.read_coverage(t)[None], truth.coverage[t][None])
        _same_planes(month, truth.bands, store.read(t), truth.data[t])
        if not truth.coverage[t].any():
            empty.append(month)
    n_band, height, width = truth.data.shape[1:]
    return [
        f"level 0: {len(truth.months)} months x {n_band} bands x {height} x {width} pixels, all equal",
        f"coverage: {truth.coverage.size:,} counts, all equal; {truth.coverage.sum(dtype=np.int64):,} clear looks",
        f"without a clear pixel, and empty in the store too: {', '.join(empty) or 'no month'}",
    ]


def _same(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise DemoError(f"the store differs from the truth: {what} is {found}, and should be {expected}")


def _same_planes(month: str, names: list[str], found: npt.NDArray[Any], expected: npt.NDArray[Any]) -> None:
    _same(f"shape of {month}", found.shape, expected.shape)
    wrong = np.argwhere(found != expected)
    if len(wrong):
        i, row, column = wrong[0].tolist()
        raise DemoError(
            f"the store differs from the truth in {len(wrong):,} of {expected.size:,} numbers of {month}: the first is "
            f"{names[i]} at row {row}, column {column}, with {found[i, row, column]} for {expected[i, row, column]}"
        )


def series_lines(store: Any, truth: Truth, *, ascii_only: bool) -> list[str]:
    """The series of NDVI of the truth's pixel, as the store has it, plotted."""
    row, column = truth.pixel
    x, y = truth.corner[0] + 10 * (column + 0.5), truth.corner[1] - 10 * (row + 0.5)
    seen = store.series(x, y)
    numbers = seen[store.variable].transpose("band", "time").values.astype(float)
    red, nir = (numbers[truth.bands.index(band)] for band in ("B04", "B08"))
    counts = seen["coverage"].values.ravel().astype(int).tolist()
    values = [float((n - r) / (n + r)) if c else None for r, n, c in zip(red, nir, counts, strict=True)]
    head = f"NDVI of the pixel at ({x:.0f}, {y:.0f}), a field of maize:"
    return [head, *plot_series(truth.months, values, counts, ascii_only=ascii_only)]


def main(store: str, file: str) -> int:
    """Print what is equal and the series, or the first difference; the exit code."""
    try:
        opened, truth = czd.open_store(store), Truth.read(Path(file))
        print("\n".join(compare(opened, truth)))
        print("\n".join(series_lines(opened, truth, ascii_only=not can_draw())))
    except DemoError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def can_draw() -> bool:
    """Whether standard output takes block characters."""
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""``make chaos SEEDS=200``: kill runs at seeded moments, go on, compare; the table goes to build/chaos."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Read when distributed is imported: a worker that is started again is a fork, and has all imports done.
os.environ["DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD"] = "forkserver"

from tests.chaos.drive import Drive, Row
from tests.chaos.scenario import Scenario, scenario
from tests.chaos.table import cells, facts, text
from tests.chaos.world import Stage, stage

FOLDER = Path("build/chaos")


def play(made: Stage, seeds: Iterable[int], *, tell: bool = False) -> list[Row]:
    """Play seeds, those on the shared cluster one after the other and beside them those with workers of their own."""
    scenarios = [scenario(seed) for seed in seeds]
    lanes = [[s for s in scenarios if (s.runner == "cluster") == shared] for shared in (True, False)]

    def lane(those: Sequence[Scenario]) -> list[Row]:
        rows = []
        for one in those:
            rows.append(Drive(made, one).run())
            if tell:
                print(" | ".join(cells(rows[-1])), rows[-1].fault, flush=True)
        return rows

    if any(s.on_s3 for s in scenarios):
        made.s3  # noqa: B018
    with ThreadPoolExecutor(len(lanes)) as pool:
        rows = [row for rows in pool.map(lane, lanes) for row in rows]
    return sorted(rows, key=lambda r: r.scenario.seed)


def keep(rows: Sequence[Row], folder: Path = FOLDER) -> str:
    """Write the table, and give it."""
    folder.mkdir(parents=True, exist_ok=True)
    table = text(rows)
    for name in ("table.txt", "table.md"):
        (folder / name).write_text(table)
    (folder / "rows.json").write_text(facts(rows))
    return table


def main() -> int:
    """Play the seeds that the command line names; exit code 1 where one has a fault or does not count."""
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("--seeds", type=int, default=25, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the table goes")
    given = parser.parse_args()
    with stage() as made:
        rows = play(made, range(given.first, given.first + given.seeds), tell=True)
    print(keep(rows, given.folder))
    return int(any(row.fault or not row.counts for row in rows))


if __name__ == "__main__":
    sys.exit(main())

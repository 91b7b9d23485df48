"""Fail when the table from section to module to test says what a test run did not show.

    python scripts/check_spec_table.py junit.xml

The table is in the format's README: one row for each section of the specification, with the modules that implement it
and the tests that show it, in backticks. A row is wrong when a module is not a file of the package, when a test was not
in the run (renamed, removed, misspelt), or when one of its cases was skipped or failed. Run by ``make test``, with the
JUnit report of the same run.
"""

import argparse
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

REPO = Path(__file__).resolve().parent.parent
PACKAGE = REPO / "chronozarr_dask"
TABLE = PACKAGE / "format" / "README.md"

SECTIONS = (
    *("2", "2.1", "2.2", "2.3", "2.4", "2.5"),
    *("3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9"),
    *("4.1", "4.2", "4.3", "5", "6", "7.1", "7.2", "7.3", "7.4", "8", "9", "14"),
)
"""Every section must have a row. Other sections may have one, and it is checked alike."""

_SECTION = re.compile(r"\d+(\.\d+)?")
_QUOTED = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Row:
    """One row of the table: paths below the package, and pytest's ids."""

    line: int
    section: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]


def parse_table(text: str) -> list[Row]:
    """Rows of the tables whose first cell is a section's number: section, what it is, modules, tests."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.lstrip().startswith("|") and _SECTION.fullmatch(cells[0]):
            quoted = [tuple(_QUOTED.findall(cell)) for cell in cells[2:4]] + [(), ()]
            rows.append(Row(number, cells[0], quoted[0], quoted[1]))
    return rows


def outcomes(report: Path) -> dict[str, str]:
    """Outcome of every test of a JUnit report by its dotted name, cases both apart and together.

    The worst case decides for the test: failed, then skipped, then passed.
    """
    order = ("passed", "skipped", "failed")
    found: dict[str, str] = {}
    for case in ElementTree.parse(report).iter("testcase"):  # our own report
        tags = {child.tag for child in case}
        outcome = "failed" if tags & {"failure", "error"} else "skipped" if "skipped" in tags else "passed"
        name = f"{case.get('classname', '')}.{case.get('name', '')}"
        for key in {name, name.split("[")[0]}:
            found[key] = max(found.get(key, "passed"), outcome, key=order.index)
    return found


def dotted(test: str) -> str:
    """The name in a JUnit report of a pytest id: tests/a/test_b.py::test_c is tests.a.test_b.test_c."""
    path, _, name = test.partition("::")
    return f"{path.removesuffix('.py').replace('/', '.')}.{name.replace('::', '.')}"


def problems(rows: list[Row], ran: Mapping[str, str], package: Path = PACKAGE) -> list[str]:
    """What is wrong with the table, a line for each."""
    have = {row.section for row in rows}
    out = [f"section {section} has no row" for section in SECTIONS if section not in have]
    for row in rows:
        where = f"line {row.line}, section {row.section}"
        if not row.modules or not row.tests:
            out.append(f"{where}: a row needs a module and a test, each in backticks")
        out += [f"{where}: there is no module {m}" for m in row.modules if not (package / m).is_file()]
        for test in row.tests:
            outcome = ran.get(dotted(test), "not in this run (no test of that name, or not selected)")
            if outcome != "passed":
                out.append(f"{where}: {test} was {outcome}")
    return out


def main(arguments: list[str] | None = None) -> int:
    """Print what is wrong and give 1, or print a count and give 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("report", type=Path, help="what `pytest --junitxml` wrote")
    parser.add_argument("--table", type=Path, default=TABLE, help="the file with the table")
    given = parser.parse_args(arguments)
    if not given.report.is_file():
        parser.error(f"{given.report}: there is no such file; run pytest with --junitxml={given.report} first")
    rows = parse_table(given.table.read_text(encoding="utf-8"))
    wrong = problems(rows, outcomes(given.report))
    for line in wrong:
        print(f"{given.table.name}: {line}")
    if not wrong:
        print(f"{given.table.name}: {len(rows)} sections, {sum(len(row.tests) for row in rows)} tests, all passed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

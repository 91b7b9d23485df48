"""The table from section to module to test, and the script that holds it to a run."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

REPO = Path(__file__).resolve().parents[2]
SCRIPT = REPO / "scripts" / "check_spec_table.py"

REPORT = """<?xml version="1.0"?>
<testsuites><testsuite>
  <testcase classname="tests.format.test_a" name="test_good"/>
  <testcase classname="tests.format.test_a" name="test_cases[1-x[y]]"/>
  <testcase classname="tests.format.test_a" name="test_cases[2]"><skipped message="no service"/></testcase>
  <testcase classname="tests.format.test_a" name="test_red"><failure message="no"/></testcase>
  <testcase classname="tests.format.test_a" name="test_broken"><error message="no"/></testcase>
  <testcase classname="tests.format.test_a.TestRoom" name="test_inside"/>
</testsuite></testsuites>
"""


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_spec_table", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


check = load()


def row(section: str, module: str = "format/times.py", test: str = "tests/format/test_a.py::test_good") -> str:
    return f"| {section} | what it says | `{module}` | `{test}` |"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "junit.xml"
    path.write_text(REPORT)
    return path


def found(report: Path, *planted: str, without: str = "") -> list[str]:
    lines = [row(s) for s in check.SECTIONS if s != without]
    table = "\n".join(["| section | what | module | tests |", "|---|---|---|---|", *lines, *planted])
    return [str(p) for p in check.problems(check.parse_table(table), check.outcomes(report))]


def test_good_table_has_no_problem(report: Path) -> None:
    inside = row("10", test="tests/format/test_a.py::TestRoom::test_inside")
    case = row("10", test="tests/format/test_a.py::test_cases[1-x[y]]")
    assert found(report, inside, case) == []


@pytest.mark.parametrize(
    ("planted", "expected"),
    [
        (row("4.2", module="format/tempo.py"), "section 4.2: there is no module format/tempo.py"),
        (
            row("4.2", test="tests/format/test_a.py::test_gone"),
            "section 4.2: tests/format/test_a.py::test_gone was not in",
        ),
        (row("4.2", test="tests/format/test_a.py::test_cases"), "test_cases was skipped"),
        (row("4.2", test="tests/format/test_a.py::test_cases[2]"), "test_cases[2] was skipped"),
        (row("4.2", test="tests/format/test_a.py::test_red"), "test_red was failed"),
        (row("4.2", test="tests/format/test_a.py::test_broken"), "test_broken was failed"),
        ("| 4.2 | no test | `format/times.py` | |", "section 4.2: a row needs a module and a test"),
        ("| 4.2 | cut |", "section 4.2: a row needs a module and a test"),
        (row("10", module="store/nothing.py"), "section 10: there is no module"),
    ],
)
def test_planted_bad_row_is_named(report: Path, planted: str, expected: str) -> None:
    (problem,) = found(report, planted)
    assert problem.startswith(f"line {len(check.SECTIONS) + 3}, ")
    assert expected in problem


def test_section_without_a_row_is_named(report: Path) -> None:
    assert found(report, without="7.3") == ["section 7.3 has no row"]


def test_exit_code_tells(report: Path, tmp_path: Path) -> None:
    table = tmp_path / "README.md"

    def run() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(SCRIPT), str(report), "--table", str(table)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    table.write_text("\n".join(row(s) for s in check.SECTIONS))
    good = run()
    assert (good.returncode, good.stderr) == (0, "")
    assert "27 tests, all passed" in good.stdout
    table.write_text("\n".join(row(s) for s in check.SECTIONS[1:]))
    bad = run()
    assert (bad.returncode, bad.stdout) == (1, "README.md: section 2 has no row\n")
    report.unlink()
    assert run().returncode == 2


def test_our_table_names_modules_and_tests_that_exist() -> None:
    """Without a run: every file and every function is there, and every module of the format has a row."""
    rows = check.parse_table(check.TABLE.read_text())
    assert {r.section for r in rows} >= set(check.SECTIONS)
    for r in rows:
        for module in r.modules:
            assert (check.PACKAGE / module).is_file(), (r.section, module)
        for test in r.tests:
            path, _, name = test.partition("::")
            assert f"def {name.split('[')[0]}(" in (REPO / path).read_text(), (r.section, test)
    modules = {f"format/{p.name}" for p in (check.PACKAGE / "format").glob("*.py")} - {"format/__init__.py"}
    assert modules <= {m for r in rows for m in r.modules}

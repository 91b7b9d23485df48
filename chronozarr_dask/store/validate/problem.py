"""What a check finds: problems, and the list that they are collected in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Severity = Literal["error", "warning"]
SHOWN = 80
"""Longest rendering of an expected or found value in one line."""
REPEATS = 5
"""Problems of one kind that are listed one by one; the rest is counted."""


@dataclass(frozen=True)
class Problem:
    """One place where a store is not what the specification says.

    Attributes
    ----------
    severity : "error" or "warning"
        A broken MUST is an error, a broken SHOULD a warning.
    section : str
        Of the specification, for example "3.7".
    path : str
        Object, and the field within it: ``0/data/zarr.json: fill_value``.
    message : str
        What is wrong and how to mend it.
    expected, found : Any
        Values, None where there is none to name.
    """

    severity: Severity
    section: str
    path: str
    message: str
    expected: Any = None
    found: Any = None

    def __str__(self) -> str:
        """One line."""
        values = "" if self.expected is None else f" (expected {short(self.expected)}, found {short(self.found)})"
        return f"{self.severity} {self.section} {self.path}: {self.message}{values}"

    def to_json(self) -> dict[str, Any]:
        """The fields as values that `json.dumps` takes."""
        return {
            "severity": self.severity,
            "section": self.section,
            "path": self.path,
            "message": self.message,
            "expected": plain(self.expected),
            "found": plain(self.found),
        }


@dataclass
class Findings:
    """The problems found so far, in the order of the checks."""

    problems: list[Problem] = field(default_factory=list)

    def error(self, section: str, path: str, message: str, expected: Any = None, found: Any = None) -> None:
        """Add a broken MUST."""
        self.problems.append(Problem("error", section, path, message, expected, found))

    def warn(self, section: str, path: str, message: str, expected: Any = None, found: Any = None) -> None:
        """Add a broken SHOULD."""
        self.problems.append(Problem("warning", section, path, message, expected, found))

    def extend_bounded(self, problems: Iterable[Problem], path: str) -> None:
        """Add problems of one kind: the first few as they are, the rest as one that counts them."""
        items = list(problems)
        self.problems += items[:REPEATS]
        if len(items) > REPEATS:
            first = items[0]
            message = f"{len(items) - REPEATS} more of the same kind: {first.message}"
            self.problems.append(Problem(first.severity, first.section, path, message))


def short(value: Any) -> str:
    """`value` on one line, cut where it is long."""
    text = repr(plain(value))
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def plain(value: Any) -> Any:
    """`value` as JSON has it: lists for tuples, texts for numbers that are not finite."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(v) for v in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)

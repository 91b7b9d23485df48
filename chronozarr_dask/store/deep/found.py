"""Problems found by many workers: the first of each kind as they are, the rest counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from chronozarr_dask.store.validate.problem import Problem

MOST = 100
"""Problems of one kind that are told one by one."""

Order = tuple[int, ...]
"""Where a problem is in the order of the checks: the number of the unit of work, then within it."""


@dataclass
class Kind:
    """Problems of one kind: the first in the order of the checks, and how many there are."""

    first: dict[Problem, Order] = field(default_factory=dict)
    count: int = 0

    def add(self, problem: Problem, order: Order, count: int = 1) -> None:
        """Count a problem; one that is told already is the same again."""
        if problem in self.first:
            self.first[problem] = min(order, self.first[problem])
            return
        self.first[problem] = order
        self.count += count
        if len(self.first) > MOST:
            del self.first[max(self.first, key=lambda p: self.first[p])]


@dataclass
class Found:
    """Problems by kind. Which are told does not depend on the order in which workers end.

    Attributes
    ----------
    unit : int
        Number of the unit of work that finds them.
    kinds : dict of str to Kind
    """

    unit: int = 0
    kinds: dict[str, Kind] = field(default_factory=dict)
    _n: int = 0

    def add(self, kind: str, problem: Problem) -> None:
        """Add a problem; its expected and found values are numbers or texts."""
        self._n += 1
        self.kinds.setdefault(kind, Kind()).add(problem, (self.unit, self._n))

    def merge(self, other: Found) -> None:
        """Add what another unit of work found."""
        for name, theirs in other.kinds.items():
            kind = self.kinds.setdefault(name, Kind())
            kind.count += theirs.count - len(theirs.first)
            for problem, order in theirs.first.items():
                kind.add(problem, order)

    def problems(self) -> Iterator[Problem]:
        """Kind by kind in the order of the checks, each with the count of what is not told."""
        for kind in sorted(self.kinds.values(), key=lambda k: min(k.first.values())):
            told = sorted(kind.first, key=lambda p: kind.first[p])
            yield from told
            if kind.count > len(told):
                message = f"{kind.count - len(told)} more of the same kind: {told[0].message}"
                yield Problem(told[0].severity, told[0].section, told[0].path, message)

"""Tables of RESULTS.md, the claims that they are to hold, and the machine that they were made on."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

VERSIONS = (
    "chronozarr-dask", "chronozarr", "zarr", "numcodecs", "numba", "numpy", "xarray", "dask", "distributed",
)  # fmt: skip


@dataclass(frozen=True)
class Claim:
    """A figure that must not be above its limit."""

    text: str
    value: float
    limit: float

    @property
    def holds(self) -> bool:
        """Whether it does."""
        return self.value <= self.limit

    @property
    def line(self) -> str:
        """As in RESULTS.md."""
        return f"{'holds' if self.holds else '**fails**'}: {self.text}: {self.value:.3g}, at most {self.limit:.3g}"


@dataclass
class Table:
    """One table.

    Attributes
    ----------
    title : str
    about : str
        What is measured and how, before the table.
    columns : sequence of str
    rows : list of sequences of str
    claims : list of Claim
    """

    title: str
    about: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)

    def text(self) -> str:
        """As Markdown."""
        lines = [f"## {self.title}", "", self.about, ""]
        lines += [_row(self.columns), _row(["---"] * len(self.columns)), *map(_row, self.rows)]
        if self.claims:
            lines += ["", *(f"- {c.line}" for c in self.claims)]
        return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def replaced(document: str, tables: Sequence[Table]) -> str:
    """The document with these tables in the place of those of the same title, or at its end."""
    head, *sections = document.rstrip().split("\n\n## ")
    for table in tables:
        text = table.text().removeprefix("## ").rstrip()
        title = text.split("\n")[0]
        at = next((i for i, s in enumerate(sections) if s.split("\n")[0] == title), len(sections))
        sections[at : at + 1] = [text]
    return "\n\n## ".join([head, *sections]) + "\n"


def machine() -> str:
    """What the figures were made on and with."""
    lines = [
        f"- {_processor()}, {os.cpu_count()} cores, {_memory()}",
        f"- {_system()}, Linux {platform.release()}" if platform.system() == "Linux" else f"- {platform.platform()}",
        f"- Python {platform.python_version()}; " + ", ".join(f"{name} {version(name)}" for name in VERSIONS),
    ]
    return "\n".join(lines)


def _processor() -> str:
    return _value("/proc/cpuinfo", "model name", ":") or platform.processor() or platform.machine()


def _memory() -> str:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{total / 2**30:.1f} GiB of memory"


def _system() -> str:
    return (_value("/etc/os-release", "PRETTY_NAME", "=") or "an unknown system").strip('"')


def _value(path: str, name: str, separator: str) -> str | None:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    found = (line.split(separator, 1) for line in lines if separator in line)
    return next((value.strip() for key, value in found if key.strip() == name), None)

"""Wall time by stage."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime


def now() -> str:
    """The time as RFC 3339, UTC, in seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


@dataclass
class Clock:
    """Adds up the seconds of each stage; `began` is when it was made."""

    seconds: dict[str, float] = field(default_factory=dict)
    began: str = field(default_factory=now)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time within as that of a stage."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - start

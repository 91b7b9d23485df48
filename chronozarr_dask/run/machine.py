"""What this machine gives: memory and cores, within the limits of its control group."""

from __future__ import annotations

import os
from pathlib import Path

DEFAULT_SHARE = 0.5
"""Of the free memory, for the regions in flight: the rest is for libraries, file caches and the input itself."""

_CGROUP = Path("/sys/fs/cgroup")


def n_cores() -> int:
    """Cores that this process may run on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _cpu_quota()
    return max(1, min(cores, quota) if quota else cores)


def _cpu_quota() -> int | None:
    try:
        quota, period = (_CGROUP / "cpu.max").read_text().split()
    except (OSError, ValueError):
        return None
    return None if quota == "max" else max(1, int(quota) // int(period))


def memory_limit() -> int:
    """Bytes that this process may use: what is available, or less where the control group says so."""
    available = _available()
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            text = (_CGROUP / name).read_text().strip()
        except OSError:
            continue
        if text.isdecimal():
            return min(available, int(text))
    return available


def _available() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux: the total is the best that is known
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

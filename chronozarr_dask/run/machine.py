"""What this machine gives: memory and cores, within the limits of its control groups; and which process is which.

A limit may lie on a group above that of the process, and in a container without a namespace of its own the group's path
is that of the host: every folder from the root down to the group that is there is asked, and the least answer holds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

DEFAULT_SHARE = 0.5
"""Of the free memory, for the regions in flight: the rest is for libraries, file caches and the input itself."""

CGROUP = Path("/sys/fs/cgroup")
PROC = Path("/proc")

_START = 19
"""Place of the start time in /proc/<pid>/stat, counted from the state."""


# ---- cores and memory ------------------------------------------------------------------------------------------------


def n_cores() -> int:
    """Cores that this process may run on: affinity and quota, at least 1."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota()
    return max(1, cores if quota is None else min(cores, int(quota)))


def cpu_quota() -> float | None:
    """Cores' worth of time that the control groups give, None where they set no limit."""
    found = []
    for folder in _groups("cpu"):
        words = _text(folder / "cpu.max").split()  # version 2: quota and period; version 1: one file each
        words = words or [_text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us")]
        if len(words) == 2 and all(word.isdecimal() for word in words) and int(words[1]):
            found.append(int(words[0]) / int(words[1]))
    return min(found, default=None)


def memory_limit() -> int:
    """Bytes that this process may still use: what the machine has available, or what its control groups leave."""
    return min([_available(), *_headroom()])


def _headroom() -> Iterator[int]:
    """Bytes that each limited group leaves; the file cache counts as free, since the kernel drops it first."""
    for folder in _groups("memory"):
        for limit, used, cache in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            text = _text(folder / limit)
            if text.isdecimal():
                stat = dict(
                    line.split(maxsplit=1) for line in _text(folder / "memory.stat").splitlines() if " " in line
                )
                held = int(_text(folder / used) or 0) - int(stat.get(cache, 0))
                yield max(0, int(text) - max(0, held))


def _groups(controller: str) -> Iterator[Path]:
    """Folders of the control groups that this process is in, from the root down: version 2, then version 1."""
    for line in _text(PROC / "self" / "cgroup").splitlines() or ["0::/"]:
        _, names, path = line.split(":", 2)
        if names and controller not in names.split(","):
            continue
        root = CGROUP / controller if names else CGROUP
        parts = [part for part in path.split("/") if part]
        for n in range(len(parts) + 1):
            yield root.joinpath(*parts[:n])


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _available() -> int:
    for line in _text(PROC / "meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")  # not Linux: the total is the best that is known


# ---- processes -------------------------------------------------------------------------------------------------------


def machine_identity() -> str | None:
    """Within which process ids mean something: this boot of the kernel and this namespace; None where it is not told.

    A host's name is not enough: a container that is started again has the name, and often the process id, of the last.
    """
    boot = _text(PROC / "sys" / "kernel" / "random" / "boot_id")
    try:
        return f"{boot} {os.readlink(PROC / 'self' / 'ns' / 'pid')}" if boot else None
    except OSError:
        return None


def process_start(pid: int) -> int | None:
    """When a process of this machine started, in ticks since boot; None where there is none, or it has ended."""
    _, found, rest = _text(PROC / str(pid) / "stat").rpartition(")")
    words = rest.split()
    if not found or words[0] in "ZX":  # one that was killed, and that its parent has not asked about
        return None
    return int(words[_START])


def is_process_gone(pid: int, started: int | None) -> bool:
    """Whether the process that started then is no more; False also where a system hides processes of others."""
    now = process_start(pid)
    if now is not None:
        return now != started
    if (PROC / str(pid)).exists():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False

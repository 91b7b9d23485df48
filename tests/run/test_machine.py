"""Memory and cores within control groups of both versions; which process is which."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chronozarr_dask.run import machine

MIB = 2**20


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of 64 GiB with no limits yet."""
    monkeypatch.setattr(machine, "CGROUP", tmp_path / "cgroup")
    monkeypatch.setattr(machine, "PROC", tmp_path / "proc")
    put(tmp_path, {"proc/meminfo": f"MemTotal: 1 kB\nMemAvailable: {64 * MIB} kB\n", "proc/self/cgroup": "0::/\n"})
    return tmp_path


def put(root: Path, files: dict[str, object]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}")


def test_without_groups_it_is_what_the_machine_has(tree: Path) -> None:
    assert machine.memory_limit() == 64 * 1024 * MIB
    assert machine.cpu_quota() is None
    assert machine.n_cores() == len(os.sched_getaffinity(0))


def test_version_2(tree: Path) -> None:
    """What is used counts, but for the file cache, which the kernel drops first."""
    put(
        tree,
        {
            "cgroup/cpu.max": "150000 100000\n",
            "cgroup/memory.max": 1000 * MIB,
            "cgroup/memory.current": 700 * MIB,
            "cgroup/memory.stat": f"anon {100 * MIB}\ninactive_file {500 * MIB}\n",
        },
    )
    assert machine.cpu_quota() == 1.5
    assert machine.n_cores() == 1
    assert machine.memory_limit() == 800 * MIB


def test_version_1(tree: Path) -> None:
    put(
        tree,
        {
            "proc/self/cgroup": "4:memory:/job/7\n2:cpu,cpuacct:/job\n0::/\n",
            "cgroup/cpu/job/cpu.cfs_quota_us": 300000,
            "cgroup/cpu/job/cpu.cfs_period_us": 100000,
            "cgroup/cpu/cpu.cfs_quota_us": -1,
            "cgroup/cpu/cpu.cfs_period_us": 100000,
            "cgroup/memory/memory.limit_in_bytes": 9223372036854771712,
            "cgroup/memory/job/7/memory.limit_in_bytes": 512 * MIB,
            "cgroup/memory/job/7/memory.usage_in_bytes": 112 * MIB,
            "cgroup/memory/job/7/memory.stat": f"total_inactive_file {12 * MIB}\n",
        },
    )
    assert machine.cpu_quota() == 3
    assert machine.memory_limit() == 412 * MIB


def test_the_least_limit_of_all_groups_above_holds(tree: Path) -> None:
    put(
        tree,
        {
            "proc/self/cgroup": "0::/slice/pod/container\n",
            "cgroup/slice/memory.max": 900 * MIB,
            "cgroup/slice/memory.current": 0,
            "cgroup/slice/pod/memory.max": 300 * MIB,
            "cgroup/slice/pod/memory.current": 0,
            "cgroup/slice/pod/container/memory.max": "max\n",
            "cgroup/slice/cpu.max": "max 100000\n",
            "cgroup/slice/pod/cpu.max": "50000 100000\n",
        },
    )
    assert machine.memory_limit() == 300 * MIB
    assert machine.cpu_quota() == 0.5
    assert machine.n_cores() == 1


def test_a_path_of_the_host_is_not_there_in_a_container(tree: Path) -> None:
    put(tree, {"proc/self/cgroup": "0::/kubepods/pod1/c\n", "cgroup/memory.max": 200 * MIB, "cgroup/cpu.max": "max"})
    assert machine.memory_limit() == 200 * MIB
    assert machine.cpu_quota() is None


# ---- processes -------------------------------------------------------------------------------------------------------


def test_a_process_is_told_by_its_start() -> None:
    started = machine.process_start(os.getpid())
    assert started is not None
    assert not machine.is_process_gone(os.getpid(), started)
    assert machine.is_process_gone(os.getpid(), started + 1)
    assert not machine.is_process_gone(1, machine.process_start(1))


def test_a_process_that_nobody_has_waited_for_is_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        started = machine.process_start(process.pid)
        assert not machine.is_process_gone(process.pid, started)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert machine.is_process_gone(process.pid, started)
    assert machine.is_process_gone(process.pid, started)


def test_the_machine_is_the_same_for_all_its_processes() -> None:
    code = "from chronozarr_dask.run.machine import machine_identity; print(machine_identity())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == machine.machine_identity()

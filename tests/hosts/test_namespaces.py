"""The hosts of tests/services/hosts.py themselves: cables, power switches, and what is left behind."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services import hosts
from tests.services.hosts import NAMESPACES, NET, Host, Hosts, wait_for
from tests.services.seaweedfs import NotInstalledError


@pytest.fixture
def rack(tmp_path: Path) -> Iterator[Hosts]:
    try:
        hosts.check_installed()
    except NotInstalledError as missing:
        pytest.skip(str(missing))
    with Hosts(tmp_path, mark=f"{hosts.MARK}{os.getpid():x}.1") as made:  # beside a rack of this process
        yield made


def answers(listener: socket.socket, caller: Host, seconds: float = 10.0) -> bool:
    """Whether a listener on one host can be reached from another."""
    try:
        caller.call(lambda: socket.create_connection(listener.getsockname(), timeout=seconds)).close()
    except OSError:
        return False
    return True


def test_a_cable_that_is_taken_out_and_put_back(rack: Hosts) -> None:
    a, b = rack.add("a", f"{NET}.31"), rack.add("b", f"{NET}.32")
    with a.call(lambda: socket.create_server((a.address, 0))) as listener:
        assert answers(listener, b)
        a.cut()
        assert not answers(listener, b, 1.0)
        a.mend()
        assert answers(listener, b)


def test_the_machine_itself_and_another_rack_see_nothing_of_it(rack: Hosts, tmp_path: Path) -> None:
    a = rack.add("a", f"{NET}.31")
    with a.call(lambda: socket.create_server((a.address, 0))) as listener:
        with pytest.raises(OSError, match=r"."):
            socket.create_connection(listener.getsockname(), timeout=0.5)
        with Hosts(tmp_path, mark=f"{rack.mark}.2") as other:
            same, caller = other.add("a", a.address), other.add("b", f"{NET}.32")
            assert not answers(listener, caller, 1.0)
            with same.call(lambda: socket.create_server((same.address, 0))) as own:
                assert answers(own, caller)


def test_a_host_that_is_switched_off(rack: Hosts) -> None:
    a = rack.add("a", f"{NET}.31")
    process = rack.run("a", "sleep", [sys.executable, "-c", "import time; time.sleep(600)"], {})
    wait_for("the process in the host", lambda: a.pids() == [process.pid], 30)
    a.kill()
    assert process.wait(10) < 0
    assert a.pids() == []


def test_nothing_is_left_of_a_rack_not_even_of_one_whose_run_was_killed(rack: Hosts, tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    left = Hosts(tmp_path, mark=f"{hosts.MARK}{gone.pid:x}")
    left.__enter__()
    left.add("a", f"{NET}.31")
    hosts.sweep()
    with contextlib.suppress(FileNotFoundError):
        assert not [p for p in NAMESPACES.iterdir() if p.name.startswith(f"{left.mark}-")]
    assert (NAMESPACES / rack.switch).exists(), "a run that lives keeps its own"

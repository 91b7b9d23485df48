"""The cache of decoded anchors and shard indexes: bounded in bytes, each value made once."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from chronozarr_dask.store.cache import Cache


def cache(limit: int = 10) -> Cache[str]:
    return Cache(limit, len)


def test_a_value_is_made_once():
    held, made = cache(), []
    for _ in range(3):
        assert held.get("k", lambda: made.append(1) or "abc") == "abc"
    assert (made, held.nbytes) == ([1], 3)


def test_the_value_used_longest_ago_goes_first():
    held = cache(10)
    for key in "abc":
        held.get(key, lambda: "12345" if key != "c" else "123")  # noqa: B023  (called at once)
        held.get("a", lambda: pytest.fail("a is held"))
    assert held.nbytes == 8
    made = []
    held.get("b", lambda: made.append("b") or "12")
    assert (made, held.nbytes) == (["b"], 10)


def test_bytes_never_exceed_the_limit():
    held = cache(10)
    for i in range(100):
        held.get(i, lambda: "x" * (i % 12))  # noqa: B023
        assert held.nbytes <= 10


def test_a_value_above_the_limit_is_handed_out_and_not_kept():
    held = cache(3)
    held.get("small", lambda: "abc")
    assert held.get("large", lambda: "abcd") == "abcd"
    assert held.get("large", lambda: "efgh") == "efgh"
    assert held.get("small", lambda: pytest.fail("small is held")) == "abc"


def test_threads_that_ask_at_once_share_one_value():
    held, made, gate = cache(), [], threading.Barrier(8)

    def make() -> str:
        made.append(1)
        time.sleep(0.05)
        return "abc"

    def ask(_: int) -> str:
        gate.wait()
        return held.get("k", make)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(8))) == {"abc"}
    assert made == [1]


def test_an_error_reaches_all_who_wait_and_is_not_kept():
    held, gate = cache(), threading.Barrier(4)

    def fail() -> str:
        time.sleep(0.05)
        raise OSError("torn")

    def ask(_: int) -> str:
        gate.wait()
        try:
            return held.get("k", fail)
        except OSError as error:
            return str(error)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(ask, range(4))) == {"torn"}
    assert held.get("k", lambda: "abc") == "abc"

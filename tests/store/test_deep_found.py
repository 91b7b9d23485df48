"""Problems of many workers: bounded, and the same whatever order they come in."""

from itertools import permutations

from chronozarr_dask.store.deep.found import MOST, Found
from chronozarr_dask.store.validate import Problem


def problem(i: int) -> Problem:
    return Problem("error", "6", f"1/data/c/{i}/0/0/0", "wrong", 1, 2)


def unit(number: int, n: int, kind: str = "level") -> Found:
    out = Found(number)
    for i in range(n):
        out.add(kind, problem(1000 * number + i))
    return out


def merged(*parts: Found) -> list[Problem]:
    out = Found()
    for part in parts:
        out.merge(part)
    return list(out.problems())


def test_the_first_of_each_kind_and_a_count() -> None:
    found = list(unit(0, MOST + 7).problems())
    assert found[:MOST] == [problem(i) for i in range(MOST)]
    assert found[MOST:] == [Problem("error", "6", "1/data/c/0/0/0/0", "7 more of the same kind: wrong")]


def test_all_are_told_where_they_are_few() -> None:
    assert list(unit(0, MOST).problems()) == [problem(i) for i in range(MOST)]


def test_the_order_of_the_workers_does_not_matter() -> None:
    parts = [(0, 60), (1, 250), (2, 90), (3, 0)]
    expected = merged(*(unit(*p) for p in parts))
    assert len(expected) == MOST + 1
    assert expected[59:61] == [problem(59), problem(1000)]
    assert expected[-1].message.startswith("300 more")
    for order in permutations(parts):
        assert merged(*(unit(*p) for p in order)) == expected


def test_kinds_are_counted_each_by_itself_and_told_in_the_order_of_the_checks() -> None:
    found = merged(unit(2, 3, "padding"), unit(1, 2, "level"))
    assert [p.path.split("/")[3] for p in found] == ["1000", "1001", "2000", "2001", "2002"]


def test_the_same_problem_is_told_once() -> None:
    out = Found()
    out.add("decode", problem(1))
    out.add("decode", problem(1))
    assert merged(out, unit(0, 0), out) == [problem(1)]

"""Whatever a store holds, validation returns problems; it raises nothing."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronozarr_dask.store.opening import open_documents
from chronozarr_dask.store.target import Objects
from tests.store.validate_cases import Memory, base, problems

STORES = ("none", "star", "full", "null", "float", "one-time")
LITERALS = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    3,
    16,
    2**31,
    2**63,
    2**64,
    10**400,
    0.5,
    -0.0,
    1e308,
    1e999,
    "",
    "0",
    "data",
]
LITERALS += [
    "EPSG:4326",
    "NaN",
    "uint8",
    "int64",
    "string",
    "/",
    [],
    {},
    [0],
    [[]],
    {"a": 1},
    [None] * 6,
    [1, 1],
    [10**15],
]

JSON = st.sampled_from(LITERALS) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def _bump(value: Any) -> Any:
    """Something of the same type that is a little different."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    return [*value, *value[-1:]] if isinstance(value, list) else value | {"x": 1}


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["none", "star", "full"])
@settings(max_examples=60)
@given(data=st.data())
def test_one_edit_is_at_most_one_problem_and_what_has_no_error_opens(name: str, data: st.DataObject) -> None:
    store = base(name).copy()
    path, place = data.draw(st.sampled_from(list(store.json_values())))
    value = store.document(path)
    for step in place:
        value = value[step]
    action = data.draw(st.sampled_from(["drop", "set", "bump"]))
    bumped = None if action == "set" or value is None else _bump(value)
    _edit(store, path, place, bumped, "drop" if action == "drop" else "set")
    found = problems(store)
    assert len(found) <= 1
    if not any(p.severity == "error" for p in found):
        open_documents(cast(Objects, store))


def _edit(store: Memory, path: str, place: tuple[Any, ...], value: Any, action: str) -> None:
    document = store.document(path)
    at = document
    for step in place[:-1]:
        at = at[step]
    if action == "drop":
        del at[place[-1]]
    elif action == "repeat" and isinstance(at, list):
        at.insert(place[-1], at[place[-1]])
    else:
        at[place[-1]] = value
    store.put_document(path, document)


@pytest.mark.oracle
@pytest.mark.parametrize("name", STORES)
@settings(max_examples=60)
@given(data=st.data())
def test_values_of_documents_can_be_anything(name: str, data: st.DataObject) -> None:
    store = base(name).copy()
    for _ in range(data.draw(st.integers(1, 4))):
        path, place = data.draw(st.sampled_from(list(store.json_values())))
        _edit(store, path, place, data.draw(JSON), data.draw(st.sampled_from(["set", "set", "drop", "repeat"])))
    for problem in problems(store):
        assert "\n" not in str(problem)
        problem.to_json()


@pytest.mark.oracle
@pytest.mark.parametrize("name", STORES)
@settings(max_examples=30)
@given(data=st.data())
def test_bytes_of_objects_can_be_anything(name: str, data: st.DataObject) -> None:
    store = base(name).copy()
    key = data.draw(st.sampled_from(sorted(store.objects)))
    blob = store.objects[key]
    at = data.draw(st.integers(0, len(blob)))
    store.objects[key] = data.draw(
        st.binary(max_size=64).map(lambda b: blob[:at] + b + blob[at + len(b) :])
        | st.just(blob[:at])
        | st.binary(max_size=200)
    )
    for problem in problems(store):
        problem.to_json()

"""Section 3.8: where the pixels come from."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from chronozarr_dask.errors import InputError, StoreError
from chronozarr_dask.format.provenance import Provenance
from tests.format import example
from tests.format.strategies import provenances

EXAMPLE = example.CHRONOZARR["provenance"]


def test_provenance_of_the_example() -> None:
    parsed = Provenance.parse(EXAMPLE)
    assert parsed == Provenance(("sentinel-2-l2a",), "monthly median", "carry-forward", EXAMPLE["notes"])
    assert parsed.to_json() == EXAMPLE
    assert Provenance.parse(parsed) is parsed


def test_notes_may_be_left_out() -> None:
    short = {k: v for k, v in EXAMPLE.items() if k != "notes"}
    assert Provenance.parse(short).to_json() == short


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"sources": None}, "sources"),
        ({"sources": "sentinel-2-l2a"}, "sources"),
        ({"sources": [1]}, "sources"),
        ({"composite": None}, "composite"),
        ({"gap_fill": "forward"}, "gap_fill"),
        ({"gap_fill": None}, "gap_fill"),
        ({"notes": 5}, "notes"),
    ],
)
def test_field_that_is_wrong_is_named(change: dict[str, Any], field: str) -> None:
    wrong = EXAMPLE | change
    with pytest.raises(InputError, match=f"provenance.{field} is"):
        Provenance.parse(wrong)
    with pytest.raises(InputError, match=f"provenance.{field} is"):
        Provenance(**wrong)
    with pytest.raises(StoreError, match=rf"chronozarr\.provenance.{field} is"):
        Provenance.from_json(wrong)


def test_what_is_not_a_mapping_is_refused() -> None:
    with pytest.raises(InputError, match="provenance is 'monthly'"):
        Provenance.parse("monthly")
    with pytest.raises(StoreError, match="provenance is None"):
        Provenance.from_json(None)


def test_unknown_field_is_refused_from_a_user_and_passed_over_in_a_store() -> None:
    with pytest.raises(InputError, match="unknown field 'source'"):
        Provenance.parse(EXAMPLE | {"source": "x"})
    assert Provenance.from_json(EXAMPLE | {"source": "x"}) == Provenance.parse(EXAMPLE)


@given(provenances)
def test_provenance_round_trips_through_json(provenance: Provenance) -> None:
    assert Provenance.from_json(json.loads(json.dumps(provenance.to_json()))) == provenance

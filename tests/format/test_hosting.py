"""Section 9: upload order and consolidated metadata. Section 14: the order of an append."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.format.arrays import documents
from chronozarr_dask.format.hosting import consolidated, is_metadata, upload_order, upload_rank
from tests.format import example

KEYS = [
    *example.DATA_SHARDS,
    *example.MASK_SHARDS,
    "0/time/c/0",
    "0/band/c/0",
    "0/y/c/0",
    "0/x/c/0",
    "volatility/c/0/0",
]
DOCUMENTS = ["zarr.json", "0/zarr.json", "0/data/zarr.json", "0/time/zarr.json", "volatility/zarr.json"]


@given(st.permutations(KEYS + DOCUMENTS))
def test_the_root_document_is_last(keys: list[str]) -> None:
    """Case 24: chunks and shards, then the documents below the root, then the root."""
    order = upload_order(keys)
    assert sorted(order) == sorted(keys)
    assert order[-1] == "zarr.json"
    assert set(order[-len(DOCUMENTS) : -1]) == set(DOCUMENTS[1:])


@given(st.permutations(KEYS + DOCUMENTS))
def test_an_append_replaces_time_and_volatility_after_the_shards(keys: list[str]) -> None:
    """Section 14; a first upload may do the same, since section 9 has no order among these."""
    order = upload_order(keys)
    assert set(order[-len(DOCUMENTS) - 2 : -len(DOCUMENTS)]) == {"0/time/c/0", "volatility/c/0/0"}


def test_keys_of_one_rank_keep_their_order() -> None:
    assert upload_order(["b/c/1", "zarr.json", "a/c/0", "1/zarr.json", "0/zarr.json"]) == [
        "b/c/1",
        "a/c/0",
        "1/zarr.json",
        "0/zarr.json",
        "zarr.json",
    ]


@pytest.mark.parametrize(("key", "rank"), [("0/time/zarr.json", 2), ("12/time/c/0", 1), ("0/data/c/0/0/0/0", 0)])
def test_ranks(key: str, rank: int) -> None:
    assert upload_rank(key) == rank


def test_metadata_is_zarr_json_and_never_a_dotfile() -> None:
    assert is_metadata("zarr.json")
    assert is_metadata("0/data/zarr.json")
    assert not is_metadata("0/data/c/0/0/0/0")
    assert not is_metadata("0/notzarr.json")


def test_consolidated_metadata_holds_every_document_below_the_root() -> None:
    below = documents(example.LAYOUT, "uint16", example.CODEC, 0, example.GEOREF, ("mask",))
    block = consolidated(below)
    assert (block["kind"], block["must_understand"]) == ("inline", False)
    assert block["metadata"] == below
    assert list(block["metadata"]) == sorted(below), "the same bytes whatever the order in which documents are made"

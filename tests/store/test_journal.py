"""The journal: claims, documents with their version, receipts; and where it lies."""

from __future__ import annotations

import json

import pytest

from chronozarr_dask.errors import TargetError
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.store.journal import Journal, handover_key, journal_url, receipt_key, run_url, staging_key
from chronozarr_dask.store.receipts import Receipt, Stored
from tests.store.stores import Memory

RECEIPT = Receipt(
    "0/3-1-0", (Stored((10, 0, 7), (1, 0, 2**32 - 1)), Stored((), ())), [[5, 0.1], [2**60]], [[0, 1], None]
)


@pytest.mark.parametrize(
    ("target", "named", "expected"),
    [
        ("/data/store", None, "/data/store.run"),
        ("/data/store/", None, "/data/store.run"),
        ("s3://bucket/a/b", None, "s3://bucket/a/b.run"),
        ("s3://bucket/a/b", "s3://other/x", "s3://other/x"),
        ("s3://bucket", "s3://other/x", "s3://other/x"),
    ],
)
def test_where_it_lies(target: str, named: str | None, expected: str):
    assert journal_url(target, named) == expected


@pytest.mark.parametrize("target", ["s3://bucket", "s3://bucket/"])
def test_nothing_lies_beside_the_root_of_a_bucket(target: str):
    with pytest.raises(TargetError, match=r"root of a bucket.*journal="):
        journal_url(target, None)


@pytest.mark.parametrize(
    ("target", "journal", "named"),
    [
        ("/data/store", "/data/store.run", "/data/store"),
        ("s3://bucket/a", "s3://other/x", "s3://bucket/a"),
        ("s3://bucket", "s3://other/x", "s3://other/x"),
    ],
)
def test_a_run_is_named_by_its_store_where_a_claim_beside_that_leads_to_the_journal(
    target: str, journal: str, named: str
):
    assert run_url(target, journal) == named


def test_keys_are_derived_from_the_region():
    region = Region(1, 3, 1, 0)
    assert receipt_key(region) == "receipts/1/3-1-0"
    assert handover_key(region, "mask") == "handover/1/3-1-0/mask"
    assert staging_key(region, "data", "0-32-64") == "staging/1/3-1-0/data/0-32-64"


def test_documents_have_a_version():
    journal = Journal(Memory())
    assert journal.read("plan.json") is None
    journal.write("plan.json", {"a": [1]})
    assert journal.read("plan.json") == {"journal_version": 1, "a": [1]}


def test_a_document_of_another_version_is_refused():
    journal = Journal(Memory({"plan.json": b'{"journal_version": 2}'}))
    with pytest.raises(TargetError, match=r"memory/plan.json is of journal version 2, this program writes 1"):
        journal.read("plan.json")


def test_a_damaged_document_is_told():
    with pytest.raises(TargetError, match=r"memory/plan.json is damaged: .*another target"):
        Journal(Memory({"plan.json": b'{"journal_ver'})).read("plan.json")


def test_a_receipt_comes_back():
    journal, region = Journal(Memory()), Region(0, 3, 1, 0)
    assert journal.receipt(region) is None
    journal.put_receipt(region, RECEIPT)
    found = journal.receipt(region)
    assert found is not None
    assert (found.region, found.arrays) == (RECEIPT.region, RECEIPT.arrays)
    assert found.changes == [[5, 0.1], [2**60]]  # integers stay exact, floats to the last bit
    assert found.values == [[0, 1], None]
    assert (found.n_objects, found.n_bytes) == (2, 17)


@pytest.mark.parametrize("n", [0, 1, 20, -1])
def test_a_torn_receipt_is_none_and_its_region_is_done_again(n: int):
    assert Receipt.unpack(RECEIPT.pack()[:n]) is None


def test_failures_are_one_object_a_line():
    journal = Journal(Memory())
    journal.write_failures([{"region": "0/0-0-0"}, {"region": "0/0-1-0"}])
    assert isinstance(journal.objects, Memory)
    lines = journal.objects.objects["failures.jsonl"].decode().splitlines()
    assert [json.loads(line)["region"] for line in lines] == ["0/0-0-0", "0/0-1-0"]


@pytest.mark.parametrize("document", [b"[]", b'"text"', b"1"])
def test_a_document_that_is_no_object_is_told(document: bytes):
    with pytest.raises(TargetError, match=r"memory/plan.json is damaged: it is no JSON object"):
        Journal(Memory({"plan.json": document})).read("plan.json")

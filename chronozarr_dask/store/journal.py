"""The journal: everything a run knows about itself, in a prefix beside the store, never inside it.

claim.json  claim.<n>.json  heartbeat.json  heartbeat.<n>.json  (`run.owners`)
arguments.json  recipe.yaml  items.json  plan.json  estimate.json  selection.json
receipts/<pass>/<region>  scenes/<pass>/<region>.json  handover/  staging/
failures.jsonl  report.json  report.html
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chronozarr_dask.errors import TargetError
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.store.receipts import JOURNAL_VERSION, Receipt
from chronozarr_dask.store.target import Objects

SUFFIX = ".run"
CLAIM = "claim.json"
ARGUMENTS = "arguments.json"
"""What `encode` was given, but secrets; of a recipe, where its relative paths begin."""
RECIPE = "recipe.yaml"
ITEMS = "items.json"
PLAN = "plan.json"
ESTIMATE = "estimate.json"
SELECTION = "selection.json"
FAILURES = "failures.jsonl"
REPORT = "report.json"
REPORT_PAGE = "report.html"
RECEIPTS, SCENES, HANDOVER, STAGING = "receipts", "scenes", "handover", "staging"
"""Prefixes."""
STAGED = f"{STAGING}/done"
"""Prefix of the marks of what is staged whole."""
TEMPORARY = (STAGING, HANDOVER)
"""Prefixes that go after the commit."""


def journal_url(target: str, journal: str | None) -> str:
    """Prefix of the journal: `<store>.run` unless another is named."""
    if journal is not None:
        return journal
    if _is_bucket(target):
        raise TargetError(
            f"{target} is the root of a bucket, and its journal cannot lie beside it: name a place with journal="
        )
    return target.rstrip("/") + SUFFIX


def claim_url(target: str, journal: str) -> str:
    """Prefix of the claim: beside the store wherever the journal is, so that two runs into one target meet there.

    The root of a bucket has nothing beside it: there the claim is in the journal.
    """
    return journal if _is_bucket(target) else target.rstrip("/") + SUFFIX


def run_url(target: str, journal: str) -> str:
    """What a person names a run by: its store, whose claim tells of the journal; of a bucket's root the journal."""
    return journal if _is_bucket(target) else target


def _is_bucket(url: str) -> bool:
    """Whether a URL is that of a whole bucket, which has nothing beside it."""
    scheme, _, path = url.rpartition("://")
    return bool(scheme) and "/" not in path.strip("/")


def check_apart(target: Objects, journal: Objects) -> None:
    """Raise TargetError when the store lies in the journal, where a run removes things, or the journal in the store.

    Nor does a journal lie below the claim, whose place holds nothing else.
    """
    store, run = _place(target), _place(journal)
    if store.startswith(run) or run.startswith(store):
        raise TargetError(
            f"the store {target.url} and its journal {journal.url} lie one in the other: a store holds nothing of its "
            f"run, and a journal is swept at the end; name another place with journal="
        )
    beside = f"{store.rstrip('/')}{SUFFIX}"
    if not _is_bucket(target.url) and run.startswith(f"{beside}/") and run != f"{beside}/":
        raise TargetError(
            f"the journal {journal.url} lies in {target.url.rstrip('/')}{SUFFIX}, where the claim of a run goes and, "
            f"if its journal is elsewhere, nothing else: name another place with journal=, or none for that one itself"
        )


def _place(objects: Objects) -> str:
    """The prefix in one spelling, with a slash at its end."""
    scheme, found, path = objects.url.partition("://")
    if not found:
        return os.path.join(os.path.realpath(objects.url), "")
    return f"{scheme}://{path.strip('/')}/"


@dataclass(frozen=True)
class Journal:
    """Reads and writes a run's journal."""

    objects: Objects

    @property
    def url(self) -> str:
        """Where it is."""
        return self.objects.url

    def read(self, name: str) -> dict[str, Any] | None:
        """A JSON document of the journal, None where there is none.

        Raises
        ------
        TargetError
            If it is damaged, or of another journal version.
        """
        blob = self.objects.get(name)
        if blob is None:
            return None
        try:
            doc = json.loads(blob)
        except ValueError as error:
            raise TargetError(f"{self.url}/{name} is damaged: {error}; begin again with another target") from error
        if not isinstance(doc, dict):
            raise TargetError(f"{self.url}/{name} is damaged: it is no JSON object; begin again with another target")
        if doc.get("journal_version") != JOURNAL_VERSION:
            raise TargetError(
                f"{self.url}/{name} is of journal version {doc.get('journal_version')}, this program writes "
                f"{JOURNAL_VERSION}: finish the run with the version that began it"
            )
        return doc

    def write(self, name: str, doc: Mapping[str, Any]) -> None:
        """Write a JSON document of the journal."""
        self.objects.put(name, dump(doc))

    def put_receipt(self, region: Region, receipt: Receipt) -> None:
        """Record a finished region, after its last object was acknowledged."""
        self.objects.put(receipt_key(region), receipt.pack())

    def receipt(self, region: Region) -> Receipt | None:
        """The receipt of a region, None when it is not done."""
        blob = self.objects.get(receipt_key(region))
        return None if blob is None else Receipt.unpack(blob)

    def put_notes(self, region: Region, notes: Mapping[str, Any]) -> None:
        """Keep what the composites of a region tell of their scenes."""
        self.write(notes_key(region), notes)

    def notes(self, region: Region) -> dict[str, Any] | None:
        """What `put_notes` kept; None where there is nothing."""
        return self.read(notes_key(region))

    def write_failures(self, failures: Sequence[Mapping[str, Any]]) -> None:
        """Record the regions that failed, one JSON object a line."""
        lines = [json.dumps({"journal_version": JOURNAL_VERSION, **f}) for f in failures]
        self.objects.put(FAILURES, "".join(line + "\n" for line in lines).encode())


def receipt_key(region: Region) -> str:
    """Key of a region's receipt."""
    return f"{RECEIPTS}/{region.name}"


def notes_key(region: Region) -> str:
    """Key of what the composites of a region tell of their scenes."""
    return f"{SCENES}/{region.name}.json"


def handover_key(region: Region, name: str) -> str:
    """Key of what a region hands to the next slab of its place, for data or a plane."""
    return f"{HANDOVER}/{region.name}/{name}"


def staging_key(region: Region, name: str, part: str) -> str:
    """Key of a staged part of the source, for the region that will store it."""
    return f"{STAGING}/{region.name}/{name}/{part}"


def staged_key(name: str) -> str:
    """Key of the mark that a block or a region is staged: written after its last piece was acknowledged."""
    return f"{STAGED}/{name}"


def dump(doc: Mapping[str, Any]) -> bytes:
    """A document of the journal as its bytes."""
    return (json.dumps({"journal_version": JOURNAL_VERSION, **doc}, indent=2) + "\n").encode()

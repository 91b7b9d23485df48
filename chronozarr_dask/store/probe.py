"""Whether a place can be written, read back and cleaned up: tried with one small object before any work.

LIST, PUT, GET, a conditional create over it that must be refused, DELETE. What is wrong with an endpoint, with
credentials or with a policy shows here and not after an hour, and as the answer to a request whose refusal has a code:
that of a HEAD has none.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

from chronozarr_dask.errors import ConditionalCreateError, TargetError, TargetFullError
from chronozarr_dask.store.answers import NO_CONDITIONAL_CREATE
from chronozarr_dask.store.bucket import PROBE, Bucket
from chronozarr_dask.store.folder import Folder
from chronozarr_dask.store.journal import claim_url
from chronozarr_dask.store.retries import READING
from chronozarr_dask.store.target import Objects, open_target


def probe_places(target: Objects, journal: Objects, storage_options: Mapping[str, Any], *, conditional: bool) -> None:
    """Try where a run writes: its journal, and the place beside its store, where the claim lies.

    Nothing is put below the target itself, where a store is all that there ever is. Errors as of `probe`.
    """
    beside = open_target(claim_url(target.url, journal.url), storage_options)
    for place in {journal.url: journal, beside.url: beside}.values():
        probe(place, conditional=conditional)


def probe(objects: Objects, *, conditional: bool = True) -> None:
    """Try a place; of a folder only the rights are looked at.

    Parameters
    ----------
    objects : Objects
        Where the journal or the claim of a run goes. The object's key is unique, and does not make the place count as
        one where something is (`Bucket.is_empty`).
    conditional : bool
        Whether conditional creates are needed there.

    Raises
    ------
    ConditionalCreateError
        If the store does not have conditional creates, or takes no notice of the condition.
    TargetError
        If the place cannot be written, read back, or cleaned up; where something stays behind, it says what.
    """
    if isinstance(objects, Folder):
        _check_rights(objects.root)
        return
    place: Objects = replace(objects, patience=READING) if isinstance(objects, Bucket) else objects
    key = PROBE + uuid4().hex
    data = key.encode()
    with _told(f"{place.url} cannot be written, and nothing has been done yet"):
        place.is_empty()  # a LIST first: some servers make a bucket that is not there when something is put into it
        place.put(key, data)
    try:
        with _told(f"{place.url} can be written, and what is written there cannot be read back"):
            found = place.get(key)
            if found != data:
                came = "nothing" if found is None else f"{len(found)} other bytes"
                raise TargetError(f"{place.url}/{key}: {len(data)} bytes were stored, and {came} came back")
        if conditional and place.create(key, data + b"2"):
            raise ConditionalCreateError(f"{place.url}: {NO_CONDITIONAL_CREATE} (an object was written over another)")
    finally:
        with _told(
            f"{place.url} can be written, and nothing can be removed there, which a run must for what it stages: allow "
            f"DELETE. {place.url}/{key} stays behind ({len(data)} bytes): remove it"
        ):
            place.delete(key)


@contextmanager
def _told(what: str) -> Iterator[None]:
    try:
        yield
    except TargetFullError as error:
        raise TargetFullError(f"{what}: {error}") from error
    except TargetError as error:
        raise TargetError(f"{what}: {error}") from error


def _check_rights(folder: str) -> None:
    """Raise TargetFullError where the nearest folder that is there may not be written."""
    while not os.path.lexists(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        return
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        raise TargetFullError(f"{folder}: the file system is mounted read-only; name a target on another")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise TargetFullError(
            f"{folder}: permission denied: this process may not write there; check the rights of its user, or name "
            f"another target"
        )

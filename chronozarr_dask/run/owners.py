"""Claims and heartbeats of a run as its journal keeps them: who owned it, who owns it, and when that was seen last."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal
from uuid import uuid4

from chronozarr_dask.run.clock import now
from chronozarr_dask.run.machine import is_process_gone, machine_identity, process_start
from chronozarr_dask.store.journal import CLAIM, Journal, dump

State = Literal["running", "ended"]


AT_WORK: set[str] = set()
"""Tokens of the claims that this process works on: a run that could not say that it ended has ended all the same."""


@dataclass(frozen=True)
class Owner:
    """A process that claimed a run.

    Attributes
    ----------
    host : str
    process : int
    machine : str or None
        Within which process ids mean something: boot and process namespace; None where the system does not tell.
    started : int or None
        When the process started, in ticks since boot: a process id is used again.
    token : str
        Random, of this claim alone.
    since : str
        When it was claimed, by the clock of its host: to be shown, never compared.
    """

    host: str
    process: int
    machine: str | None
    started: int | None
    token: str
    since: str

    @classmethod
    def me(cls) -> Owner:
        """The process that calls."""
        pid = os.getpid()
        return cls(socket.gethostname(), pid, machine_identity(), process_start(pid), uuid4().hex, now())

    @classmethod
    def of(cls, claim: Mapping[str, Any]) -> Owner:
        """The owner that a claim names."""
        return cls(**{name: claim.get(name, default) for name, default in _UNKNOWN.items()})

    @property
    def told(self) -> str:
        """Who it is, for a message."""
        return f"process {self.process} on {self.host} (since {self.since})"

    def is_gone(self) -> bool:
        """Whether it is certain that the owner works no more; False also where this machine cannot know."""
        if self.machine is None or self.machine != machine_identity():
            return False
        if self.process == os.getpid():
            return self.token not in AT_WORK
        return is_process_gone(self.process, self.started)


_UNKNOWN: dict[str, Any] = {"host": "unknown", "process": 0, "machine": None, "started": None, "token": "", "since": ""}


@dataclass(frozen=True)
class Claim:
    """One claim of a run: the `generation`-th, counted from 1."""

    generation: int
    owner: Owner


@dataclass(frozen=True)
class Beat:
    """A heartbeat as it was found.

    Attributes
    ----------
    generation : int
        Of the claim.
    token : str
        Of the claim.
    counter : int
        Grows by one with each renewal.
    state : "running" or "ended"
        Ended: the owner has stopped in order, whether the run was finished or not.
    host, process, since
        Of the owner.
    time : str
        When it was renewed, by the clock of its host: to be shown, never compared.
    period : float
        Seconds between two renewals.
    """

    generation: int
    token: str
    counter: int
    state: State
    host: str
    process: int
    since: str
    time: str
    period: float

    def pack(self) -> bytes:
        """As in the journal."""
        return dump(asdict(self))


def claim_key(generation: int) -> str:
    """Key of a claim in the journal."""
    return CLAIM if generation == 1 else f"claim.{generation}.json"


def heartbeat_key(generation: int) -> str:
    """Key of a claim's heartbeat in the journal."""
    return "heartbeat.json" if generation == 1 else f"heartbeat.{generation}.json"


def read_claim(journal: Journal) -> Claim | None:
    """The last claim, whose owner is the owner of the run; None where there is none."""
    found, generation = None, 1
    while (doc := journal.read(claim_key(generation))) is not None:
        found = Claim(generation, Owner.of(doc))
        generation += 1
    return found


def read_heartbeat(journal: Journal) -> Beat | None:
    """The heartbeat of the run's owner; None before its first, or where there is no run.

    Whether it lives is seen by reading twice: `counter` grows every `period` seconds.
    """
    claim = read_claim(journal)
    return None if claim is None else read_beat(journal, claim)


def read_beat(journal: Journal, claim: Claim) -> Beat | None:
    """The heartbeat of a claim; None also where it is cut: it is being renewed on a disk, or its owner died over it."""
    blob = journal.objects.get(heartbeat_key(claim.generation))
    try:
        doc = json.loads(blob or b"null")
        return None if doc is None else Beat(**{name: doc[name] for name in Beat.__dataclass_fields__})
    except (ValueError, KeyError, TypeError):
        return None

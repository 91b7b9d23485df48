"""A gate in front of every object that a process stores: it notes each, and stops the process at a chosen one.

A kill after a time that was slept hits what it hits. Here the process itself waits at the place that the seed names, so
it is alive there when the parent kills it, and the parent can look at what is stored at that moment.

`install` puts the gate around `put` and `create` of folders and buckets. The folder of control files is named by the
environment; in it is one folder for each store (by the last part of its URL), with

    log          a line for each object that was stored: process, operation, where ("store" or "run"), key
    gate-<i>     the place to stop at, as JSON (`Place`); the one with the highest number counts
    reached-<i>  made by the process that stopped: its id, and the key
    open-<i>     made by the parent: go on

What is stored elsewhere is let through.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from chronozarr_dask.store.bucket import Bucket
from chronozarr_dask.store.folder import Folder
from chronozarr_dask.store.target import open_target
from tests.chaos.keys import read_plan, region_of_keys
from tests.encode.counting import note, notes

CONTROL, OWNER = "CZ_CHAOS_CONTROL", "CZ_CHAOS_OWNER"
"""Names in the environment: the folder of control files; whose cluster a worker is of."""

LONGEST = 300.0
"""Seconds after which nobody comes any more to open."""

Point = Literal["claimed", "planned", "staging", "selection", "first", "region", "passes", "commit", "root"]
How = Literal["before", "torn", "after"]


@dataclass(frozen=True)
class Place:
    """Where a process stops.

    Attributes
    ----------
    point : str
        "claimed": before the plan is kept; "planned": after that; "staging", "selection": at such an object of the
        journal; "first": before an object of the store; "region": at an object of a region that has others already;
        "passes": at an object of a later pass when pass 0 has all receipts; "commit": at a document or coordinate;
        "root": before the root.
    n : int
        Objects of this kind that are let through before.
    how : str
        Before the object, with half of it written, or after it.
    """

    point: Point
    n: int = 0
    how: How = "before"


class Gate:
    """The gate of one store in this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = str(folder / "log")
        self.lock = threading.Lock()
        self.seen: Counter[int] = Counter()
        self.in_region: Counter[str] = Counter()
        self.regions: dict[str, str] = {}
        self.n_first_pass = 0

    def passes(self, objects: Any, where: str, key: str, data: Any, operation: Callable[..., Any]) -> Any:
        """Store an object, and stop where it is the place."""
        if where == "store" and not self.regions:
            self._read_plan(objects)
        i, place = self._place()
        stops = place is not None and not self._is_open(i) and self._is_there(i, place, where, key)
        if stops and place is not None and place.how == "torn" and isinstance(objects, Folder):
            objects_put(objects, key, bytes(data)[: len(data) // 2])
        if stops and place is not None and place.how != "after":
            self._stop(i, key)
        out = operation(objects, key, data)
        note(self.log, "put", where, key)
        with self.lock:
            self.in_region[self.regions.get(key, "")] += where == "store"
        if stops and place is not None and place.how == "after":
            self._stop(i, key)
        return out

    def _read_plan(self, objects: Any) -> None:
        blob = open_target(f"{objects.url}.run", getattr(objects, "storage_options", None)).get("plan.json")
        assert blob is not None, "a store has no object before its plan is kept"
        plan = read_plan(blob)
        with self.lock:
            self.regions, self.n_first_pass = region_of_keys(plan), plan.passes[0].n_regions

    def _place(self) -> tuple[int, Place | None]:
        i = max((int(p.name.split("-")[1]) for p in self.folder.glob("gate-*")), default=-1)
        return i, None if i < 0 else Place(**json.loads((self.folder / f"gate-{i}").read_text()))

    def _is_open(self, i: int) -> bool:
        return (self.folder / f"open-{i}").exists()

    def _is_there(self, i: int, place: Place, where: str, key: str) -> bool:
        """Whether an object is of the kind that stops, and enough of them went through (or another process stopped)."""
        if not self._is_of(place, where, key):
            return False
        with self.lock:
            self.seen[i] += 1
            return self.seen[i] > place.n or (self.folder / f"reached-{i}").exists()

    def _is_of(self, place: Place, where: str, key: str) -> bool:
        region = self.regions.get(key) if where == "store" else None
        match place.point:
            case "claimed" | "planned":
                return (where, key) == ("run", "plan.json")
            case "staging":
                return where == "run" and key.startswith("staging/")
            case "selection":
                return (where, key) == ("run", "selection.json")
            case "first":
                return where == "store"
            case "region":
                return region is not None and self.in_region[region] > 0
            case "passes":
                return region is not None and not region.startswith("0/") and self._first_pass_is_done()
            case "commit":
                return where == "store" and region is None and key != "zarr.json"
            case "root":
                return (where, key) == ("store", "zarr.json")

    def _first_pass_is_done(self) -> bool:
        lines = notes(Path(self.log))
        return len({key for *_, key in lines if key.startswith("receipts/0/")}) >= self.n_first_pass

    def _stop(self, i: int, key: str) -> None:
        """Say that the place is reached, and wait."""
        new = self.folder / f"reached-{i}.{os.getpid()}.{threading.get_ident()}"
        new.write_text(f"{os.getpid()} {key}")
        try:
            os.link(new, self.folder / f"reached-{i}")
        except FileExistsError:
            pass
        finally:
            new.unlink()
        until = time.monotonic() + LONGEST
        while not self._is_open(i):
            if time.monotonic() > until:
                raise RuntimeError(f"the gate at {key} was never opened")
            time.sleep(0.01)


_GATES: dict[str, Gate] = {}
_GUARD = threading.Lock()
_ORIGINAL = {cls: (cls.put, cls.create) for cls in (Folder, Bucket)}


def objects_put(objects: Any, key: str, data: bytes) -> None:
    """`put` without a gate."""
    _ORIGINAL[type(objects)][0](objects, key, data)


def _gate_of(url: str) -> tuple[Gate, str, str] | None:
    """(gate, "store" or "run", beginning of the keys) of a prefix."""
    control = Path(os.environ[CONTROL])
    parts = url.rstrip("/").split("/")
    for i, part in enumerate(parts):
        name = part.removesuffix(".run")
        if name and (control / name).is_dir():
            with _GUARD:
                gate = _GATES.setdefault(name, Gate(control / name))
            within = "/".join(parts[i + 1 :])
            return gate, "run" if part.endswith(".run") else "store", f"{within}/" if within else ""
    return None


def _gated(operation: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, key: str, data: Any) -> Any:
        found = _gate_of(self.url)
        if found is None:
            return operation(self, key, data)
        gate, where, begin = found
        return gate.passes(self, where, begin + key, data, lambda o, _, d: operation(o, key, d))

    return call


def install() -> None:
    """Put the gate into this process, once."""
    for cls, (put, create) in _ORIGINAL.items():
        if cls.put is put:
            setattr(cls, "put", _gated(put))  # noqa: B010
            setattr(cls, "create", _gated(create))  # noqa: B010


def dask_setup(_worker: Any) -> None:
    """Dask calls it in each worker process that preloads this module."""
    install()
    folder = workers_of(Path(os.environ[CONTROL]), os.environ[OWNER])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / str(os.getpid())).touch()


def workers_of(control: Path, owner: str) -> Path:
    """Folder with a file for each worker process that an owner had, named by its id."""
    return control / f"workers of {owner}"


# ---- the parent's side ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Control:
    """The control files of one store."""

    folder: Path

    def set(self, i: int, place: Place) -> None:
        """Stop at a place."""
        new = self.folder / "new"
        new.write_text(json.dumps(asdict(place)))
        new.rename(self.folder / f"gate-{i}")

    def reached(self, i: int) -> tuple[int, str] | None:
        """(process, key) that stopped."""
        path = self.folder / f"reached-{i}"
        if not path.exists():
            return None
        pid, key = path.read_text().split(" ", 1)
        return int(pid), key

    def open(self, i: int) -> None:
        """Let all go on."""
        (self.folder / f"open-{i}").touch()

    def log(self) -> list[list[str]]:
        """[process, "put", "store" or "run", key] of each object, in order."""
        return notes(self.folder / "log")


def later(place: Place, n: int) -> Place:
    """The same place after `n` objects of its kind."""
    return replace(place, n=n)

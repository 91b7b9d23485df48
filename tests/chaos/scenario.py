"""What a seed does: which product, where to, on what workers, and who is killed where. Nothing else is random."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from tests.chaos.gate import How, Place, Point

Phase = Literal["before the first object", "mid-region", "between passes", "commit"]
PHASES: tuple[Phase, ...] = ("before the first object", "mid-region", "between passes", "commit")

Runner = Literal["threads", "cluster", "local"]
"""Threads of the client; workers that outlive it, behind a scheduler; a LocalCluster of its own."""

Victim = Literal["client", "worker", "workers"]
Kind = Literal["cube", "scenes"]

HOWS: tuple[How, ...] = ("before", "torn", "after")


@dataclass(frozen=True)
class Product:
    """What decides the bytes of the store.

    Attributes
    ----------
    kind : "cube" or "scenes"
        A Zarr array, or composites of scenes with gaps carried forward.
    encoding : "auto", "none" or "star-delta"
    shard_time : int or None
    """

    kind: Kind
    encoding: str
    shard_time: int | None


@dataclass(frozen=True)
class Kill:
    """Who is killed, how, and where; `delay` seconds after the place was reached."""

    phase: Phase
    place: Place
    victim: Victim
    signal: Literal["KILL", "TERM"]
    delay: float


@dataclass(frozen=True)
class Scenario:
    """All of one seed.

    Attributes
    ----------
    time_slab : int or None
        Cuts the time axis, with handovers between the slabs; changes no byte.
    on_s3 : bool
    kills : tuple of Kill
        The first is what the seed is for; a second one meets the process that goes on.
    """

    seed: int
    product: Product
    time_slab: int | None
    on_s3: bool
    runner: Runner
    kills: tuple[Kill, ...]

    @property
    def by_journal(self) -> bool:
        """Whether it goes on by ``resume RUN``, once there is a plan; else by the same command with ``--resume``."""
        return self.seed % 8 in (1, 2, 4, 7)


def scenario(seed: int) -> Scenario:
    """The scenario of a seed; phases take turns."""
    rng = random.Random(seed)
    kind: Kind = "scenes" if seed % 3 == 2 else "cube"
    product = Product(kind, rng.choice(["auto", "none", "star-delta"]), rng.choice([None, 4]))
    if seed % 8 == 7:
        kind, product = "scenes", Product("scenes", "star-delta", 4)
    runner: Runner = "threads" if rng.random() < 0.45 else "cluster"
    if kind == "scenes" and rng.random() < 0.2:
        runner = "local"  # a recipe can ask for one
    on_s3 = seed % 5 == 3
    first = _kill(rng, PHASES[seed % 4], product, runner, on_s3)
    kills = [first]
    if rng.random() < 0.4:
        phase = rng.choice(PHASES[max(1, seed % 4) :])
        kills.append(_kill(rng, phase, product, "threads", on_s3))  # of the client
    slab = rng.choice([None, 5, 6]) if kind == "cube" else rng.choice([None, 4])
    return Scenario(seed, product, slab, on_s3, runner, tuple(kills))


def _kill(rng: random.Random, phase: Phase, product: Product, runner: Runner, on_s3: bool) -> Kill:
    victim: Victim = "client" if runner == "threads" else rng.choice(["client", "worker", "workers"])
    return Kill(
        phase,
        _place(rng, phase, product.encoding == "auto", on_s3),
        victim,
        rng.choice(["KILL", "KILL", "KILL", "TERM"]),
        rng.uniform(0.0, 0.2),
    )


def _place(rng: random.Random, phase: Phase, measures: bool, on_s3: bool) -> Place:
    how: How = rng.choice(["before", "after"] if on_s3 else HOWS)  # a PUT is whole or not at all
    if phase == "mid-region":
        return Place("region", rng.randrange(40), how)
    if phase == "between passes":
        return Place("passes", rng.randrange(4), how)
    if phase == "commit":
        return Place("root") if rng.random() < 0.2 else Place("commit", rng.randrange(1, 15), how)
    points: list[Point] = ["claimed", "planned", "first"]
    point = rng.choice([*points, "staging", "selection"] if measures else points)
    fixed: dict[Point, How] = {"planned": "after", "staging": how}
    return Place(point, rng.randrange(6) if point == "staging" else 0, fixed.get(point, "before"))

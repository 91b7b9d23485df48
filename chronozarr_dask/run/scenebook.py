"""What became of the scenes of a run: used, dropped, lost, and what each gave. Read from the journal at the end."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

from chronozarr_dask.plan.plan import Plan
from chronozarr_dask.store.inorder import in_order
from chronozarr_dask.store.journal import Journal

SUSPICIOUS = 0.2
"""Share of a scene's valid pixels on the least number after an offset, beyond which the offset was applied before."""
LISTED = 12

Key = tuple[str | None, str]
"""Collection and id of a scene."""


@dataclass(frozen=True)
class UsedScene:
    """One scene that counts.

    Attributes
    ----------
    id : str
    datetime : str
        RFC 3339.
    timestep : str
        What people call the timestep that it belongs to.
    offset : int
    rule : str
        Why that offset.
    collection : str or None
        Ids are unique in a collection only.
    """

    id: str
    datetime: str
    timestep: str
    offset: int
    rule: str
    collection: str | None = None

    @property
    def key(self) -> Key:
        """What tells it from all others."""
        return self.collection, self.id


@dataclass(frozen=True)
class Scenes:
    """The scenes of a finished run.

    Attributes
    ----------
    used : tuple of mappings
        Of each scene: id, datetime, timestep, offset, rule, collection, valid_pixels.
    dropped : tuple of {"id", "reason"}
        Found, and not used.
    lost : tuple of {"collection", "id", "timestep", "error"}
        Could not be read (`keep_going`), each once.
    empty : tuple of str
        Timesteps without an observation anywhere.
    covered_pixels : mapping of timestep to int
        Pixels with an observation.
    warnings : tuple of str
    """

    used: tuple[Mapping[str, Any], ...]
    dropped: tuple[Mapping[str, str], ...]
    lost: tuple[Mapping[str, Any], ...]
    empty: tuple[str, ...]
    covered_pixels: Mapping[str, int]
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As in the report."""
        fields = asdict(self)
        del fields["warnings"]
        return fields


@dataclass(frozen=True)
class SceneBook:
    """What is known of the scenes before the run.

    Attributes
    ----------
    used : tuple of UsedScene
    dropped : tuple of (id, reason)
    labels : tuple of str
        Of the timesteps.
    """

    used: tuple[UsedScene, ...]
    dropped: tuple[tuple[str, str], ...]
    labels: tuple[str, ...]

    def read(self, journal: Journal, plan: Plan) -> Scenes:
        """What the regions have told of their scenes, added up."""
        covered, valid, least = Counter[int](), Counter[Key](), Counter[Key]()
        lost: dict[Key, str] = {}
        with closing(in_order(journal.notes, plan.passes[0].regions())) as told:
            for notes in told:
                if notes is None:
                    continue
                covered.update(dict(zip(notes["times"], notes["covered"], strict=True)))
                for collection, name, n_valid, n_least in notes["valid"]:
                    valid[collection, name] += n_valid
                    least[collection, name] += n_least
                for one in notes["lost"]:
                    lost.setdefault((one["collection"], one["id"]), one["error"])
        empty = tuple(text for t, text in enumerate(self.labels) if not covered[t])
        at = {scene.key: scene.timestep for scene in self.used}
        return Scenes(
            used=tuple({**asdict(scene), "valid_pixels": valid[scene.key]} for scene in self.used),
            dropped=tuple({"id": name, "reason": reason} for name, reason in self.dropped),
            lost=tuple(
                {"collection": key[0], "id": key[1], "timestep": at[key], "error": lost[key]} for key in _sorted(lost)
            ),
            empty=empty,
            covered_pixels={text: covered[t] for t, text in enumerate(self.labels)},
            warnings=(*_of_empty(empty), *_of_lost(lost, at), *_of_offsets(valid, least)),
        )


def _of_empty(empty: Sequence[str]) -> list[str]:
    if not empty:
        return []
    return [f"timesteps without an observation: {_listed(empty)}"]


def _sorted(keys: Iterable[Key]) -> list[Key]:
    return sorted(keys, key=lambda key: (key[1], key[0] or ""))


def _of_lost(lost: Mapping[Key, str], at: Mapping[Key, str]) -> list[str]:
    by_step: dict[str, list[str]] = defaultdict(list)
    for key in _sorted(lost):
        by_step[at[key]].append(key[1])
    return [
        f"{text} lost {len(names)} {'scene' if len(names) == 1 else 'scenes'} that could not be read: {_listed(names)}"
        for text, names in sorted(by_step.items())
    ]


def _of_offsets(valid: Mapping[Key, int], least: Mapping[Key, int]) -> list[str]:
    names = [key[1] for key in _sorted(valid) if valid[key] and least[key] / valid[key] > SUSPICIOUS]
    if not names:
        return []
    return [
        f"the offset took more than a fifth of the valid pixels of {len(names)} scenes to 1, as if it had been applied "
        f"before: {_listed(names)}; look at these, and set source.offsets for them"
    ]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:LISTED]) + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")

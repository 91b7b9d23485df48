"""One acquisition counts once: of the twins that reprocessing leaves in a catalogue, one stays.

Twins have the same platform and tile, were sensed within a second of each other, and belong to one datastrip by its
sensing start. Times are clustered, never rounded: 00.9995 and 01.0005 are twins. A cluster is whatever a chain of such
neighbours joins, since two passes of one satellite over one tile are never seconds apart::

    00.0   00.9   01.8        one cluster of three: each is within a second of the next
    00.0          01.8        two acquisitions

A scene whose item names no datastrip matches any: it joins the nearest cluster within a second, the earliest datastrip
where two are as near. Different datastrips of one tile and day both stay, also where a catalogue gives both the time
of the whole pass. A scene without platform or tile has no twin but a copy of itself.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass

from chronozarr_dask.format.times import render_time
from chronozarr_dask.source.stac.items import Scene

WITHIN_MS = 1000

Cluster = list[Scene]


@dataclass(frozen=True)
class Dropped:
    """A twin that does not count.

    Attributes
    ----------
    scene : Scene
    kept : str
        Id of the scene that counts in its place.
    reason : str
    """

    scene: Scene
    kept: str
    reason: str


@dataclass(frozen=True)
class Deduplicated:
    """What counts, and what does not; both ordered by (datetime, id)."""

    kept: tuple[Scene, ...]
    dropped: tuple[Dropped, ...]


def drop_twins(scenes: Iterable[Scene]) -> Deduplicated:
    """Keep of each acquisition the highest processing baseline, then the latest processing time, then the last id.

    The result does not depend on the order of `scenes`. A missing baseline or processing time is lower than any.
    """
    kept: list[Scene] = []
    dropped: list[Dropped] = []
    ordered = _in_total_order(scenes)
    place = {id(scene): i for i, scene in enumerate(ordered)}
    for cluster in _clusters(ordered):
        best = max(cluster, key=lambda scene: (*_rank(scene), place[id(scene)]))
        kept.append(best)
        dropped.extend(Dropped(scene, best.id, _reason(scene, best)) for scene in cluster if scene is not best)
    return Deduplicated(
        tuple(sorted(kept, key=lambda scene: place[id(scene)])),
        tuple(sorted(dropped, key=lambda twin: place[id(twin.scene)])),
    )


def _rank(scene: Scene) -> tuple[float, float, str]:
    baseline = -1.0 if scene.baseline is None else scene.baseline
    processed = float("-inf") if scene.processing_time is None else scene.processing_time
    return baseline, processed, scene.id


def _in_total_order(scenes: Iterable[Scene]) -> list[Scene]:
    """By (datetime, id); of the same ones by all that they hold, so that equal places hold equal scenes."""
    scenes = [copy(scene) for scene in scenes]  # one object given twice is two scenes
    count = Counter(scene.order for scene in scenes)

    def key(scene: Scene) -> tuple[int, str, str]:
        return *scene.order, json.dumps(scene.to_json(), sort_keys=True) if count[scene.order] > 1 else ""

    return sorted(scenes, key=key)


# ---- clusters: `ordered` is sorted by time throughout ---------------------------------------------------------------


def _clusters(ordered: Sequence[Scene]) -> list[Cluster]:
    groups: dict[tuple[str, ...], Cluster] = defaultdict(list)
    for scene in ordered:
        if scene.platform and scene.tile:
            groups["acquisition", scene.platform, scene.tile].append(scene)
        else:
            groups["copies", scene.collection or "", scene.id].append(scene)
    return [cluster for group in groups.values() for cluster in _of_one_tile(group)]


def _of_one_tile(ordered: Sequence[Scene]) -> list[Cluster]:
    strips: dict[str | None, Cluster] = defaultdict(list)
    for scene in ordered:
        strips[scene.datastrip_start].append(scene)
    nameless = _chains(strips.pop(None, []))
    named = [chain for start in sorted(s for s in strips if s) for chain in _chains(strips[start])]
    joined = [list(chain) for chain in named]
    alone = []
    for chain in nameless:
        gaps = [_gap(chain, other) for other in named]
        nearest = min(range(len(gaps)), key=gaps.__getitem__, default=None)
        if nearest is None or gaps[nearest] > WITHIN_MS:
            alone.append(chain)
        else:
            joined[nearest].extend(chain)
    return joined + alone


def _chains(ordered: Sequence[Scene]) -> list[Cluster]:
    chains: list[Cluster] = []
    for scene in ordered:
        if chains and scene.datetime - chains[-1][-1].datetime <= WITHIN_MS:
            chains[-1].append(scene)
        else:
            chains.append([scene])
    return chains


def _gap(a: Cluster, b: Cluster) -> int:
    return min(abs(x.datetime - y.datetime) for x in a for y in b)


# ---- reasons -------------------------------------------------------------------------------------------------------


def _reason(scene: Scene, best: Scene) -> str:
    same = f"the same acquisition as {best.id} ({best.platform}, tile {best.tile}, {render_time(best.datetime)})"
    if scene.baseline != best.baseline:
        return f"{same}, of processing baseline {_baseline(scene)} and not {_baseline(best)}"
    if scene.processing_time != best.processing_time:
        return f"{same}, processed {_time(scene)} and not {_time(best)}"
    if scene.id != best.id:
        return f"{same}, with a lower id"
    return f"a copy of item {best.id!r}"


def _baseline(scene: Scene) -> str:
    return "unknown" if scene.baseline is None else f"{scene.baseline:05.2f}"


def _time(scene: Scene) -> str:
    return "at an unknown time" if scene.processing_time is None else render_time(scene.processing_time)

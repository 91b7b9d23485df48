"""Search: from a recipe's source to the frozen list of scenes: what counts, what does not and why, offsets."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.times import render_time
from chronozarr_dask.options.recipe import Period, Recipe, Source
from chronozarr_dask.source.access import Access
from chronozarr_dask.source.geotiff.listing import entries_by_name, is_glob, list_files
from chronozarr_dask.source.geotiff.scenes import scenes_of_files
from chronozarr_dask.source.manifest import is_manifest, read_manifest
from chronozarr_dask.source.stac.area import Area
from chronozarr_dask.source.stac.items import Scene
from chronozarr_dask.source.stac.moments import parse_moment
from chronozarr_dask.source.stac.offsets import Decision, decide_offsets
from chronozarr_dask.source.stac.search import Query, ordered, read_scenes, search_api
from chronozarr_dask.source.stac.signing import Signer, signer_for
from chronozarr_dask.source.stac.twins import drop_twins

_CALENDAR = re.compile(r"(\d{4})(?:-(\d\d))?", re.ASCII)


@dataclass(frozen=True)
class Found:
    """The scenes of a run.

    Attributes
    ----------
    scenes : tuple of Scene
        Ordered by (datetime, id), narrowed to the bands in the recipe's order, and the class asset behind them.
    decisions : tuple of Decision
        What is added to the pixels of each, in the same order.
    dropped : tuple of (id, reason)
        Items that were found and do not count.
    """

    scenes: tuple[Scene, ...]
    decisions: tuple[Decision, ...]
    dropped: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        """As the journal keeps it: hrefs have no signatures."""
        return {
            "scenes": [scene.to_json() for scene in self.scenes],
            "offsets": [[d.id, d.offset, d.rule] for d in self.decisions],
            "dropped": [list(pair) for pair in self.dropped],
        }

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> Found:
        """Inverse of `to_json`; InputError where it is something else."""
        try:
            return cls(
                tuple(Scene.from_json(fields) for fields in doc["scenes"]),
                tuple(Decision(*fields) for fields in doc["offsets"]),
                tuple((name, reason) for name, reason in doc["dropped"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"the frozen item list of the run cannot be read ({error!r}); was it edited? Begin with another target"
            ) from error

    @property
    def digest(self) -> str:
        """Of scenes and offsets: another list is another product."""
        kept = {k: v for k, v in self.to_json().items() if k != "dropped"}
        return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def find(recipe: Recipe) -> Found:
    """Search, drop twins and what lies outside of the period, decide on offsets.

    Raises
    ------
    InputError
        If the search fails or finds nothing, an item has not the bands, or `auto` cannot know an offset.
    """
    source = recipe.source
    start, end = period_ms(recipe.period)
    inside: list[Scene] = []
    outside: list[Scene] = []
    for scene in _search(recipe, start, end):
        in_period = (start is None or start <= scene.datetime) and (end is None or scene.datetime < end)
        (inside if in_period else outside).append(scene)
    if not inside:
        where = source.api or source.items or source.files
        raise InputError(
            f"no item was found at {where}{_asked(recipe)}: mend the area, the period, the collections or the query"
        )
    unique = drop_twins(inside)
    scenes = tuple(scene.narrowed(_asset_names(source)) for scene in unique.kept)
    return Found(
        scenes,
        decide_offsets(scenes, source.offset, source.offsets),
        (
            *((twin.scene.id, twin.reason) for twin in unique.dropped),
            *((scene.id, f"of {render_time(scene.datetime)}, outside of the period") for scene in outside),
        ),
    )


def _asset_names(source: Source) -> list[str]:
    names = [band.asset or band.name for band in source.bands]
    classes = source.classes or source.bits
    return names if classes is None else [*names, classes.asset]


def signer(source: Source) -> Signer | None:
    """Who signs hrefs when they are read."""
    if source.sign == "planetary-computer":
        return Signer()
    return signer_for(source.api) if source.sign == "auto" and source.api else None


def area_of(recipe: Recipe) -> Area | None:
    """The area as a box or a GeoJSON geometry; a path is read."""
    if not isinstance(recipe.area, str):
        return recipe.area
    try:
        with open(recipe.area, encoding="utf-8") as file:
            document = json.load(file)
    except (OSError, ValueError) as error:
        raise InputError(f"area names the file {recipe.area}, which cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise InputError(f"area names the file {recipe.area}, which is no GeoJSON object")
    return document


def period_ms(period: Period) -> tuple[int | None, int | None]:
    """First millisecond of the period, and the first one after it."""
    start = None if period.start is None else _moment(period.start, "period.start")[0]
    end = None if period.end is None else _moment(period.end, "period.end")[1]
    if start is not None and end is not None and end <= start:
        raise InputError(f"period.start is {period.start} and period.end is {period.end}: the end is before the start")
    return start, end


def _moment(text: str, where: str) -> tuple[int, int]:
    """First millisecond of a year, month, day or moment, and the first one after it."""
    calendar = _CALENDAR.fullmatch(text.strip())
    if calendar is not None:
        year, month = int(calendar[1]), int(calendar[2] or 1)
        after = (year + 1, 1) if calendar[2] is None else (year + month // 12, month % 12 + 1)
        return (
            parse_moment(f"{year:04d}-{month:02d}-01", where),
            parse_moment(f"{after[0]:04d}-{after[1]:02d}-01", where),
        )
    ms = parse_moment(text, where)
    return ms, ms + (86_400_000 if len(text.strip()) == 10 else 1)


def _search(recipe: Recipe, start: int | None, end: int | None) -> Sequence[Scene]:
    source = recipe.source
    if source.files is not None:
        return _of_files(source)
    period = None
    if start is not None or end is not None:
        first, last = (".." if ms is None else render_time(ms) for ms in (start, None if end is None else end - 1))
        period = (first, last)
    query = Query(source.collections, area_of(recipe), period, source.query, source.filter, source.ids)
    if source.api is not None:
        return search_api(source.api, query, page_size=source.page_size)
    assert source.items is not None
    return read_scenes(source.items, query, source.storage_options)


def _of_files(source: Source) -> Sequence[Scene]:
    assert source.files is not None
    options = source.storage_options
    if is_manifest(source.files):
        entries = read_manifest(source.files, options)
    else:
        one = source.files if "://" in source.files else os.path.abspath(source.files)
        paths = list_files(source.files, options) if is_glob(source.files) else [one]
        entries = entries_by_name(paths, source.date_format)
    return ordered(scenes_of_files(entries, Access.of(options)))


def _asked(recipe: Recipe) -> str:
    period = recipe.period
    said = [f"collections {', '.join(recipe.source.collections)}"] if recipe.source.collections else []
    if period.start or period.end:
        said.append(f"from {period.start or 'the first'} to {period.end or 'the last'}")
    if recipe.area is not None:
        said.append(f"in {str(recipe.area)[:120]}")
    return f" ({', '.join(said)})" if said else ""

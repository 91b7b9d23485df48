"""Search: from an address to scenes, ordered by (datetime, id).

A STAC API is asked through pystac-client, page by page, and what came is counted against what the server says it
matched. Files are filtered here by the same box, period, collections and query. A server compares footprints with the
box and this module boxes with boxes, so a file may give a scene more, which has no pixel in the area.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.stac.area import Area, Bounds, lonlat_box
from chronozarr_dask.source.stac.catalog import read_items
from chronozarr_dask.source.stac.hrefs import redacted
from chronozarr_dask.source.stac.items import Scene, parse_item
from chronozarr_dask.source.stac.moments import parse_moment
from chronozarr_dask.source.stac.query import matches

_RETRY_ON = (408, 429, 500, 502, 503, 504)


@dataclass(frozen=True)
class Query:
    """What is searched for; None asks for anything.

    Attributes
    ----------
    collections : tuple of str
    area : box or geometry in longitude and latitude
        Scenes that touch its bounding box.
    period : (first, last), RFC 3339 texts
        Both ends included, as STAC has it.
    query : mapping of property to operators
        The query extension: ``{"eo:cloud_cover": {"lt": 60}}``.
    filter : mapping or str
        CQL2, as JSON or text; a STAC API only.
    ids : tuple of str
    """

    collections: tuple[str, ...] = ()
    area: Area | None = None
    period: tuple[str, str] | None = None
    query: Mapping[str, Mapping[str, Any]] | None = None
    filter: Mapping[str, Any] | str | None = None
    ids: tuple[str, ...] = ()


def search_api(
    url: str,
    query: Query,
    *,
    page_size: int = 100,
    retries: int = 5,
    backoff: float = 0.5,
    timeout: float = 60.0,
    headers: Mapping[str, str] | None = None,
) -> tuple[Scene, ...]:
    """Scenes that a STAC API finds, each once, ordered by (datetime, id).

    Parameters
    ----------
    url : str
        Landing page of the API.
    query : Query
    page_size : int
        Items a page.
    retries : int
        Tries after the first, for every request that fails or is answered with 408, 429 or 5xx.
    backoff : float
        Seconds before the second retry, doubled for each further one; a Retry-After of the server counts.
    timeout : float
        Seconds until a request counts as failed.
    headers : mapping, optional
        Sent with every request.

    Raises
    ------
    InputError
        If the server cannot be reached, refuses, or sends fewer items than it says it matched.
    """
    import requests
    from pystac_client import Client
    from pystac_client.exceptions import APIError
    from pystac_client.stac_api_io import StacApiIO
    from urllib3.util import Retry

    policy = Retry(
        total=retries,
        backoff_factor=backoff,
        status_forcelist=_RETRY_ON,
        allowed_methods=None,
        raise_on_status=False,
    )
    io = StacApiIO(headers=dict(headers or {}), timeout=timeout, max_retries=policy)
    try:
        # What the server does not claim to conform to it may still do; what it then does not send is counted below.
        with warnings.catch_warnings(), io.session:
            warnings.simplefilter("ignore")
            client = Client.open(url, stac_io=io)
            search = client.search(limit=page_size, **_parameters(query))
            pages = list(search.pages_as_dicts())
            matched = _matched(pages) if pages else search.matched()
    except (APIError, requests.RequestException) as error:
        reason = redacted(str(error))[:500]
    else:
        return _scenes_of_pages(pages, matched, url)
    raise InputError(f"the search at {redacted(url)} failed: {reason}; the server's address, collections and query?")


def read_scenes(source: str, query: Query, storage_options: Mapping[str, Any] | None = None) -> tuple[Scene, ...]:
    """Scenes of a file (see `catalog`) that meet the query, ordered by (datetime, id).

    Raises
    ------
    InputError
        If a file cannot be read, or the query has a filter, which needs a server.
    """
    if query.filter is not None:
        raise InputError(f"source.filter (CQL2) needs a STAC API, and {redacted(source)} is a file: use source.query")
    box = None if query.area is None else lonlat_box(query.area)
    period = None if query.period is None else _moments(query.period)
    found = []
    for item, path in read_items(source, storage_options):
        if query.query is None or matches(item.get("properties") or {}, query.query):
            scene = parse_item(item, path)
            if _is_asked_for(scene, query, box, period):
                found.append(scene)
    return ordered(found)


def ordered(scenes: Iterable[Scene]) -> tuple[Scene, ...]:
    """By (datetime, id): the order of observations everywhere."""
    return tuple(sorted(scenes, key=lambda s: (*s.order, s.collection or "")))


# ---- API -----------------------------------------------------------------------------------------------------------


def _parameters(query: Query) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if query.collections:
        given["collections"] = list(query.collections)
    if query.area is not None:
        given["bbox"] = list(lonlat_box(query.area))  # the grid covers the box in any case
    if query.period is not None:
        given["datetime"] = _interval(query.period)
    if query.query is not None:
        given["query"] = {name: dict(operators) for name, operators in query.query.items()}
    if query.filter is not None:
        given["filter"] = query.filter
    if query.ids:
        given["ids"] = list(query.ids)
    return given


def _interval(period: tuple[str, str]) -> str:
    """Interval of STAC; a last day reaches to its last microsecond (pystac-client would cut off its last second)."""
    _moments(period)  # the same times are understood here as in a file
    first, last = (text.strip() or ".." for text in period)
    first = f"{first}T00:00:00Z" if len(first) == 10 else first
    last = f"{last}T23:59:59.999999Z" if len(last) == 10 else last
    return f"{first}/{last}"


def _matched(pages: Sequence[Mapping[str, Any]]) -> int | None:
    """What the first page that says so says."""
    for page in pages:
        matched = page.get("numberMatched", (page.get("context") or {}).get("matched"))
        if matched is not None:
            return int(matched)
    return None


def _scenes_of_pages(pages: Sequence[Mapping[str, Any]], matched: int | None, url: str) -> tuple[Scene, ...]:
    items = {(i.get("collection"), i.get("id")): i for page in pages for i in page.get("features") or []}
    received = sum(len(page.get("features") or []) for page in pages)
    if matched is not None and len(items) < matched:
        twice = f", {received - len(items)} of them sent twice" if received > len(items) else ""
        raise InputError(
            f"the search at {redacted(url)} matched {matched} items, and {len(items)} came in {len(pages)} pages"
            f"{twice}: the server's paging lost some. Try a smaller page_size, or cut the period into several searches"
        )
    return ordered(parse_item(item, _self_link(item) or url) for item in items.values())


def _self_link(item: Mapping[str, Any]) -> str | None:
    return next((str(link["href"]) for link in item.get("links") or [] if link.get("rel") == "self"), None)


# ---- files ---------------------------------------------------------------------------------------------------------


def _moments(period: tuple[str, str]) -> tuple[float, float]:
    """Milliseconds of both ends; ``..`` and nothing leave an end open, a last day is meant with all its hours."""
    first, last = (text.strip() for text in period)
    start = float("-inf") if first in ("", "..") else parse_moment(first, "the period's first time")
    if last in ("", ".."):
        return start, float("inf")
    end = parse_moment(last, "the period's last time")
    return start, end + (86_400_000 - 1 if len(last) == 10 else 0)


def _is_asked_for(scene: Scene, query: Query, box: Bounds | None, period: tuple[float, float] | None) -> bool:
    return (
        (not query.collections or scene.collection in query.collections)
        and (not query.ids or scene.id in query.ids)
        and (period is None or period[0] <= scene.datetime <= period[1])
        and (box is None or scene.bbox is None or _touch(scene.bbox, box))
    )


def _touch(a: Bounds, b: Bounds) -> bool:
    """Whether two boxes have a point in common; `a` may cross the antimeridian."""
    spans = [(a[0], a[2])] if a[0] <= a[2] else [(a[0], 180.0), (-180.0, a[2])]
    return a[1] <= b[3] and b[1] <= a[3] and any(west <= b[2] and b[0] <= east for west, east in spans)

"""`report.html`: one page with all that it shows in it. It asks no network for anything, and may not.

Every text goes through the template's escaping; what the script reads is JSON in which ``<`` is escaped.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from chronozarr_dask.run.reporting import tables, views
from chronozarr_dask.run.reporting.look import Look
from chronozarr_dask.run.reporting.player import Reel, payload
from chronozarr_dask.run.text import nbytes, number, plural, seconds
from chronozarr_dask.store.reader import Store

TEMPLATE = "report.html.j2"


@dataclass(frozen=True)
class Shown:
    """What of a store the page shows.

    Attributes
    ----------
    store : Store
    look : Look
    reels : sequence of Reel
        Of the player, the coarsest level first.
    volatility : ndarray (row, col) or None
    """

    store: Store
    look: Look
    reels: Sequence[Reel]
    volatility: npt.NDArray[np.float32] | None


def render_page(document: Mapping[str, Any], shown: Shown | None) -> str:
    """The page of a report.

    Parameters
    ----------
    document : mapping
        As in `report.json`.
    shown : Shown or None
        None where there is no store.
    """
    script = _own("player.js")
    return _environment().get_template(TEMPLATE).render(
        doc=document,
        title=tables.title(document),
        figures=tables.figures(document),
        levels=tables.levels(document),
        stages=tables.stages(document),
        scenes=tables.scenes(document),
        options=tables.options(document),
        facts=tables.facts_of(document),
        pictures=None if shown is None else _pictures(shown),
        css=Markup(_own("style.css")),
        script=Markup(script),
        script_hash=_hash(script),
    )  # fmt: skip


def _pictures(shown: Shown) -> dict[str, Any]:
    store, look = shown.store, shown.look
    data = payload(store, shown.reels, look.shown, look.stretch)
    return {
        "seen": views.seen_of(store, look),
        "quicklooks": views.quicklooks(store, look),
        "film": views.film(store, shown.reels[0], look),
        "film_level": shown.reels[0].part.level,
        "heat": views.heat_map(store, look),
        "coverage": views.coverage_map(store, look),
        "volatility": None if shown.volatility is None else views.volatility_map(shown.volatility),
        "player": as_script_data(data),
        "player_text": _what_plays(store, shown.reels),
    }


def _what_plays(store: Store, reels: Sequence[Reel]) -> str:
    """Which levels the player has, and what of them."""
    part = reels[0].part
    names = ", ".join(str(reel.part.level) for reel in reels)
    text = f"{'level' if len(reels) == 1 else 'levels'} {names}, stored values"
    if store.temporal.encoding == "star-delta":
        text += ", residuals added to their anchors by the page"
    left_out = []
    if len(part.times) < len(store.times):
        left_out.append(f"{len(part.times)} of {plural(len(store.times), 'timestep')}")
    if len(part.bands) < len(store.bands):
        left_out.append(f"{len(part.bands)} of {plural(len(store.bands), 'band')}")
    if part.stride > 1:
        left_out.append(f"one pixel of {part.stride} along each axis")
    height, width = store.levels[part.level].shape[2:]
    if part.window.shape != (height, width):
        left_out.append(f"a window in the middle of {height} x {width} px")
    return text + (f"; for the size of this page {', '.join(left_out)} of level {part.level}" if left_out else "")


def as_script_data(value: Any) -> Markup:
    """JSON that stands in a script element: no text in it can end the element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("chronozarr_dask.run.reporting", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "nbytes": nbytes, "number": number, "seconds": seconds, "day": views.day, "count": tables.count,
    }  # fmt: skip
    return environment


@cache
def _own(name: str) -> str:
    return files("chronozarr_dask.run.reporting").joinpath("page", name).read_text("utf-8")


def _hash(script: str) -> str:
    """As a Content-Security-Policy names the one script that may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()

"""Progress in a notebook: one bar for each stage, speed and troubles below, the dashboard as a link."""

from __future__ import annotations

import time
from collections.abc import Callable
from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from chronozarr_dask.run.lines import Lines
from chronozarr_dask.run.pace import Pace
from chronozarr_dask.run.progress import Progress, Step
from chronozarr_dask.run.text import seconds

REDRAW_SECONDS = 0.2
"""A browser is told no more often; where a stage begins or ends, at once."""


def notebook_progress() -> Progress:
    """What shows the progress of one run in a notebook, in JupyterLab or VS Code.

    >>> report = czd.encode(cube, "store", progress=czd.notebook_progress())  # doctest: +SKIP

    Of each stage a bar, units of work done and in all, time and an estimate of what is left; below them MB/s in and
    out, units in flight, what was tried again, failed or lost, and a link to the dashboard of the Dask cluster.

    Needs ipywidgets (the extra ``notebook``). Without it plain lines are printed: where a stage begins and ends, and
    one a minute in between.
    """
    return Lines(print) if find_spec("ipywidgets") is None else NotebookProgress()


class NotebookProgress:
    """The `progress` of a run as widgets of the cell that makes it.

    Parameters
    ----------
    clock : callable
        Seconds.

    Attributes
    ----------
    box : ipywidgets.VBox
        All that is shown.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        ipywidgets = import_module("ipywidgets")
        self._widgets, self._clock = ipywidgets, clock
        self._pace: Pace | None = None
        self._drawn = 0.0
        self._dashboard: str | None = None
        self._bar: Any = None
        self._time: Any = None
        self._stages = ipywidgets.VBox()
        self._below = ipywidgets.HTML()
        self.box = ipywidgets.VBox([self._stages, self._below])
        import_module("IPython.display").display(self.box)

    def __call__(self, step: Step) -> None:
        """Show how far a stage is."""
        now, pace = self._clock(), self._pace
        self._dashboard = step.dashboard or self._dashboard
        is_new = pace is None or pace.step.stage != step.stage
        if pace is None or is_new:
            if pace is not None:
                self._draw(now, is_over=True)
            self._pace = pace = Pace(step, now)
            self._begin(step)
        pace.add(step, now)
        if is_new or pace.is_done or now - self._drawn >= REDRAW_SECONDS:
            self._draw(now, is_over=pace.is_done)

    def _begin(self, step: Step) -> None:
        w = self._widgets
        name = w.HTML(escape(step.stage), layout=w.Layout(width="5em"))
        self._bar = w.IntProgress(min=0, max=max(1, step.total), layout=w.Layout(width="16em"))
        self._time = w.HTML()
        self._stages.children = (*self._stages.children, w.HBox([name, self._bar, self._time]))

    def _draw(self, now: float, *, is_over: bool) -> None:
        pace = self._pace
        assert pace is not None
        step, bar, text = pace.step, self._bar, self._time
        bar.value = bar.max if is_over and step.total == 1 else step.done
        bar.bar_style = "warning" if pace.troubles() else "success" if is_over else "info"
        count = [f"{step.done:,}/{step.total:,}"] if step.total > 1 else []
        sizes = pace.sizes() if is_over else []
        parts = [*count, *sizes, seconds(now - pace.begin), pace.left(now)]
        text.value = escape(", ".join(p for p in parts if p))
        words = [*([] if is_over else pace.words(now)), *pace.troubles()]
        self._below.value = "<br>".join(line for line in (escape(", ".join(words)), _link(self._dashboard)) if line)
        self._drawn = now


def _link(url: str | None) -> str:
    """A link to click, where it is one of the web or of this server."""
    if not url:
        return ""
    shown = escape(url)
    if urlsplit(url).scheme not in ("", "http", "https"):
        return shown
    return f'Dask dashboard: <a href="{escape(url, quote=True)}" target="_blank" rel="noopener">{shown}</a>'

"""The progress of a command: on a terminal one bar for each stage and what goes on below; elsewhere plain lines."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping
from types import TracebackType

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.style import Style
from rich.text import Text

from chronozarr_dask.run import lines
from chronozarr_dask.run.lines import Lines
from chronozarr_dask.run.pace import Pace
from chronozarr_dask.run.progress import Step
from chronozarr_dask.run.text import seconds

WIDE, BAR, NARROW_BAR = 80, 24, 10
STOPPING = "stopping after what is in flight; again to stop at once"


class _Count(ProgressColumn):
    """Units of work; of a stage that is over the bytes too."""

    def render(self, task: Task) -> Text:
        pace: Pace | None = task.fields["pace"]
        count = f"{int(task.completed)}/{int(task.total)}" if task.total and task.total > 1 else ""
        sizes = ", ".join(pace.sizes()) if pace is not None and task.finished else ""
        return Text(f"{count} {sizes}".strip(), style="progress.download")


class _Time(ProgressColumn):
    """Time since the stage began, and what is left of it."""

    def render(self, task: Task) -> Text:
        pace: Pace | None = task.fields["pace"]
        spent = seconds((task.finished_time if task.finished else task.elapsed) or 0)
        left = pace.left(time.monotonic()) if pace is not None and not task.finished else ""
        return Text(f"{spent}, {left}" if left else spent)


class _Bars(Progress):
    """The bars; below them the speed of the stage that runs, what went wrong, the dashboard and a note."""

    pace: Pace | None = None
    dashboard: str | None = None
    note = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        """What is drawn, from top to bottom."""
        yield from super().get_renderables()
        if self.pace is not None:
            words = [] if self.pace.is_done else self.pace.words(time.monotonic())
            parts = [Text(w) for w in words] + [Text(w, style="yellow") for w in self.pace.troubles()]
            if parts:
                yield Text(", ").join(parts)
        if self.dashboard:
            yield Text(self.dashboard, style=Style(link=self.dashboard, dim=True), overflow="fold")
        if self.note:
            yield Text(self.note, style="yellow")


class Bars:
    """Shows the stages of a command; it is the `progress` of `encode` and `validate_deep`.

    Parameters
    ----------
    quiet : bool
        Show nothing.
    first : str
        What goes on before the first stage is told of.
    names : mapping, optional
        How a stage is shown, where not by its own name.
    """

    def __init__(self, *, quiet: bool, first: str = "plan", names: Mapping[str, str] | None = None) -> None:
        self._first, self._names = first, dict(names or {})
        self.console = Console(stderr=True)
        self._shown = not quiet and sys.stderr.isatty()
        self._lines = None if quiet or self._shown else Lines(lines.to_stderr, names)
        self._tasks: dict[str, TaskID] = {}
        width = max(map(len, ("cluster", first, *self._names.values())))
        self._bars = _Bars(
            TextColumn(f"{{task.description:<{width}}}"),
            BarColumn(bar_width=BAR if self.console.width >= WIDE else NARROW_BAR),
            _Count(),
            _Time(),
            console=self.console,
            disable=not self._shown,
        )

    def __enter__(self) -> Bars:
        self._bars.start()
        self._begin(self._first, None)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Leave what is shown as it is."""
        self._bars.stop()
        if self._lines is not None:
            self._lines.stop()

    def __call__(self, step: Step) -> None:
        """Show how far a stage is."""
        if self._lines is not None:
            self._lines(step)
        now = time.monotonic()
        pace = self._bars.pace
        if pace is None or pace.step.stage != step.stage:
            self._end_all()
            self._bars.pace = pace = Pace(step, now)
            self._begin(step.stage, pace)
        pace.add(step, now)
        self._bars.dashboard = step.dashboard or self._bars.dashboard
        self._bars.update(self._tasks[step.stage], completed=step.done, total=step.total)

    def stopping(self) -> None:
        """Say that an interrupt was seen; for signal handlers: it takes no lock and writes past all buffers."""
        if self._shown:
            self._bars.note = STOPPING
        else:
            os.write(sys.stderr.fileno(), f"{STOPPING}\n".encode())

    def _begin(self, stage: str, pace: Pace | None) -> None:
        total, done = (None, 0) if pace is None else (pace.step.total, pace.step.done)
        name = self._names.get(stage, stage)
        self._tasks[stage] = self._bars.add_task(name, total=total, completed=done, pace=pace)

    def _end_all(self) -> None:
        for task in self._bars.tasks:
            if not task.finished:
                self._bars.update(task.id, total=task.total or 1, completed=task.total or 1)

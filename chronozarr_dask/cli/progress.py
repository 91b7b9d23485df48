"""The progress of a command on a terminal: one bar for each stage. Elsewhere there is none."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from types import TracebackType

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text

from chronozarr_dask.cli.text import nbytes, seconds
from chronozarr_dask.run.progress import Step

WIDE, BAR, NARROW_BAR = 80, 30, 10
SPEED_SECONDS = 600
"""Window of the estimate of the time left: regions may take minutes each."""
STOPPING = "stopping after what is in flight; again to stop at once"


class _Count(ProgressColumn):
    """Units of work and bytes, once they are known."""

    def render(self, task: Task) -> Text:
        count = f"{int(task.completed)}/{int(task.total)}" if task.total and task.total > 1 else ""
        size = task.fields["nbytes"]
        return Text(f"{count} {nbytes(size)}".strip() if size else count, style="progress.download")


class _Time(ProgressColumn):
    """Time since the stage began, and what is left of it."""

    def render(self, task: Task) -> Text:
        spent, left = task.finished_time if task.finished else task.elapsed, task.time_remaining
        text = seconds(spent or 0)
        return Text(text if task.finished or left is None else f"{text}, {seconds(left)} left")


class _Bars(Progress):
    """The bars, and a note below them."""

    note = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        """What is drawn, from top to bottom."""
        yield from super().get_renderables()
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
        self._tasks: dict[str, TaskID] = {}
        width = max(map(len, ("cluster", first, *self._names.values())))
        self._bars = _Bars(
            TextColumn(f"{{task.description:<{width}}}"),
            BarColumn(bar_width=BAR if self.console.width >= WIDE else NARROW_BAR),
            _Count(),
            _Time(),
            console=self.console,
            speed_estimate_period=SPEED_SECONDS,
            disable=not self._shown,
        )

    def __enter__(self) -> Bars:
        self._bars.start()
        self._begin(self._first, None, 0)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Leave the bars as they are."""
        self._bars.stop()

    def __call__(self, step: Step) -> None:
        """Show how far a stage is."""
        if step.stage not in self._tasks:
            self._end_all()
            self._begin(step.stage, step.total, step.done)
        nbytes = step.bytes_out or step.bytes_in
        self._bars.update(self._tasks[step.stage], completed=step.done, total=step.total, nbytes=nbytes)

    def stopping(self) -> None:
        """Say that an interrupt was seen; for signal handlers: it takes no lock and writes past all buffers."""
        if self._shown:
            self._bars.note = STOPPING
        else:
            os.write(sys.stderr.fileno(), f"{STOPPING}\n".encode())

    def _begin(self, stage: str, total: int | None, done: int) -> None:
        self._tasks[stage] = self._bars.add_task(self._names.get(stage, stage), total=total, completed=done, nbytes=0)

    def _end_all(self) -> None:
        for task in self._bars.tasks:
            if not task.finished:
                self._bars.update(task.id, total=task.total or 1, completed=task.total or 1)

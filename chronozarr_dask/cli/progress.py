"""The progress of an encode on a terminal: one bar for each stage. Elsewhere there is none."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from types import TracebackType

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from chronozarr_dask.cli.text import nbytes

STAGES = ("plan", "stage", "select", "run", "commit")
STOPPING = "stopping: what is in flight is finished first (again to stop at once)"


class _Count(ProgressColumn):
    """Units of work and bytes, once they are known."""

    def render(self, task: Task) -> Text:
        count = "" if task.total is None else f"{int(task.completed)}/{int(task.total)}"
        size = task.fields["nbytes"]
        return Text(f"{count} {nbytes(size)}".strip() if size else count, style="progress.download")


class _Bars(Progress):
    """The bars, and a note below them."""

    note = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        """What is drawn, from top to bottom."""
        yield from super().get_renderables()
        if self.note:
            yield Text(self.note, style="yellow")


class Bars:
    """Shows the stages of an encode; it is the `progress` of `encode`."""

    def __init__(self, *, quiet: bool) -> None:
        self.console = Console(stderr=True)
        self._shown = not quiet and sys.stderr.isatty()
        self._tasks: dict[str, TaskID] = {}
        self._bars = _Bars(
            TextColumn("{task.description:<6}"),
            BarColumn(bar_width=None),
            _Count(),
            TimeElapsedColumn(),
            console=self.console,
            expand=True,
            disable=not self._shown,
        )

    def __enter__(self) -> Bars:
        self._bars.start()
        self._begin("plan", None)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Leave the bars as they are."""
        self._bars.stop()

    def __call__(self, stage: str, done: int, total: int, nbytes: int) -> None:
        """Show how far a stage is."""
        if stage not in self._tasks:
            self._end_all()
            self._begin(stage, total)
        self._bars.update(self._tasks[stage], completed=done, total=total, nbytes=nbytes)

    def stopping(self) -> None:
        """Say that an interrupt was seen; for signal handlers: it takes no lock and writes past all buffers."""
        if self._shown:
            self._bars.note = STOPPING
        else:
            os.write(sys.stderr.fileno(), f"{STOPPING}\n".encode())

    def _begin(self, stage: str, total: int | None) -> None:
        self._tasks[stage] = self._bars.add_task(stage, total=total, nbytes=0)

    def _end_all(self) -> None:
        for task in self._bars.tasks:
            if not task.finished:
                self._bars.update(task.id, total=task.total or 1, completed=task.total or 1)

"""Progress of a campaign: a bar in a terminal or a notebook, a line now and then in a log."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

#: Least time between two lines of a log.
LINE_EVERY_S = 15

#: Called as ``update(done, total, trial)``, before the first trial and after each trial.
Update = Callable[[int, int, Any], None]
#: Called as ``note(text)``, now and then within a long trial.
Note = Callable[[str], None]


@contextmanager
def shown(what: str = "trials") -> Iterator[tuple[Update, Note]]:
    """Show progress on standard error, or below the cell of a notebook; give `Update` and `Note`.

    A call of `Update` with 0 done starts the clock.
    """
    console = Console(stderr=True)
    if console.is_jupyter:
        way = _in_a_cell(what)
    elif console.is_terminal:
        way = _in_a_terminal(console, what)
    else:
        way = _in_a_log(what)
    with way as (update, note):
        yield update, note


@contextmanager
def _in_a_log(what: str) -> Iterator[tuple[Update, Note]]:
    lines = Lines(what)
    yield lines.update, lines.note


@contextmanager
def _in_a_terminal(console: Console, what: str) -> Iterator[tuple[Update, Note]]:
    """Draw the bar again and again, and remove it at the end."""
    with _bar(console, what) as bar:
        yield _steps(bar, lambda: None)
        bar.update(bar.task_ids[0], visible=False)


@contextmanager
def _in_a_cell(what: str) -> Iterator[tuple[Update, Note]]:
    """Show the bar below a notebook's cell, where it stays with the time that it took.

    Where there is nothing to do, there is no bar.
    """
    from IPython.display import display

    bar = _bar(Console(), what)
    cells: list[Any] = []

    def shown_again() -> None:
        table = bar.make_tasks_table(bar.tasks)
        if cells:
            cells[0].update(table)
        else:
            cells.append(display(table, display_id=True))

    update, note = _steps(bar, shown_again)
    yield update, note
    if cells:
        note("")


def _bar(console: Console, what: str) -> Progress:
    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeLeft(),
        TextColumn("[dim]{task.description}"),
    )
    bar = Progress(*columns, console=console)
    bar.add_task("", total=None)
    return bar


def _steps(bar: Progress, shown_again: Callable[[], None]) -> tuple[Update, Note]:
    """Return the functions that update the bar's only task."""
    (task,) = bar.task_ids

    def update(done: int, total: int, trial: Any) -> None:
        if done == 0:
            bar.reset(task, total=total)  # preparation does not count
        bar.update(task, completed=done, total=total)
        shown_again()

    def note(text: str) -> None:
        bar.update(task, description=text)
        shown_again()

    return update, note


class TimeLeft(ProgressColumn):
    """The time left, from the mean time of all finished trials.

    A mean of the last trials would jump, since several trials finish together.
    """

    def render(self, task: Task) -> Text:
        """Return hours, minutes and seconds; dashes before the first trial is finished."""
        if not (task.completed and task.elapsed and task.remaining is not None):
            return Text("-:--:--", style="progress.remaining")
        left_s = task.elapsed / task.completed * task.remaining
        return Text(str(timedelta(seconds=round(left_s))), style="progress.remaining")


class Lines:
    """Prints lines to a log: for the first and the last trial, and now and then between."""

    def __init__(self, what: str = "trials") -> None:
        self.what = what
        self.start_s = time.monotonic()
        self.told_s = 0.0

    def _take_turn(self) -> bool:
        """Tell whether a line is due; if so, the next one is due `LINE_EVERY_S` from now."""
        now_s = time.monotonic()
        if due := now_s - self.told_s >= LINE_EVERY_S:
            self.told_s = now_s
        return due

    def note(self, text: str) -> None:
        """Print a line about a running trial, unless a line was printed a moment ago."""
        if self._take_turn():
            print(text, file=sys.stderr)

    def update(self, done: int, total: int, trial: Any) -> None:
        """Print how many trials are done, unless a line was printed a moment ago.

        The first and the last trial always get a line. A call with 0 done starts the clock.
        """
        now_s = time.monotonic()
        if done == 0:
            self.start_s = now_s
            return
        if not self._take_turn() and 1 < done < total:
            return
        left_min = (now_s - self.start_s) / done * (total - done) / 60
        print(f"{self.what}: {done} of {total}, about {left_min:.0f} min left", file=sys.stderr)

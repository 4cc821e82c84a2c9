"""Progress of a campaign: a bar in a terminal, a line now and then in a log."""

import math
import sys
import time
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

#: Least time between two lines of a log.
LINE_EVERY_S = 15


@contextmanager
def shown():
    """Show progress on standard error.

    Yields
    ------
    update : callable
        ``update(done, total, trial)``, after each trial.
    note : callable
        ``note(text)``, now and then within a long one.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        lines = Lines()
        yield lines.update, lines.note
        return
    columns = (
        TextColumn("trials"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        TextColumn("[dim]{task.description}"),
    )
    # The time left follows from the mean of all trials: a few finish together, then none.
    with Progress(*columns, console=console, speed_estimate_period=math.inf) as bar:
        task = bar.add_task("", total=None)

        def update(done, total, trial):
            if done == 0:
                bar.reset(task, total=total)
            bar.update(task, completed=done, total=total)

        yield update, lambda text: bar.update(task, description=text)
        bar.update(task, visible=False)


class Lines:
    """Lines for a log: the first trial, the last one, and one now and then between them."""

    def __init__(self):
        self.start_s = time.monotonic()
        self.told_s = 0

    def _too_soon(self):
        now_s = time.monotonic()
        if now_s - self.told_s < LINE_EVERY_S:
            return True
        self.told_s = now_s
        return False

    def note(self, text):
        """Tell what happens within a trial, unless something was told a moment ago."""
        if not self._too_soon():
            print(text, file=sys.stderr)

    def update(self, done, total, trial):
        """Tell how far it is, unless that was told a moment ago; 0 done starts the clock."""
        now_s = time.monotonic()
        if done == 0:
            self.start_s = now_s
            return
        if self._too_soon() and 1 < done < total:
            return
        left_min = (now_s - self.start_s) / done * (total - done) / 60
        print(f"trials: {done} of {total}, about {left_min:.0f} min left", file=sys.stderr)

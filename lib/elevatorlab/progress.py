"""Progress of a campaign: a bar in a terminal, a line now and then in a log."""

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
    """Give a function ``update(done, total, trial)`` that shows progress on standard error."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Lines().update
        return
    columns = (
        TextColumn("trials"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, trial: bar.update(task, completed=done, total=total)
        bar.update(task, visible=False)


class Lines:
    """Lines for a log: the first trial, the last one, and one now and then between them."""

    def __init__(self):
        self.start_s = time.monotonic()
        self.told_s = 0

    def update(self, done, total, trial):
        """Tell how far it is, unless that was told a moment ago."""
        now_s = time.monotonic()
        if 1 < done < total and now_s - self.told_s < LINE_EVERY_S:
            return
        self.told_s = now_s
        left_min = (now_s - self.start_s) / done * (total - done) / 60
        print(f"trials: {done} of {total}, about {left_min:.0f} min left", file=sys.stderr)

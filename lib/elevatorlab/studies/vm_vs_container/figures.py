"""The study's figures and their captions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...judging.matching import Run, backing_schedulers
from ...plugins.schedulers import shown_name
from ..kit.cells import in_order
from .measures import ARMS, SCHEDULERS, left_out_of_the_guest
from .published import TEST_1, TEST_2

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...showing.figures import Drawn


_INTERVALS = (
    "Whiskers are 95 % intervals (Student's t on logarithms). An interval that reaches the frame "
    "is cut off there."
)
_TIMES = (
    "{counterpart} time to read one file with the scheduler {scheduler} while another file is "
    "written (left panel: printed; other panels: our rerun). Compare the slopes within a "
    "panel, but not seconds between panels: the machines differ."
)
_OF_TIMES = (
    f"Each time is a geometric mean. With the preset “full”, all files have the article's sizes. "
    f"With the preset “paper”, only files that are read from a warm page cache have these sizes. "
    f"All other files are smaller. {_INTERVALS}"
)
CAPTIONS = {
    "overview": "Time with each scheduler relative to the scheduler none, as printed and as "
    "measured for each kind of read (whiskers: 95 % intervals). “fetched / timed” divides the "
    "bytes that the disk delivered by the bytes that were read: at 0 %, the scheduler had nothing "
    "to decide.",
    **{
        f"figure-{number}-{scheduler}": _TIMES.format(
            counterpart=f"Counterpart of the article's Figure {number}:", scheduler=scheduler
        )
        for number, scheduler in enumerate(SCHEDULERS, 1)
    },
    "table-5": "Counterpart of the article's Table 5: time to read a tree of small files while a "
    "big file is read (left panel: printed; other panels: our rerun). Compare the schedulers "
    "within a panel; do not compare seconds between panels, because the trees differ in size.",
    "crossing": "Time relative to the top left pair of schedulers, with 95 % confidence intervals. "
    "Columns: schedulers of the device under test; rows: schedulers of the physical disk.",
    "guest-or-host": "Time with each scheduler in the virtual machine (across) and on its host "
    "(down), relative to the scheduler none in both, with 95 % confidence intervals (above 1: "
    "slower). Top row: none on the host; left column: none in the virtual machine.",
}
"""What each figure shows."""
DETAILS = {
    "overview": f"“fetched / timed” exceeds 100 % where the disk also delivered the executable of "
    f"the reading program. {_INTERVALS}",
    **{f"figure-{number}-{scheduler}": _OF_TIMES for number, scheduler in enumerate(SCHEDULERS, 1)},
    "table-5": "Below each panel stands the mean size of the trees that were read. With the preset "
    "“paper”, the variants that reach the disk read trees with a tenth of the files. "
    f"{_INTERVALS}",
    "crossing": "All other figures and every verdict use the first row alone.",
    "guest-or-host": "All other figures and every verdict use the top row alone.",
}
"""How each figure was made. If a figure shows only one variant, the variant's name is added."""
KEPT = ("overview",)
"""The figures for the main text of a paper; the others are for its appendix."""

SHOWS = {
    **{
        f"figure-{number}-{scheduler}": {"test": TEST_1, "scheduler": scheduler}
        for number, scheduler in enumerate(SCHEDULERS, 1)
    },
    "table-5": {"test": TEST_2},
}
"""The rows that a figure shows, for the figures that do not show all rows."""


def figures(published: pd.DataFrame, measured: pd.DataFrame) -> dict[str, Drawn]:
    """Draw the study's figures.

    `measured`: Tidy measured table (see `engine.judge`); empty for published data alone. Returns:
    "overview", "figure-1-none" ... "figure-4-kyber", "table-5", and "times-NAME" for each scheduler
    that the article lacks; once for each run (see `showing.figures.of_every_run`). If several
    schedulers of the physical disk were measured, also "crossing", or on the deterministic machine
    "guest-or-host".
    """
    # Imported here, because drawing needs libraries that judging does not need.
    from ...showing.figures import of_every_run
    from .figures_drawn import VARIANTS, crossing, guest_or_host, shown_variant

    def draw(rows: pd.DataFrame, run: Run | None) -> dict[str, Figure]:
        drawn = _of(published, rows)
        if run and len(backing_schedulers(run.crossed)) > 1:
            name, one = pairs_of[run.deterministic]
            drawn[name] = one(run.crossed)
        return drawn

    #: On the deterministic machine, the disk below that of a virtual machine is the host's.
    pairs_of = {False: ("crossing", crossing), True: ("guest-or-host", guest_or_host)}
    shown = "" if measured.empty else f"Shown: {VARIANTS[shown_variant(measured)]}. "
    captions = dict(CAPTIONS)
    details = {**DETAILS, **{name: shown + DETAILS[name] for name, _ in pairs_of.values()}}
    shows = dict(SHOWS)
    if not measured.empty:
        shows["guest-or-host"] = {"arm": "vm", "variant": shown_variant(measured)}
    for scheduler in in_order(measured, "scheduler", ()):
        name = f"times-{scheduler}"
        captions[name] = _TIMES.format(
            counterpart="Beyond the article:", scheduler=shown_name(scheduler)
        )
        details[name] = f"{_OF_TIMES} {left_out_of_the_guest(measured)}".rstrip()
        shows[name] = {"test": TEST_1, "scheduler": scheduler}
    pairs = tuple(name for name, _ in pairs_of.values())
    says: dict[str, Any] = {"shows": shows, "kept": KEPT, "details": details}
    return of_every_run(measured, draw, captions, ARMS, "time_s", crossed=pairs, **says)


def _of(published: pd.DataFrame, measured: pd.DataFrame) -> dict[str, Figure]:
    from .figures_drawn import overview, times_against_size, tree_times

    names = {scheduler: f"figure-{n}-{scheduler}" for n, scheduler in enumerate(SCHEDULERS, 1)}
    there = in_order(measured, "scheduler", SCHEDULERS)
    names |= {one: f"times-{one}" for one in there if one not in names}
    return {
        "overview": overview(published, measured),
        **{name: times_against_size(published, measured, one) for one, name in names.items()},
        "table-5": tree_times(published, measured),
    }

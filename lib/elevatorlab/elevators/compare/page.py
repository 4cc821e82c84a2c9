"""The page of a comparison: a table, a figure, and what each question means."""

from __future__ import annotations

import base64
import math
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ... import __version__
from ...analysis.intervals import Interval
from ...paths import write_whole
from ...plugins.schedulers import SCHEDULERS, colour_of, label_of
from ...showing.panels import errors
from ...showing.report_pages import template_environment
from ...showing.style import preview, style
from ..check.in_guest.cases.orders import OVERTAKEN_AT_MOST, WAITS_AT_MOST_S
from .measures import QUANTITIES, fewest, interval
from .trials import LONG_WINDOW_S, PERCENTILES, PROGRAMS, STARVATION_WINDOW_S

COLUMNS = 3


def write(measured: pd.DataFrame, schedulers: Sequence[str], out: Path) -> Path:
    """Write the page as one file that needs no other file.

    `schedulers`: In the order in which they are shown. The last scheduler is compared with the
    others.
    """
    found = {name: [interval(measured, name, one) for one in schedulers] for name in QUANTITIES}
    record = SCHEDULERS.get(schedulers[-1])
    page = template_environment({}).get_template("compare.html")
    text = page.render(
        here="",
        label=label_of(schedulers[-1]),
        digest=record.folder.digest if record.folder else "",
        schedulers=[label_of(name) for name in schedulers],
        rows=[
            (quantity, [spelled(one) for one in found[name]], best(found[name], quantity.better))
            for name, quantity in QUANTITIES.items()
        ],
        repetitions=int(measured["repetition"].max()),
        window_s=LONG_WINDOW_S,
        starvation_window_s=STARVATION_WINDOW_S,
        programs=PROGRAMS,
        needed={f"{one:g}": fewest(one) for one in PERCENTILES[1:-1]},
        bound_s=WAITS_AT_MOST_S,
        overtaken=OVERTAKEN_AT_MOST,
        figure=base64.b64encode(preview(draw(measured, schedulers), dpi=150)).decode(),
        version=__version__,
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, text)
    return out


def spelled(found: Interval | None) -> str:
    """Return a mean with half the width of its interval, in as many digits as that allows.

    A dash stands for a value for which too few requests were measured.

    >>> spelled(Interval(1234.4, 1200.1, 1268.7, 3)), spelled(Interval(0.0262, 0.0258, 0.0266, 3))
    ('1234 ± 34', '0.02620 ± 0.00040')
    >>> spelled(Interval(18414.3, 18414.3, 18414.3, 2))
    '18410'
    """
    if found is None:
        return "–"
    half = (found.high - found.low) / 2 if found.bounded else 0.0
    if half < 0.005 * abs(found.value):
        return f"{float(f'{found.value:.4g}'):g}"
    digits = max(0, 1 - math.floor(math.log10(half)))
    return f"{found.value:.{digits}f} ± {half:.{digits}f}"


def best(found: Sequence[Interval | None], better: str) -> list[bool]:
    """Tell for each scheduler whether it may be the best: its interval overlaps the best one's.

    >>> some = [Interval(1, 0.9, 1.1, 3), Interval(1.1, 1.0, 1.2, 3), Interval(2, 1.9, 2.1, 3)]
    >>> best([*some, None], "lower")
    [True, True, False, False]
    """
    known = [one for one in found if one]
    if not known:
        return [False] * len(found)
    first = (min if better == "lower" else max)(known, key=lambda one: one.value)
    return [one is not None and _meets(one, first) for one in found]


def _meets(one: Interval, other: Interval) -> bool:
    """Tell whether two intervals overlap; without bounds, after one repetition, they may."""
    return not (one.low > other.high or one.high < other.low)


def draw(measured: pd.DataFrame, schedulers: Sequence[str]) -> Figure:
    """Draw a panel for each quantity, with a bar for each scheduler; one legend for all."""
    rows = -(-len(QUANTITIES) // COLUMNS)
    with style():
        figure = Figure(figsize=(10, 2.1 * rows), layout="constrained")
        panels: list[Axes] = list(figure.subplots(rows, COLUMNS).flat)
        for spare in panels[len(QUANTITIES) :]:
            spare.set_axis_off()
        for panel, (name, quantity) in zip(panels, QUANTITIES.items(), strict=False):
            for place, scheduler in enumerate(schedulers):
                found = interval(measured, name, scheduler)
                if found:
                    colour = colour_of(scheduler)
                    panel.bar(place, found.value, color=colour, yerr=errors([found]), capsize=3)
                else:
                    panel.text(place, 0, "–", ha="center", va="bottom")
            panel.set_title(textwrap.fill(quantity.text, 38), fontsize=9)
            panel.set_ylabel(f"{quantity.unit}, {quantity.better} is better", fontsize=8)
            panel.set_ylim(bottom=0)
            panel.set_xlim(-0.6, len(schedulers) - 0.4)
            panel.set_xticks([])
            panel.tick_params(labelsize=8)
        patches = [Patch(color=colour_of(one), label=label_of(one)) for one in schedulers]
        figure.legend(handles=patches, loc="outside upper center", ncols=len(patches), fontsize=10)
    return figure

"""The mean ranks behind the points, and which of them differ."""

from __future__ import annotations

import math

import pandas as pd
import scikit_posthocs
from matplotlib.figure import Figure

from ....analysis.friedman import Friedman
from ....plugins.schedulers import shown_name
from ....showing.style import COLOURS, TWO_COLUMNS
from ...kit.cells import in_order
from ..measures import SCHEDULERS, over_tests
from .panels import panels


def critical_difference(rows: pd.DataFrame) -> Figure:
    """Draw the mean ranks, and which of them Nemenyi's test does not tell apart."""
    shown = [(title, found) for title, some in panels(rows) if (found := _ranks(some))]
    lines = max(1, -(-len(shown) // 2))
    figure = Figure(figsize=(TWO_COLUMNS, 0.5 + 1.4 * lines))
    axes = figure.subplots(lines, 2).ravel()
    for axis in axes:
        axis.set_axis_off()
    for axis, (title, found) in zip(axes, shown, strict=False):
        axis.set_axis_on()
        drawn = scikit_posthocs.critical_difference_diagram(
            found.ranks.rename(shown_name),
            found.pairs.rename(index=shown_name, columns=shown_name),
            ax=axis,
            text_h_margin=0.04,
            label_fmt_left="{label} ({rank:.2f})",
            label_fmt_right="({rank:.2f}) {label}",
            color_palette={shown_name(name): COLOURS[name] for name in found.ranks.index},
        )
        # The library draws each bar from a set, whose order differs from process to process.
        for (line,) in drawn["crossbars"]:
            line.set_xdata(sorted(line.get_xdata()))
        axis.grid(visible=False)
        p_value = "" if math.isnan(found.p_value) else f"Friedman p = {found.p_value:.2g}, "
        details = f"{p_value}critical difference {found.critical_difference:.2g}"
        axis.set_xlabel("mean rank")
        axis.xaxis.set_label_position("top")
        axis.set_title(f"{title.replace(chr(10), ', ')}\n{details}", pad=8)
    figure.suptitle("Mean ranks and the critical difference")
    return figure


def _ranks(rows: pd.DataFrame) -> Friedman | None:
    return over_tests(rows, tuple(in_order(rows, "scheduler", SCHEDULERS)))

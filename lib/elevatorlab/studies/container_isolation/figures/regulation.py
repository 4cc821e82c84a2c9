"""Figures 8 and 9 of the paper: what the regulator does to rates and waits, second by second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ....showing.labels import End, label_ends
from ....showing.style import GREY, PUBLISHED, TWO_COLUMNS
from ..measures.mechanisms import LABELS, present
from ..measures.regulation import KIB_S_PER_MB_S, seconds
from ..trials.containers import NORMAL, OVERLOADED
from ..trials.regulation import READINGS
from .colours import COLOURS

PRINTED = "#111111"
PANELS_A_LINE = 2


def rates_over_time(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw Figure 8: the write rate of the overloaded and of the normal containers."""

    def draw(axis: Axes, rows: pd.DataFrame, policy: str) -> None:
        _line(axis, rows[rows["role"] == OVERLOADED], "write_kib_s", COLOURS[policy])
        _line(axis, rows[rows["role"] == NORMAL], "write_kib_s", GREY)
        _printed(axis, rows, _value(published, "write_mb_s", "before"), "before")
        _printed(axis, rows, _value(published, "write_mb_s", "after"), "after")
        ends.append((axis, _ends(rows)))

    ends: list[tuple[Axes, list[End]]] = []
    figure = _of_policies(measured, draw, "rate (MB/s)")
    for axis, names in ends:  # after all are drawn: they share a range
        label_ends(axis, names)
    printed = Line2D([], [], color=PRINTED, **PUBLISHED, label="printed, overloaded")
    figure.legend(handles=[printed], **_BELOW)
    figure.suptitle("Write rate; in the grey band, the regulator is active")
    return figure


def waits_over_time(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw Figure 9: the wait of the three normal containers, as their mean and range."""

    def draw(axis: Axes, rows: pd.DataFrame, policy: str) -> None:
        _line(axis, rows[rows["role"] == NORMAL], "latency_mean_ms", COLOURS[policy])
        _printed(axis, rows, _value(published, "wait_ms", "before"), "before")
        _printed(axis, rows, _value(published, "wait_ms", "after"), "after")

    figure = _of_policies(measured, draw, "wait (ms)")
    figure.legend(
        handles=[
            Line2D([], [], color=COLOURS["slae"], label="normal (colour of its panel)"),
            Line2D([], [], color=PRINTED, **PUBLISHED, label="printed: 17.7, then below 5 ms"),
        ],
        **_BELOW,
    )
    figure.suptitle("Wait of normal containers; in the grey band, the regulator is active")
    return figure


_BELOW: dict[str, Any] = {"loc": "outside lower center", "ncols": 4}


def _of_policies(
    measured: pd.DataFrame, draw: Callable[[Axes, pd.DataFrame, str], None], label: str
) -> Figure:
    rows = seconds(measured, "regulation")
    policies = present(rows) or [next(iter(READINGS))]
    lines = -(-len(policies) // PANELS_A_LINE)
    figure = Figure(figsize=(TWO_COLUMNS, 1.2 + 1.9 * lines))
    across = min(len(policies), PANELS_A_LINE)
    grid = figure.subplots(lines, across, sharex=True, sharey=True, squeeze=False)
    axes = grid.ravel()
    for axis in axes[len(policies) :]:
        axis.set_visible(False)
    for axis, policy in zip(axes, policies, strict=False):
        of_policy = rows[rows["mechanism"] == policy]
        if of_policy.empty:
            axis.text(0.5, 0.5, "not run", ha="center", transform=axis.transAxes, color=GREY)
        else:
            end_s = of_policy["time_s"].max()
            axis.axvspan(of_policy["onset_s"].iloc[0], end_s, color="#EFEFEF", zorder=0)
            draw(axis, of_policy, policy)
            axis.set_xlim(0, end_s)
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
            axis.set_title(LABELS[policy])
        axis.set_ylim(bottom=0)
        axis.set(xlabel="time (s)", ylabel=label)
        axis.label_outer()
    return figure


def _line(axis: Axes, rows: pd.DataFrame, column: str, colour: str) -> None:
    """Draw the mean of all containers and repetitions, and the range that they span."""
    scale = 1 / KIB_S_PER_MB_S if column == "write_kib_s" else 1
    # A row counts the second that ends at its `time_s`. It is drawn in the middle of that second.
    middle_s = rows["time_s"] - rows["duration_s"] / 2
    sns.lineplot(
        x=middle_s,
        y=rows[column].astype(float) * scale,
        ax=axis,
        color=colour,
        estimator="mean",
        errorbar=("pi", 100),
        err_kws={"alpha": 0.2, "linewidth": 0},
    )


def _ends(rows: pd.DataFrame) -> list[End]:
    """Return the names of the two lines of a panel of Figure 8, with their last rates."""
    last = rows[rows["time_s"] == rows["time_s"].max()]
    rates_mb_s = last.groupby("role")["write_kib_s"].mean() / KIB_S_PER_MB_S
    # The lines of some policies are too light for words.
    colours = {OVERLOADED: "black", NORMAL: GREY}
    return [End(role, colours[str(role)], float(rate)) for role, rate in rates_mb_s.items()]


def _printed(axis: Axes, rows: pd.DataFrame, value: float, phase: str) -> None:
    onset_s, end_s = rows["onset_s"].iloc[0], rows["time_s"].max()
    ends = (0, onset_s) if phase == "before" else (onset_s, end_s)
    axis.plot(ends, (value, value), color=PRINTED, **PUBLISHED)


def _value(published: pd.DataFrame, quantity: str, phase: str) -> float:
    row = published[(published["quantity"] == quantity) & (published["phase"] == phase)]
    return float(row["value"].iloc[0])

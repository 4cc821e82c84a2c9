"""Beyond the paper: the regulator compared with the kernel's mechanisms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ....analysis.intervals import Interval
from ....showing.dots import dots
from ....showing.labels import End, label_ends
from ....showing.panels import facets, marks, panels_of
from ....showing.style import GREY, TWO_COLUMNS
from ..measures.mechanisms import LABELS, LOAD_LABELS, loads_in, present
from ..measures.regulation import LEAST_SHARE, of_trials, rate_mb_s, seconds, share_of_rate, totals
from ..trials.containers import NORMAL, OVERLOADED
from .colours import COLOURS, marker_of


class Measure(NamedTuple):
    """A column of panels: heading, label of its axis, role of its containers, and estimate."""

    label: str
    axis: str
    role: str
    reduce: Callable[[pd.DataFrame], Interval | None]


FEW = 7
"""Up to this many lines are named at their ends. More names would not fit, so a legend has them."""

RECOVERY, SHARE = "time to recover", "disk at work"
MEASURES = (
    Measure(
        *("SLA missed", "time (s of {watched_s:g})", NORMAL),
        lambda rows: of_trials(rows, "violation_s"),
    ),
    Measure(RECOVERY, "time (s)", NORMAL, lambda rows: of_trials(rows, "recovery_s")),
    Measure(SHARE, "share (ratio)", NORMAL, share_of_rate),
    Measure("offenders' rate", "rate (MB/s)", OVERLOADED, rate_mb_s),
)


def comparison(measured: pd.DataFrame) -> Figure:
    """Draw each measure for each load and mechanism."""
    rows = totals(measured, "comparison")
    loads = loads_in(rows)
    figure = Figure(figsize=(TWO_COLUMNS, 0.8 + 0.22 * len(loads) * (2 + len(present(rows)))))
    if not loads:
        return _nothing(figure)
    watched_s = _watched_s(measured)
    grid = figure.subplots(len(loads), len(MEASURES), sharey=True, sharex="col", squeeze=False)
    for line, kind in zip(grid, loads, strict=True):
        of_load = rows[rows["load"] == kind]
        shown = present(rows)
        for axis, measure in zip(line, MEASURES, strict=True):
            of_role = of_load[of_load["role"] == measure.role]
            _dots(axis, of_role, shown, measure)
            if measure.label == RECOVERY:
                _say_never(axis, of_role, shown, watched_s)
        line[0].set_yticks(range(len(shown)), [LABELS[name] for name in shown])
        line[0].set_ylabel(LOAD_LABELS[kind].replace(": ", ":\n"))
    for axis, measure in zip(grid[0], MEASURES, strict=True):
        axis.set_title(measure.label)
    for axis, measure in zip(grid[-1], MEASURES, strict=True):
        axis.set_xlabel(measure.axis.format(watched_s=watched_s))
    figure.suptitle("What protects three normal containers from overload")
    return figure


def _dots(axis: Axes, rows: pd.DataFrame, shown: list[str], measure: Measure) -> None:
    found = {
        (name, None): one
        for name in shown
        if (one := measure.reduce(rows[rows["mechanism"] == name])) is not None
    }

    def look(name: str, _: None) -> dict[str, Any]:
        return {"color": COLOURS[name], "marker": marker_of(name), "clip_on": False}

    dots(axis, found, shown, look)
    for place, name in enumerate(shown):
        if (name, None) not in found:
            axis.text(0, place, "not run", va="center", color=GREY)
    if measure.label == SHARE:
        axis.set_xlim(0, 1.05)
        axis.axvline(LEAST_SHARE, color=GREY, linewidth=0.6, linestyle=":")
    else:
        axis.set_xlim(left=-0.06 * axis.get_xlim()[1])  # keeps a dot at 0 off the names


def _watched_s(measured: pd.DataFrame) -> float:
    """Return how many seconds the overload was watched; this is the same under every load."""
    each = seconds(measured, "comparison")
    return float((each["time_s"] - each["onset_s"]).max())


def _say_never(axis: Axes, rows: pd.DataFrame, shown: list[str], watched_s: float) -> None:
    """Write "never" beside each dot for which the SLA was still missed at the end."""
    for place, name in enumerate(shown):
        ended = rows[rows["mechanism"] == name].groupby("repetition")["recovery_s"].first()
        never = int((ended >= watched_s).sum())
        if never:
            if never == len(ended):  # no time was measured
                look: dict[str, Any] = {
                    "markerfacecolor": "white",
                    "markeredgecolor": COLOURS[name],
                }
                axis.plot(ended.mean(), place, marker_of(name), **look, clip_on=False, zorder=5)
            axis.annotate(
                "never" if never == len(ended) else f"{never} of {len(ended)} never",
                (ended.mean(), place),
                xytext=(-6, 0),
                textcoords="offset points",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
                ha="right",
                va="center",
                color=GREY,
            )


def comparison_over_time(measured: pd.DataFrame) -> Figure:
    """Draw the longest wait among the normal containers, second by second."""
    rows = seconds(measured, "comparison", role=NORMAL)
    loads = loads_in(rows)
    if not loads:
        return _nothing(Figure(figsize=(TWO_COLUMNS, 1.2)))
    keys = ["load", "mechanism", "time_s"]
    longest = pd.DataFrame(rows.groupby(keys, as_index=False)["latency_mean_ms"].max())
    longest = longest.astype({"latency_mean_ms": float}).assign(at_s=longest["time_s"] - 0.5)
    grid = facets(
        longest,
        (TWO_COLUMNS, 1.2 + 1.8 * -(-len(loads) // 2)),
        col="load",
        col_order=loads,
        col_wrap=min(2, len(loads)),
        sharex=False,
    )
    shown = present(rows)
    for (axis, some), load in zip(panels_of(grid), loads, strict=True):
        sns.lineplot(
            some,
            x="at_s",
            y="latency_mean_ms",
            hue="mechanism",
            palette=COLOURS.of(shown),
            ax=axis,
            errorbar=None,
            linewidth=1.2,
            legend=False,
        )
        of_load = rows[rows["load"] == load]
        axis.axhline(of_load["sla_wait_ms"].iloc[0], color=GREY, linestyle=":", linewidth=1)
        axis.axvline(of_load["onset_s"].iloc[0], color=GREY, linewidth=0.6)
        axis.set(yscale="log", title=LOAD_LABELS[load], xlabel="time (s)", ylabel="")
        marks(axis.yaxis, (3, 5, 10, 20, 50))
    figure: Figure = grid.figure
    figure.supylabel("longest wait, normal (ms, log)")
    if len(shown) <= FEW:
        sla_ms = rows["sla_wait_ms"].iloc[0]
        for axis, some in panels_of(grid):  # after all are drawn: they share a range
            label_ends(axis, [*_ends(some), End("SLA", GREY, sla_ms)])
    else:
        figure.legend(handles=_lines_of(shown), loc="outside lower center", ncols=4)
    figure.suptitle("How fast each mechanism acts after the overload begins")
    return figure


def waits_by_second(measured: pd.DataFrame) -> Figure:
    """Draw how the waits of normal containers are distributed once the overload has begun."""
    rows = seconds(measured, "comparison", role=NORMAL)
    rows = rows[rows["time_s"] > rows["onset_s"]].astype({"latency_mean_ms": float})
    loads, shown = loads_in(rows), present(rows)
    if not loads:
        return _nothing(Figure(figsize=(TWO_COLUMNS, 1.2)))
    size = TWO_COLUMNS, 1.2 + 1.8 * -(-len(loads) // 2)
    grid = facets(rows, size, col="load", col_order=loads, col_wrap=min(2, len(loads)))
    for (axis, some), load in zip(panels_of(grid), loads, strict=True):
        sns.ecdfplot(
            some,
            x="latency_mean_ms",
            hue="mechanism",
            hue_order=shown,
            palette=COLOURS.of(shown),
            ax=axis,
            linewidth=1.2,
            legend=False,
        )
        axis.axvline(some["sla_wait_ms"].iloc[0], color=GREY, linestyle=":", linewidth=1)
        axis.set(xscale="log", title=LOAD_LABELS[load], ylabel="share of the seconds (ratio)")
        axis.set_xlabel("mean wait in a second (ms, log scale)")
        marks(axis.xaxis, (3, 5, 10, 20, 50))
    figure: Figure = grid.figure
    figure.legend(handles=_lines_of(shown), loc="outside lower center", ncols=4)
    figure.suptitle("How long normal containers wait while others overload the disk")
    return figure


def _lines_of(shown: Sequence[str]) -> list[Line2D]:
    """Return legend entries for mechanisms and the SLA."""
    handles = [Line2D([], [], color=COLOURS[name], label=LABELS[name]) for name in shown]
    return [*handles, Line2D([], [], color=GREY, linestyle=":", label="SLA")]


def _ends(rows: pd.DataFrame) -> list[End]:
    last = rows[rows["at_s"] == rows["at_s"].max()].groupby("mechanism")["latency_mean_ms"].mean()
    return [End(LABELS[name], COLOURS[name], value) for name, value in last.items()]


def _nothing(figure: Figure) -> Figure:
    figure.text(0.5, 0.5, "experiment comparison was not run", ha="center", color=GREY)
    return figure

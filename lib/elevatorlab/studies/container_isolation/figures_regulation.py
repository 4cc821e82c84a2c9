"""Figures 8 and 9 of the paper, and beyond it: what protects containers from the overload."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ...analysis.intervals import Interval
from ...plugins.schedulers import marker_of as of_scheduler
from ...plugins.trial_parts import POLICIES
from ...showing.estimates import dots
from ...showing.labels import End, label_ends
from ...showing.panels import facets, log_marks, marks, panels_of
from ...showing.style import COLOURS as OF_SCHEDULERS
from ...showing.style import GREY, PUBLISHED, TWO_COLUMNS
from ..kit.cells import in_order, mean_of
from .measures import (
    CELL,
    FRONTIER_LABELS,
    FRONTIER_LOADS,
    KIB_S_PER_MB_S,
    LABELS,
    LEAST_SHARE,
    LOAD_LABELS,
    MOST_SLAS,
    cells_of,
    front,
    loads_in,
    of_trials,
    points,
    present,
    protecting,
    rate_mb_s,
    seconds,
    share_of_rate,
    totals,
)
from .trials_containers import BY_HAND, NORMAL, OVERLOADED, READINGS

OTHERS = ("#44AA99", "#999933", "#AA4499", "#DDCC77", "#6699CC")
"""Colours of registered policies that have none here (after Tol, as `schedulers.OTHER_COLOURS`)."""


class Colours(dict[str, str]):
    """Colours by mechanism; registered policies that are not listed get those of `OTHERS`."""

    def __missing__(self, mechanism: str) -> str:
        further = [name for name in POLICIES.names() if name not in self]
        known = mechanism in further
        place = further.index(mechanism) if known else zlib.crc32(mechanism.encode())
        return OTHERS[place % len(OTHERS)]

    def of(self, mechanisms: Iterable[str]) -> dict[str, str]:
        """Return the colours of some mechanisms, as a palette for seaborn."""
        return {name: self[name] for name in mechanisms}


COLOURS = Colours(
    {
        "none": GREY,
        "slae-paper": "#6FBCE8",
        "slae-paper-mild": "#A5D3F3",
        "slae-paper-speed": "#4BA6B8",
        "slae-paper-utilization": "#C0E0F7",
        "ute-paper": "#5B2A86",
        "ute-paper-mild": "#B48FCE",
        "ute-paper-shared": "#46106E",
        "ute-paper-shared-mild": "#CDB4E0",
        "slae": "#3B93D6",
        "ute": "#7B3FA0",
        "aimd": "#E04080",
        "pi": "#2FA8A0",
        "guard": "#202060",
        "share": "#A0C0A0",
        "io_max": "#111111",
        "bfq": OF_SCHEDULERS["bfq"],
        "io_cost": "#402000",
    }
)
"""Colours that no scheduler of the studies has; only bfq, which is one, has the scheduler's.

With any colour vision, two mechanisms differ. Each also has a marker of its own.
Only the readings of one policy share a hue; they have panels or lines of their own.
"""

FRONTIER_COLOURS = Colours(
    {**COLOURS, "alone": GREY, "io_class": "#C0C060", "bfq_tuned": "#804000"}
)
"""The colours of experiment ``frontier``, which has three more mechanisms."""

_MARKERS = {
    "slae": "p",
    "ute": "h",
    "aimd": "v",
    "pi": "X",
    "guard": "s",
    "share": "P",
    "io_max": ">",
    "io_cost": "<",
    "bfq": of_scheduler("bfq"),
    "bfq_tuned": "d",
    "io_class": "^",
}


def marker_of(mechanism: str) -> str:
    """Return the marker of a mechanism: for a reading of a policy, that of the policy."""
    return _MARKERS.get(mechanism.partition("-")[0], "o")


#: Lengths of strokes and gaps, in widths of the line, which tell lines apart without colours.
DASHES: tuple[Any, ...] = ("", (6, 1.5), (3, 1), (1.2, 1), (8, 1, 1.5, 1, 1.5, 1), (6, 1, 1.5, 1))


def lines_of(shown: Sequence[str]) -> dict[str, Any]:
    """Return the dashes of each mechanism's line, as seaborn takes them; "" for a solid line."""
    return dict(zip(shown, cycle(DASHES), strict=False))


#: What Matplotlib's own functions take for a solid line, of which seaborn says "".
SOLID = (None, None)

PRINTED = "#111111"
PANELS_A_LINE = 2


def rates_over_time(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw Figure 8: the write rate of the overloaded and of the normal containers."""

    def draw(axis: Axes, rows: pd.DataFrame, policy: str) -> None:
        _mean_and_range(axis, rows[rows["role"] == OVERLOADED], "write_kib_s", COLOURS[policy])
        _mean_and_range(axis, rows[rows["role"] == NORMAL], "write_kib_s", GREY)
        _printed(axis, rows, _value(published, "write_mb_s", "before"), "before")
        _printed(axis, rows, _value(published, "write_mb_s", "after"), "after")
        ends.append((axis, _rate_ends(rows)))

    ends: list[tuple[Axes, list[End]]] = []
    figure = _of_policies(measured, draw, "rate (MB/s)")
    for axis, names in ends:  # after all are drawn: they share a range
        label_ends(axis, names)
    printed = Line2D([], [], color=PRINTED, **PUBLISHED, label="printed, overloaded")
    figure.legend(handles=[printed], **_BELOW)
    figure.suptitle("Write rate; in the grey band, the overload is limited")
    return figure


def waits_over_time(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw Figure 9: the wait of the three normal containers, as their mean and range."""

    def draw(axis: Axes, rows: pd.DataFrame, policy: str) -> None:
        _mean_and_range(axis, rows[rows["role"] == NORMAL], "latency_mean_ms", COLOURS[policy])
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
    figure.suptitle("Wait of normal containers; in the grey band, the overload is limited")
    return figure


_BELOW: dict[str, Any] = {"loc": "outside lower center", "ncols": 4}


def _of_policies(
    measured: pd.DataFrame, draw: Callable[[Axes, pd.DataFrame, str], None], label: str
) -> Figure:
    rows = seconds(measured, "regulation")
    # The table has the paper's policies in every reading, a figure in the first one alone, after
    # what the paper itself drew.
    first = [one for one in present(rows) if READINGS.get(one, (one,))[0] == one]
    policies = sorted(first, key=lambda one: one != BY_HAND) or [BY_HAND]
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
    for axis in axes[len(policies) - across : len(policies)]:  # the lowest of each column
        axis.set_xlabel("time (s)")  # label_outer() has emptied it
        axis.xaxis.label.set_visible(True)
        axis.tick_params(labelbottom=True)
    return figure


def _mean_and_range(axis: Axes, rows: pd.DataFrame, column: str, colour: str) -> None:
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


def _rate_ends(rows: pd.DataFrame) -> list[End]:
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
    each = seconds(measured, "comparison")
    watched_s = float((each["time_s"] - each["onset_s"]).max())  # the same under every load
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
    sla_ms = rows["sla_wait_ms"].iloc[0]
    figure.suptitle(f"What protects three normal containers from overload (SLA: {sla_ms:g} ms)")
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


def _say_never(axis: Axes, rows: pd.DataFrame, shown: list[str], watched_s: float) -> None:
    """Write "never" beside each dot for which the SLA was still missed at the end."""
    for place, name in enumerate(shown):
        ended = rows[rows["mechanism"] == name].groupby("repetition")["recovery_s"].first()
        never = int((ended >= watched_s).sum())
        if never:
            some = f"{never} of {len(ended)} never"
            axis.annotate(
                "never" if never == len(ended) else some,
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
            style="mechanism",
            dashes=lines_of(shown),
            ax=axis,
            errorbar=None,
            linewidth=1.2,
            legend=False,
        )
        of_load = rows[rows["load"] == load]
        axis.axhline(of_load["sla_wait_ms"].iloc[0], color=GREY, linestyle=":", linewidth=1)
        axis.axvline(of_load["onset_s"].iloc[0], color=GREY, linewidth=0.6)
        axis.set(title=LOAD_LABELS[load], xlabel="time (s)", ylabel="")
    ends = longest["latency_mean_ms"]
    log_marks(grid.axes.flat[0].yaxis, ends.min(), ends.max())
    figure: Figure = grid.figure
    figure.supylabel("longest wait, normal (ms, log)")
    sla_ms = rows["sla_wait_ms"].iloc[0]
    if len(shown) <= FEW:
        sla = End(f"SLA, {sla_ms:g} ms", GREY, sla_ms)
        for axis, some in panels_of(grid):  # after all are drawn: they share a range
            label_ends(axis, [*_wait_ends(some), sla])
    else:
        figure.legend(handles=_lines_of(shown, sla_ms), loc="outside lower center", ncols=4)
    figure.suptitle("How fast each mechanism acts after the overload begins")
    return figure


def waits_by_second(measured: pd.DataFrame) -> Figure:
    """Draw how the waits of normal containers are distributed once the overload has begun."""
    rows = seconds(measured, "comparison", role=NORMAL)
    rows = rows[rows["time_s"] > rows["onset_s"]].astype({"latency_mean_ms": float})
    loads, shown = loads_in(rows), present(rows)
    if not loads:
        return _nothing(Figure(figsize=(TWO_COLUMNS, 1.2)))
    sla_ms = rows["sla_wait_ms"].iloc[0]
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
        for drawn, line in zip(axis.lines, reversed(lines_of(shown).values()), strict=True):
            drawn.set_dashes(line or SOLID)  # seaborn has no dashes here
        axis.axvline(sla_ms, color=GREY, linestyle=":", linewidth=1)
        axis.set(title=LOAD_LABELS[load], ylabel="share of the seconds (ratio)")
        axis.set_xlabel("mean wait in a second (ms, log scale)")
    waits = rows["latency_mean_ms"]
    log_marks(grid.axes.flat[0].xaxis, waits.min(), waits.max())
    figure: Figure = grid.figure
    figure.legend(handles=_lines_of(shown, sla_ms), loc="outside lower center", ncols=4)
    figure.suptitle("How long normal containers wait while others overload the disk")
    return figure


def _lines_of(shown: Sequence[str], sla_ms: float) -> list[Line2D]:
    """Return legend entries for mechanisms and the SLA."""
    handles = [
        Line2D([], [], color=COLOURS[name], label=LABELS[name], dashes=line or SOLID)
        for name, line in lines_of(shown).items()
    ]
    return [*handles, Line2D([], [], color=GREY, linestyle=":", label=f"SLA, {sla_ms:g} ms")]


def _wait_ends(rows: pd.DataFrame) -> list[End]:
    last = rows[rows["at_s"] == rows["at_s"].max()].groupby("mechanism")["latency_mean_ms"].mean()
    return [End(LABELS[name], COLOURS[name], value) for name, value in last.items()]


def _nothing(figure: Figure, why: str = "experiment comparison was not run") -> Figure:
    figure.text(0.5, 0.5, why, ha="center", color=GREY)
    return figure


MOST_COLUMNS = 3
SHOWN_APART = "alone"
"""The mechanism that is not drawn: without offenders, there is no rate to show."""


def frontier(measured: pd.DataFrame) -> Figure:
    """Draw, for each load, the offenders' rate against the normal containers' longest wait.

    `measured`: The rows of one disk. Mechanisms that protect nobody are left out: in each setting,
    they miss more than half of the seconds of all loads.
    """
    found = points(measured)
    sla_ms = measured["sla_wait_ms"].dropna().iloc[0]
    seeds = found.groupby(CELL).size().max()
    protect = set(protecting(found)["mechanism"]) - {SHOWN_APART}
    near = found["wait_ms"] <= MOST_SLAS * sla_ms
    found = found[near & found["mechanism"].isin(protect)]
    if found.empty:
        return _nothing(
            Figure(figsize=(TWO_COLUMNS, 1.5)), "no mechanism that protects anybody was run"
        )
    loads = [load for load in FRONTIER_LOADS if load in set(found["load"])]
    columns = min(len(loads), MOST_COLUMNS)
    lines = math.ceil(len(loads) / columns)
    figure = Figure(figsize=(TWO_COLUMNS, 1.5 + 2.3 * lines))
    grid = figure.subplots(lines, columns, sharex=True, squeeze=False).ravel()
    for place, (axis, load) in enumerate(zip(grid, loads, strict=False)):
        _panel(axis, found[found["load"] == load], _fronts_of(found), seeds)
        marks(axis.xaxis, [sla_ms * part for part in (0.7, 0.8, 1, 1.2, 1.5)])
        axis.axvline(sla_ms, color=GREY, linestyle=":", linewidth=1)
        axis.set_title(FRONTIER_LOADS[load])
        if place + columns >= len(loads):  # the lowest panel of its column
            axis.tick_params(labelbottom=True)
            axis.set_xlabel("longest wait, normal (ms, log)")
    for axis in grid[len(loads) :]:
        axis.set_axis_off()
    figure.supylabel("offenders (MB/s)", fontsize=8)
    figure.suptitle("What each mechanism can reach")
    figure.legend(handles=_handles(found, sla_ms), loc="outside lower center", ncols=4, fontsize=8)
    return figure


KEPT_SLA: dict[str, Any] = {"markersize": 4.5}
MISSED_SLA: dict[str, Any] = {"markersize": 3, "alpha": 0.45}


def _handles(found: pd.DataFrame, sla_ms: float) -> list[Line2D]:
    """Return the legend: each mechanism, the two kinds of dot, and the SLA."""
    handles = [
        Line2D(
            [],
            [],
            color=FRONTIER_COLOURS[name],
            dashes=dashes or SOLID,
            marker=marker_of(name),
            label=FRONTIER_LABELS[name],
        )
        for name, dashes in _fronts_of(found).items()
    ]
    for look, label in ((KEPT_SLA, "no second missed"), (MISSED_SLA, "some missed")):
        handles.append(Line2D([], [], color=GREY, marker="o", linestyle="", label=label, **look))
    return [*handles, Line2D([], [], color=GREY, linestyle=":", label=f"SLA, {sla_ms:g} ms")]


def _fronts_of(found: pd.DataFrame) -> dict[str, Any]:
    """Return the dashes of each mechanism's front."""
    return lines_of(in_order(found, "mechanism", FRONTIER_LABELS))


def _panel(axis: Axes, found: pd.DataFrame, dashes: Mapping[str, Any], seeds: int) -> None:
    """Draw every setting as a dot, and each mechanism's front as a line.

    Only settings with all `seeds` have an interval, and none where these are two: it would be as
    high as the panel.
    """
    for name, of_one in found.groupby("mechanism"):
        colour = FRONTIER_COLOURS[str(name)]
        for _, cell in of_one.groupby(CELL):
            rate = mean_of(cell["offenders_mb_s"])
            assert rate is not None  # every cell has a trial
            look = MISSED_SLA if cell["missed_s"].any() else KEPT_SLA
            wait_ms = cell["wait_ms"].mean()
            axis.plot(
                wait_ms, rate.value, color=colour, marker=marker_of(str(name)), zorder=3, **look
            )
            if rate.bounded and len(cell) == seeds > 2:
                axis.plot(
                    [wait_ms] * 2, (rate.low, rate.high), color=colour, linewidth=0.8, zorder=2
                )
        best = front(cells_of(of_one), cost="wait_ms")
        axis.plot(
            best["wait_ms"],
            best["offenders_mb_s"],
            color=colour,
            dashes=dashes[str(name)] or SOLID,
            linewidth=1,
            zorder=1,
        )
    axis.set_xscale("log")
